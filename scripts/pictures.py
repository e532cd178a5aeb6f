"""Make the pictures of the docs: thimble in a real terminal, after some lines are typed.

    python scripts/pictures.py                # all of PICTURES, into docs/pictures/*.svg
    python scripts/pictures.py stats forecast # these

A picture is a row of PICTURES: the typed lines, and the words that must be on the screen before the next line. The
picture must show the last words. Seconds and milliseconds differ from run to run, so a picture that differs only in
them is not rewritten; choose enough columns that no row is cut off after such a figure.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the project need not be installed

import pyte
from pyte.screens import Char
from rich.segment import Segment
from rich.style import Style

from scripts.drawing import COLOURS, svg_of
from tests.support.pty_terminal import Terminal

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
NO_SERVER = "http://127.0.0.1:9"

Step = tuple[str, Sequence[str]]
"""The typed text, and the words to wait for."""


def reader(budget: int, *flags: str) -> Sequence[str]:
    """The arguments of a session with the built-in reader."""
    return ("--backend", "reader", "--budget", str(budget), *flags)


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture: the steps that make it, and its first row.

    Attributes:
        steps: The typed lines, each with the words to wait for; the first one follows the start of the program.
        since: The start of the first row (the last such row counts); "" for the whole session.
        columns: Width of the terminal.
        arguments: The arguments of the command line.
    """

    name: str
    steps: Sequence[Step]
    since: str = ""
    columns: int = 80
    arguments: Sequence[str] = ("--backend", "reader")

    @property
    def shows(self) -> Sequence[str]:
        """The words that the picture must show."""
        return self.steps[-1][1]


OPENED: Step = ("", ["reader (built in)", "next ▓"])
READ: Sequence[Step] = (
    OPENED,
    ("Read the article about context windows\r", ["· 1 exchange"]),
    ("Now read the article about testing LLM applications\r", ["· 2 exchanges"]),
)

READ_IN_4000: Sequence[Step] = (
    OPENED,
    ("Read the article about observation masking\r", ["· 1 exchange"]),
    ("Which article is about tokenisers?\r", ["· 2 exchanges"]),
    ("And what does prefix caching save?\r", ["· 3 exchanges"]),
)
LONG_QUESTION = (
    "Thank you. We want to give a small model 8,000 tokens, and it reads whole articles of about 2,000 tokens each: "
    "which of these ways to stretch a window would you try first on one machine with little memory, what does each of "
    "them cost in quality and in time, and how full should we let the window become before anything is taken away?"
)

PICTURES = [
    Picture(
        "session",
        [OPENED, ("What does GRPO do without?\r", ["⌕ search_articles", "turns ", "Σ ", "· 1 exchange"])],
        columns=100,
    ),
    Picture(
        "stats",
        [
            *READ,
            (
                "/stats all\r",
                [
                    "Prompt tokens of each call",
                    "The parts of the last prompt",
                    "What made the prompts smaller",
                    "· 2 exchanges",
                ],
            ),
        ],
        since="› /stats all",
    ),
    Picture(
        "strategy",
        [
            *READ,
            ("/help strategy sliding-window\r", ["Parameters", "Swap to it"]),
            ("/strategy sliding-window\r", ["The strategy is now sliding-window", "· window ·", "will hold"]),
        ],
        since="› /help",
    ),
    Picture(
        "context",
        [*READ_IN_4000, ("/context\r", ["was ", "sent ", "═ cached", "first words", "next ▓"])],
        since="› /context",
        columns=100,
        arguments=reader(4000),
    ),
    Picture(
        "why",
        [
            *READ_IN_4000,
            ("/why 4\r", ["message 4 (list_articles), masked"]),
            ("/context 4\r", ["after, ", "before, ", "· 3 exchanges"]),
        ],
        since="› /why",
        columns=100,
        arguments=reader(4000),
    ),
    Picture(
        "compare",
        [*READ_IN_4000, ("/compare\r", ["calls of this session", "Each message of the history", "‹ in use", "next ▓"])],
        since="› /compare",
        columns=100,
        arguments=reader(4000),
    ),
    Picture(
        "compare-run",
        [
            *READ_IN_4000,
            (
                "/compare none sliding-window observation-masking run How well did humans do on the WebArena tasks?\r",
                ["Asked under each", "none: answered", "known answer: right", "next ▓"],
            ),
        ],
        since="› /compare",
        columns=100,
        arguments=reader(4000),
    ),
    Picture(
        "probe",
        [
            OPENED,
            ("/plant The vault of the museum opens at 7 minutes past 4\r", ["Planted in message 4", "next ▓"]),
            ("Which article is about tokenisers?\r", ["· 1 exchange"]),
            ("Read the article about context windows\r", ["· 2 exchanges"]),
            ("What is observation masking?\r", ["· 3 exchanges"]),
            (
                "/probe When does the vault of the museum open?\r",
                [
                    "MISS",
                    "How long it survives",
                    "observation-masking ‹",
                    "· gone",
                    "the last is the next one",
                    "next ▓",
                ],
            ),
        ],
        since="› /probe",
        columns=100,
        arguments=reader(2500),
    ),
    Picture(
        "predict",
        [
            OPENED,
            ("Read the article about context windows\r", ["· 1 exchange"]),
            ("/predict\r", ["messages: which of them", "/predict 1-4 9 12"]),
            ("/predict 1-3 5-7\r", ["The guess: "]),
            ("What is observation masking?\r", ["Predicted: ", "· 2 exchanges"]),
        ],
        since="› /predict",
        columns=100,
        arguments=reader(2500),
    ),
    Picture(
        "stage",
        [
            OPENED,
            ("Read the article about context windows\r", ["nothing was changed", "Enter ▸"]),
            (" ", ["I will list the articles", "Enter ▸"]),
            (" ", ["ACTION", "Enter ▸"]),
            (" ", ["3 articles ·", "Enter ▸"]),
            (" ", ["1,344 of 2,500 tokens", "Enter ▸"]),
            (" ", ["I will read the article", "Enter ▸"]),
            (" ", ['read_article "context-windows"', "Enter ▸"]),
            (" ", ["page 1 of 2", "Enter ▸"]),
            (" ", ["shortened 1 result", "Why: ", "Cost: ", "Saved: ", "Enter ▸"]),
        ],
        since=" ACTION",
        columns=80,
        arguments=reader(2500, "--stage"),
    ),
    Picture(
        "tree",
        [
            OPENED,
            ("What is observation masking?\r", ["· 1 exchange"]),
            ("And what helps against context rot?\r", ["· 2 exchanges"]),
            ("/fork 1 none\r", ["Branch 2 starts", "· none ·"]),
            ("What are KV caches?\r", ["· 2 exchanges"]),
            ("/retry truncate\r", ["Branch 3 asks again", "Branch 2 keeps", "turns ", "· truncate ·", "· 2 exchanges"]),
            ("/tree 1\r", ["On branch 1", "· observation-masking ·"]),
            ("/tree\r", ["The branches, each with its own cost", "next ▓"]),
        ],
        since="› /tree",
        columns=100,
        arguments=reader(2000),
    ),
    Picture(
        "forecast",
        [OPENED, READ[1], (LONG_QUESTION, ["shortens ", "· prefill "])],
        since="turns ",
        columns=100,
        arguments=reader(3600),
    ),
]


def main(names: Sequence[str]) -> int:
    """Make the pictures with these names, or all if there are none; 2 for an unknown name."""
    unknown = {*names} - {picture.name for picture in PICTURES}
    if unknown:
        print(f"no picture of {', '.join(sorted(unknown))}; there are {', '.join(each.name for each in PICTURES)}")
        return 2
    for picture in PICTURES:
        if not names or picture.name in names:
            path, svg = FOLDER / f"{picture.name}.svg", draw(picture)
            same = path.exists() and timeless(path.read_text("utf-8")) == timeless(svg)
            if not same:
                path.parent.mkdir(exist_ok=True)
                path.write_text(svg, "utf-8")
            print(f"{path.name}: {'unchanged' if same else f'{len(svg):,} characters'}")
    return 0


def draw(picture: Picture) -> str:
    """The SVG of the final terminal. Raises AssertionError if the words do not appear."""
    with TemporaryDirectory() as home:
        surroundings = {"OLLAMA_HOST": NO_SERVER, "OPENAI_BASE_URL": NO_SERVER}
        here = Terminal("repl", *picture.arguments, state=Path(home), columns=picture.columns, **surroundings)
        try:
            for keys, words in picture.steps:
                here.type(keys)
                here.see(*words)
            here.settle()
        finally:
            here.close()
    screen = Screen(picture.columns, here.screen.lines, history=10_000)
    pyte.Stream(screen).feed(here.raw)
    return picture_of(shown(screen, picture.since), picture.columns)


def timeless(svg: str) -> str:
    """The picture without values that differ from run to run: figures in ms or s, or with one decimal and no unit."""
    placed = re.sub(r' (x|width|textLength)="[^"]*"', "", svg)
    return re.sub(r"\s+", " ", re.sub(r"\b\d+(\.\d+)? ?m?s\b|\b\d+\.\d\b(?![×%])", "…", placed))


# ---- the screen ----

Row = Sequence[Char]


class Screen(pyte.HistoryScreen):
    """A screen that stores dim text as blinking: pyte has no attribute for dim, and nothing in thimble blinks."""

    def select_graphic_rendition(self, *attributes: int, **rest: Any) -> None:
        """Set colours and styles for the next text."""
        plain = not {38, 48} & set(attributes)  # otherwise a 2 may be part of a colour
        known = [{2: 5}.get(each, each) if plain else each for each in attributes]
        super().select_graphic_rendition(*known, *[25] * (22 in attributes), **rest)


def shown(screen: Screen, since: str) -> Sequence[Row]:
    """The rows from the last one that starts with `since` to the last one with text, including scrolled ones.

    The cell of the cursor is inverted.
    """
    lines: list[Mapping[int, Char]] = [*screen.history.top, *(screen.buffer[row] for row in range(screen.lines))]
    rows = [[line[column] for column in range(screen.columns)] for line in lines]
    row, column = rows[len(screen.history.top) + screen.cursor.y], min(screen.cursor.x, screen.columns - 1)
    row[column] = row[column]._replace(reverse=not screen.cursor.hidden)
    texts = ["".join(cell.data for cell in row).rstrip() for row in rows]
    first = max(at for at, text in enumerate(texts) if text.startswith(since)) if since else 0
    last = max(at for at, text in enumerate(texts) if text)
    return rows[first : last + 1]


# ---- the drawing ----


def picture_of(rows: Sequence[Row], columns: int) -> str:
    """A picture of these rows."""
    return svg_of([[Segment(cell.data, _look(cell)) for cell in row] for row in rows], columns)


def _look(cell: Char) -> Style:
    """The look of a cell. One of the 256 colours is its six hexadecimal digits."""
    ink, paper = (None if name == "default" else COLOURS.get(name, f"#{name}") for name in (cell.fg, cell.bg))
    return Style(
        color=ink,
        bgcolor=paper,
        bold=cell.bold,
        italic=cell.italics,
        underline=cell.underscore,
        dim=cell.blink,
        reverse=cell.reverse,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
