"""The session as a picture: what its terminal shows when all is done, from the first question to the last footer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.ansi import AnsiDecoder
from rich.segment import Segment

from repl.commands.export.drawing import Row, svg_of
from repl.commands.export.retold import Retelling, screen

if TYPE_CHECKING:
    from session.session import Session

NOT_IN_XML = str.maketrans(dict.fromkeys("\ufffe\uffff", "\ufffd"))


def export(session: Session, columns: int) -> Iterator[str]:
    """The picture. Raises UsageError where nothing was asked."""
    written = Retelling(session, columns).written()
    console, _ = screen(columns)
    rows: list[Row] = []
    for shown in AnsiDecoder().decode(written.translate(NOT_IN_XML).strip("\n")):
        pieces = Segment.split_and_crop_lines(shown.render(console), columns, pad=False, include_new_lines=False)
        rows += [*pieces] or [[]]
    yield svg_of(rows, columns)
