"""The pictures of the docs show what they must, to everyone, and are what the program looks like now."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pyte
import pytest

from scripts.drawing import CELL, COLOURS, MARGIN
from scripts.pictures import FOLDER, PICTURES, Picture, Screen, draw, picture_of, shown, timeless
from tests.support.paths import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FIGURES = ROOT / "docs" / "results" / "figures"
SVG = "http://www.w3.org/2000/svg"
LEAST_WORDS = 8

each = pytest.mark.parametrize("picture", PICTURES, ids=[picture.name for picture in PICTURES])


def svg(picture: Picture) -> str:
    return (FOLDER / f"{picture.name}.svg").read_text("utf-8")


def said(drawing: str) -> str:
    """The words of a picture, without the spaces between them: a row is in pieces."""
    words = "".join("".join(text.itertext()) for text in ElementTree.fromstring(drawing).iter(f"{{{SVG}}}text"))
    return re.sub(r"\s", "", words)


@each
def test_a_picture_shows_what_it_must(picture: Picture) -> None:
    for words in picture.shows:
        assert re.sub(r"\s", "", words) in said(svg(picture)), words


@each
def test_a_picture_asks_nobody_for_anything(picture: Picture) -> None:
    drawing = svg(picture)
    assert re.findall(r"\w+://[^\s\"'<)]+", drawing) == [SVG]
    assert not re.search(r"url\(|@import|href|<script|<image|<foreignObject|\bsrc=", drawing)
    assert len(drawing.encode()) < 100_000


@each
def test_a_picture_is_on_a_page_with_words_for_who_cannot_see_it(picture: Picture) -> None:
    told = [
        words.split()
        for page in PAGES
        for words, target in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", page.read_text("utf-8"))
        if (page.parent / target).resolve() == FOLDER / f"{picture.name}.svg"
    ]
    assert told
    assert all(len(words) >= LEAST_WORDS for words in told)


def test_every_picture_of_the_pages_is_made_by_the_command() -> None:
    shown = {
        (page.parent / target).resolve()
        for page in PAGES
        for target in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text("utf-8"))
        if not target.startswith("http")
    }
    shown = {path for path in shown if path.parent != FIGURES}
    assert shown == {FOLDER / f"{picture.name}.svg" for picture in PICTURES} == {*FOLDER.glob("*")}


@pytest.mark.nightly
def test_a_picture_made_anew_differs_in_times_alone() -> None:
    session = next(picture for picture in PICTURES if picture.name == "session")
    assert timeless(draw(session)) == timeless(svg(session)), "make it anew: make pictures"


def test_times_alone_are_left_out_of_account() -> None:
    assert timeless('<text x="8.4">read · 88 ms · 2.9s</text>') == timeless('<text x="1">read ·  9 ms · 12.0s</text>')
    assert timeless("<text>0.1 s</text>") == timeless("<text>99 ms</text>")
    assert timeless("<text>2.9</text>") == timeless("<text>0.4</text>")
    for one, other in [("31%", "32%"), ("1.1×", "1.2×"), ("4.4k", "4.5k"), ("2,513", "2,514"), ("red", "blue")]:
        assert timeless(one) != timeless(other)


def drawn(text: str, since: str = "") -> list[ElementTree.Element]:
    """The pieces of text of a small screen to which this is written."""
    screen = Screen(20, 3, history=100)
    pyte.Stream(screen).feed(text)
    return list(ElementTree.fromstring(picture_of(shown(screen, since), 20)).iter(f"{{{SVG}}}text"))


def test_columns_stand_behind_wide_characters() -> None:
    pieces = {piece.text: piece for piece in drawn("日本 ─ <x>")}
    behind = next(piece for text, piece in pieces.items() if text and "<x>" in text)
    assert float(pieces["本"].attrib["x"]) == pytest.approx(MARGIN + 2 * CELL, abs=0.1)
    assert float(pieces["─"].attrib["x"]) == pytest.approx(MARGIN + 5 * CELL, abs=0.1)
    assert float(behind.attrib["x"]) == pytest.approx(MARGIN + 6 * CELL, abs=0.1)
    assert float(pieces["日"].attrib["textLength"]) == pytest.approx(2 * CELL, abs=0.1)


def test_colours_and_dim_text_are_told_apart() -> None:
    red, dim, green, plain = drawn("\x1b[31mred\x1b[2mdim\x1b[22;32mgreen\x1b[0mplain\x1b[?25l")
    assert red.attrib["fill"] == COLOURS["red"]
    assert dim.attrib["fill"] not in COLOURS.values()
    assert green.attrib["fill"] == COLOURS["green"]
    assert "fill" not in plain.attrib
