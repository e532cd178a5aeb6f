"""The reader under strategies that make results smaller: it quotes what stands there, or asks for more, or says so."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.reader_library import tokens, write
from thimble.agent.agent import Agent
from thimble.agent.events import Answered, Replied, ToolCalled
from thimble.session.session import Session
from thimble.session.settings import Settings

MARK = re.compile(
    r"left out|recall\(|\[masked|\[offloaded|as above|tokens cut|more characters|times in all|\[…|\[tidied"
)
LOG = "".join(f"2026-03-01 08:{n // 60:02}:{n % 60:02} INFO page {7 * n} took {13 * n % 97} ms\n" for n in range(600))
CODE = "".join(
    f"def step_{n}(grades, weight):\n    total = {n}\n    return total + sum(weight * grade for grade in grades)\n\n"
    for n in range(40)
)
FILES = {
    "server.log": LOG.replace("INFO page 2800 took", "ERROR worker crashed at"),
    "school.py": CODE,
    "school2.py": CODE.replace("total = 3\n", "total = 4711\n"),
    "change.diff": "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-old = 1\n+new = 2\n",
    "Makefile": "check:\n\tpytest -q\n",
    "aaa.txt": "a long line of other words " * 60_000,
}
PROMPTS = (
    "Read the article about offloading",
    "What is a prefix cache?",
    "Read the file school.py",
    "Read the file school2.py",
    "Read the file school.py",
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("files")
    for path, text in FILES.items():
        write(root / path, text)
    return root


class Asked:
    """A session of the reader, what it answered last and the calls that it made for it."""

    def __init__(self, files: Path, strategy: str, budget: int = 8_000) -> None:
        self.session = Session(Settings(backend="reader", strategy=strategy, budget=budget, files=files))
        self.calls: list[tuple[str, dict[str, object]]] = []
        self.refused = False

    @property
    def agent(self) -> Agent:
        return self.session.agent

    def __call__(self, question: str) -> str:
        events = list(self.session.ask(question))
        made = [event.call for event in events if isinstance(event, ToolCalled)]
        self.calls = [(call.name, json.loads(call.arguments)) for call in made]
        assert not any(event.stopped_by for event in events if isinstance(event, Replied))
        answered = events[-1]
        assert isinstance(answered, Answered)
        self.refused = answered.ending == "refused"
        return answered.text


@pytest.mark.parametrize("strategy", ["dedup", "offload", "compress", "compress:when=arrival", "observation-masking"])
@pytest.mark.parametrize("budget", [2_000, 3_000])
def test_no_mark_is_an_answer_and_nothing_is_recalled_twice(files: Path, strategy: str, budget: int) -> None:
    ask = Asked(files, strategy, budget)
    for prompt in PROMPTS:
        said = ask(prompt)
        assert not MARK.search(said)
        recalled = [arguments["id"] for name, arguments in ask.calls if name == "recall"]
        assert len(recalled) == len(set(recalled))
        shown = tokens("\n".join(message.content for message in ask.agent.history if message.role == "tool"))
        for quoted in re.findall(r"^(?:- )?(.+) \[[\w.:-]+\]$", said, re.MULTILINE):
            assert all(tokens(sentence) in shown for sentence in re.split(r"(?<=[.:]) ", quoted))


def test_what_was_made_smaller_is_recalled_and_read_unless_all_of_it_stands_above(files: Path) -> None:
    for strategy, last in (
        ("dedup", "recall"),
        ("offload:share=0.05", "recall"),
        ("compress:when=arrival", "recall"),
    ):
        ask = Asked(files, strategy)
        ask("Read the file school.py")
        said = ask("Read the file school2.py")
        assert ask.calls[-1][0] == last
        assert [line.rpartition(" [")[0] for line in said.split("\n")[:10]] == [
            line for line in FILES["school2.py"].split("\n") if line.strip()
        ][:10]


def test_an_article_without_room_is_read_from_its_beginning(files: Path) -> None:
    ask = Asked(files, "compress", 3_000)
    said = ask("Read the article about offloading")
    assert said.startswith("“Offloading bulky observations: a FAQ” [offloading]")
    assert "Offloading means moving a large tool result out of the conversation into a file" in said
    assert said.endswith("That is only how it begins: all of it has no room.")


@pytest.mark.parametrize("request_", ["Read the file change.diff", "Open the Makefile"])
def test_a_file_is_known_by_its_name(files: Path, request_: str) -> None:
    ask, name = Asked(files, "none"), request_.split()[-1]
    assert f"[{name}:1]" in ask(request_)
    assert ask.calls[-1] == ("read_file", {"path": name})


def test_a_file_that_is_named_is_searched_however_large_another_is(files: Path) -> None:
    assert "ERROR worker crashed at" in Asked(files, "none")("What crashed in server.log?")


def test_a_follow_up_leans_on_the_exchange_before(files: Path) -> None:
    ask = Asked(files, "none")
    ask("What is a prefix cache?")
    for question, leans in (("What is attention?", False), ("And attention?", True), ("What is its price?", True)):
        ask(question)
        assert ("earlier" in ask.calls[0][1]) is leans
