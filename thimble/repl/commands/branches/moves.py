"""/fork, /undo, /retry and /reset: continue from an earlier point on a new branch. The old branch stays."""

from __future__ import annotations

import re

from rich.console import Console

from thimble.agent.errors import UsageError
from thimble.agent.events import Changed
from thimble.repl.commands.command import command
from thimble.repl.commands.strategy import last_spec, specs
from thimble.repl.screen.sanitise import one_line
from thimble.repl.screen.theme import say
from thimble.repl.screen.trace import cut_line
from thimble.session.journal.records import Change
from thimble.session.journal.state import SavedState
from thimble.session.session import Session
from thimble.session.story import Exchange, group_exchanges, iter_records, turn_lines
from thimble.strategies.paper_names import use_our_names
from thimble.tools.wording import count_noun

HOW_TO_FORK = "write /fork [N] [SPEC]: N is an exchange as /stats all numbers them; 3.2 is turn 2 of exchange 3"
HOW_TO_UNDO = "write /undo [N]: it undoes the newest N exchanges, one by default"
SIGNED_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")
QUOTE_COLUMNS = 60
"""Columns of a question that is quoted."""


@command("fork [N] [SPEC]", "Branches", completer=last_spec)
def fork(session: Session, text: str, console: Console) -> None:
    """Start a new branch after exchange N.

    Without N it starts here; 0 is before the first question, 3.2 is after turn 2 of exchange 3. Strategy, budget and
    model are those of that time; with SPEC the strategy starts fresh. The old branch stays: /tree.
    """
    first, _, rest = text.partition(" ")
    numbered = SIGNED_NUMBER.fullmatch(first) is not None
    spec = use_our_names((rest if numbered else text).strip())
    tree, asked = session.journal.tree, session.agent.ledger.exchanges
    old = tree.current
    exchange, _, turn = first.partition(".") if numbered else (str(asked), "", "")
    if turn:
        after = turn_lines(tree.path(old), first)[-1]
    else:
        behind = _parse_number(exchange, asked, HOW_TO_FORK)
        here = tree.newest if behind == asked else 0
        after = here or next(one.after for one in _current_exchanges(session) if one.number > behind)
    session.branch(after, *([Changed("strategy", spec)] if spec else []))
    fresh = ", which starts fresh" if spec else ""
    new, now = session.journal.tree.current, describe_next_prompt(session)
    place = f"after {f'turn {turn} of ' * bool(turn)}exchange {exchange}"
    place = place if int(exchange) else "before the first question"
    say(console, f"Branch {new} starts {place} of branch {old}, {now}{fresh}.")
    say(console, f"Branch {old} is unchanged: /tree {old} goes back to it.", "quiet")


@command("undo [N]", "Branches")
def undo(session: Session, text: str, console: Console) -> None:
    """Undo the last N exchanges; /tree keeps them.

    Without N, it undoes one exchange. A question that the budget refused does not count. Facts planted since go too.
    The undone exchanges stay on their branch.
    """
    old, there = session.journal.tree.current, _current_exchanges(session)
    taken = [one for one in there if one.number and one.ending != "withdrawn"]
    if not taken:
        raise UsageError("there is no exchange to undo on this branch", "/tree shows the branches")
    first = taken[-(_parse_number(text, len(taken), HOW_TO_UNDO, least=1) if text else 1)]
    before = _changeable_settings(session)
    session.branch(first.after)
    for one in there[there.index(first) :]:
        say(console, f"Undone: {_quoted(one)}")
    new, left = session.journal.tree.current, count_noun(len(session.agent.history), "message")
    say(console, f"Branch {new} continues from before that, with {left}, {describe_next_prompt(session)}.")
    for name, is_now in _changeable_settings(session).items():
        if is_now != before[name]:
            say(console, f"{name.capitalize()} goes back too: from {before[name]} to {is_now}.", "warn")
    say(console, f"Nothing is lost: branch {old} has it all, and /tree {old} goes back to it.", "quiet")


@command("retry [SPEC]", "Branches", completer=specs)
def retry(session: Session, spec: str, console: Console) -> str:
    """Ask the newest question again, on a new branch.

    Uses the current budget and model, and the current strategy, or SPEC, which starts fresh.
    """
    old, asked = session.journal.tree.current, [one for one in _current_exchanges(session) if one.number]
    if not asked:
        raise UsageError("there is no question to ask again on this branch", "ask one; /tree shows the branches")
    _ask_again(session, asked[-1], use_our_names(spec))
    new = session.journal.tree.current
    say(console, f"Branch {new} asks again, {describe_next_prompt(session)}: {_quoted(asked[-1])}")
    say(console, f"Branch {old} is unchanged: /tree {old} goes back to it.", "quiet")
    return asked[-1].question.content


@command("reset", "Branches", aliases=("clear",))
def reset(session: Session, _: str, console: Console) -> None:
    """Start over, empty; strategy, budget and model stay.

    Starts a branch without history, notes or statistics. The old branch stays: /tree N goes back to it.
    """
    kept = [count_noun(len(session.agent.history), "message")]
    kept += [count_noun(len(session.notes.kept), "note")] if session.notes.kept else []
    old = session.journal.tree.current
    session.reset()
    say(
        console,
        f"Branch {session.journal.tree.current} starts empty, {describe_next_prompt(session)}, which starts fresh.",
    )
    say(console, f"Branch {old} keeps its {' and '.join(kept)}: /tree {old} goes back to it.", "quiet")


def _current_exchanges(session: Session) -> list[Exchange]:
    """The exchanges and planted facts of the current branch. Raises UsageError if there are none."""
    tree = session.journal.tree
    path = tree.path(tree.current)
    if not path:
        raise UsageError("nothing has been asked yet", "ask a question first; /strategy SPEC swaps the strategy")
    return group_exchanges(iter_records(path))


def _parse_number(text: str, most: int, form: str, least: int = 0) -> int:
    """Parse a number of exchanges, `least` to `most`. Raises UsageError."""
    if not re.fullmatch("[0-9]{1,9}", text):
        raise UsageError(f"{text[:40]!r} is not a number of exchanges", form)
    if int(text) < least:
        raise UsageError(f"/undo cannot undo {text} exchanges", form)
    if int(text) > most:
        raise UsageError(f"this branch has {count_noun(most, 'exchange')}, not {text}", form)
    return int(text)


def _ask_again(session: Session, question: Exchange, spec: str) -> None:
    """Branch off before a question and the changes made for it, so that repeated /retry give sibling branches.

    Strategy, budget and model become the current ones.
    """
    tree = session.journal.tree
    before = [one for one in iter_records(tree.path(tree.current)) if one.number <= question.after]
    stays = [*before]
    while len(stays) > 1 and isinstance(stays[-1].record, Change):
        stays.pop()
    then = SavedState()
    for one in stays:
        if isinstance(one.record, Change):
            then.apply_record(one.record)
    after, between = stays[-1].number if stays else 0, (one.record for one in before[len(stays) :])
    fresh = spec or any(isinstance(one, Changed) and one.setting == "strategy" for one in between)
    now = {**session.values, **({"strategy": spec} if spec else {})}
    differ = {name: now[name] != was for name, was in then.settings.items() if name != "system"}
    changed = {**differ, "strategy": differ["strategy"] or fresh}
    session.branch(after, *(Changed(name, now[name]) for name, is_new in changed.items() if is_new))


def _changeable_settings(session: Session) -> dict[str, str]:
    """The settings that a user changes between questions, with their values. Safe to print."""
    return {name: one_line(str(value)) for name, value in session.values.items() if name != "system"}


def describe_next_prompt(session: Session) -> str:
    """The strategy and budget of the next prompt. Safe to print."""
    return f"under {one_line(session.spec)} in {session.agent.limit:,} tokens"


def _quoted(one: Exchange) -> str:
    """A question, or a planted fact, in one line."""
    refused = " (which the budget refused)" if one.ending == "withdrawn" else ""
    words = cut_line(one_line(one.planted.fact if one.planted else one.question.content), QUOTE_COLUMNS)
    return f"{'the planted ' if one.planted else ''}“{words}”{refused}"
