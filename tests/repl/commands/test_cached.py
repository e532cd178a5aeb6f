"""The cached tokens: one figure on every screen and in every document, live and resumed."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import thimble
from tests.support.histories import TinyCounter
from tests.support.scripted import Scripted
from tests.support.sessions import Paper, ask, tool_call
from thimble.agent.ledger import Amount
from thimble.agent.protocols import Text, Usage
from thimble.repl.commands.export.document import export
from thimble.repl.commands.table import run_command
from thimble.repl.screen.footer import footer_line
from thimble.session import figures, jsonl
from thimble.session.journal.journal import Journal
from thimble.session.journal.state import saved_state
from thimble.session.session import Session
from thimble.session.settings import Settings
from thimble.session.totals import add_up

STRATEGIES = st.sampled_from(["none", "observation-masking:window=1", "hybrid:window=1", "sliding-window:window=1"])
REPORTED = st.none() | st.integers(0, 40)
SECONDS = st.none() | st.sampled_from([0.01, 0.5, 1.0, 30.0])


def talked(path: Path, spec: str, usages: list[tuple[int | None, float | None]]) -> Session:
    """Questions, each with a call of a tool, to a server that tells so much of each call."""
    session = Session(Settings(backend="reader", strategy=spec, budget=4_000), Journal(path))
    steps: list[Any] = []
    for number, (cached, seconds) in enumerate(usages):
        said = Text("Yes.") if number % 2 else tool_call("list_articles", number)
        steps.append([said, Usage(None, cached, 5, prefill_seconds=seconds)])
    session.agent.use(Scripted([*steps, *["Done."] * 20], TinyCounter()))
    for number in range(len(usages) // 2):
        ask(session, f"Question {number}?")
    return session


def printed(session: Session, command: str) -> str:
    paper = Paper(120)
    run_command(session, command, paper.console)
    return paper.text


def found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    assert match, text
    return match[1]


def told(session: Session) -> list[tuple[Amount, Amount]]:
    return [(call.cached, call.prefill) for call in session.agent.ledger.calls]


@settings(max_examples=6)
@given(STRATEGIES, st.lists(st.tuples(REPORTED, SECONDS), min_size=2, max_size=10).filter(lambda of: not len(of) % 2))
def test_every_screen_and_document_has_the_same_figure(
    spec: str, usages: list[tuple[int | None, float | None]]
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "it.jsonl"
        session = talked(path, spec, usages)
        ledger = session.agent.ledger
        last, sums = ledger.calls[-1], add_up(ledger.calls)
        cached, prefill = figures.format_amount(last.cached), figures.format_amount(last.prefill)
        assert found(r"cached (\S+)", footer_line(session.agent, 200)) == cached
        shown = printed(session, "/context")
        assert found(r"═ cached (\S+)", shown) == cached
        assert found(r"╌ prefill (\S+)", shown) == prefill
        in_sum = found(r"session +\d+ +\S+ +(\S+ +\S+)", printed(session, "/stats all")).split()
        assert in_sum == [figures.format_amount(sums.cached), figures.format_amount(sums.prefill)]
        together = found(r"total +\d+ +\S+ +(\S+)", printed(session, "/tree"))
        assert together == figures.format_short(sums.prefill.tokens, sums.prefill.exact)
        line = jsonl.session_fields(session)
        assert line["cached_tokens"] == asdict(sums.cached)
        assert [row["cached"] for row in thimble.ledger(session)] == [call.cached.tokens for call in ledger.calls]
        document = json.loads("".join(export(session)))
        answers = (call for call in ledger.calls if call.purpose == "answer")
        events = document["branches"][0]["events"]
        replies = [event["cached"] for event in events if event["type"] == "replied"]
        assert replies == [asdict(call.cached) for call in answers]
        session.leave()
        journal = Journal.reopen(path)
        saved = saved_state(journal.tree.path(journal.tree.current))
        resumed = Session(Settings(backend="reader", strategy=spec, budget=4_000), journal, saved)
        assert told(resumed) == told(session)
        assert footer_line(resumed.agent, 200).split(" · ")[2] == f"cached {cached}"
        assert found(r"═ cached (\S+)", printed(resumed, "/context")) == cached
        resumed.leave()
