"""The theme: the letters of fates, and named styles in the terminal's own palette, light or dark."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from thimble.repl.screen.sanitise import clean

if TYPE_CHECKING:
    from rich.console import Console

GLYPH = "› "
"""The prompt's symbol, before each question."""
STYLES: Mapping[str, str] = {
    "quiet": "dim",
    "thought": "dim italic",
    "name": "bold cyan",
    "tool": "cyan",
    "act": "magenta",
    "error": "red",
    "warn": "yellow",
    "calm": "green",
    "near": "yellow",
    "over": "bold red",
    "mark": "bold green",
    "step": "bold reverse",
    "answer": "none",
    "fate.kept": "green",
    "fate.tidied": "bold green",
    "fate.edited": "bold yellow",
    "fate.masked": "magenta",
    "fate.shortened": "yellow",
    "fate.summarised": "blue",
    "fate.offloaded": "cyan",
    "fate.inserted": "bold blue",
    "fate.dropped": "red",
    "markdown.code": "cyan",
    "markdown.code_block": "cyan",
    "markdown.item.bullet": "cyan",
    "markdown.item.number": "cyan",
    "markdown.block_quote": "italic",
    "markdown.link": "underline",
    "markdown.link_url": "dim",
    "markdown.not_read": "yellow",
}

FATE_LETTERS = {
    "kept": "K",
    "tidied": "E",
    "edited": "Y",
    "masked": "M",
    "shortened": "S",
    "summarised": "U",
    "offloaded": "O",
    "inserted": "I",
    "dropped": "D",
}
"""The letter of each fate, the same on every screen: nothing relies on colour alone. Its style is `fate.NAME`."""

BRIGHT = {"blue": "bright_blue", "magenta": "bright_magenta", "red": "bright_red", "cyan": "bright_cyan"}


def stage_style(style: str) -> str:
    """A style for a projector: bold, in bright colours, not dim."""
    words = [BRIGHT.get(word, word) for word in style.split() if word not in ("dim", "bold", "none")]
    return " ".join(["bold", *words])


def make_styles(stage: bool) -> dict[str, str]:
    """Every style by its name. On a stage all are bold, except answers, so that their bold words are visible."""
    return (
        {**{name: stage_style(style) for name, style in STYLES.items()}, "answer": "not dim"} if stage else {**STYLES}
    )


def is_plain(asked: bool) -> bool:
    """Whether output is append-only lines without escape sequences: on request, or without a capable terminal."""
    return asked or not sys.stdout.isatty() or os.environ.get("TERM") in ("dumb", "unknown")


def console_for(plain: bool, file: IO[str] | None = None, color: bool = True, stage: bool = False) -> Console:
    """The console of a session. A plain one does not colour, draw, redraw or wrap."""
    from rich.console import Console
    from rich.theme import Theme

    return Console(
        file=file,
        theme=Theme(make_styles(stage)),
        highlight=False,
        emoji=False,
        markup=False,
        soft_wrap=plain,
        no_color=True if plain or not color else None,
        force_terminal=False if plain else None,
    )


def say(console: Console, text: str, style: str = "") -> None:
    """Print a text, sanitised, in a style."""
    from rich.text import Text

    console.print(Text(clean(text), style=style))


def is_drawn(console: Console) -> bool:
    """Whether this console takes drawings: tables with rules, bars."""
    return console.is_terminal and not console.is_dumb_terminal


def in_use(console: Console, used: bool) -> str:
    """The mark after the name of a list's item in use; "" for others."""
    return (" ‹" if is_drawn(console) else " (in use)") * used


@contextmanager
def show_progress(console: Console, what: str) -> Iterator[Callable[[str], None]]:
    """Show a spinner with `what` during this block, on a terminal; yields a function that changes the text."""
    if not is_drawn(console):
        yield lambda _: None
        return
    from rich.text import Text

    def words(said: str) -> Text:
        return Text(f"{said}…", style="quiet", no_wrap=True, overflow="ellipsis")

    with console.status(words(what)) as status:
        yield lambda said: status.update(words(said))
