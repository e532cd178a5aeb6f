"""html_page shows a page without its markup, and navigation, forms and scripts weigh little."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies.kinds.html_page import HTML_PAGE, pieces

PAGE = """\
<!DOCTYPE html>
<html><head><title>Ports &amp; docks</title><style>p { color: red }</style></head>
<body><nav><ul><li><a href="/a">Away</a></li></ul></nav>
<h2>Docks</h2>
<p>The <b>third</b> <i>dock</i>, see <a href="/dock/3">its page</a>, is <img alt="closed" src="x.png">.</p>
<ul><li><a href="/more">More</a></li></ul>
<table><tr><th>name</th><th>depth</th></tr><tr><td>north</td><td>7</td></tr></table>
<script>let hidden = 1;</script><footer>All rights reserved</footer></body></html>
"""
PIECES = st.sampled_from(
    ["<p>", "</p>", "<a href='", "'>", "<td>", "</td>", "<nav>", "<!--", "-->", "<", ">", "x", " ", "&lt", "é"]
)


def test_a_page_is_shown_without_its_markup() -> None:
    shown = {(unit.shown or "").strip(): unit for unit in HTML_PAGE.units(PAGE) or ()}
    assert list(shown) == [
        "Ports & docks",
        "",
        "- Away (/a)",
        "## Docks",
        "The third dock, see its page (/dock/3), is closed.",
        "- More (/more)",
        "name | depth",
        "north | 7",
        "All rights reserved",
    ]
    weights = {line: unit.weight for line, unit in shown.items()}
    assert min(weights["Ports & docks"], weights["## Docks"], weights["name | depth"]) > weights["north | 7"] == 0
    assert 0 > weights["- More (/more)"] > max(weights["- Away (/a)"], weights["All rights reserved"])


def test_xml_keeps_the_names_of_its_elements() -> None:
    text = "<?xml version='1.0'?>\n<items>" + '<item id="7"><price>3</price></item>' * 9 + "</items>"
    units = HTML_PAGE.units(text)
    assert units is not None
    assert units[1].shown == '<item id="7"><price>3\n'


@pytest.mark.parametrize(
    "text", ["<13>Oct 3 sshd: a <b> c\n" * 40, "if a < b > c:\n" * 40, "<a> b\n", "x <p>a</p>" * 40]
)
def test_other_texts_are_no_pages(text: str) -> None:
    assert HTML_PAGE.units(text) is None


@given(st.lists(PIECES, max_size=60).map("".join), st.booleans())
def test_units_joined_are_the_text(text: str, html: bool) -> None:
    assert "".join(unit.text for unit in pieces(text, html)) == text


@pytest.mark.parametrize("piece", ["<", "<a ", "<!--", '<a "', "<script>", "<td>", "<p>x", "</", "&", "\n"])
def test_hostile_texts_cost_linear_time(piece: str) -> None:
    text = "<p>a</p>" * 9 + piece * 30_000
    assert "".join(unit.text for unit in HTML_PAGE.units(text) or ()) == text
