"""The list: a row a message with its fate and its tokens; older messages of one fate share a row."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from agent.messages import Message
from repl.commands.context.rows import Row, Xray
from repl.commands.context.strip import TOOLS, letter
from repl.screen.sanitise import line
from repl.screen.tables import Table
from repl.screen.theme import is_drawn
from repl.screen.trace import call_line, cut
from session import figures
from session.forecast import DRAFT
from session.memory_file import memory_of_system

MOST_ROWS, LEAST_ROWS = 38, 8
"""Rows of messages that a screen shows at most, and at least where it is low."""
OTHER_ROWS = 16
"""Rows of a screen that the strip above the list and the prompt below it take."""
NEWEST_ROWS = 20
"""The newest messages always have a row each: so many of those rows."""
MOST_NAMES = 12
"""Messages of one fate that a row of several names."""
FIRST_CHARACTERS = 400
"""Characters of a message that are looked at for its first words."""
WHO_COLUMNS = 16
PLAIN_COLUMNS = 100
MARKS = {True: "═", False: "╌", None: "?"}
WORDS = {True: "cached", False: "computed anew", None: "cached or not: unknown"}
"""Columns of who says it, and of first words where nothing is drawn."""

Group = Sequence[Row]
"""Messages that share a row."""


@dataclass(frozen=True, slots=True)
class Line:
    """The texts of a row; `style` is that of the fate."""

    name: str
    who: str
    fate: str
    before: str
    after: str
    cached: bool | None
    sent: bool
    words: str
    style: str = ""


def show_list(xray: Xray, groups: Sequence[Group], console: Console) -> None:
    """Print a row for each group of messages; above the first message one for the tool schemas."""
    lines = [_line(xray, group) for group in groups]
    if groups and groups[0][0] is xray.rows[0]:
        lines.insert(0, _schemas(xray))
    if not is_drawn(console):
        _as_table(lines).show(console)
        return
    for text in _drawn(lines, console.width) if lines else ():
        console.print(text)


def most_rows(console: Console) -> int:
    """Rows of messages that leave the strip above them on the screen."""
    return max(LEAST_ROWS, min(MOST_ROWS, console.height - OTHER_ROWS)) if is_drawn(console) else MOST_ROWS


def folded(rows: Sequence[Row], most: int = MOST_ROWS) -> list[Group]:
    """The rows in at most so many groups, in order: the newest apart, older ones with their neighbours of one fate.

    The fewer of the newest are apart, the more often fates change before them: what changed is seen first. Where they
    change so often that it would still be too many, the oldest share a row whatever their fates. The system prompt has
    its own.
    """
    if len(rows) <= most:
        return [[row] for row in rows]
    apart = range(min(NEWEST_ROWS, most // 2 + 1), 0, -1)
    groups = next((found for newest in apart if len(found := _runs(rows, newest)) <= most), _runs(rows, apart[0]))
    surplus, system = len(groups) - most, 1 if rows[0].who == "system" else 0
    if surplus > 0:
        oldest = groups[system : system + surplus + 1]
        groups[system : system + surplus + 1] = [[row for group in oldest for row in group]]
    return groups


def _runs(rows: Sequence[Row], newest: int) -> list[Group]:
    """The rows in runs of one fate; the system prompt and so many of the newest rows each alone."""
    system = 1 if rows[0].who == "system" else 0
    older, last = rows[system : len(rows) - newest], rows[len(rows) - newest :]
    runs = (list(run) for _, run in groupby(older, key=lambda row: row.fate))
    return [*([row] for row in rows[:system]), *runs, *([row] for row in last)]


def row_by_row(rows: Sequence[Row], most: int = MOST_ROWS) -> list[Group]:
    """A row each; what is too many shares the last one."""
    if len(rows) <= most:
        return [[row] for row in rows]
    return [*([row] for row in rows[: most - 1]), rows[most - 1 :]]


def first_words(message: Message, width: int = 200) -> str:
    """The beginning of a message in one line, or what it calls. Safe to print."""
    if message.id == DRAFT and not message.content:
        return "(your next question)"
    said = line((message.content or "")[:FIRST_CHARACTERS])
    calls = [f"→ {call_line(call, width)}" for call in message.calls]
    return cut(" ".join([*calls, said] if calls else [said or "(empty)"]).strip(), width)


def span(group: Group) -> str:
    """The name of a group: `12`, `12–57`, `+1`."""
    names = [row.name for row in group if row.before] or [row.name for row in group]
    return names[0] if len(names) == 1 else f"{names[0]}–{names[-1]}"


def _schemas(xray: Xray) -> Line:
    size = xray.tokens(xray.view.overhead)
    words = f"{_share(xray.view.overhead, xray)} of the budget"
    cached = None if xray.cached.tokens is None else xray.cached.tokens > 0
    return Line("", xray.overhead, TOOLS, size, size, cached, True, words, "quiet")


def _line(xray: Xray, group: Group) -> Line:
    before = sum(row.tokens_before for row in group)
    after = sum(row.tokens_after for row in group)
    first, sent = group[0], any(row.after for row in group)
    cached = None if xray.cached.tokens is None else sent and all(row.cached for row in group if row.after)
    sizes = xray.tokens(before), xray.tokens(after)
    fates = Tally(row.fate for row in group)
    if len(group) > 1:
        words = f"/context {span(group)} shows them" if len(fates) == 1 else _by_fate(group)
        who = f"{len(group):,} messages"
    else:
        who, words = first.who, first_words(first.message)
        if who == "system":
            memory = memory_of_system(first.message.content)
            of_it = f", {figures.share(len(memory), len(first.message.content))} of it memory" if memory else ""
            words = f"{_share(after, xray)} of the budget{of_it}: {words}"
    fate = f"{letter(first)} {first.fate}" if len(fates) == 1 else "  several"
    style = f"fate.{first.fate}" if len(fates) == 1 else ""
    return Line(span(group), who, fate, *sizes, cached, sent, words, style)


def _by_fate(group: Group) -> str:
    """`2 masked: 4, 6; 7 kept`: the number of messages by fate, and the names of the changed ones if they are few."""
    names: dict[str, list[str]] = {}
    for row in group:
        names.setdefault(row.fate, []).append(row.name)

    def said(fate: str, who: Sequence[str]) -> str:
        return f"{len(who):,} {fate}" + (f": {', '.join(who)}" if fate != "kept" and len(who) <= MOST_NAMES else "")

    changed_first = sorted(names.items(), key=lambda pair: pair[0] == "kept")
    return "; ".join(said(fate, who) for fate, who in changed_first)


def _as_table(lines: Sequence[Line]) -> Table:
    rows = [
        (row.name or row.who, row.who if row.name else "", row.fate[2:], row.before, row.after, _in_words(row),
         cut(row.words, PLAIN_COLUMNS))
        for row in lines
    ]  # fmt: skip
    return Table("Message by message", ("", "who", "fate", ">tokens", ">sent", "", "words"), rows)


def _drawn(lines: Sequence[Line], width: int) -> list[Text]:
    """The lines in columns, the last of which takes what room is left."""
    names = max(cell_len(row.name) for row in lines)
    whos = min(WHO_COLUMNS, max(cell_len(row.who) for row in lines))
    before = max(len("tokens"), *(len(row.before) for row in lines))
    after = max(len("sent"), *(len(row.after) for row in lines))
    fates = max(len(row.fate) for row in lines)
    head = f"{'N':>{names}} {'who':<{whos}} {'fate':<{fates}} {'tokens':>{before}} → {'sent':>{after}}   first words"
    shown = [Text(cut(head, width), style="quiet")]
    for row in lines:
        text = Text(f"{' ' * (names - cell_len(row.name))}{row.name} {_padded(row.who, whos)} ", no_wrap=True)
        text.append(f"{row.fate:<{fates}}", style=row.style)
        text.append(f" {row.before:>{before}} → {row.after:>{after}} {_mark(row)} ")
        text.append(cut(row.words, width - text.cell_len), style="quiet")
        shown.append(text)
    return shown


def _padded(text: str, width: int) -> str:
    shown = cut(text, width)
    return shown + " " * (width - cell_len(shown))


def _mark(row: Line) -> str:
    return MARKS[row.cached] if row.sent else " "


def _in_words(row: Line) -> str:
    return WORDS[row.cached] if row.sent else "not sent"


def _share(tokens: int, xray: Xray) -> str:
    return figures.share(tokens, xray.view.limit)
