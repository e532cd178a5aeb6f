"""html_page shows a page without its markup, and scripts and navigation weigh little."""

from __future__ import annotations

import pytest

from thimble.strategies.kinds.html_page import units

PAGE = """\
<!DOCTYPE html>
<html><head><title>Ports &amp; docks</title><style>p { color: red }</style></head>
<body><nav><a href="/a">Away</a></nav>
<h2>Docks</h2>
<p>The <b>third</b> <i>dock</i> is closed.</p>
<table><tr><th>name</th><th>depth</th></tr><tr><td>north</td><td>7</td></tr></table>
<script>let hidden = 1;</script></body></html>
"""


def test_a_page_is_shown_without_its_markup() -> None:
    shown = {unit.says.strip(): unit.weight for unit in units(PAGE) or ()}
    assert list(filter(None, shown)) == [
        "Ports & docks",
        "p { color: red }",
        "Away",
        "Docks",
        "The third dock is closed.",
        "name depth",
        "north 7",
        "let hidden = 1;",
    ]
    assert shown["Docks"] == 0 > max(shown["Away"], shown["let hidden = 1;"], shown["p { color: red }"])


@pytest.mark.parametrize("text", ["<13>Oct 3 sshd: a <b> c\n" * 40, "if a < b > c:\n" * 40, "x <p>a</p>" * 40])
def test_other_texts_are_no_pages(text: str) -> None:
    assert units(text) is None
