"""The strip: history and view as two bars, a block per message, its width in proportion to its tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from rich.console import Console
from rich.text import Text

from thimble.repl.commands.context.rows import Row, Xray, spread_shares
from thimble.repl.screen.theme import FATE_LETTERS, is_drawn, say
from thimble.session import figures
from thimble.tools.wording import count_noun

FILLS = {"kept": "█", "tidied": "█", "inserted": "█", "shortened": "▓", "dropped": "░"}
"""The fill of a block after its letter, `▒` for other fates; lighter if less is left of the message."""
FREE = "·"
TOOLS, SYSTEM = "T", "P"


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a bar: a message, the tool schemas, or the free room; sizes are tokens."""

    letter: str
    fill: str
    style: str
    tokens: int


def show_strip(xray: Xray, console: Console) -> None:
    """Print both bars to one scale with their sums, the cache ruler and the legend."""
    view, was, sent = xray.view, history_blocks(xray), view_blocks(xray)
    longest, drawn = max(view.history_tokens, view.tokens, view.limit, 1), is_drawn(console)
    say(console, f"was   {xray.tokens(view.history_tokens)} tokens: {_sums(xray, sent=False)}")
    if drawn:
        console.print(draw_bar(was, widths(was, max(1, round(console.width * view.history_tokens / longest)))))
    free = view.limit - view.tokens
    room = f"{'free' if free >= 0 else 'over by'} {xray.tokens(abs(free))}"
    said = f"sent  {xray.tokens(view.tokens)} of {view.limit:,}: {_sums(xray, sent=True)} · {room}"
    say(console, said, "over" if free < 0 else "")
    if drawn:
        columns = max(1, round(console.width * max(view.tokens, view.limit) / longest))
        shares = widths(sent, columns)
        console.print(
            mark_over_budget(draw_bar(sent, shares), columns * view.limit // view.tokens if free < 0 else columns)
        )
        console.print(draw_ruler(xray, sent, shares))
        cached, prefill = figures.format_amount(xray.cached), figures.format_amount(xray.prefill)
        console.print(Text.assemble((f"═ cached {cached}", "calm"), " · ", (f"╌ prefill {prefill}", "warn")))
        console.print(legend(xray))
        console.print()


def widths(blocks: Sequence[Block], columns: int) -> list[int]:
    """Split the columns among the blocks, in order, by cumulative rounding.

    Each width is less than one column from its exact share. If there are at least as many columns as blocks, each gets
    one or more; the excess of a small block is taken from the next ones that can spare it.
    """
    ends = [*accumulate(spread_shares(columns, [block.tokens for block in blocks]))]
    if len(blocks) <= columns:
        end = 0
        for place, exact in enumerate(ends):
            end = ends[place] = min(max(exact, end + 1), columns - (len(ends) - 1 - place))
    return [end - start for start, end in pairwise([0, *ends])]


def history_blocks(xray: Xray) -> list[Block]:
    """The whole history: the tool schemas, then every message by its fate."""
    return [*_tools(xray), *messages_before(xray.rows)]


def messages_before(rows: Sequence[Row]) -> list[Block]:
    """The messages of the history, each by its fate."""
    return [_block(row, row.tokens_before) for row in rows if row.before]


def view_blocks(xray: Xray) -> list[Block]:
    """The view: the tool schemas, every message by its fate, and the free room in the budget."""
    free = xray.view.limit - xray.view.tokens
    blocks = [*_tools(xray), *(_block(row, row.tokens_after) for row in xray.rows if row.after)]
    return [*blocks, Block(FREE, FREE, "quiet", free)] if free > 0 else blocks


def draw_bar(blocks: Sequence[Block], columns: Sequence[int]) -> Text:
    """The blocks side by side: the letter in the first column of each, the rest filled."""
    pieces = ((block, width) for block, width in zip(blocks, columns, strict=True) if width)
    return Text.assemble(*((b.letter + b.fill * (width - 1), b.style) for b, width in pieces), no_wrap=True)


def mark_over_budget(shown: Text, limit: int) -> Text:
    """The bar with `!` as the fill of all columns over the budget."""
    beyond = Text(re.sub("[█▓▒░]", "!", shown.plain[limit:]), style="over")
    return shown[:limit] + beyond if beyond else shown


def draw_ruler(xray: Xray, blocks: Sequence[Block], columns: Sequence[int]) -> Text:
    """`═` below cached messages, `╌` below prefill; `?` if unknown."""
    used = [width for block, width in zip(blocks, columns, strict=True) if block.letter != FREE]
    if xray.cached.tokens is None:
        return Text("?" * sum(used), style="quiet", no_wrap=True)
    cached = sum(bool(row.cached) for row in xray.rows) + len(_tools(xray)) if xray.cached.tokens else 0
    return Text.assemble(("═" * sum(used[:cached]), "calm"), ("╌" * sum(used[cached:]), "warn"), no_wrap=True)


def legend(xray: Xray) -> Text:
    """The meaning of the letters in the bars."""
    met = {row.fate for row in xray.rows}
    signs = [(f"{TOOLS} {xray.overhead}", "quiet"), (f"{SYSTEM} system prompt", "fate.kept")]
    signs += [(f"{sign} {fate}", f"fate.{fate}") for fate, sign in FATE_LETTERS.items() if fate in met]
    signs += [("! over", "over")] * (xray.view.tokens > xray.view.limit)
    return Text(" · ").join(Text(words, style=style) for words, style in signs)


def fate_letter(row: Row) -> str:
    """The letter of a message: that of its fate, P for the system prompt."""
    return SYSTEM if _is_system(row) else FATE_LETTERS[row.fate]


def _sums(xray: Xray, sent: bool) -> str:
    """`system 212 · tools 866 · 13 messages 2,973`: the tokens of the history, or of the view, by their kind."""
    rows = [row for row in xray.rows if (row.after if sent else row.before)]
    sizes = [row.tokens_after if sent else row.tokens_before for row in rows]
    system = sum(size for row, size in zip(rows, sizes, strict=True) if _is_system(row))
    messages = count_noun(sum(not _is_system(row) for row in rows), "message")
    parts = {"system": system, "tools" if xray.tools else xray.overhead: xray.view.overhead}
    return " · ".join(f"{name} {xray.tokens(size)}" for name, size in {**parts, messages: sum(sizes) - system}.items())


def _tools(xray: Xray) -> list[Block]:
    overhead = xray.view.overhead
    return [Block(TOOLS, "█", "quiet", overhead)] if overhead else []


def _block(row: Row, tokens: int) -> Block:
    return Block(fate_letter(row), FILLS.get(row.fate, "▒"), f"fate.{row.fate}", tokens)


def _is_system(row: Row) -> bool:
    return row.message.role == "system" and row.before is not None
