"""/timeline: when each model computed, when tools ran, and when the agent waited."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console

from thimble.agent.errors import UsageError
from thimble.agent.ledger import Call
from thimble.agent.messages import Message
from thimble.agent.protocols import ModelId
from thimble.commands.timeline import Span, Timeline, make_timeline
from thimble.models import READER
from thimble.models.hardware import Hardware, fit_hardware, largest_summary
from thimble.models.pace import parse_machines
from thimble.repl.commands.command import command, one_of
from thimble.repl.screen.gantt import SPAN_KINDS, draw_chart, name_of
from thimble.repl.screen.sanitise import one_line
from thimble.repl.screen.tables import Table
from thimble.repl.screen.theme import is_drawn, say
from thimble.session import figures
from thimble.session.session import Session
from thimble.tools.wording import count_noun

SUMMARISERS = ("memory", "summary", "brief")
"""The purposes of calls that write a summary."""


@command("timeline [N | all]", "Calls", completer=one_of("all"))
def show_timeline(session: Session, rest: str, console: Console) -> None:
    """Show when models computed and the agent waited.

    The last exchange, exchange N, or (all) the session without your pauses: a row for the agent, for each side model,
    for the tools, and for the time in which the agent waited for a side model. Below come the sums, and whether the
    summary in use pays (CoMem, Eq. 8).
    """
    which = _parse_exchange(session, rest)
    of = make_timeline(session.agent.ledger, which)
    name = f"Exchange {which}" if which else "The session"
    if not of.steps:
        say(console, f"{name} has no timeline: no finished step has a recorded time.")
        return
    say(console, f"{name}: {figures.format_duration(of.seconds)}", "bold")
    _show_steps(of, console)
    for text in describe_seconds(of):
        say(console, text)
    if of.unplaced:
        left = count_noun(len(of.unplaced), "step")
        say(console, f"Left out: {left} without a recorded start time.")
    for text in explain_bound(session) if which in (None, session.agent.ledger.exchanges) else ():
        say(console, text)


def _parse_exchange(session: Session, words: str) -> int | None:
    """The number of the exchange to show; None for the whole session. Raises UsageError."""
    last = session.agent.ledger.exchanges
    if words == "all":
        return None
    if not words and last:
        return last
    if words.isdecimal() and len(words) < 9 and 1 <= int(words) <= last:
        return int(words)
    if not last:
        raise UsageError("there is no timeline yet", "ask a question first")
    raise UsageError(f"there is no exchange {words[:40]!r}", f"write /timeline N with N from 1 to {last}, or all")


def _show_steps(of: Timeline, console: Console) -> None:
    """Print the chart, or a line for each span in plain output."""
    if is_drawn(console):
        made = draw_chart(of, console.width)
        for row in made.rows:
            console.print(row, overflow="crop")
        if made.hidden:
            longest = figures.format_duration(max(span.seconds for span in made.hidden))
            said = f"Too short to draw: {count_noun(len(made.hidden), 'block')} of at most {longest}."
            say(console, said, "quiet")
    else:
        spans = sorted(of.spans, key=lambda span: span.began)
        rows = [(f"from {span.began - spans[0].began:.3f} s", describe_span(span)) for span in spans]
        Table("Step by step:", ("", ""), rows).show(console)


def describe_span(span: Span) -> str:
    """`agent qwen3:8b: decode, 1.5 s`: the activity of a span, and the purpose of a side model."""
    what = one_line(span.what) if span.kind == "tool" else SPAN_KINDS[span.kind][3]
    purpose = f", for {one_line(span.what)}" if span.lane.role in ("memory", "side", "waiting") else ""
    return f"{name_of(span.lane)}: {what}, {figures.format_duration(span.seconds)}{purpose}"


def describe_seconds(of: Timeline) -> Iterator[str]:
    """The seconds in words: in all, of the agent, side models and tools, and of waits for side models."""
    took = figures.format_duration
    sides = of.busy("memory", "side")
    side = f" · side models {took(sides)}" if sides else ""
    yield f"{took(of.seconds)} in all · agent {took(of.busy('agent'))}{side} · tools {took(of.busy('tools'))}"
    if sides:
        saved = f" · saved {took(of.saved)} compared with waiting for each" if of.busy("memory") else ""
        yield f"side models beside the agent {took(of.overlapped)} · the agent waited {took(of.waited)}{saved}"


def explain_bound(session: Session) -> Iterator[str]:
    """Whether the summaries of the newest prompt pay (CoMem, Eq. 6 to 8).

    Computed for the machine of --pace, if the agent's model keeps its pace, else from the timings of this session.
    """
    agent, view = session.agent, session.agent.ledger.view
    summaries = [message for message in view.messages if message.covers] if view else []
    if view is None or not summaries:
        return
    budget, there = agent.budget(()), {message.id: message for message in view.history}
    short = sum(map(budget.count, summaries))
    covered: dict[str, Message] = {one: there[one] for each in summaries for one in each.covers if one in there}
    full = sum(map(budget.count, covered.values()))
    mark = agent.backend.counter.exact
    stands = f"The summary of {figures.format_tokens(short, mark)} tokens replaces {figures.format_tokens(full, mark)}"
    model = agent.ledger.prepared.model if agent.ledger.prepared else agent.backend.id
    answers = [call for call in agent.ledger.calls if call.purpose == "answer" and call.model == model]
    described, written = _machine(session, model), _tokens_per_summary(agent.ledger.calls)
    hardware = described or fit_hardware(answers)
    if hardware is None:
        yield f"{stands}. Whether that pays is unknown: it takes three timed calls with contexts of different sizes."
    elif written is None:
        yield f"{stands}. Whether that pays is unknown: the server does not report the tokens that it wrote."
    else:
        source = f"{session.settings.pace.partition(',')[0].strip()}, described: " if described else ""
        yield f"{stands} and {_judge_bound(hardware, source, short, full, written)}"


def _machine(session: Session, model: ModelId) -> Hardware | None:
    """The machine of --pace, if this model keeps its pace; None for a model that runs at its own."""
    settings = session.settings
    pair = parse_machines(settings.pace, settings.hardware)
    return pair[0] if pair and model.backend == READER and not session.playback else None


def _judge_bound(hardware: Hardware, source: str, short: int, full: int, written: int) -> str:
    most = largest_summary(hardware, full, written)
    slower = f"{hardware.slope * 1e6:.3g} ms more per written token for each 1,000 of context"
    rate = f"{hardware.prefill:,.0f} tokens/s of prefill, {slower}"
    by = f"at {source}{rate}, and {written:,} tokens that the agent writes for each summary"
    if not most:
        return f"does not pay: no summary would (CoMem, Eq. 8), {by}."
    return f"{'pays' if short <= most else 'does not pay'}: one of up to {most:,} tokens would (CoMem, Eq. 8), {by}."


def _tokens_per_summary(calls: list[Call]) -> int | None:
    """The tokens that the agent wrote per summary, on average; None if unknown."""
    outputs = [call.output.tokens for call in calls if call.purpose == "answer"]
    made = sum(call.purpose in SUMMARISERS for call in calls)
    if not outputs or any(output is None for output in outputs):
        return None
    return round(sum(output or 0 for output in outputs) / max(1, made))
