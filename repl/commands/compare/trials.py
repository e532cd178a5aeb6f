"""Asking: one question under each strategy, one after the other, and what is shown of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from rich.console import Console
from rich.text import Text

from agent.errors import Stopped
from agent.ledger import Amount
from corpus.questions import Exchange
from repl.commands.compare.known import known, verdict
from repl.commands.compare.progress import progress
from repl.commands.compare.replay_tables import marked_in_use
from repl.commands.compare.trial import Trial, ask
from repl.screen.sanitise import clean, line
from repl.screen.tables import Table
from repl.screen.theme import is_drawn, say
from repl.screen.trace import cut
from session import figures
from session.session import Session

ANSWER_LINES = 6
ANSWER_CHARACTERS = 600
"""How much of an answer is shown where lines are drawn, and where they are read out."""


def ask_each(session: Session, specs: Sequence[str], question: str, console: Console) -> None:
    """Ask under each of these strategies, and show what came of it; one that fails is a row.

    Raises:
        NotRecorded: a cassette is played that does not hold this; nothing is shown.
        Stopped: the user pressed Ctrl-C; what was done is shown.
    """
    agent, found, done = session.agent, list[Trial](), 0
    exchange = known(question, session.settings)
    try:
        with progress(console, specs, agent.max_turns) as bars:
            for place, spec in enumerate(specs):
                found.append(Trial(spec))
                asking = partial(_ask, session, question, found[-1], partial(bars.say, place))
                found[-1] = session.aside(("compare", spec, question), Trial, asking)
                done += 1
                bars.done(place, in_brief(found[-1], exchange))
    except KeyboardInterrupt:
        show_asked(session, found, question, exchange, console)
        raise Stopped(f"stopped: {done} of {len(specs)} strategies") from None
    show_asked(session, found, question, exchange, console)


def _ask(session: Session, question: str, found: Trial, on_step: Callable[[str, bool], None]) -> Trial:
    ask(session.fork("" if found.spec == session.spec else found.spec), question, found, on_step)
    return found


def show_asked(
    session: Session, found: Sequence[Trial], question: str, exchange: Exchange | None, console: Console
) -> None:
    """Print the outcome and the cost under each strategy, then the answers."""
    if not found:
        return
    names = [marked_in_use(session, one.spec, console) for one in found]
    title = cut(f"Asked under each: {line(question)}", max(console.width, 80))
    came = [(name, came_to(one), verdict_on(one, exchange)) for name, one in zip(names, found, strict=True)]
    Table(title, ("strategy", "came to", "known answer"), came).show(console)
    console.print()
    costs = [
        (name, str(one.turns), *map(_short, (one.prompt, one.prefill, one.out)), f"{one.seconds:.1f}", _short(one.cost))
        for name, one in zip(names, found, strict=True)
    ]
    columns = ("strategy", ">turns", ">prompt", ">prefill", ">out", ">seconds", ">cost")
    Table("What it cost", columns, costs).show(console)
    show_answers(found, names, console)


def came_to(one: Trial) -> str | Text:
    """How the question ended under a strategy, and the calls for it that were over the budget."""
    if not one.over:
        return one.outcome
    return Text(line(f"{one.outcome}, {figures.over(one.over, one.most_over, one.prompt.exact)}"), style="over")


def show_answers(found: Sequence[Trial], names: Sequence[str], console: Console) -> None:
    """Print the beginning of each answer under its strategy; equal answers are printed once."""
    first: dict[str, str] = {}
    for one, name in zip(found, names, strict=True):
        answer = clean(one.answer).strip()
        if not answer:
            continue
        same = first.setdefault(answer, one.spec)
        console.print()
        if same != one.spec:
            console.print(Text.assemble((f"{line(name)}:", "name"), f" the same as {line(same)}"))
            continue
        say(console, f"{line(name)}:", "name")
        for text in shortened(answer, console):
            say(console, f"  {text}")


def shortened(answer: str, console: Console) -> list[str]:
    """The first lines of an answer, and how much there is more of it."""
    if not is_drawn(console):
        words = line(answer)
        more = len(words) - ANSWER_CHARACTERS
        return [f"{words[:ANSWER_CHARACTERS]} … ({more:,} more characters)" if more > 0 else words]
    wrapped = Text(answer).wrap(console, max(20, console.width - 4))
    lines = [text.plain.rstrip() for text in wrapped if text.plain.strip()]
    more = len(lines) - ANSWER_LINES
    return [*lines[:ANSWER_LINES], f"… ({figures.several(more, 'more line')})"] if more > 1 else lines


def _short(of: Amount) -> str:
    return figures.short(of.tokens, of.exact)


def verdict_on(one: Trial, exchange: Exchange | None) -> str:
    """Whether the known answer was hit; of a question without an answer that is not asked."""
    return verdict(exchange, one.answer) if one.answer.strip() else "–"


def in_brief(one: Trial, exchange: Exchange | None) -> str:
    """The result of a strategy in a few words, for the progress display."""
    hit = verdict_on(one, exchange).partition(":")[0]
    return one.outcome.partition(":")[0] + ", over the budget" * bool(one.over) + (f", {hit}" if hit != "–" else "")
