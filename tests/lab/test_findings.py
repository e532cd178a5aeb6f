"""A report: a page that any parser reads, with every number of the data, whatever the data are; and its flag."""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import UsageError
from lab.page import Report
from lab.report.cells import Value, exact, shown
from lab.report.drawing import HEIGHT, WIDTH
from lab.report.flag import add_report, destination
from lab.report.scale import scale
from session.parser import Parser

HTML = "{http://www.w3.org/1999/xhtml}"
SVG = "{http://www.w3.org/2000/svg}"
LARGEST = 1.7976931348623157e308

FLOATS = st.one_of(st.floats(), st.sampled_from([math.nan, math.inf, -math.inf, LARGEST, -LARGEST, 5e-324, 0.0, -0.0]))
NUMBERS = st.one_of(st.none(), st.integers(-(10**6), 10**6), st.just(10**400), FLOATS)
WORDS = st.one_of(
    st.text(st.characters(), max_size=12),
    st.sampled_from(["</svg><script>alert(1)</script>", '" onload="x', "&amp;", "]]>", "\x1b[2J", "\ud800", "=1+1"]),
)
AXES = st.lists(st.one_of(NUMBERS, WORDS), max_size=7)


@st.composite
def reports(draw: st.DrawFn) -> tuple[Callable[[], Report], list[Value]]:
    """How to make a report, and every value in it."""
    values: list[Value] = []
    steps: list[tuple[str, tuple[Any, ...], str]] = []

    def several(of: st.SearchStrategy[Value], count: int) -> list[Value]:
        found = draw(st.lists(of, min_size=count, max_size=count))
        values.extend(found)
        return found

    for kind in draw(st.lists(st.sampled_from(["lines", "bars", "heat", "table"]), max_size=3)):
        x = draw(AXES)
        names = draw(st.lists(WORDS, max_size=4, unique=True))
        title, unit = draw(WORDS), draw(WORDS)
        if kind == "table":
            keys = [f"{number}{name}" for number, name in enumerate(names)]
            rows = [dict(zip(keys, several(st.one_of(NUMBERS, WORDS), len(keys)), strict=True)) for _ in x]
            steps.append((kind, (title, rows), ""))
        elif kind == "heat":
            steps.append((kind, (title, (unit, x), (unit, names), [several(NUMBERS, len(names)) for _ in x]), unit))
            values += x
        else:
            series = {name: several(NUMBERS, len(x)) for name in names}
            bounded = [name for name in names if draw(st.booleans())]
            ends = {name: [*zip(several(NUMBERS, len(x)), several(NUMBERS, len(x)), strict=True)] for name in bounded}
            steps.append((kind, (title, (unit, x), series, ends), unit))
            values += x
    words = draw(WORDS), draw(WORDS), draw(WORDS), draw(WORDS)

    def made() -> Report:
        report = Report(*words[:3])
        report.text(words[3])
        for kind, arguments, unit in steps:
            getattr(report, kind)(*arguments, caption=words[0], **({"unit": unit} if kind != "table" else {}))
        return report

    return made, values


class Balance(HTMLParser):
    """Elements that are open; a wrong end tag fails."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.seen.add(tag)

    def handle_startendtag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@given(reports())
def test_any_data_make_a_page_that_every_parser_reads(case: tuple[Callable[[], Report], list[Value]]) -> None:
    made, values = case
    report = made()
    page = report.page("name")
    assert page == made().page("name")
    root = ElementTree.fromstring(page)
    runs_nothing(root, page)
    has_every_number(root, [value for value in values if isinstance(value, int | float)])
    for svg in root.iter(f"{SVG}svg"):
        stays_in_its_frame(svg)
    with TemporaryDirectory() as folder:
        is_read_back(report, Path(folder))


def runs_nothing(root: ElementTree.Element, page: str) -> None:
    balance = Balance()
    balance.feed(page)
    balance.close()
    assert balance.open == []
    assert not balance.seen & {"script", "link", "img", "iframe", "object"}
    assert all((one.get("href") or "#").startswith(("#", "./name-")) for one in root.iter())
    assert not [name for one in root.iter() for name in one.attrib if name.startswith("on") or name == "style"]


def has_every_number(root: ElementTree.Element, numbers: Sequence[int | float]) -> None:
    written = Counter((one.get("value"), one.text) for one in root.iter(f"{HTML}data"))
    assert Counter((exact(number), shown(number)) for number in numbers) <= written


def stays_in_its_frame(svg: ElementTree.Element) -> None:
    assert (svg.get("role"), bool(svg.get("aria-label"))) == ("img", True)
    _, _, width, height = map(float, svg.get("viewBox", "").split())
    for one in svg.iter():
        for name, most in (("x", width), ("y", height), ("width", width), ("height", height)):
            assert -0.1 <= float(one.get(name, 0)) <= most + 0.1
        if one.get("class", "").startswith(("line ", "band ", "lead ")):
            for x, y in re.findall(r"([^MLz ]+) ([^MLz ]+)", one.get("d", "")):
                assert -0.1 <= float(x) <= width + 0.1
                assert -0.1 <= float(y) <= height + 0.1


def is_read_back(report: Report, folder: Path) -> None:
    report.write(folder / "r.html")
    parts = [part for part in report.parts if not isinstance(part, str)]
    files = [f"r-{number}.csv" for number in range(1, len(parts) + 1)]
    assert sorted(one.name for one in folder.iterdir()) == sorted([*files, "r.html"])
    for name, part in zip(files, parts, strict=True):
        with (folder / name).open(newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
        texts = [[one if isinstance(one, str) else exact(one) for one in row] for row in [part.columns, *part.rows]]
        assert rows == [[one.encode("utf-8", "replace").decode() for one in row] for row in texts]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=9), st.booleans())
def test_an_axis_keeps_the_order_of_its_numbers_and_its_ticks_are_on_it(values: list[float], zero: bool) -> None:
    axis = scale(values, 10, 300, zero)
    places = [axis(value) for value in sorted(values)]
    assert places == sorted(places)
    assert all(9.9 <= place <= 300.1 for place in places)
    ticks = axis.ticks()
    assert 1 <= len(ticks) <= 8
    assert all(9.9 <= axis(tick) <= 300.1 for tick in ticks)
    if zero and max(map(abs, values), default=0) < LARGEST / 100:
        assert (axis(ticks[0]), axis(ticks[-1])) == pytest.approx((10, 300))
        assert min(map(abs, ticks)) == 0


# --- what stands on it ------------------------------------------------------------------------------------------------


def sample() -> Report:
    report = Report("Tokens & turns", "thimble lab x 'a b'", "made-up numbers")
    series = {"none": [10, 20, None, 40], "mask": [5, 6, 7, 8], "lost": [None] * 4}
    report.lines("Growth", ("turn", [1, 2, 3, 4]), series, {"mask": [(4, 6), None, (6, 9), (7, 9)]}, unit="tokens")
    report.bars(
        "Cost", ("strategy", ["none", "mask"]), {"at 1": [100.0, 47.25]}, unit="percent", caption="Less is better."
    )
    report.heat("Cached", ("strategy", ["none"]), ("turn", [10, 50]), [[0.5, None]], unit="share")
    return report


def test_a_figure_has_a_caption_its_numbers_and_the_name_of_its_file() -> None:
    root = ElementTree.fromstring(sample().page("r"))
    growth, cost, cached = root.iter(f"{HTML}figure")
    assert "Less is better. Data: table, r-2.csv." in "".join(cost.itertext())
    told = [figure.find(f"{SVG}svg").get("aria-label") for figure in (growth, cost, cached)]  # type: ignore[union-attr]
    assert told[0] == (
        "Lines of tokens by turn. none: least 10 at 1, most 40 at 4; mask: least 5 at 1, most 8 at 4; lost: no values"
    )
    assert told[2] == "Heat map of share by strategy and turn. none: least 0.5 at 10, most 0.5 at 10"
    lines = [one.get("d", "") for one in growth.iter() if one.get("class", "").startswith("line ")]
    assert [line.count("M") for line in lines] == [2, 1]  # none has a gap, lost is not drawn
    assert "lost (no values)" in "".join(growth.itertext())
    assert [one.get("href") for one in root.iter(f"{HTML}a")][:2] == ["#data-1", "./r-1.csv"]


def test_cells_above_0_have_a_colour_of_their_own_if_there_are_others_below() -> None:
    report = Report("", "", "")
    for values in ([-50.0, 0.0, 25.0], [-50.0, -25.0, 0.0]):
        report.heat("", ("window", ["5"]), ("price", [1, 2, 3]), [values], unit="percent")
    looks = [one for one in ElementTree.fromstring(report.page("r")).iter(f"{SVG}rect")]
    assert [one.get("class") for one in looks] == ["cell c0", "cell c0", "cell c1"] + ["cell c0"] * 3
    strength = [float(one.get("fill-opacity", 0)) for one in looks]
    assert sorted(strength[:3]) == [strength[1], strength[2], strength[0]]
    assert strength[3:] == sorted(strength[3:], reverse=True)


def test_series_differ_without_colour() -> None:
    report = Report("", "", "")
    report.lines("", ("turn", [1, 2]), {f"s{number}": [number, number] for number in range(20)}, unit="")
    root = ElementTree.fromstring(report.page("r"))
    marks = {
        one.get("class", "").split()[1]: one.get("d") for one in root.iter() if one.get("class", "").startswith("mark")
    }
    assert len(marks) == 8
    looks = {(one.get("class", ""), one.get("d")) for one in root.iter() if one.get("class", "").startswith("mark")}
    assert len(looks) == 20
    (svg,) = root.iter(f"{SVG}svg")
    heights = [float(one.get("y", 0)) for one in svg.iter(f"{SVG}text") if (one.text or "").startswith("s")]
    assert len(heights) == 20
    assert min(b - a for a, b in zip(sorted(heights), sorted(heights)[1:], strict=False)) > 12
    assert svg.get("viewBox") == f"0 0 {WIDTH} {max(HEIGHT, 16 * 24)}"


@pytest.mark.parametrize(
    ("value", "people", "full"),
    [
        (None, "?", ""), (math.nan, "?", "nan"), (math.inf, "∞", "inf"), (-math.inf, "−∞", "-inf"), (0, "0", "0"),
        (1234567, "1,234,567", "1234567"), (1234.5, "1,234", "1234.5"), (-0.1234567, "−0.1235", "-0.1234567"),
        (1e300, "1e+300", "1e+300"), ("a", "a", "a"),
    ],
)  # fmt: skip
def test_values(value: Value, people: str, full: str) -> None:
    assert (shown(value), exact(value)) == (people, full)


@given(st.one_of(st.integers(), st.floats()))
def test_a_number_is_read_back_as_it_was(number: int | float) -> None:
    assert repr(type(number)(exact(number))) == repr(number)


# --- the flag ---------------------------------------------------------------------------------------------------------


def test_the_flag_replaces_nothing_without_a_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    parser = Parser("x")
    add_report(parser)
    assert parser.parse_args([]).report is None
    path = parser.parse_args(["--report", "r.html"]).report
    sample().write(path)
    before = path.read_bytes()
    with pytest.raises(UsageError) as error:
        parser.parse_args(["--report", "r.html"])
    assert (error.value.what, error.value.fix) == ("r.html is there already", "to replace it: --report 'r.html!'")
    path.unlink()
    with pytest.raises(UsageError, match=r"r-\d.csv is there already"):
        destination("r.html")
    sample().write(destination("r.html!"))
    assert path.read_bytes() == before
    Path("q-2024-notes.csv").touch()
    assert destination("q.html") == Path("q.html")


@pytest.mark.parametrize("text", ["r.txt", "", "!", "no/such/folder/r.html", "a\0.html", "folder.html", "folder.html!"])
def test_a_path_that_cannot_be_written_is_told_before_the_work(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder.html").mkdir()
    with pytest.raises(UsageError, match="--report"):
        destination(text)


def test_a_disk_that_fails_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        sample().write(tmp_path / "gone" / "r.html")
