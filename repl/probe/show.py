"""/probe on the screen: each answer with its verdict, then how long the fact survives under each strategy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from repl import figures, trace
from repl.probe.ask import MOST, Probe, probe, questions, stands, where
from repl.probe.chart import chart, moving
from repl.sanitise import line
from repl.theme import is_drawn

if TYPE_CHECKING:
    from repl.session import Session

ANSWER_LINES = 4


def show_probe(session: Session, question: str, console: Console) -> None:
    """Ask, and show what came back; then follow the facts through the calls of this session.

    Raises:
        UsageError: there is neither a question nor a fact.
        BudgetError, ModelError: the question could not be asked.
        KeyboardInterrupt: the user stopped it; its text says what was done.
    """
    asked = questions(session, question)
    for text, planted in asked:
        with moving(console, "asking out of band"):
            found = probe(session, text, planted)
        for shown in outcome(found, console.width * ANSWER_LINES, is_drawn(console)):
            console.print(shown)
    if session.planted:
        chart(session, session.planted[-MOST:], console)


def outcome(found: Probe, longest: int, drawn: bool) -> Iterator[Text]:
    """The question, the answer, the verdict, and where the fact stands in what was sent."""
    question, answer = ("  ? ", "  » ") if drawn else ("question: ", "answer: ")
    for call in found.side_calls:
        yield Text(trace.side_line(call), style="act")
    yield Text(f"{question}{line(found.question)}", style="bold")
    yield Text(f"{answer}{trace.cut(line(found.answer), longest) or '(not a word)'}")
    yield _verdict(found, drawn)
    if found.planted:
        there = stands(found.view, found.planted)
        unsaid = " It was there to be read." if there and found.missing else ""
        place = f"{line(where(found.view, found.planted))}{unsaid}"
        yield Text(f"{'    ' if drawn else 'where: '}{place}", style="" if there else "warn")
    yield Text("")


def _verdict(found: Probe, drawn: bool) -> Text:
    cost = (
        f"{figures.tokens(found.tokens, found.exact)} tokens in, {figures.tokens(found.usage.output_tokens)} out, "
        f"{figures.duration(found.seconds)}; nothing of it stays in the session"
    )
    if found.missing is None:
        why = "The question says it all: no verdict. " if found.planted else ""
        return Text(f"{'    ' if drawn else 'cost: '}{why}{cost}", style="quiet")
    lost = ", ".join(map(line, found.missing[:8])) + ("…" if len(found.missing) > 8 else "")
    hit, sign = not found.missing, ("✓ " if not found.missing else "✗ ") if drawn else ""
    said = "HIT: every word and figure of it" if hit else f"MISS, not said: {lost}"
    return Text.assemble(
        "  " * drawn, (f"{sign}{said}", "mark" if hit else "over"), (f" · {cost}" if drawn else f"; {cost}", "quiet")
    )
