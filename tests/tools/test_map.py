from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from thimble.corpus.article import parse_article
from thimble.corpus.library import Library, load_library
from thimble.tools.map import MAP_CHARACTERS, map_tools

LIBRARY = Library(
    Path("x"),
    (parse_article("# KV cache\n\nThe cache keeps keys.", "kv.md"), parse_article("# Moss\n\nShade.", "moss.md")),
)
(SHIPPED,) = map_tools(load_library())


@given(st.text())
def test_any_topic_has_a_map_that_is_not_cut(topic: str) -> None:
    text = SHIPPED.run({"topic": topic})
    assert text.split("\n")[0].endswith(" of 56 articles, best first")
    assert len(text) <= MAP_CHARACTERS


def test_the_map() -> None:
    (tool,) = map_tools(LIBRARY)
    assert tool.run({"topic": "shade"}).split("\n")[:3] == ["2 of 2 articles, best first", "moss — Moss", "   Shade."]
    assert tool.run({}).split("\n")[1] == "kv — KV cache"
