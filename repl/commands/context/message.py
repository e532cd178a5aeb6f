"""One message: before and after, its calls or results, and the rule that decided its fate."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from rich.console import Console
from rich.text import Text

from agent.marks import ABOVE, REPEATED, refers
from agent.messages import Message
from agent.references import arguments, parted
from repl.commands.context.difference import difference, show_difference
from repl.commands.context.rows import Row, Xray
from repl.screen.pager import MORE
from repl.screen.sanitise import clean, line
from repl.screen.theme import is_drawn, say
from repl.screen.trace import call_line
from session import figures
from session.why import UNSAID, why

MOST_LINES = 16
"""Lines of a text that are shown."""


def sentence(xray: Xray, place: int) -> str:
    """Who the message is of, its fate, its tokens before and after, and the rule, in one sentence."""
    return f"{_title(xray, xray.rows[place])}: {rule(xray, place)}."


def rule(xray: Xray, place: int) -> str:
    """Which rule decided the fate of the message, with its numbers, and which summary stands for it. Safe to print."""
    row, view = xray.rows[place], xray.view
    if row.before is None:
        said = row.message.why or UNSAID
        stands_for = _covered(xray, row.message)
        return line(said).rstrip(".") + (f"; it is sent in place of {stands_for}" if stands_for else "")
    said = line(why(view, int(row.name) - 1, xray.strategy, row.tokens_after)).rstrip(".")
    said += _lines_stand(xray, place)
    summary = _summary(xray, row)
    return f"{summary} is sent in its place ({said})" if summary else said


def show_message(xray: Xray, place: int, console: Console, whole: bool = False) -> None:
    """Print the message before and after, what it calls or answers, and why it is so; long texts only if `whole`."""
    row = xray.rows[place]
    say(console, _title(xray, row), f"fate.{row.fate}")
    for words in _belongs(xray, place, console.width):
        say(console, words, "quiet")
    say(console, f"why: {rule(xray, place)}")
    if not _show_texts(xray, row, console, whole):
        say(console, f"/context {row.name} {MORE} shows all", "quiet")


def _show_texts(xray: Xray, row: Row, console: Console, whole: bool) -> bool:
    """Print the message before and after; whether all of it is shown."""
    if row.before and row.after and row.after.same(row.before):
        return _say_text(console, f"unchanged, {_tokens(xray, row.tokens_after)}", row.before.content, whole)
    found = difference(row.before.content, row.after.content) if row.before and row.after else None
    if found:
        say(console, "before and after: - is not sent, + is sent in its place", "bold")
        return show_difference(found, console, whole)
    shown = True
    if row.before:
        shown = _say_text(console, f"before, {_tokens(xray, row.tokens_before)}", row.before.content, whole)
    if row.after:
        return _say_text(console, f"after, {_tokens(xray, row.tokens_after)}", row.after.content, whole) and shown
    say(console, "after: it is not sent", "bold")
    return shown


def _title(xray: Xray, row: Row) -> str:
    sizes = xray.tokens(row.tokens_before), xray.tokens(row.tokens_after)
    return f"message {row.name} ({row.who}), {row.fate}, {' → '.join(sizes)} tokens"


def _tokens(xray: Xray, count: int) -> str:
    return f"{xray.tokens(count)} tokens"


def _belongs(xray: Xray, place: int, width: int) -> Iterator[str]:
    """The calls of a message with their results, or the call that it answers."""
    message = xray.rows[place].message
    results = {row.message.call_id: row.name for row in takewhile(_is_result, xray.rows[place + 1 :])}
    for call in message.calls:
        where = f"; its result is message {results[call.id]}" if call.id in results else "; it has no result here"
        yield f"calls {call_line(call, width - len(where) - len('calls '))}{where}"
    if message.role == "tool":
        caller = next((row for row in reversed(xray.rows[:place]) if not _is_result(row)), xray.rows[place])
        whose = f"the result of the call in message {caller.name}: "
        asked_for = (call for call in caller.message.calls if call.id == message.call_id)
        yield from (f"{whose}{call_line(call, width - len(whose))}" for call in asked_for)
    if message.thinking:
        yield f"its thinking, {figures.several(len(message.thinking), 'character')}, is never sent"


def _is_result(row: Row) -> bool:
    return row.message.role == "tool"


def _summary(xray: Xray, row: Row) -> str:
    """The other message of the view that stands for this one."""
    id_ = row.message.id
    standing = (other for other in xray.rows if other.after and other is not row and id_ in other.after.covers)
    return next((f"message {other.name}" for other in standing), "")


def _lines_stand(xray: Xray, place: int) -> str:
    """Where the lines stand that are sent as references: `; 71 lines stand in message 14`."""
    row, said = xray.rows[place], list[str]()
    lines = row.after.content.split("\n") if row.after and refers(row.after) else []
    for at, text in enumerate(lines):
        if not (found := REPEATED.match(text)):
            continue
        begins = parted(found["first"])[1]
        above = ((other.name, other.after) for other in reversed(xray.rows[:place]) if other.after)
        texts = ((name, "\n".join([one.content or "", *arguments(one)]).split("\n")) for name, one in above)
        own = (f"{row.name}, this one", lines[:at])
        where = next((name for name, its in (own, *texts) if any(parted(each)[1] == begins for each in its)), "")
        if where:
            said.append(f"; {text[1:].partition(ABOVE)[0]} stand in message {where}")
    return "".join(said)


def _covered(xray: Xray, message: Message) -> str:
    covered = set(message.covers)
    names = [row.name for row in xray.rows if row.before and row.before.id in covered]
    if len(names) < 2:
        return f"message {names[0]}" if names else ""
    return f"{figures.several(len(names), 'message')} from {names[0]} to {names[-1]}"


def _say_text(console: Console, title: str, text: str, whole: bool) -> bool:
    """A text under its title, cut to so many lines unless `whole`, and how much more there is; whether that is all."""
    say(console, f"{title}:" if text else f"{title}: (empty)", "bold")
    shown, rest = (clean(text).splitlines(), 0) if whole else excerpt(console, text)
    for words in shown:
        say(console, f"  {words}")
    if rest:
        say(console, f"  … {figures.several(rest, 'character')} more", "quiet")
    return not rest


def excerpt(console: Console, text: str) -> tuple[list[str], int]:
    """The first lines of a text as the console breaks them, and how many characters are left out."""
    looked_at = text[: MOST_LINES * console.width]
    shown = Text(clean(looked_at).rstrip(), tab_size=4)
    columns = max(1, console.width - 2) if is_drawn(console) else len(looked_at)
    lines = [found.plain for found in shown.wrap(console, columns)] if shown else []
    return lines[:MOST_LINES], len(text) - len(looked_at) + sum(map(len, lines[MOST_LINES:]))
