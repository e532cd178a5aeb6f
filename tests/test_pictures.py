"""The pictures of the docs show what they must, to everyone, and are what the program looks like now."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from docs.pictures import FOLDER, PICTURES, Picture, draw, timeless

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
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
def test_a_picture_tells_nothing_of_the_machine(picture: Picture) -> None:
    assert not re.search(r"/home/|/Users/|/root|/tmp|127\.0\.0\.1|localhost", said(svg(picture)))


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
    assert shown == {FOLDER / f"{picture.name}.svg" for picture in PICTURES} == {*FOLDER.glob("*")}


def test_a_picture_made_anew_differs_in_times_alone() -> None:
    session = next(picture for picture in PICTURES if picture.name == "session")
    assert timeless(draw(session)) == timeless(svg(session)), "make it anew: make pictures"


def test_times_alone_are_left_out_of_account() -> None:
    assert timeless('<text x="8.4">read · 88 ms · 2.9s</text>') == timeless('<text x="1">read ·  9 ms · 12.0s</text>')
    assert timeless("<text>2.9</text>") == timeless("<text>0.4</text>")
    for one, other in [("31%", "32%"), ("1.1×", "1.2×"), ("4.4k", "4.5k"), ("2,513", "2,514"), ("red", "blue")]:
        assert timeless(one) != timeless(other)
