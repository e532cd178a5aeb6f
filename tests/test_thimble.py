"""The library: its page runs, block by block, and importing it does nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import thimble
from tests.support.paths import ROOT

BLOCKS = re.findall(
    r"^```python\n(.*?)^```$", (ROOT / "docs" / "how-to" / "use-from-python.md").read_text(), re.DOTALL | re.MULTILINE
)


@pytest.fixture
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("THIMBLE_BACKEND", "reader")


@pytest.mark.usefixtures("_here")
def test_every_block_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(BLOCKS[0].replace("\n\n", "\n").strip().splitlines()) == 9
    shown: dict[str, object] = {}
    said = []
    for block in BLOCKS:
        exec(block, shown)
        said.append(capsys.readouterr().out)
    assert "read_article" in said[0]
    assert said[2] == said[3] == ""
    assert "tokens in" in said[4]
    assert re.search(r"^1 system \d+ \d+ kept the system message", said[5])
    assert said[-2].endswith("True\n")
    assert "500 to 2,000,000" in said[-1]


def test_an_answer_that_nobody_took_to_its_end_is_stopped_by_the_next_question() -> None:
    session = thimble.open_session(backend="reader", budget=3000)
    begun = session.ask("Read the article about context windows")
    while not isinstance(next(begun), thimble.ToolCalled):
        pass
    assert session.agent.history[-1].calls
    assert thimble.answer(session, "What is context rot?")
    history = session.agent.history
    called = [call.id for message in history for call in message.calls]
    assert called == [message.call_id for message in history if message.role == "tool"]
    assert list(begun) == []


class Hides:
    """A plain object with `prepare` is a strategy."""

    def prepare(self, messages: list[thimble.Message], budget: object) -> list[thimble.Message]:
        return [hidden(message) for message in messages]


def hides(messages: list[thimble.Message], budget: object) -> list[thimble.Message]:
    """So is a function."""
    return Hides().prepare(messages, budget)


def hidden(message: thimble.Message) -> thimble.Message:
    return message.rewritten("[read]", "it is a result") if message.role == "tool" else message


@pytest.mark.parametrize("mine", [Hides(), hides])
def test_an_object_or_a_function_is_a_strategy(mine: object) -> None:
    session = thimble.open_session(backend="reader")
    session.use_strategy(mine)
    assert session.spec == f"{__name__}:{'hides' if mine is hides else 'Hides'}"
    thimble.answer(session, "What is observation masking?")
    assert session.agent.ledger.view is not None
    assert session.agent.ledger.view.acted == {"masked": 1}
    session.reset()
    session.switch(1)
    assert len(session.agent.history) > 3
    for wrong in (Hides, 3, lambda messages: messages):
        with pytest.raises(thimble.UsageError, match="prepare"):
            session.use_strategy(wrong)


def test_an_error_that_nobody_catches_says_how_to_mend_it() -> None:
    with pytest.raises(thimble.UsageError) as error:
        thimble.open_session(backend="reader", budget=3)
    assert error.value.__notes__ == [error.value.fix]


def test_importing_it_loads_nothing() -> None:
    code = "import sys; before = {*sys.modules}; import thimble; print(*sorted({*sys.modules} - before))"
    loaded = subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True).split()
    assert {name.partition(".")[0] for name in loaded} <= {
        "thimble",
        "__future__",
        "importlib",
        "warnings",
        "_warnings",
    }


def test_every_name_is_there() -> None:
    assert all(getattr(thimble, name) is not None for name in dir(thimble))
    with pytest.raises(AttributeError):
        _ = thimble.nothing


@pytest.mark.usefixtures("_here")
def test_rows_say_what_is_not_known() -> None:
    session = thimble.open_session()
    assert thimble.ledger(session) == []
    assert {row["fate"] for row in thimble.view(session)} <= {"kept"}
    thimble.answer(session, "What is observation masking?")
    rows = thimble.ledger(session)
    assert [row["prompt"] for row in rows] == [call.prompt.tokens for call in session.agent.ledger.calls]
    assert sum(row["sent"] for row in thimble.view(session)) <= rows[-1]["prompt"]


@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"stratgy": "none"}, "no setting 'stratgy'"),
        ({"budget": 3}, "budget cannot be 3"),
        ({"journal": "notes.txt"}, "is not a session file"),
    ],
)
def test_what_is_wrong_is_said_with_a_way_to_mend_it(settings: dict[str, object], what: str) -> None:
    Path("notes.txt").write_text("my notes\n")
    with pytest.raises(thimble.UsageError, match=what) as caught:
        thimble.open_session(**settings)  # type: ignore[arg-type]
    assert caught.value.fix
    assert Path("notes.txt").read_text() == "my notes\n"


@pytest.mark.usefixtures("_here")
def test_one_writes_and_the_other_gets_one_line() -> None:
    first = thimble.open_session(journal="one.jsonl")
    thimble.answer(first, "What is a prefix cache?")
    with pytest.raises(thimble.UsageError, match="in use by another thimble"):
        thimble.open_session(journal="one.jsonl")
    first.journal.close()
    again = thimble.open_session(journal="one.jsonl", strategy="none")
    assert (again.spec, again.agent.history) == ("none", first.agent.history)
