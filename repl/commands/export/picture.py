"""The session as a picture: what its terminal shows when all is done, from the first question to the last footer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.ansi import AnsiDecoder
from rich.segment import Segment

from repl.commands.export.drawing import COLOURS, Look, Row, svg_of
from repl.commands.export.retold import Retelling, screen

if TYPE_CHECKING:
    from rich.color import Color
    from rich.style import Style

    from session.session import Session

PALETTE = (*COLOURS.values(),)
NOT_IN_XML = str.maketrans(dict.fromkeys("\ufffe\uffff", "\ufffd"))


def export(session: Session, columns: int) -> Iterator[str]:
    """The picture. Raises UsageError where nothing was asked."""
    written = "".join(text for _, _, text in Retelling(session, columns, live=False).records())
    console, _ = screen(columns)
    rows: list[Row] = []
    for shown in AnsiDecoder().decode(written.translate(NOT_IN_XML).strip("\n")):
        segments = Segment.split_and_crop_lines(shown.render(console), columns, pad=False, include_new_lines=False)
        rows += [[(segment.text, _look(segment.style)) for segment in segments_] for segments_ in segments] or [[]]
    yield svg_of(rows, columns)


def _look(style: Style | None) -> Look:
    if style is None:
        return Look()
    return Look(
        _colour(style.color),
        _colour(style.bgcolor),
        bool(style.bold),
        bool(style.italic),
        bool(style.underline),
        bool(style.dim),
        bool(style.reverse),
    )


def _colour(of: Color | None) -> str:
    if of is None or of.is_default:
        return ""
    number = of.number
    return PALETTE[number] if number is not None and number < len(PALETTE) else of.get_truecolor().hex
