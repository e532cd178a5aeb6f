from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thimble.corpus.markdown import (
    heading_title,
    marked_lines,
    shorten,
    split_paragraphs,
    split_sentences,
    strip_markup,
)

LINES = st.sampled_from(
    [
        "",
        "text. More",
        "## title",
        "```",
        "````",
        "~~~",
        "``` x",
        "``` `",
        "    ```",
        "| a | b |",
        "|---|",
        "- item",
        "> said",
    ]
)
TEXTS = st.one_of(st.text(), st.lists(LINES).map("\n".join))


def bare(text: str) -> str:
    return "".join(text.split())


@given(TEXTS)
def test_marked_lines_lose_nothing(text: str) -> None:
    assert "\n".join(line for line, _ in marked_lines(text)) == text


@given(TEXTS)
def test_paragraphs_lose_only_blank_lines(text: str) -> None:
    assert bare("".join(split_paragraphs(text))) == bare(text)


@given(st.lists(st.text("ab.!?。 \"')", max_size=30), max_size=5).map("\n".join))
def test_sentences_lose_only_space(text: str) -> None:
    assert bare("".join(split_sentences(text))) == bare(text)


@given(TEXTS)
def test_plain_text_keeps_every_word(text: str) -> None:
    words = set(strip_markup("\n".join(["kept one", text.replace("`", "").replace("~", ""), "", "kept two"])).split())
    assert {"kept", "one", "two"} <= words


@given(st.text(), st.integers(1, 50))
def test_shorten_keeps_its_limit(text: str, limit: int) -> None:
    short = shorten(text, limit)
    assert len(short) <= limit
    assert "\n" not in short
    assert short == " ".join(text.split()) or short.endswith("…")


def test_a_blank_line_inside_a_fence_ends_no_paragraph() -> None:
    assert split_paragraphs("one\n\n```\na\n\nb\n```\n\ntwo") == ["one", "```\na\n\nb\n```", "two"]


def test_a_fence_is_closed_by_its_own_kind_only() -> None:
    text = "~~~\n```\n~~\n~~~~\nout"
    assert [in_code for _, in_code in marked_lines(text)] == [True, True, True, True, False]


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("## One two", "One two"),
        ("  ##  One\ttwo  ## ", "One two"),
        ("## C#", "C#"),
        ("##", ""),
        ("##One", ""),
        ("### One", ""),
        ("    ## One", ""),
    ],
)
def test_headings(line: str, title: str) -> None:
    assert heading_title(line, "##") == title


def test_plain_removes_markup() -> None:
    text = (
        "See [the **paper**](https://x.org/a) and `code_here`,\n_not_ snake_case or 2 * 3 * 4.\n"
        "> quoted\n\n| a | b |\n|---|:-:|\n| 1 | 2 |\n- first\n- second\n  goes on\n\n```python\nx = [1]\n```"
    )
    assert strip_markup(text).split("\n") == [
        "See the paper and code_here, not snake_case or 2 * 3 * 4. quoted",
        "a · b",
        "1 · 2",
        "first",
        "second goes on",
        "x = [1]",
    ]


def test_sentences_end_where_a_reader_would_say() -> None:
    text = 'Use Eq. 3 of Smith et al. (2025), i.e. the rule. "Why?" he asked. It is 3.5 tokens. 好的。下一句。'
    assert split_sentences(text) == [
        "Use Eq. 3 of Smith et al. (2025), i.e. the rule.",
        '"Why?" he asked.',
        "It is 3.5 tokens.",
        "好的。",
        "下一句。",
    ]
