from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.repl.commands.compare.test_replay import all_of, text_of
from tests.support.histories import is_sound
from tests.support.scripted import Scripted, Step
from tests.support.sessions import Paper, scripted, tool_call
from tests.support.sessions import ask as ask_session
from thimble.agent.protocols import Text
from thimble.commands.trial import Trial, ask_fork, find_known_exchange
from thimble.corpus.questions import load_questions
from thimble.repl.commands.table import run_command
from thimble.session.session import Session
from thimble.session.settings import Settings

WEBARENA = "How well did humans do on the WebArena tasks?"
RIGHT = "Humans did 78.24% of them. [benchmarks]"


def after_one(*steps: Step, **settings: Any) -> Session:
    """A session that has had an exchange, and whose model goes on with these steps."""
    session = scripted("One.", *steps, **settings)
    ask_session(session)
    return session


def backend(session: Session) -> Scripted:
    assert isinstance(session.agent.backend, Scripted)
    return session.agent.backend


# ---- what is asked, and in which order -------------------------------------------------------------------------------


def test_each_strategy_is_asked_in_turn_with_the_history() -> None:
    session = after_one("Of none.", "Of truncate.")
    before = all_of(session)
    text = text_of(session, "/compare none truncate run And then?")
    assert all_of(session) == before
    backend(session).assert_done()
    for request in backend(session).requests[1:]:
        said = [message.content for message in request.messages[1:]]
        assert said == ["What is observation masking?", "One.", "And then?"]
    assert text.index("none: answered\n  Of none.") < text.index("truncate: answered\n  Of truncate.")
    assert text.startswith("done 1 of 2, none: answered\ndone 2 of 2, truncate: answered\n")


@pytest.mark.parametrize(("spec", "count"), [("hybrid", 5), ("none", 4)])
def test_by_default_the_one_in_use_and_four_others_each_once(spec: str, count: int) -> None:
    session = after_one(*(f"Answer {number}." for number in range(count)), strategy=spec)
    names = re.findall(r"done .*, (.*): ", text_of(session, "/compare run Why?"))
    assert names == list(dict.fromkeys([spec, "none", "sliding-window", "observation-masking", "summary-buffer"]))
    backend(session).assert_done()


def test_the_one_in_use_goes_on_with_what_it_remembers() -> None:
    session = after_one("A.", "B.")
    session.agent.strategy.state = {"masked": {}, "mark": 1}  # type: ignore[attr-defined]
    seen = []

    class Fork(Session):
        def fork(self, spec: str = "") -> Any:
            seen.append(spec)
            return super().fork(spec)

    session.__class__ = Fork
    text_of(session, "/compare observation-masking none run Why?")
    assert seen == ["", "none"]


# ---- Ctrl-C ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("drawn", [True, False])
def test_ctrl_c_keeps_what_is_done(drawn: bool) -> None:
    session = after_one("Of none.", [Text("Half of"), KeyboardInterrupt()])
    before, paper = all_of(session), Paper(drawn=drawn)
    with pytest.raises(KeyboardInterrupt, match="stopped: 1 of 3 strategies"):
        run_command(session, "/compare none truncate offload run Why?", paper.console)
    assert all_of(session) == before
    said = paper.text.rpartition("Asked under each")[2]
    assert "\nnone: answered\n" in said
    assert "\ntruncate: stopped\n" in said
    assert "Of none." in paper.text
    assert "Half of" not in paper.text
    backend(session).assert_done()


class Pressed:
    """A tool during whose work Ctrl-C is pressed."""

    name = "search_articles"
    schema: ClassVar = {"type": "function", "function": {"name": name, "parameters": {}}}

    def run(self, arguments: Mapping[str, Any]) -> str:
        """Never comes to an end."""
        raise KeyboardInterrupt


def test_stopped_between_a_call_and_its_result_leaves_a_sound_fork() -> None:
    session = after_one([Text("I look."), tool_call("search_articles", query="x")])
    fork, found = session.fork("none"), Trial("none")
    fork.tools = {"search_articles": Pressed()}
    with pytest.raises(KeyboardInterrupt):
        ask_fork(fork, "Why?", found)
    assert found.outcome == "stopped"
    assert found.turns == 1
    assert found.prompt.tokens
    assert is_sound(fork.history) == []


# ---- known answers ---------------------------------------------------------------------------------------------------


BLIND = """
def prepare(messages, budget):
    return [one.rewritten("[hidden]", "nothing is shown") if one.role == "tool" else one for one in messages]
"""


def test_the_reader_hits_a_known_answer_or_sees_nothing_of_it(tmp_path: Path) -> None:
    (tmp_path / "blind.py").write_text(BLIND)
    session = Session(Settings(backend="reader"))
    assert "none: answered, known answer: right" in text_of(session, f"/compare none run {WEBARENA}")
    assert "known answer: wrong: declined" in text_of(session, f"/compare {tmp_path}/blind.py run {WEBARENA}")
    assert "known answer" not in text_of(session, "/compare none run What is a prefix cache?")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (RIGHT, "right"),
        ("Humans did 78.24% of them.", "wrong: does not cite: benchmarks"),
        ("I cannot find it in the articles.", "wrong: declined"),
        ("No idea about it, 12%. [benchmarks]", "wrong: does not say: 78.24%"),
    ],
)
def test_an_answer_is_scored(answer: str, said: str) -> None:
    assert f"none: answered, known answer: {said}" in text_of(after_one(answer), f"/compare none run {WEBARENA}")


@pytest.mark.parametrize("kind", ["single", "dialogue", "unanswerable"])
def test_a_question_is_known_by_its_words(kind: str) -> None:
    asked = next(one for one in load_questions().questions if one.kind == kind and one.exchanges[-1].scored).exchanges[
        -1
    ]
    words = asked.question.upper().rstrip("?") + " …?!"
    assert find_known_exchange(words, Settings()) == asked
    assert find_known_exchange(f"Well, {words}", Settings()) is None


def test_where_the_articles_are_others_no_answer_is_known(tmp_path: Path) -> None:
    for other in (Settings(corpus=tmp_path), Settings(files=tmp_path)):
        assert find_known_exchange(WEBARENA, other) is None
