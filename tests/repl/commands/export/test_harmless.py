"""Nothing that is said in a session does anything in what is exported of it."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests.support.exported import MARKUP, everything, export, hostile
from tests.whole.test_escapes import steering
from thimble.repl.commands.export.export import FORMATS

BATCHES = [everything()[start : start + 60] for start in range(0, len(everything()), 60)]
IN_PAGE = ["html", "head", "meta", "meta", "meta", "meta", "title", "style", "body", "noscript", "script", "script"]
IN_MARKDOWN = {"fence", "heading", "paragraph", "inline", "text", "html_block", "softbreak", "em", "strong"}
IN_MARKDOWN |= {"table", "thead", "tbody", "tr", "th", "td", "code_inline"}


class Elements(HTMLParser):
    """The elements of a page, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember it."""
        self.found.append(tag)


@pytest.mark.parametrize("kind", FORMATS)
def test_nothing_steers_the_terminal_that_it_is_printed_on(kind: str, tmp_path: Path) -> None:
    for batch in BATCHES:
        assert steering(export(hostile(batch), kind, tmp_path)) == []


def test_the_page_has_no_element_of_theirs(tmp_path: Path) -> None:
    for batch in BATCHES:
        page = export(hostile(batch), "html", tmp_path)
        elements = Elements()
        elements.feed(page)
        assert elements.found == IN_PAGE
        data = page.partition('id="session">')[2].partition("</script>")[0]
        assert data.isascii()
        assert not re.search("[<>&]", data)
        assert json.loads(data)["branches"][0]["exchanges"]


@pytest.mark.parametrize("text", MARKUP)
def test_markdown_holds_them_as_text(text: str, tmp_path: Path) -> None:
    parsed = MarkdownIt("gfm-like", {"html": True, "linkify": False}).parse(export(hostile([text]), "md", tmp_path))
    tokens = [token for block in parsed for token in (block, *(block.children or []))]
    assert {token.type.removesuffix("_open").removesuffix("_close") for token in tokens} <= IN_MARKDOWN
    blocks = {token.content.strip() for token in tokens if token.type == "html_block"}
    assert all(re.fullmatch(r"</details>|<details><summary>[^<>]*</summary>", block) for block in blocks)


def test_markdown_makes_no_links(tmp_path: Path) -> None:
    page = export(hostile(MARKUP), "md", tmp_path)
    outside = re.sub(r"^(`{3,})\w+\n.*?^\1$", "", page, flags=re.DOTALL | re.MULTILINE)
    assert not re.search(r"https?:|www\.|@|\]\(|!\[", outside)
