"""The list: a row per message with its fate and its tokens; older messages of one fate share a row."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.console import Console
from rich.text import Text

from thimble.agent.messages import Message
from thimble.commands.forecast import DRAFT_ID
from thimble.repl.commands.context.rows import Row, Xray
from thimble.repl.commands.context.strip import TOOLS, fate_letter
from thimble.repl.screen.sanitise import one_line
from thimble.repl.screen.tables import Table
from thimble.repl.screen.theme import is_drawn
from thimble.repl.screen.trace import call_line, cut_line
from thimble.session import figures
from thimble.session.memory_file import memory_of_system

Group = Sequence[Row]
"""Messages that share a row."""
Cells = tuple[str, str, str, str, str, str, str]
"""Name, who says it, fate, tokens before and after, the cache mark, first words."""
CACHE_MARKS = {"═": "cached", "╌": "prefill", "?": "cached or not: unknown", " ": "not sent"}


def show_list(xray: Xray, groups: Sequence[Group], console: Console) -> None:
    """Print a row for each group of messages, after one for the tool schemas if the first message is listed."""
    rows = [_cells(xray, group) for group in groups]
    if groups and groups[0][0] is xray.rows[0]:
        rows.insert(0, _schemas(xray))
    if is_drawn(console):
        _draw(rows, console)
        return
    told = [(name or who, who if name else "", fate[2:], *sizes, CACHE_MARKS[mark], cut_line(said, 100))
            for name, who, fate, *sizes, mark, said in rows]  # fmt: skip
    Table("Message by message", ("", "who", "fate", ">tokens", ">sent", "", "words"), told).show(console)


def most_rows(console: Console) -> int:
    """The most rows of messages that leave room for the strip on the screen."""
    return max(8, min(38, console.height - 16)) if is_drawn(console) else 38


def fold_rows(rows: Sequence[Row], most: int) -> list[Group]:
    """The rows in at most `most` groups, in order: the newest alone, older neighbours of one fate together.

    The more often fates change, the fewer of the newest are alone, so that changes stay visible. If there are still
    too many groups, the oldest share a row whatever their fates. The system prompt always has its own.
    """
    if len(rows) <= most:
        return [[row] for row in rows]
    system, half = int(rows[0].who == "system"), most // 2

    def runs(newest: int) -> list[Group]:
        return [[*run] for _, run in groupby(rows[system:-newest], key=lambda row: (row.fate, row.by_you))]

    newest = next((n for n in range(half, 0, -1) if len(runs(n)) + n + system <= most), half)
    older = runs(newest)
    surplus = len(older) + newest + system - most
    if surplus > 0:
        older[: surplus + 1] = [[row for run in older[: surplus + 1] for row in run]]
    return [*([row] for row in rows[:system]), *older, *([row] for row in rows[-newest:])]


def first_words(message: Message, width: int = 200) -> str:
    """The first words of a message in one line, after its calls. Safe to print."""
    if message.id == DRAFT_ID and not message.content:
        return "(your next question)"
    said = one_line((message.content or "")[:400])
    calls = [f"→ {call_line(call, width)}" for call in message.calls]
    return cut_line(" ".join([*calls, said] if calls else [said or "(empty)"]).strip(), width)


def group_name(group: Group) -> str:
    """The name of a group: `12`, `12–57`, `+1`."""
    names = [row.name for row in group if row.before] or [row.name for row in group]
    return names[0] if len(names) == 1 else f"{names[0]}–{names[-1]}"


def _schemas(xray: Xray) -> Cells:
    size, cached = xray.tokens(xray.view.overhead), xray.cached.tokens
    mark = "?" if cached is None else "═" if cached else "╌"
    return "", xray.overhead, f"{TOOLS} ", size, size, mark, xray.share(xray.view.overhead)


def _cells(xray: Xray, group: Group) -> Cells:
    before, after = sum(row.tokens_before for row in group), sum(row.tokens_after for row in group)
    first, sent = group[0], [row for row in group if row.after]
    cached = "?" if xray.cached.tokens is None else "═" if all(row.cached for row in sent) else "╌"
    mark = cached if sent else " "
    met = [row.fate for row in group]
    fate = f"{fate_letter(first)} {first.fate}{' by you' * first.by_you}" if len({*met}) == 1 else "  several"
    if len(group) > 1:
        words = ", ".join(f"{met.count(each):,} {each}" for each in dict.fromkeys(met)) if fate[0] == " " else ""
        who = f"{len(group):,} messages"
    else:
        who, words = first.who, first_words(first.message)
        if who == "system":
            memory = memory_of_system(first.message.content)
            of_it = f", {figures.format_share(len(memory), len(first.message.content))} of it memory" if memory else ""
            words = f"{xray.share(after)}{of_it}: {words}"
    return group_name(group), who, fate, xray.tokens(before), xray.tokens(after), mark, words


def _draw(rows: Sequence[Cells], console: Console) -> None:
    """Print the rows in columns; the last column takes the remaining width."""
    from rich.table import Table as Drawn

    grid = Drawn(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="quiet")
    for name, right in (("N", True), ("who", False), ("fate", False), ("tokens", True), ("→", False), ("sent", True)):
        grid.add_column(name, justify="right" if right else "left", no_wrap=True)
    grid.add_column("", no_wrap=True)
    grid.add_column("first words")
    for name, who, fate, before, after, mark, words in rows:
        style = f"fate.{fate[2:].removesuffix(' by you')}" if fate[:2].strip() and fate[2:] else ""
        said = Text(words, style="quiet", no_wrap=True, overflow="ellipsis")
        grid.add_row(name, Text(cut_line(who, 16)), Text(fate, style=style), before, "→", after, mark, said)
    console.print(grid)
