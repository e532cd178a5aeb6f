"""/probe: each answer with its verdict, then the survival of the fact under each strategy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from rich.console import Console, RenderableType
from rich.text import Text

from thimble.repl.commands.command import command
from thimble.repl.commands.probe.probe import MAX_FACTS, Probe, choose_questions, probe
from thimble.repl.commands.probe.survival import show_survival
from thimble.repl.screen import trace
from thimble.repl.screen.sanitise import one_line
from thimble.repl.screen.theme import is_drawn, show_progress
from thimble.session import figures
from thimble.session.session import Session

ANSWER_LINES = 4
MOST_MISSING = 8
Kind = Literal["asked first", "question", "answer", "hit", "miss", "no verdict", "where", "cost"]
KIND_SIGNS: dict[Kind, str] = {"question": "?", "answer": "»", "hit": "✓", "miss": "✗", "no verdict": "–"}


@command("probe [QUESTION]", "Experiments")
def show_probe(session: Session, question: str, console: Console) -> None:
    """Ask about a planted fact, outside the session.

    Sends the model its next prompt, without tools, and asks for the newest planted facts or the QUESTION. Then replays
    the session under each strategy that calls no model: a cell for each call shows whether the prompt has the fact.
    Ctrl-C keeps the finished rows.
    """
    asked = choose_questions(session, question)
    for text, planted in asked:
        with show_progress(console, "asking outside the session"):
            found = probe(session, text, planted)
        for said in outcome(found, console.width * ANSWER_LINES):
            console.print(_lay_out(*said, drawn=is_drawn(console)))
    if session.planted:
        if is_drawn(console):
            console.print()
        show_survival(session, session.planted[-MAX_FACTS:], console)


def outcome(found: Probe, longest: int) -> Iterator[tuple[Kind, str, str]]:
    """Question, answer, verdict, cost and place of the fact, each with its kind, words and style.

    `longest` is the most columns of the answer that are shown.
    """
    for call in found.side_calls:
        yield "asked first", trace.side_line(call).strip(), "act"
    yield "question", one_line(found.question), "bold"
    yield "answer", trace.cut_line(one_line(found.answer), longest) or "(empty)", ""
    if found.planted:
        yield _verdict(found)
        unsaid = " The model could have read it." if found.stands and found.missing else ""
        yield "where", f"{one_line(found.where)}{unsaid}", "" if found.stands else "warn"
    prompt = figures.format_tokens(found.tokens, found.exact)
    output, seconds = figures.format_tokens(found.usage.output_tokens), figures.format_duration(found.seconds)
    spent = f"{prompt} tokens in, {output} out, {seconds}"
    yield "cost", f"{spent}; none of it enters the session", "quiet"


def _verdict(found: Probe) -> tuple[Kind, str, str]:
    if found.missing is None:
        return "no verdict", "the question itself states the whole fact", "warn"
    lost = ", ".join(map(one_line, found.missing[:MOST_MISSING]))
    more = f" and {len(found.missing) - MOST_MISSING} more" if len(found.missing) > MOST_MISSING else ""
    return ("miss", f"not stated: {lost}{more}", "over") if lost else ("hit", "it states every word and figure", "mark")


def _lay_out(kind: Kind, text: str, style: str, drawn: bool) -> RenderableType:
    if not drawn:
        return Text(f"{kind}: {text}")
    from rich.table import Table

    verdict = f"{kind.upper()}: " if kind in ("hit", "miss", "no verdict") else ""
    grid = Table.grid(padding=(0, 1))
    grid.add_row(f"{KIND_SIGNS.get(kind, ''):>3}", Text(f"{verdict}{text}", style=style))
    return grid
