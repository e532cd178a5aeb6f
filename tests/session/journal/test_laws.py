"""Laws of the journal: over every strategy, and over every way in which an exchange ends."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.support.family import family
from tests.support.histories import TinyCounter
from tests.support.journal_scenes import QUESTIONS, Kept, ask, keep, state, whole
from tests.support.scripted import Scripted
from tests.support.sessions import tool_call
from tests.support.timing import AtOnce
from thimble.agent.messages import Schema
from thimble.agent.protocols import Text
from thimble.session.journal.journal import Journal
from thimble.session.session import Session
from thimble.session.settings import Settings
from thimble.strategies.table import STRATEGIES

FUNCTION = """
from thimble.agent.messages import turns

def prepare(messages, budget):
    view = list(messages)
    while budget.over(view) and len(turns(view)) > 1:
        del view[turns(view)[0].start : turns(view)[0].stop]
    return view
"""
ODD = """
class Odd:
    state = {"no JSON": {1, 2}}

    def prepare(self, messages, budget):
        return messages[:1] + messages[-7:]
"""
OF_ONES_OWN = {"function.py": FUNCTION, "odd.py:Odd": ODD}
PIPELINE = "notes+observation-masking:window=1+progressive-summary"
SPECS = [*STRATEGIES, PIPELINE, *OF_ONES_OWN]
BY_DAY = "none", "comem", "delegate", "dedup", "thrifty", PIPELINE, *OF_ONES_OWN


@pytest.fixture
def spec(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The SPEC; a file of one's own is written first."""
    wanted = str(request.param)
    if wanted not in OF_ONES_OWN:
        return wanted
    (tmp_path / wanted.partition(":")[0]).write_text(OF_ONES_OWN[wanted])
    return f"{tmp_path}/{wanted}"


def sent(session: Kept, since: int) -> list[object]:
    """What the model was sent since then, to the last byte."""
    return [([*map(whole, one.messages)], one.tools, one.max_tokens) for one in session.requests[since:]]


@pytest.mark.parametrize("spec", family(SPECS, *BY_DAY), indirect=True)
def test_after_each_exchange_a_resumed_session_is_the_one_that_wrote_and_sends_what_that_sends(
    spec: str, tmp_path: Path
) -> None:
    live = keep(tmp_path / "live.jsonl", strategy=spec, budget=6000)
    live.agent.side.worker = AtOnce()  # what is under way when a session is left is not resumed
    again: Kept | None = None
    for number, question in enumerate(QUESTIONS):
        before = len(live.requests)
        until = 12 if "stop" in question else 10_000
        _, wrong = ask(live, question, until)
        if again:
            assert ask(again, question, until)[1] == wrong
            assert sent(again, 0) == sent(live, before)
            again.journal.close()
        if number == 2:
            live.plant("The code is 4711.")
        copy = tmp_path / f"{number}.jsonl"
        shutil.copy(tmp_path / "live.jsonl", copy)
        again = keep(copy, strategy=spec, budget=6000)
        again.agent.side.worker = AtOnce()
        assert state(again) == state(live)
        assert not again.notices
        assert copy.read_bytes().startswith((tmp_path / "live.jsonl").read_bytes())


CALLS = 200
"""Model calls of a session; benchmarks/journal.py has 2,000."""


class Pages:
    """A tool whose every page is another."""

    name = "read_page"
    schema: ClassVar[Schema] = {
        "type": "function",
        "function": {"name": "read_page", "description": "", "parameters": {}},
    }

    def __init__(self) -> None:
        self._numbers = count(1)

    def run(self, arguments: Mapping[str, Any]) -> str:
        """The next page."""
        return f"Page {next(self._numbers)} says what a prefix cache costs. " * 40


def size(path: Path, spec: str, calls: int) -> int:
    """The bytes of a session of so many model calls, of which each tenth answers."""
    session = Session(Settings(backend="reader", strategy=spec, budget=8000), Journal(path))
    agent = session.agent
    replies = [
        "It costs nothing." if number % 10 == 0 else [Text(f"I read on, {number}."), tool_call("read_page", number)]
        for number in range(1, calls + 1)
    ]
    agent.backend, agent.tools = Scripted(replies, TinyCounter()), {"read_page": Pages()}
    for number in range(calls // 10):
        list(session.ask(f"And what does page {number} say?"))
    session.journal.close()
    return path.stat().st_size


@pytest.mark.nightly
@pytest.mark.parametrize("spec", STRATEGIES)
def test_twice_the_messages_are_at_most_2_2_times_the_bytes(spec: str, tmp_path: Path) -> None:
    small, large = (size(tmp_path / f"{calls}.jsonl", spec, calls) for calls in (CALLS, 2 * CALLS))
    assert large < 2.2 * small
