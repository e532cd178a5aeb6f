"""The timeline: its sums are those of a drawing on squared paper, and it is the same live, read back and played."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.branched_sessions import run, session_in
from tests.support.sessions import answer_call, ask
from thimble.agent.ledger import Call, Ledger, ToolRun
from thimble.agent.protocols import ModelId, Usage
from thimble.commands.timeline import Timeline, make_timeline
from thimble.repl.cli.recordings import SHIPPED, playback_settings
from thimble.session.journal.lines import read_lines
from thimble.session.journal.state import saved_state
from thimble.session.playback import Playback, read_recording
from thimble.session.session import Session
from thimble.session.settings import Settings
from thimble.session.step_worker import StepWorker

AGENT, MEMORY = ModelId("s", "agent"), ModelId("s", "memory")
TICKS = st.integers(0, 9)
USAGES = st.builds(
    Usage,
    prefill_seconds=st.one_of(st.none(), st.integers(0, 12).map(float)),
    decode_seconds=st.one_of(st.none(), st.integers(0, 12).map(float)),
)
CLOCK = 1_000_000
QUESTIONS = ("What?", "And?", "So?")


@st.composite
def ledgers(draw: st.DrawFn) -> tuple[Ledger, set[int], set[int]]:
    """An agent that does one thing after the other, and a memory model beside it, in whole seconds.

    Also the seconds in which the memory model works, and those in which the agent waits.
    """
    ledger, now, works, waits, free = Ledger(), CLOCK, set[int](), set[int](), CLOCK
    for exchange in range(1, draw(st.integers(1, 3)) + 1):
        for _ in range(draw(st.integers(0, 4))):
            seconds = draw(TICKS)
            match draw(st.sampled_from(["agent", "side", "tool", "memory"])):
                case "tool":
                    ledger.tools.append(ToolRun(exchange, "search", seconds, now))
                    now += seconds
                case "memory":
                    began = max(free, now - draw(TICKS))
                    free = began + seconds
                    held = max(0, free - now) if draw(st.booleans()) else 0
                    ledger.calls.append(_call(draw, exchange, "memory", began, seconds, lag=1, held=float(held)))
                    works |= {*range(began, free)}
                    waits |= {*range(free - held, free)}
                    now = free if held else now
                case "side" as purpose:
                    ledger.calls.append(_call(draw, exchange, purpose, now, seconds))
                    waits |= {*range(now, now + seconds)}
                    now += seconds
                case _:
                    ledger.calls.append(_call(draw, exchange, "answer", now, seconds))
                    now += seconds
    return ledger, works, waits


def _call(draw: st.DrawFn, exchange: int, purpose: str, began: int, seconds: int, **rest: object) -> Call:
    waited = draw(st.integers(0, seconds))
    return answer_call(
        exchange,
        purpose=purpose,
        began=float(began),
        seconds=float(seconds - waited),
        waited=float(waited),
        first_token=draw(st.one_of(st.none(), st.integers(0, seconds).map(float))),
        usage=draw(USAGES),
        model=AGENT if purpose == "answer" else MEMORY,
        **rest,
    )


def sums(of: Timeline) -> list[float]:
    return [of.seconds, of.overlapped, of.waited, of.saved, of.busy("agent"), of.busy("memory", "side")]


@settings(max_examples=40)
@given(ledgers())
def test_the_sums_are_those_of_squared_paper(made: tuple[Ledger, set[int], set[int]]) -> None:
    ledger, works, waits = made
    of = make_timeline(ledger)
    side = [call for call in ledger.calls if call.purpose != "answer"]
    background = sum(call.seconds + call.waited for call in side if call.lag is not None)
    assert of.overlapped == pytest.approx(len(works - waits))
    assert of.saved == pytest.approx(background - sum(min(call.held, call.seconds + call.waited) for call in side))
    assert of.busy("memory", "side") == pytest.approx(sum(call.seconds + call.waited for call in side))
    assert of.overlapped + of.waited <= of.busy("memory", "side") + 1e-6


@settings(max_examples=40)
@given(ledgers())
def test_one_lane_does_one_thing_at_a_time_and_a_step_is_its_parts(made: tuple[Ledger, set[int], set[int]]) -> None:
    of = make_timeline(made[0])
    for lane in of.lanes():
        spans = [span for span in of.spans if span.lane == lane and span.seconds]
        reached = float("-inf")
        for span in sorted(spans, key=lambda span: span.began):
            assert span.began >= reached - 1e-6
            reached = span.ended
    wanted = [call.seconds + call.waited for call in made[0].calls] + [run.seconds for run in made[0].tools]
    assert sorted(step.seconds for step in (*of.steps, *of.unplaced)) == pytest.approx(sorted(wanted))
    assert all(seconds >= 0 for step in of.steps for _, seconds in step.parts)


@settings(max_examples=40)
@given(ledgers(), st.integers(0, 10**6))
def test_no_sum_depends_on_the_clock(made: tuple[Ledger, set[int], set[int]], shift: int) -> None:
    ledger = made[0]
    later = Ledger(
        [replace(call, began=call.began + shift) for call in ledger.calls],
        [replace(run, began=run.began + shift) for run in ledger.tools],
    )
    for exchange in (None, 1, 2):
        assert sums(make_timeline(later, exchange)) == pytest.approx(sums(make_timeline(ledger, exchange)))


@settings(max_examples=40)
@given(ledgers(), st.integers(1, 10**6))
def test_the_pause_of_a_user_counts_for_nothing(made: tuple[Ledger, set[int], set[int]], pause: int) -> None:
    ledger, waited = made[0], lambda one: replace(one, began=one.began + (pause if one.exchange > 1 else 0))
    first = [one for one in (*ledger.calls, *ledger.tools) if one.exchange == 1]
    last = max((one.began + one.seconds + getattr(one, "waited", 0) for one in first), default=0)
    if all(one.began >= last for one in (*ledger.calls, *ledger.tools) if one.exchange > 1):
        later = Ledger([*map(waited, ledger.calls)], [*map(waited, ledger.tools)])
        assert make_timeline(later).seconds == pytest.approx(make_timeline(ledger).seconds)


def test_what_a_server_reports_comes_first_then_the_first_token_else_a_call_is_undivided() -> None:
    call = answer_call(began=100.0, seconds=4.0, waited=1.0)
    for usage, first, parts in (
        (Usage(prefill_seconds=1.5, decode_seconds=2.0), 2.0, [("load", 1.5), ("prefill", 1.5), ("decode", 2.0)]),
        (Usage(prefill_seconds=1.5), None, [("load", 1.0), ("prefill", 1.5), ("decode", 2.5)]),
        (Usage(), 3.0, [("load", 1.0), ("prefill", 2.0), ("decode", 2.0)]),
        (Usage(), None, [("load", 1.0), ("call", 4.0)]),
        (Usage(prefill_seconds=90.0, decode_seconds=2.0), None, [("prefill", 3.0), ("decode", 2.0)]),
    ):
        (step,) = make_timeline(Ledger([replace(call, usage=usage, first_token=first)])).steps
        assert [*step.parts] == parts


def test_a_step_without_a_clock_is_told_apart() -> None:
    of = make_timeline(Ledger([answer_call(seconds=2.0)], [ToolRun(1, "search", 1.0)]))
    assert (of.steps, len(of.unplaced), of.seconds, of.busy("agent")) == ((), 2, 0.0, 2.0)


def _asked(path: Path, strategy: str = "none") -> Ledger:
    session = session_in(path, strategy=strategy)
    session.agent.side.worker = StepWorker(1)
    for question in QUESTIONS:
        ask(session, question)
    session.leave()
    return session.agent.ledger


def _played(data: bytes) -> Ledger:
    recording = read_recording(data, "one")
    settings = playback_settings(Settings(), recording)
    session = Session(settings, playback=Playback(recording, "one", lambda seconds, line: 0.0))
    for _, text in recording.typed_lines:
        run(session, text)
    return session.agent.ledger


@pytest.mark.parametrize("strategy", ["none", "comem:k=1"])
def test_it_is_the_same_live_read_back_and_played(strategy: str, tmp_path: Path) -> None:
    live = _asked(tmp_path / "one.jsonl", strategy)
    data = (tmp_path / "one.jsonl").read_bytes()
    for other in (saved_state(read_lines(data)[0]).ledger, _played(data)):
        for exchange in (None, *range(1, live.exchanges + 1)):
            assert make_timeline(other, exchange) == make_timeline(live, exchange)
    of = make_timeline(live)
    assert len(of.steps) == sum(one.began > 0 for one in (*live.calls, *live.tools)), "all but a call that never began"
    assert any(step.lane.role == "memory" for step in of.steps) == (strategy != "none")


def test_a_recording_with_calls_in_the_background_is_read_as_it_is_played() -> None:
    data = (SHIPPED / "reader" / "comem.jsonl").read_bytes()
    read_back, played = make_timeline(saved_state(read_lines(data)[0]).ledger), make_timeline(_played(data))
    assert read_back == played
    assert [played.busy(role) > 0 for role in ("agent", "memory", "side")] == [True, True, False]
