"""What an experiment found says the same in each form, whatever its words are; the page and its flag."""

from __future__ import annotations

import csv
import io
import json
from argparse import Namespace
from contextlib import redirect_stdout
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thimble.agent.errors import UsageError
from thimble.lab.experiment_flags import add_output
from thimble.lab.findings import (
    Findings,
    ResultTable,
    publish_findings,
    svg_of_boxes,
    svg_of_lines,
    svg_of_points,
    write_page,
)
from thimble.session.parser import Parser

WORDS = st.one_of(
    st.text(st.characters(exclude_categories=["C"]), max_size=9),
    st.sampled_from(["</td><script>alert(1)</script>", '" onload="x', "&amp;", "a|b", "[bold]x[/bold]", "**1**"]),
)
TABLES = st.integers(1, 4).flatmap(
    lambda width: st.builds(
        ResultTable,
        WORDS,
        st.lists(WORDS, min_size=width, max_size=width),
        st.lists(st.lists(WORDS, min_size=width, max_size=width), max_size=4),
        WORDS,
        st.integers(0, width),
    )
)
NUMBERS = st.floats(-1e6, 1e6)


def grouped(
    figures: st.SearchStrategy[tuple[float, ...]],
) -> st.SearchStrategy[dict[str, dict[str, tuple[float, ...]]]]:
    return st.dictionaries(WORDS, st.dictionaries(WORDS, figures, max_size=3), max_size=3)


FINDINGS = st.builds(
    Findings,
    WORDS,
    st.lists(WORDS, max_size=2),
    st.lists(TABLES, max_size=3),
    st.lists(st.fixed_dictionaries({"name": WORDS, "of": st.lists(WORDS.filter(str.split), max_size=2)}), min_size=1),
    pictures=st.dictionaries(
        WORDS,
        st.one_of(
            st.builds(svg_of_lines, st.dictionaries(WORDS, st.lists(NUMBERS, max_size=3), max_size=2)),
            st.builds(svg_of_points, grouped(st.tuples(NUMBERS, NUMBERS))),
            st.builds(svg_of_boxes, grouped(st.tuples(*[st.floats(0, 1e6)] * 6)), WORDS),
        ),
        max_size=2,
    ),
)


def printed(found: Findings, form: str = "") -> str:
    options = Namespace(**{name: name == form for name in ("json", "csv", "markdown")}, report=None)
    with redirect_stdout(io.StringIO()) as paper:
        publish_findings(found, options, "thimble lab x", [])
    return paper.getvalue()


class Reading(HTMLParser):
    """The cells of a page, and the elements that it has."""

    def __init__(self) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self._in_cell = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self._in_cell = tag in ("td", "th")
        self.cells += [""] * self._in_cell

    def handle_endtag(self, tag: str) -> None:
        self._in_cell = False

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            self.cells[-1] += data


@given(FINDINGS)
def test_each_form_has_all_of_it(found: Findings) -> None:
    assert json.loads(printed(found, "json")) == found.records
    lines = [*csv.DictReader(io.StringIO(printed(found, "csv"), newline=""))]
    assert lines == [{"name": record["name"], "of": " ".join(record["of"])} for record in found.records]
    rows = [line for line in printed(found, "markdown").split("\n") if line.startswith("| ")]
    assert len(rows) >= sum(1 + len(table.rows) for table in found.tables)


@given(FINDINGS)
def test_any_words_make_a_page_that_runs_nothing(tmp_path_factory: pytest.TempPathFactory, found: Findings) -> None:
    path = tmp_path_factory.mktemp("page") / "p.html"
    write_page(path, found, "thimble lab x '<b>'")
    page = path.read_text()
    write_page(path, found, "thimble lab x '<b>'")
    assert path.read_text() == page
    reading = Reading()
    reading.feed(page)
    reading.close()
    assert reading.cells == [cell for table in found.tables for row in [table.columns, *table.rows] for cell in row]
    assert page.count("<svg") == sum(map(bool, found.pictures.values()))
    assert not reading.tags & {"script", "link", "img", "iframe", "object", "b"}
    assert not {name for name in reading.attributes if name.startswith("on") or name in ("href", "src", "style")}


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=2))
def test_points_have_their_places_and_no_names_overlap(points: dict[str, tuple[int, int]]) -> None:
    drawing = ElementTree.fromstring(svg_of_points({"": points}))
    dots = {(dot.attrib["cx"], dot.attrib["cy"]) for dot in drawing.iter("circle")}
    (left, right), (low, high) = ((min(of), max(of)) for of in zip(*points.values(), strict=True))
    wide, tall = 600 / (right - left or 1), 300 / (high - low or 1)
    assert dots == {(f"{(x - left) * wide:.1f}", f"{(high - y) * tall:.1f}") for x, y in points.values()}
    names = [
        (float(text.attrib["x"]), float(text.attrib["y"])) for text in drawing.iter("text") if text.text in [*points]
    ]
    assert len(names) == len(points)
    assert all(abs(x - u) > 10 or abs(y - v) >= 14.9 for (x, y), (u, v) in combinations(names, 2))


def test_scales_have_round_values_at_their_places() -> None:
    drawing = ElementTree.fromstring(svg_of_points({"": {"a": (0.18, 15), "b": (1.29, 54.8)}}, "cost, $", "solved, %"))
    texts = {text.text: (text.attrib["x"], text.attrib["y"]) for text in drawing.iter("text")}
    assert texts.keys() == {"a", "b", "cost, $", "solved, %"} | {
        *("0.2", "0.4", "0.6", "0.8", "1", "1.2"),
        *("20", "30", "40", "50"),
    }
    assert float(texts["0.2"][0]) == pytest.approx(600 * 0.02 / 1.11, abs=0.1)
    assert float(texts["20"][1]) == pytest.approx(300 * 34.8 / 39.8 + 5, abs=0.1)


def test_a_box_is_drawn_to_scale() -> None:
    drawing = svg_of_boxes({"model": {"raw": (1, 2, 3, 5, 10, 4)}, "other": {"raw": (0, 0, 0, 0, 0, 0)}}, "turns")
    assert 'd="M60.0 10H120.0V2H300.0V18H120.0V10M300.0 10H600.0M180.0 2v16"' in drawing
    assert 'x="240.0" y="15" fill="royalblue" text-anchor="middle">★' in drawing
    assert svg_of_boxes({}) == svg_of_points({}) == ""


def test_foreign_words_are_no_markup_of_the_terminal() -> None:
    words = ["[dim]told", "[b]Costs", "[link=x]", "[i]strategy", "[red]none[/red]", "[/b]"]
    told, title, how, column, cell, after = words
    said = printed(Findings("", [told], [ResultTable(title, [column], [[cell]], how)], [], [after]))
    assert all(word in said for word in words)


def test_text_stands_left_and_figures_right() -> None:
    found = Findings(
        "", [], [ResultTable("Costs", ["strategy", "cost"], [["none", "1"], ["a|b", "22"]], "Less is better.")], []
    )
    assert printed(found, "markdown") == (
        "\n## Costs\n\nLess is better.\n\n| strategy | cost |\n|---|--:|\n| none | 1 |\n| a\\|b | 22 |\n"
    )
    assert [line.rstrip() for line in printed(found).splitlines()[5:]] == [
        "strategy  cost",
        "───────────────",
        "none         1",
        "a|b         22",
    ]


# --- the flag ---------------------------------------------------------------------------------------------------------


def test_a_page_is_replaced_only_with_a_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    parser = Parser("x")
    add_output(parser)
    assert parser.parse_args(["--report", "r.html"]).report == Path("r.html")
    Path("r.html").touch()
    with pytest.raises(UsageError, match="already exists"):
        parser.parse_args(["--report", "r.html"])
    assert parser.parse_args(["--report", "r.html!"]).report == Path("r.html")
    Path("folder.html").mkdir()
    for text in ("r.txt", "", "!", "no/such/folder/r.html", "a\0.html", "folder.html"):
        with pytest.raises(UsageError, match="--report"):
            parser.parse_args(["--report", text])
    with pytest.raises(UsageError, match="cannot be written"):
        write_page(Path("gone/r.html"), Findings("", [], [], []), "x")
