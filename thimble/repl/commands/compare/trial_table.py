"""One question, really asked under each strategy: a table of costs, then how each ended."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from thimble.agent.errors import Stopped
from thimble.agent.ledger import Amount
from thimble.commands.trial import Trial, ask_fork, find_known_exchange, judge_answer
from thimble.corpus.questions import Exchange
from thimble.repl.commands.compare.each import under_each
from thimble.repl.screen.sanitise import clean, one_line
from thimble.repl.screen.tables import Table
from thimble.repl.screen.theme import in_use, is_drawn, say
from thimble.repl.screen.trace import cut_line
from thimble.session import figures
from thimble.session.session import Session

ANSWER_CHARACTERS = 600
"""The most characters of an answer that are shown."""


def ask_each(session: Session, specs: Sequence[str], question: str, console: Console) -> None:
    """Ask under each of these strategies, and show the results; a failed one has a row, too.

    Raises:
        NotRecorded: the recording that is played does not hold this; nothing is shown.
        Stopped: the user pressed Ctrl-C; the finished rows are shown.
    """
    found, exchange = list[Trial](), find_known_exchange(question, session.settings)

    def asked(spec: str) -> None:
        found.append(Trial(spec))
        fork = partial(session.fork, "" if spec == session.spec else spec)
        found[-1] = session.ask_aside(("compare", spec, question), Trial, lambda: ask_fork(fork(), question, found[-1]))
        if not is_drawn(console):
            say(
                console,
                f"done {len(found)} of {len(specs)}, {one_line(spec)}: {one_line(describe_trial(found[-1], exchange))}",
            )

    try:
        under_each(specs, asked, console, "asking")
    except Stopped:
        show_asked(session, found, question, exchange, console)
        raise
    show_asked(session, found, question, exchange, console)


def show_asked(
    session: Session, found: Sequence[Trial], question: str, exchange: Exchange | None, console: Console
) -> None:
    """Print the cost under each strategy, then the outcome and the beginning of each answer; equal answers once."""
    if not found:
        return
    names = [f"{one.spec}{in_use(console, one.spec == session.spec)}" for one in found]
    rows = [
        (
            f"{name}{' OVER' * bool(one.over)}",
            str(one.turns),
            *map(_short, (one.prompt, one.prefill, one.out)),
            f"{one.seconds:.1f}",
            _short(one.cost),
        )
        for name, one in zip(names, found, strict=True)
    ]
    columns = ("strategy", ">turns", ">prompt", ">prefill", ">out", ">seconds", ">cost")
    Table(cut_line(f"Asked under each: {one_line(question)}", max(console.width, 80)), columns, rows).show(console)
    first: dict[str, str] = {}
    for one, name in zip(found, names, strict=True):
        console.print()
        ended = Text(describe_trial(one, exchange), style="over" if one.over else "")
        console.print(Text.assemble((f"{one_line(name)}: ", "name"), ended))
        answer = one_line(clean(one.answer))
        same = first.setdefault(answer, one.spec)
        if answer and same != one.spec:
            say(console, f"  the same answer as {one_line(same)}", "quiet")
        elif answer:
            shown = Text(f"{answer[:ANSWER_CHARACTERS]}{' …' if len(answer) > ANSWER_CHARACTERS else ''}")
            console.print(Padding(shown, (0, 0, 0, 2), expand=False) if is_drawn(console) else Text("  ") + shown)


def describe_trial(one: Trial, exchange: Exchange | None) -> str:
    """`answered, known answer: right`: how it ended, calls over the budget, and the verdict if the answer is known.

    Safe to print.
    """
    over = figures.describe_overflow(one.over, one.most_over, one.prompt.exact) if one.over else ""
    hit = f"known answer: {judge_answer(exchange, one.answer)}" if exchange and one.answer.strip() else ""
    return one_line(", ".join(filter(None, (one.outcome, over, hit))))


def _short(of: Amount) -> str:
    return figures.format_short(of.tokens, of.exact)
