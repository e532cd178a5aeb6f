"""Members of a strategy of one's own that raise anything at all: one line, never the session or the answer."""

from __future__ import annotations

from contextlib import suppress
from itertools import product
from pathlib import Path

import pytest

from tests.support.histories import budget, outcome, react40
from tests.support.sessions import ask, scripted
from tests.support.specs import build
from thimble.agent.errors import UsageError
from thimble.agent.events import Answered
from thimble.commands.why import why

ERRORS = {
    "exit": "raise SystemExit(3)",
    "base": "raise Loud()",
    "recursion": "return self.again()",
    "generator": "raise GeneratorExit",
    "long": "raise ValueError('\\x1b[31m' * 10**6)",
}
MEMBERS = ("why", "state", "tools", "fitted", "priced", "model", "__deepcopy__", "__repr__", "__str__", "__reduce_ex__")
MINE = """
class Loud(BaseException):
    def __str__(self): raise SystemExit
class Mine:
    asked = 0
    def again(self): return self.again()
    def prepare(self, messages, budget): return messages[-1:]
    {how}
    def {name}(self, *rest):
        self.asked += 1
        if self.asked <= {calm}: return {value}
        {error}
"""


@pytest.mark.parametrize(("name", "calm"), [*product(MEMBERS, [0, 1])])
def test_a_member_that_fails_costs_one_line(name: str, calm: int, tmp_path: Path) -> None:
    for kind, error in ERRORS.items():
        path = tmp_path / f"{kind}.py"
        how = "@property" if name in ("state", "tools", "fitted", "priced", "model") else ""
        path.write_text(MINE.format(name=name, how=how, calm=calm, error=error, value="()"))
        session = scripted("So.", "So.", "So.")
        said = outcome(lambda: session.use_strategy(f"{path}:Mine"))  # noqa: B023
        assert said is None or (said.what.isprintable() and len(said.what) < 800), kind
        assert isinstance(ask(session)[-1], Answered)
        view = ask(session, "And now?") and session.agent.ledger.prepared
        assert view
        for place in range(len(view.view.history)):
            assert why(view.view, place).isprintable()
        with suppress(UsageError):
            session.fork()
        session.use_strategy("none")
        assert isinstance(ask(session)[-1], Answered)


@pytest.mark.parametrize("tools", ["5", "'recall'", "[5]", "[None]", "object()"])
def test_tools_that_are_none_are_refused(tools: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(f"tools = {tools}\ndef prepare(messages, budget): return messages\n")
    with pytest.raises(UsageError, match="cannot be loaded: TypeError: "):
        build(str(path))


def test_a_view_without_an_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("from itertools import repeat\ndef prepare(messages, budget): return repeat(messages[0])\n")
    with pytest.raises(UsageError, match="at most 200,000"):
        build(str(path)).prepare(react40(), budget())


@pytest.mark.parametrize("state", ["'x' * 9_000_000", "__import__('json').loads('[' * 90 + ']' * 90)", "{1, 2}"])
def test_a_state_that_could_not_be_read_again_is_not_saved_and_that_is_told_once(state: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(f"state = {state}\ndef prepare(messages, budget): return messages\n")
    session = scripted("So.", "So.")
    session.use_strategy(str(path))
    ask(session)
    ask(session, "And now?")
    (told,) = session.take_notices()
    assert told.startswith(f"{path} starts fresh on resume, since its state cannot be saved: ")
    assert session.journal.state().saved_memory == {
        "notes": session.notes.state,
        "learnt": session.agent.backend.counter.learnt,
    }
