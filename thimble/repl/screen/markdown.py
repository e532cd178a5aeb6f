"""Markdown as thimble shows it: no text is lost, and nothing becomes a terminal hyperlink."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

from markdown_it.token import Token
from rich import markdown
from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment

from thimble.repl.screen.blocks import parser
from thimble.session.grounding import NOT_READ


@dataclass(frozen=True, slots=True)
class Markdown:
    """Sanitised Markdown, without empty lines around it and without spaces at line ends, so that it copies well.

    `session.grounding.NOT_READ` is coloured as a warning. `joins_lines`: the lines of a paragraph are joined, as for a
    hand-wrapped file.
    """

    text: str
    joins_lines: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the segments line by line."""
        over = console.get_style("answer", default="none")
        drawn = console.render_lines(_Markdown(self.text, self.joins_lines), options, pad=False)
        lines = [_trimmed([*Segment.apply_style(line, post_style=over)]) for line in drawn]
        while lines and not lines[0]:
            del lines[0]
        while lines and not lines[-1]:
            del lines[-1]
        for line in lines:
            yield from line
            yield Segment.line()


class _Heading(markdown.Heading):
    """A heading at the left margin, like the answer."""

    LEVEL_ALIGN: ClassVar = {}


class _Markdown(markdown.Markdown):
    """rich's Markdown, except that HTML, entities, images and references are shown as written, each line on its own.

    Models mean their line breaks, as in verses, addresses, and quoted lines of a file: joined into one paragraph these
    would be lost.
    """

    elements: ClassVar = {**markdown.Markdown.elements, "heading_open": _Heading}
    inlines = markdown.Markdown.inlines | {"not_read"}

    def __init__(self, text: str, joins_lines: bool) -> None:
        super().__init__("", code_theme="ansi_dark", hyperlinks=False)
        self.markup = text
        self.parsed = parser().parse(text)
        for token in self.parsed if NOT_READ in text else ():
            token.children = [*chain.from_iterable(map(_split_marks, token.children or ()))]
        for child in chain.from_iterable(token.children or () for token in self.parsed) if joins_lines else ():
            if child.type == "text":
                child.content = child.content.replace("\n", " ")


def _split_marks(token: Token) -> Iterator[Token]:
    """Split a text token at NOT_READ marks, which become separate tokens."""
    for number, text in enumerate(token.content.split(NOT_READ) if token.type == "text" else ()):
        yield from [Token("not_read", "not_read", 0, content=NOT_READ)] * bool(number)
        yield Token("text", "", 0, content=text)
    yield from [token] * (token.type != "text")


def _trimmed(line: list[Segment]) -> list[Segment]:
    while line and not (line[-1].style and line[-1].style.bgcolor):
        last = line.pop()
        text = last.text.rstrip(" ")
        if text:
            return [*line, Segment(text, last.style)]
    return line
