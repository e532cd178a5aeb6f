from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import LIMITS, nasty_histories, react_history, sound_histories
from tests.support.sessions import Paper, scripted
from tests.support.specs import Summariser
from thimble.agent.errors import UsageError
from thimble.agent.ledger import Ledger
from thimble.agent.messages import Message
from thimble.agent.repair import repair
from thimble.agent.side import SideModel
from thimble.commands.replay import Replayed, replay_session, replay_strategy
from thimble.repl.commands.compare.compare import default_specs, parse_arguments
from thimble.repl.commands.compare.replay_table import star_lowest
from thimble.repl.commands.table import run_command
from thimble.session.session import Session
from thimble.strategies.spec import make_strategy
from thimble.strategies.table import STRATEGIES, asks_a_model

SPECS = [*STRATEGIES, "observation-masking+sliding-window", "sliding-window:window=2"]
SESSION = scripted()
SESSION.agent.use(Summariser())


def told(history: Sequence[Message], limit: int = 2_000, summariser: Summariser | None = None) -> Session:
    """The session with this history; its strategies may ask a model."""
    SESSION.agent.use(summariser or Summariser())
    SESSION.agent.state.history = history
    SESSION.agent.state.budget = limit
    SESSION.agent.state.ledger = Ledger()
    return SESSION


def all_of(session: Session) -> str:
    """Everything of a session that a comparison could touch."""
    agent = session.agent
    state = getattr(agent.strategy, "state", {})
    parts = (agent.history, agent.ledger, state, agent.side._calls, agent.side.offered, session.notes.state)
    return repr((*parts, session.spec, agent.strategy_name, agent.limit, sorted(agent.tools), session.notices))


def text_of(session: Session, command: str, width: int = 80, drawn: bool = False) -> str:
    """What a command prints; of what is drawn, only what stays."""
    paper = Paper(width, drawn)
    run_command(session, command, paper.console)
    return paper.text.rpartition("\x1b[2K")[2] if drawn else paper.text


# ---- laws ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", SPECS)
@given(history=sound_histories(), limit=LIMITS)
def test_it_replays_the_strategy_as_the_session_would_use_it(spec: str, history: list[Message], limit: int) -> None:
    session = told(history, limit)
    agent, found = session.agent, replay_session(session, spec)
    side = SideModel(Summariser())
    as_if = replace(agent, strategy=make_strategy(spec, side))
    tools = as_if.schemas()
    *_, last = replay_strategy(history, as_if.strategy, as_if.budget(tools), tools, side, agent.backend.id)
    assert found.next == last.view
    if last.view is None:
        assert found.refused
    else:
        assert found.kept == last.view.fates.count("kept")


@pytest.mark.parametrize("spec", SPECS)
@given(history=nasty_histories().map(lambda nasty: repair(nasty).messages), limit=LIMITS)
def test_survivors_add_up_and_nothing_changes(spec: str, history: list[Message], limit: int) -> None:
    session = told(history, limit)
    before = all_of(session)
    found = replay_session(session, spec)
    assert all_of(session) == before
    assert found.failed == ""
    assert found.fits == (not found.over and not found.refused)
    assert found.prefill <= found.prompt
    if found.next is None:
        assert found.kept == 0
        return
    assert sum(found.fates.values()) == len(found.next.history)


@given(st.lists(st.sampled_from(["none", "truncate", "run", "Run", "nonsense"]), max_size=6))
def test_specs_stand_before_the_first_run_and_the_question_behind_it(words: list[str]) -> None:
    at = words.index("run") if "run" in words else len(words)
    text = "  ".join(words)
    if at == len(words) - 1:
        with pytest.raises(UsageError, match="run needs a question"):
            parse_arguments(text)
        return
    specs, question = parse_arguments(text)
    assert specs == list(dict.fromkeys(words[:at]))
    assert question == ("  ".join(words[at + 1 :]) if at < len(words) else None)


@given(st.lists(st.tuples(st.integers(0, 5) | st.none(), st.booleans()), max_size=6))
def test_a_star_is_for_the_least_of_those_that_fit(rows: list[tuple[int | None, bool]]) -> None:
    found = [Replayed("none", over=not fits) for _, fits in rows]
    cells = star_lowest(found, [value for value, _ in rows], str)
    able = [value for value, fits in rows if fits and value is not None]
    for cell, (value, fits) in zip(cells, rows, strict=True):
        assert cell.startswith("*") == (fits and value is not None and value == min(able) < max(able))


# ---- examples --------------------------------------------------------------------------------------------------------


def test_by_default_the_one_in_use_and_all_that_ask_no_model() -> None:
    session = scripted(strategy="hybrid:window=3")
    asking = {name for name, kind in STRATEGIES.items() if asks_a_model(kind)}
    assert default_specs(session) == ["hybrid:window=3", *(name for name in STRATEGIES if name not in asking)]


@pytest.mark.parametrize("drawn", [True, False])
def test_ctrl_c_keeps_what_is_done(tmp_path: Path, drawn: bool) -> None:
    (tmp_path / "mine.py").write_text("def prepare(messages, budget):\n    raise KeyboardInterrupt\n")
    session, paper = told(react_history(3)), Paper(drawn=drawn)
    before = all_of(session)
    with pytest.raises(KeyboardInterrupt, match="stopped: 1 of 3 strategies"):
        run_command(session, f"/compare none {tmp_path}/mine.py truncate", paper.console)
    assert all_of(session) == before
    assert "3 calls of this session" in paper.text
    assert "truncate" not in paper.text.rpartition("3 calls of this session")[2]
