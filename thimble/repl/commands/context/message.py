"""One message: before and after, its calls or results, and the rule that decided its fate."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff
from itertools import islice, takewhile

from rich.console import Console

from thimble.agent.messages import Message
from thimble.commands.why import NO_REASON, why
from thimble.repl.commands.context.rows import Row, Xray
from thimble.repl.screen.sanitise import clean, one_line
from thimble.repl.screen.theme import say
from thimble.repl.screen.trace import call_line
from thimble.tools.wording import count_noun

MAX_COMPARED_LINES = 10_000
"""The most lines of a text that are compared: more would take seconds."""
LINE_STYLES = {"-": "fate.dropped", "+": "calm"}


def describe_message(xray: Xray, place: int) -> str:
    """The message's author, its fate, its tokens before and after, and the rule, in one sentence."""
    return f"{_title(xray, xray.rows[place])}: {describe_rule(xray, place)}."


def describe_rule(xray: Xray, place: int) -> str:
    """The rule that decided the message's fate, with its numbers, and the summary that replaces it. Safe to print."""
    row, view = xray.rows[place], xray.view
    if row.before is None:
        covered = _describe_covered(xray, row.message)
        said = one_line(row.message.why or NO_REASON).rstrip(".")
        return said + (f"; it is sent in place of {covered}" if covered else "")
    said = one_line(why(view, int(row.name) - 1, xray.strategy, row.tokens_after)).rstrip(".")
    summary = _summary(xray, row)
    return f"{summary} is sent in its place ({said})" if summary else said


def show_message(xray: Xray, place: int, console: Console) -> None:
    """Print the message before and after, its calls or the call that it answers, and the rule."""
    row = xray.rows[place]
    say(console, _title(xray, row), f"fate.{row.fate}")
    for words in _related_calls(xray, place, console.width):
        say(console, words, "quiet")
    say(console, f"why: {describe_rule(xray, place)}")
    for words, style in _texts(xray, row):
        say(console, words, style)


def changed_lines(before: str, after: str) -> list[str]:
    """The removed (`-`) and added (`+`) lines, with two lines of context; empty if the texts share no line."""
    old, new = ([clean(each).rstrip() for each in text.splitlines()] for text in (before, after))
    if max(len(old), len(new)) > MAX_COMPARED_LINES:
        return []
    found = [*islice(unified_diff(old, new, n=2, lineterm=""), 2, None)]
    shared = any(each[:1] == " " and each.strip() for each in found)
    return ["…" if each.startswith("@@") else f"{each[0]} {each[1:]}" for each in found] if shared else []


def _texts(xray: Xray, row: Row) -> Iterator[tuple[str, str]]:
    """The text before and after, or the lines that changed, each line with its style."""
    before, after = row.before, row.after
    if before and after and not after.same(before) and (found := changed_lines(before.content, after.content)):
        yield "changes: - is not sent, + is sent in its place", "bold"
        yield from ((f"  {each}", LINE_STYLES.get(each[0], "quiet")) for each in found)
        return
    same = bool(before and after and after.same(before))
    if after is None:
        yield "after: not sent", "bold"
    elif not same:
        yield from _text(f"after, {xray.tokens(row.tokens_after)} tokens", after)
    if before:
        yield from _text(f"{'unchanged' if same else 'before'}, {xray.tokens(row.tokens_before)} tokens", before)


def _text(title: str, of: Message) -> Iterator[tuple[str, str]]:
    yield f"{title}:" if of.content else f"{title}: (empty)", "bold"
    yield from ((f"  {each}", "") for each in clean(of.content).splitlines())


def _title(xray: Xray, row: Row) -> str:
    sizes = xray.tokens(row.tokens_before), xray.tokens(row.tokens_after)
    return f"message {row.name} ({row.who}), {row.fate}, {' → '.join(sizes)} tokens"


def _related_calls(xray: Xray, place: int, width: int) -> Iterator[str]:
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
        after = xray.rows[place].after
        fate = "sent with its calls" if after and after.thinking else "not sent"
        yield f"its thinking, {count_noun(len(message.thinking), 'character')}, is {fate}"


def _is_result(row: Row) -> bool:
    return row.message.role == "tool"


def _summary(xray: Xray, row: Row) -> str:
    """The summary of the view that replaces this message, by name; "" if there is none."""
    id_ = row.message.id
    standing = (other for other in xray.rows if other.after and other is not row and id_ in other.after.covers)
    return next((f"message {other.name}" for other in standing), "")


def _describe_covered(xray: Xray, message: Message) -> str:
    """The messages that this one replaces, in words."""
    names = [row.name for row in xray.rows if row.before and row.before.id in message.covers]
    if len(names) < 2:
        return f"message {names[0]}" if names else ""
    return f"{count_noun(len(names), 'message')} from {names[0]} to {names[-1]}"
