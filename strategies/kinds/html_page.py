"""HTML page: a page of HTML or a file of XML; its units are the pieces of text between the tags of blocks.

One pattern finds the tags, in linear time: html.parser takes minutes for a text of tags that are not closed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import unescape

from strategies.kinds.kind import Kind, Unit, parted

TAG = re.compile(r"<(/?)([A-Za-z][\w:.-]*+)((?:[^<>\"']|\"[^\"<]*+\"|'[^'<]*+')*+)>|<[!?][^<>]*+>")
BEGINS = re.compile(r"\s*+<(?!script|template)(?:[!?]|[A-Za-z][\w:.-]*+[\s>/])", re.IGNORECASE)
HTML = re.compile(r"<(?:!doctype html|html|body|div|p|li|h[1-6]|td)\b", re.IGNORECASE)
ADDRESS = re.compile(r"\bhref=[\"']?([^\"'\s>#][^\"'\s>]{0,60}+)(?=[\"'\s>]|$)")
ALT = re.compile(r"\balt=\"([^\"]+)\"")
INLINE = re.compile(
    r"abbr|a|bdi|bdo|big|br|b|cite|code|data|del|dfn|em|font|img|input|ins|i|kbd|label|mark|q|samp|small|span|strong"
    r"|sub|sup|s|td|th|time|tt|u|var|wbr"
)
HIDDEN = frozenset(("script", "style", "svg", "template", "noscript", "iframe", "canvas"))
BESIDE = HIDDEN | {"nav", "footer", "aside", "form", "header", "menu", "button", "select", "dialog"}
HEADING = re.compile(r"h[1-6]|title|caption|summary|dt|legend|th")
HEADS, LINKS, ASIDE = 4.0, -4.0, -8.0
"""Bits of a heading, of a piece that is only links, of what stands beside the page: navigation, forms, scripts."""
CLOSED, LOOKED_AT = 4, 20_000
"""Tags of a page that close, at least; characters in which they are looked for."""


def units(text: str) -> Sequence[Unit] | None:
    """The pieces of text of a page, without their markup; None where the text does not begin with a tag."""
    head = text[:LOOKED_AT]
    if not BEGINS.match(head) or sum(tag[0][1] == "/" or tag[0][-2] == "/" for tag in TAG.finditer(head)) < CLOSED:
        return None
    return list(pieces(text, html=bool(HTML.search(head))))


def pieces(text: str, html: bool) -> Iterator[Unit]:
    """The units of a page. `html`: its tags mean what they mean there; of other tags the beginning is shown."""
    start = end = 0
    said: list[str] = []
    outside = link = ""
    heading = tells = plain = False
    for tag in TAG.finditer(text):
        closes, name, attributes = bool(tag[1]), (tag[2] or "").lower(), tag[3] or ""
        between = text[end : tag.start()]
        if between.strip():
            tells, plain = True, plain or not link
        said.append("" if outside in HIDDEN else between)
        end = tag.end()
        if name and not INLINE.fullmatch(name):
            if tells:
                cut = end if closes else tag.start()
                yield piece(text[start:cut], said, ASIDE * bool(outside) + HEADS * heading + LINKS * (not plain))
                start, said, heading, tells, plain = cut, [], False, False, False
            if not outside and not closes and html and name in BESIDE and not attributes.endswith("/"):
                outside = name
            elif closes and name == outside:
                outside = ""
        if not html:
            said.append("" if closes else tag[0])
        elif name == "a":
            found = ADDRESS.search(attributes)
            said.append(link if closes else "")
            link = "" if closes else f" ({found[1]})" if found else " "
        else:
            heading = heading or (not closes and bool(HEADING.fullmatch(name)))
            said.append(instead(name, attributes, closes))
    if start < len(text):
        yield piece(text[start:], [*said, text[end:]], 0.0)


def instead(name: str, attributes: str, closes: bool) -> str:
    """What is written in the place of a tag: alt texts, dashes of lists, bars of tables, marks of headings."""
    if name == "img":
        return found[1] if (found := ALT.search(attributes)) else ""
    if closes:
        return " | " if name in ("td", "th") else ""
    return {"br": " ", "li": "- "}.get(name, f"{'#' * int(name[1])} " if re.fullmatch("h[1-6]", name) else "")


def piece(text: str, said: Sequence[str], weight: float) -> Unit:
    """A unit that shows what is said, on one line; a row of a table compares with the other rows."""
    line = unescape(" ".join("".join(said).split())).strip(" |")
    if " | " in line:
        cells = tuple(line.split(" | "))
        return Unit(text, f"row of {len(cells)}", cells, weight, f"{line}\n")
    return Unit(text, *parted(line), weight, f"{line}\n" if line else "")


HTML_PAGE = Kind("HTML page", "pieces of the page", units)
