from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thimble.agent.errors import ToolError
from thimble.corpus.article import Article, Section, parse_article
from thimble.corpus.library import Library
from thimble.tools.articles import article_tools
from thimble.tools.wording import PAGE_CHARACTERS

TEXTS = {
    "masking.md": """---
title: Observation masking
tags: [context, strategies]
summary: Old results are hidden.
---
Old tool results are hidden. The cache pays for it.

## Hysteresis, and more
Move the line seldom.

## How many
Ten.
""",
    "kv.md": "# KV cache\n\nThe cache keeps keys. It is large.\n",
}


def library(*articles: Article) -> Library:
    return Library(Path("x"), articles or tuple(parse_article(text, path) for path, text in TEXTS.items()))


def call(name: str, *articles: Article, **arguments: object) -> str:
    return next(tool for tool in article_tools(library(*articles)) if tool.name == name).run(arguments)


def article(slug: str, *parts: Section, summary: str = "S.") -> Article:
    shown = parts or (Section("Opening", "text"),)
    return Article(slug, f"Title {slug}", (), "", summary, (), f"{slug}.md", 1, " titl ", shown)


SPOKEN = st.lists(st.sampled_from(["cache", "line", "masking", "the", "[kv]", "old results", "qqq"])).map(" ".join)


def slugs(listing: str) -> list[str]:
    """The articles of a listing, in their order."""
    return re.findall(r"^\d+\. (\S+) — ", listing, re.MULTILINE)


PARTS = st.lists(
    st.tuples(
        st.integers(0, 30),
        st.lists(
            st.sampled_from(["w " * 100, "x" * 9_000, "long. " * 1_500, "line\n" * 900, "```\na\n\nb\n```"]), max_size=5
        ),
    ),
    min_size=1,
    max_size=5,
)


@given(PARTS)
def test_the_pages_are_the_whole_article_once(parts: list[tuple[int, list[str]]]) -> None:
    sections = [Section(f"Part {number}", "\n\n".join(blocks).rstrip()) for number, blocks in parts]
    long = article("long", *sections)
    text, page, pages = "", 1, 1
    while page <= pages:
        observation = call("read_article", long, slug="long", page=page)
        assert len(observation) < 8_000
        assert "[cut:" not in observation
        pages = int(re.findall(r"^slug: long · page \d+ of (\d+)", observation, re.MULTILINE)[0])
        assert observation.startswith("# Title long\nslug: long · ")
        body = observation.split("\n\n", 1)[1]
        more = f'\n\n[page {page} of {pages}: read_article(slug="long", page={page + 1}) has the rest]'
        assert body.endswith(more) == (page < pages)
        body = body.removesuffix(more)
        assert len(body) <= PAGE_CHARACTERS
        text += body
        page += 1
    whole = "".join(f"## {section.title}{section.text}" for section in sections)
    assert "".join(text.split()) == "".join(whole.split())


@given(st.text(), st.text(), st.integers())
def test_any_reading_is_answered_or_explained(slug: str, section: str, page: int) -> None:
    try:
        observation = call("read_article", slug=slug, section=section, page=page)
    except ToolError as error:
        observation = error.what
    assert observation


def test_list() -> None:
    assert call("list_articles") == (
        "2 articles\n"
        "1. masking — Observation masking (15 words; tags: context, strategies)\n"
        "   Old results are hidden.\n"
        "2. kv — KV cache (7 words)\n"
        "   The cache keeps keys."
    )


def test_list_by_topic() -> None:
    assert call("list_articles", topic="strategy") == (
        '1 article about "strategy"\n'
        "1. masking — Observation masking (15 words; tags: context, strategies)\n"
        "   Old results are hidden."
    )
    assert call("list_articles", topic="xyz") == 'No articles about "xyz".\nKnown tags: context, strategies'


def test_where_few_articles_have_the_topic_as_their_subject_those_that_speak_of_it_best_follow() -> None:
    assert slugs(call("list_articles", topic="cache")) == ["kv", "masking"]
    assert slugs(call("list_articles", topic="a line that moves")) == ["masking"]
    assert slugs(call("list_articles", topic="lines of poems about spring")) == []


def test_list_by_pages() -> None:
    many = [article(f"a-{number}") for number in range(1, 42)]
    first = call("list_articles", *many).split("\n")
    assert first[0] == "41 articles"
    assert first[-1] == "[page 1 of 3: list_articles(page=2) has more]"
    assert call("list_articles", *many, topic="title", page=2).endswith(
        '\n40. a-40 — Title a-40 (1 word)\n   S.\n[page 2 of 3: list_articles(topic="title", page=3) has more]'
    )
    assert call("list_articles", *many, page="3") == "41 articles\n41. a-41 — Title a-41 (1 word)\n   S."
    with pytest.raises(ToolError, match="there is no page 4: there are 3 pages"):
        call("list_articles", *many, page=4)


def test_search() -> None:
    assert call("search_articles", query="move the line") == (
        '1 result for "move the line"\n'
        "1. masking — Observation masking — section: Hysteresis, and more (score 0.46)\n"
        "   Move the line seldom."
    )
    assert call("search_articles", query="cache").startswith(
        '2 results for "cache"\n1. kv — KV cache — section: Opening (score 0.72)\n'
    )
    assert call("search_articles", query="cache", limit=-3).startswith('1 result for "cache"')
    assert call("search_articles", query="qqq") == 'No results for "qqq".'
    assert call("search_articles", query="") == 'No results for "".'


@given(st.one_of(st.text(), SPOKEN), st.one_of(st.text(), SPOKEN), st.integers(-3, 30))
def test_any_search_is_answered(query: str, earlier: str, limit: int) -> None:
    said = call("search_articles", query=query, limit=limit, earlier=earlier)
    hits = re.findall(r"^\d+\. (\S+) — .* — section: .* \(score (\d\.\d\d)\)\n   \S", said, re.MULTILINE)
    assert said.startswith(f"{len(hits)} result" if hits else "No results for ")
    assert len(hits) <= max(1, min(limit, 20))
    assert all(float(score) <= float(hits[0][1]) for _, score in hits)


def test_earlier_words_are_searched_too() -> None:
    assert call("search_articles", query="and how many?", earlier="the line of masking").startswith(
        '3 results for "and how many?"\n1. masking — Observation masking — section: How many '
    )
    assert "(score 0.41)" in call("search_articles", query="cache")
    assert "(score 0.51)" in call("search_articles", query="cache", earlier="[masking]")


def test_where_nothing_answers_the_nearest_articles_are_named() -> None:
    assert call("search_articles", query="which cache of pirate gold lies below the palm tree") == (
        'No results for "which cache of pirate gold lies below the palm tree".\n'
        "Nearest articles:\n- kv — KV cache\n- masking — Observation masking"
    )


def test_read() -> None:
    assert call("read_article", slug="masking") == (
        "# Observation masking\n"
        "slug: masking · page 1 of 1 · 15 words\n"
        "sections: Opening; Hysteresis, and more; How many\n\n"
        "Old tool results are hidden. The cache pays for it.\n\n"
        "## Hysteresis, and more\nMove the line seldom.\n\n"
        "## How many\nTen."
    )


@pytest.mark.parametrize("section", ["hysteresis, and more", "Hyst", "## Hysteresis", "and more"])
def test_read_a_section(section: str) -> None:
    assert call("read_article", slug=" Observation Masking ", section=section) == (
        "# Observation masking\n"
        "slug: masking · section: Hysteresis, and more · 4 words\n\n"
        "## Hysteresis, and more\nMove the line seldom."
    )


def test_a_long_section_has_pages() -> None:
    long = article("long", Section('The "one"', "word " * 3_000))
    first = call("read_article", long, slug="long", section="one")
    assert '\nslug: long · section: The "one" · page 1 of 3 · 3,000 words\n' in first
    rest = '[page 1 of 3: read_article(slug="long", section="The \\"one\\"", page=2) has the rest]'
    assert first.endswith(rest)
    assert "page 3 of 3" in call("read_article", long, slug="long", section='The "one"', page=3)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"slug": "maskin"}, r"no article 'maskin'; nearest: masking\. list_articles\(\) shows every slug\."),
        ({"slug": "masking", "section": "h"}, 'no one section "h"; sections: Opening; Hysteresis, and more; How many'),
        ({"slug": "masking", "section": "?"}, "sections: Opening; "),
        ({"slug": "masking", "page": 2}, "there is no page 2: there is 1 page"),
        ({"slug": "masking", "page": 0}, "there is no page 0"),
    ],
)
def test_a_reading_that_fails_is_explained(arguments: dict[str, object], said: str) -> None:
    with pytest.raises(ToolError, match=said):
        call("read_article", **arguments)
