"""Draw rows of a terminal as a self-contained SVG on a dark background, with the viewer's fonts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from xml.sax.saxutils import escape

from rich.cells import cell_len
from rich.color import Color
from rich.segment import Segment
from rich.style import Style

CELL, LINE, SIZE, MARGIN = 8.4, 16, 14, 16
"""Width of a column, height of a row, size of the letters and space around them, in pixels."""
INK, PAPER = "#e6e9ef", "#15181e"
COLOURS = {
    "black": "#15181e", "red": "#ff7b72", "green": "#7ee787", "brown": "#e3b341", "blue": "#79b8ff",
    "magenta": "#d2a8ff", "cyan": "#56d4dd", "white": "#c9d1d9", "brightblack": "#8b949e", "brightred": "#ffa198",
    "brightgreen": "#aff5b4", "brightbrown": "#f2cc60", "brightblue": "#a5d6ff", "brightmagenta": "#e2c5ff",
    "brightcyan": "#b3f0ff", "brightwhite": "#ffffff",
}  # fmt: skip
"""The sixteen colours of a terminal, in order, by their names in pyte."""
PALETTE = (*COLOURS.values(),)
STYLE = f"""\
text {{ font: {SIZE}px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }}
.b {{ font-weight: bold; }} .i {{ font-style: italic; }} .u {{ text-decoration: underline; }}"""


Row = Sequence[Segment]
"""A row as segments of any length."""
Look = tuple[str, str, str]
"""The colours of text and background ("": default), and the SVG attribute for bold, italic and underline."""


def svg_of(rows: Sequence[Row], columns: int) -> str:
    """A picture of these rows."""
    drawn = "\n".join(piece for number, row in enumerate(rows) for piece in _pieces(row, MARGIN + number * LINE))
    width, height = round(2 * MARGIN + CELL * columns), 2 * MARGIN + LINE * len(rows)
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" fill="{INK}">
<style>
{STYLE}
</style>
<rect width="100%" height="100%" rx="8" fill="{PAPER}"/>
{drawn}
</svg>
"""


def _pieces(row: Row, top: int) -> Iterator[str]:
    """The SVG of a row, in pieces of one look. Each has its exact width, so that columns line up in any font."""
    column = 0
    looks = ((piece.text, _look(piece.style or Style.null())) for piece in row)
    cells = ((letter, look) for text, look in looks for letter in text)
    for (look, _), same in groupby(cells, key=lambda cell: (cell[1], _kind(cell[0]))):
        text = "".join(letter for letter, _ in same)
        x, width = MARGIN + CELL * column, CELL * cell_len(text)
        column += cell_len(text)
        ink, paper, letters = look
        if paper:
            yield f'<rect x="{x:.1f}" y="{top}" width="{width:.1f}" height="{LINE}" fill="{paper}"/>'
        if text.strip():
            fill = f' fill="{ink}"' if ink else ""
            yield (
                f'<text x="{x:.1f}" y="{top + 13}" textLength="{width:.1f}" lengthAdjust="spacingAndGlyphs"'
                f'{letters}{fill} xml:space="preserve">{escape(text)}</text>'
            )


def _kind(letter: str) -> str:
    """Group letters by font: ordinary ones together, lines and blocks together; others may each need another font."""
    if letter < "\u2100":
        return "letters"
    return "lines" if "\u2500" <= letter <= "\u259f" else letter


def _look(style: Style) -> Look:
    ink, paper = _colour(style.color), _colour(style.bgcolor)
    ink = _dim(ink or INK) if style.dim else ink
    looks = {"b": style.bold, "i": style.italic, "u": style.underline}
    names = " ".join(name for name, wanted in looks.items() if wanted)
    letters = f' class="{names}"' if names else ""
    return (paper or PAPER, ink or INK, letters) if style.reverse else (ink, paper, letters)


def _colour(of: Color | None) -> str:
    if of is None or of.is_default:
        return ""
    return PALETTE[of.number] if of.number is not None and of.number < len(PALETTE) else of.get_truecolor().hex


def _dim(ink: str) -> str:
    """Two thirds of the way from the background to this colour. Transparency would show where letters overlap."""
    pairs = [(int(PAPER[at : at + 2], 16), int(ink[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{(dark + 2 * light) // 3:02x}" for dark, light in pairs)
