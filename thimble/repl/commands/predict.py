"""/predict: list the messages by number, take a guess, and score it."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Sequence
from itertools import groupby

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from thimble.commands.guess import guess_of, parse_guess
from thimble.commands.why import why
from thimble.repl.commands.command import command, one_of
from thimble.repl.commands.context.listing import first_words
from thimble.repl.screen import trace
from thimble.repl.screen.sanitise import one_line
from thimble.repl.screen.tables import Table
from thimble.repl.screen.theme import is_drawn, say
from thimble.session import figures
from thimble.session.session import Session
from thimble.tools.wording import count_noun

HOW_TO_GUESS = "Guess which stay unchanged: /predict 1-4 9 12, /predict all or /predict none."


@command("predict [GUESS]", "Experiments", completer=one_of("all", "none", "off"))
def predict(session: Session, text: str, console: Console) -> None:
    """Guess which messages the next prompt holds unchanged.

    Without GUESS it lists the messages with their numbers. /predict 1-4 9 12: these stay unchanged, the others do
    not; /predict all and /predict none are guesses too. After the next exchange you see your score, and the rule for
    every surprise. A second guess replaces the first; /predict off removes it.
    """
    if text.lower() == "off":
        had = session.watchers.pop("guess", None)
        say(console, "The guess is removed." if had else "There is no guess to remove.")
    elif text:
        guess = parse_guess(session.agent.history, text)
        session.watchers["guess"] = guess
        stay, of = len(guess.stays), len(guess.messages)
        say(console, f"The guess: {stay:,} of {count_noun(of, 'message')} stay unchanged.")
        if 0 < stay < of:
            say(console, f"  {trace.cut_line(format_ranges(sorted(guess.stays)), console.width - 4)}", "name")
        say(console, "Ask your question: after the answer you will see your score.", "quiet")
    elif not session.agent.history:
        say(console, "There are no messages to guess about yet: ask a question first, or /plant a fact.")
    else:
        messages(session, console.width if is_drawn(console) else 160).show(console)
        if guessed := guess_of(session):
            say(console, f"The guess so far: {format_ranges(sorted(guessed.stays)) or 'none'} stay.", "name")
        say(console, HOW_TO_GUESS, "quiet")


def show_reveal(session: Session, console: Console) -> None:
    """Print the score of the guess, if its prompt was sent."""
    for text in reveal_score(session):
        if not is_drawn(console):
            say(console, text)
        elif text.startswith(" "):
            console.print(Padding(Text(text.strip()), (0, 0, 0, 2), expand=False))
        else:
            console.print(Text(f"\n{text}", style="bold"))


def messages(session: Session, width: int) -> Table:
    """The messages with their numbers, sizes in tokens, and fates in the last prompt.

    A long history is cut to the first two and the newest twelve.
    """
    history, view, budget = session.agent.history, session.agent.ledger.view, session.agent.budget(())
    fates = view.fates if view else ()
    met = [*fates, *["new"] * (len(history) - len(fates))]
    hidden = range(2, max(2, len(history) - 12))
    rows = []
    for at, message in enumerate(history):
        if at not in hidden:
            tokens = figures.format_tokens(budget.count(message), session.agent.backend.counter.exact)
            words = first_words(message, max(16, width - 58))
            rows.append((str(at + 1), trace.cut_line(trace.speaker_name(message), 16), tokens, met[at], words))
        elif at == hidden[0]:
            counted = Tally(met[place] for place in hidden)
            rows.append(
                (f"{at + 1}-{hidden[-1] + 1}", "older", "", "", ", ".join(f"{n} {f}" for f, n in counted.items()))
            )
    title = f"{count_noun(len(history), 'message')}: which of them will the next prompt hold unchanged?"
    return Table(title, ("number", "who", ">tokens", "last prompt", "first words"), rows)


def format_ranges(numbers: Sequence[int]) -> str:
    """Format ascending numbers as ranges: `1-4, 9, 12`."""
    runs = ([number for _, number in run] for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]))
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def reveal_score(session: Session) -> list[str]:
    """The score of the guess, in lines; [] until its prompt was sent. Returned once.

    The surprises follow: messages that did not stay, by fate and rule, then messages that stayed.
    """
    guess = guess_of(session)
    if guess is None or guess.view is None:
        return []
    del session.watchers["guess"]
    view, stayed = guess.view, guess.stayed
    of = len(guess.messages)
    right = of - len(guess.stays ^ stayed)
    told = [f"Predicted: {right:,} of {of:,} right ({figures.format_share(right, of)}) for the next prompt"]
    places = {message.id: at for at, message in enumerate(view.history)}
    went: dict[str, list[int]] = {}
    for number in sorted(guess.stays - stayed):
        at = places.get(guess.messages[number - 1].id)
        rule = "gone from the history" if at is None else f"{view.fates[at]}: {one_line(why(view, at))}"
        went.setdefault(rule, []).append(number)
    told += [f"  guessed to stay, but {format_ranges(numbers)} {rule}" for rule, numbers in went.items()]
    kept = sorted(stayed - guess.stays)
    return told + [f"  guessed to change, but stayed: {format_ranges(kept)}"] * bool(kept)
