"""Tables: drawn on a terminal, else a line per row with `header: value`."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from thimble.repl.screen.sanitise import one_line
from thimble.repl.screen.theme import is_drawn

if TYPE_CHECKING:
    from rich.table import Table as Drawn


class Paper(io.StringIO):
    """A file that keeps the printed text, and the tables apart, and passes the text on at once."""

    def __init__(self, pass_on: Callable[[str], object]) -> None:
        super().__init__()
        self.tables: list[Table] = []
        self._pass_on = pass_on

    def write(self, text: str) -> int:
        """Keep it, and pass it on."""
        self._pass_on(text)
        return super().write(text)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under columns; the first column names the row. Columns whose header starts with `>` hold figures.

    A Text cell is trusted and printed unchanged; any other is sanitised. The row at index `bold` is bold.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | Text]]
    bold: int | None = None

    def show(self, console: Console) -> None:
        """Print the table; as a list if it is too wide for the terminal."""
        if isinstance(console.file, Paper):
            console.file.tables.append(self)
        if not is_drawn(console) or self._least_width() > console.width:
            self._list(console)
            return
        console.print(Text(one_line(self.title), style="bold"))
        console.print(Padding(self._drawn(), (0, 0, 0, 2), expand=False))

    def as_fields(self) -> dict[str, Any]:
        """Its title, column names and rows, with the cells as plain text."""
        rows = [[cell.plain if isinstance(cell, Text) else cell for cell in row] for row in self.rows]
        return {"title": self.title, "columns": [name.removeprefix(">") for name in self.columns], "rows": rows}

    def _least_width(self) -> int:
        """The least width in columns: names and figures in full, and at least 24 columns for words."""
        headers = [column.removeprefix(">") for column in self.columns]
        widths = [max(cell_len(_line(cell)) for cell in cells) for cells in zip(headers, *self.rows, strict=True)]
        for place, column in enumerate(self.columns):
            if place and not column.startswith(">"):
                widths[place] = min(widths[place], 24)  # narrower columns are hard to read
        return sum(widths) + 3 * len(widths)

    def _drawn(self) -> Drawn:
        from rich import box
        from rich.table import Table as Drawn

        headed = any(self.columns)
        drawn = Drawn(box=box.SIMPLE_HEAD if headed else None, show_header=headed, show_edge=False, pad_edge=False)
        drawn.header_style = drawn.border_style = "quiet"
        for place, column in enumerate(self.columns):
            figures = column.startswith(">")
            drawn.add_column(
                Text(column.removeprefix(">")),
                justify="right" if figures else "left",
                no_wrap=figures or place == 0,
                overflow="fold",  # a path or an address that is longer than the column
            )
        for row in self.rows:
            drawn.add_row(*map(_cell, row))
        if self.bold is not None:
            drawn.rows[self.bold].style = "bold"
        return drawn

    def _list(self, console: Console) -> None:
        console.print(Text(one_line(self.title)))
        headers = [column.removeprefix(">").strip() for column in self.columns]
        for row in self.rows:
            first, *more = (one_line(cell) for cell in str(row[-1]).split("\n"))
            cells = [*map(_line, row[:-1]), first]
            named = [f"{name}: {cell}" if name else cell for name, cell in zip(headers, cells, strict=True) if cell]
            console.print(Text("  " + (": ".join(cells) if len(cells) == 2 else "; ".join(named))))
            for text in more:
                console.print(Text(f"    {text}"))


def _line(cell: str | Text) -> str:
    return cell.plain if isinstance(cell, Text) else one_line(cell)


def _cell(cell: str | Text) -> Text:
    return cell if isinstance(cell, Text) else Text("\n".join(map(one_line, cell.split("\n"))))
