"""/timeline: every step is in the chart or told to be too short; plain lines have all numbers; Eq. 8 in words."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.histories import TinyCounter
from tests.support.scripted import Scripted
from tests.support.sessions import answer_call, ask, tool_call
from thimble.agent.ledger import Amount, Ledger, ToolRun
from thimble.agent.protocols import ModelId, Usage
from thimble.commands.timeline import make_timeline
from thimble.models.hardware import HARDWARE, Hardware
from thimble.repl.commands.timeline import explain_bound
from thimble.repl.screen.gantt import draw_axis, draw_chart
from thimble.session.session import Session
from thimble.session.settings import Settings


@settings(max_examples=40)
@given(st.lists(st.tuples(st.floats(0, 1e5), st.floats(0, 1e4)), min_size=1, max_size=12), st.integers(30, 200))
def test_every_span_is_in_the_chart_or_told_to_be_hidden(runs: list[tuple[float, float]], columns: int) -> None:
    ledger, now = Ledger(), 1e6
    for gap, seconds in runs:
        ledger.tools.append(ToolRun(1, "search", seconds, now + gap))
        now += gap + seconds
    of = make_timeline(ledger, 1)
    made = draw_chart(of, columns)
    bar = made.rows[0].plain.removeprefix("tools  ")
    assert len(of.spans) - len(made.hidden) == bar.count("T")
    assert all(len(row.plain) <= columns for row in made.rows[:2])


@settings(max_examples=40)
@given(st.floats(0, 1e7), st.integers(20, 300))
def test_the_axis_has_its_ticks_where_their_times_are(seconds: float, cells: int) -> None:
    marks = draw_axis(seconds, cells)
    assert len(marks) == cells
    assert marks.startswith("|0")
    assert marks.count("|") <= 1 + cells / 16
    for told in re.finditer(r"\|(\d[\d.]*) (ms|s)( |$)", marks):
        value = float(told[1]) / (1000 if told[2] == "ms" else 1)
        assert abs(told.start() - value * cells / max(seconds, 0.001)) <= 1


def summarised(**settings: Any) -> Session:
    """A session whose newest prompt has a summary; a scripted model has no pace, and reports no seconds."""
    reads = (tool_call("read_article", n, slug="glossary", page=n) for n in range(1, 6))
    steps = [lambda messages, tools: next(reads, "So.") if tools else "A short summary [glossary]."] * 12
    found = Session(Settings(backend="reader", strategy="llm-summary:every=2,tail=1", budget=20_000, **settings))
    found.agent.use(Scripted(steps, TinyCounter()))
    ask(found)
    view = found.agent.ledger.view
    assert view
    assert any(message.covers for message in view.messages), "a summary stands in the prompt"
    return found


def test_eq_8_in_words() -> None:
    session = summarised()
    (said,) = explain_bound(session)
    assert re.match(r"The summary of \d+ tokens replaces [\d,]+\. Whether that pays is unknown: it", said)
    prepared = session.agent.ledger.prepared
    assert prepared
    session.agent.ledger.calls[:] = [
        answer_call(prompt=size, output=Amount(100), cached=Amount(0), model=prepared.model,
            usage=Usage(prompt_tokens=size, cached_tokens=0, output_tokens=100, prefill_seconds=size / 1_000,
                decode_seconds=100 * (0.01 + 1e-5 * (size + 50))))
        for size in (1_000, 2_000, 4_000)
    ]  # fmt: skip
    (said,) = explain_bound(session)
    most = r" and (pays|does not pay): one of up to [\d,]+ tokens would"
    assert re.search(rf"{most} \(CoMem, Eq\. 8\), at 1,000 tokens/s of prefill, 10 ms", said)


@pytest.mark.parametrize("pace", ["a100-32b,a100-4b", "mine"])
def test_at_the_pace_of_a_machine_eq_8_is_that_of_the_machine(pace: str) -> None:
    """The case study of the paper (3.3): 600 / (600 + 2,000) of the context, by 1,000 tokens for each summary."""
    session = summarised(pace=pace, hardware={**HARDWARE, "mine": Hardware(3000, 0.03, 1e-7)})
    ledger = session.agent.ledger
    ledger.prepared = replace(ledger.prepared, model=ModelId("reader", "extractive"))  # type: ignore[type-var]
    ledger.calls[:] = [answer_call(output=Amount(1_000))]
    (said,) = explain_bound(session)
    short, full = (int(word.replace(",", "")) for word in re.findall(r"[\d,]+\d", said)[:2])
    most = int(600 / 2_600 * full)
    assert said == (
        f"The summary of {short} tokens replaces {full:,} and {'pays' if short <= most else 'does not pay'}: "
        f"one of up to {most:,} tokens would (CoMem, Eq. 8), at {pace.partition(',')[0]}, described: 3,000 tokens/s of "
        "prefill, 0.1 ms more per written token for each 1,000 of context, and 1,000 tokens that the agent writes "
        "for each summary."
    )
    ledger.prepared = replace(ledger.prepared, model=ModelId("ollama", "qwen3:8b"))  # type: ignore[type-var]
    assert "is unknown" in next(explain_bound(session)), "a model of a server takes its own time"
