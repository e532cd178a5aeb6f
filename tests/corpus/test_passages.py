"""Passages: nothing of a text is lost, in its order, in runs of sentences that are short enough to quote."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thimble.corpus.article import parse_article
from thimble.corpus.library import Library
from thimble.corpus.markdown import HEADING_CHARACTERS
from thimble.corpus.passages import (
    CHARACTERS_PER_WORD,
    LEAST_WORDS,
    MOST_WORDS,
    SENTENCE_CHARACTERS,
    Passage,
    split_passages,
)

WORD = st.text("abcdefghij", min_size=2, max_size=8)
ANY_WORDS = st.one_of(st.lists(WORD, min_size=1, max_size=9), st.integers(1, 90).map(lambda many: ["word"] * many))
SENTENCE = st.tuples(st.sampled_from(["It", "The", "Then"]), ANY_WORDS).map(
    lambda said: f"{said[0]} {' '.join(said[1])}."
)
PARAGRAPH = st.lists(SENTENCE, min_size=1, max_size=8)
PROSE = st.lists(PARAGRAPH, min_size=1, max_size=4)
NASTY = st.lists(
    st.sampled_from(["# ", "## T", "- a", "1. b", "|a|b|", "|-|-|", "||", "```", "~~~", "    ", "**B.** c", "> d", ""])
    | st.text(max_size=30),
    max_size=12,
).map("\n".join)


def numbered(prose: list[list[str]]) -> list[list[str]]:
    """The sentences, each with a number of its own."""
    count = iter(range(10_000))
    return [[f"{sentence.removesuffix('.')} n{next(count)}." for sentence in paragraph] for paragraph in prose]


def cut(prose: list[list[str]]) -> list[list[str]]:
    """The sentences of each passage of a text."""
    text = "\n\n".join(" ".join(paragraph) for paragraph in prose)
    return [passage.text.replace(". ", ".\n").split("\n") for passage in split_passages(text)]


def words(sentences: list[str]) -> int:
    return len(" ".join(sentences).split())


@given(PROSE.map(numbered))
def test_every_sentence_is_in_a_passage_and_in_its_order(prose: list[list[str]]) -> None:
    every = [sentence for paragraph in prose for sentence in paragraph]
    place = {sentence: at for at, sentence in enumerate(every)}
    runs = [[place[sentence] for sentence in sentences] for sentences in cut(prose)]
    assert all(run == list(range(run[0], run[-1] + 1)) for run in runs)
    assert all(one[0] < other[0] <= one[-1] + 1 and one[-1] <= other[-1] for one, other in pairwise(runs))
    assert (runs[0][0], runs[-1][-1]) == (0, len(every) - 1)


@given(PROSE.map(numbered))
def test_a_passage_is_short_unless_it_would_be_too_short_without_its_last_sentence(prose: list[list[str]]) -> None:
    for sentences in cut(prose):
        assert len(sentences) == 1 or words(sentences) <= MOST_WORDS or words(sentences[:-1]) < LEAST_WORDS


@given(PROSE.map(numbered))
def test_neighbours_share_about_half_of_their_text(prose: list[list[str]]) -> None:
    for one, other in list(pairwise(cut(prose)))[:-1]:
        shared = len(one) - one.index(other[0]) if other[0] in one else 0
        assert abs(shared - len(one) // 2) <= 1
        assert one[len(one) - shared :] == other[:shared]


@given(PROSE.map(numbered))
def test_a_passage_begins_where_it_can_be_understood_alone_if_there_is_such_a_place(prose: list[list[str]]) -> None:
    for one, other in list(pairwise(cut(prose)))[:-1]:  # the last one goes back until it is long enough
        if other[0].startswith(("It ", "Then ")):
            middle = (len(one) + 1) // 2
            near = [one[at] for at in (middle - 1, middle, middle + 1) if 0 < at < len(one)]
            assert not [sentence for sentence in near if sentence.startswith("The ")]


@given(NASTY)
def test_any_text_has_passages_that_begin_where_they_say(text: str) -> None:
    found = list(split_passages(text))
    assert all(1 <= passage.line <= text.count("\n") + 1 for passage in found)
    assert all(passage.text for passage in found)
    lines = [passage.line for passage in found]
    assert lines == sorted(lines)


@given(PROSE.map(numbered), st.integers(1, 5))
def test_the_line_is_that_where_the_paragraph_of_its_first_sentence_begins(prose: list[list[str]], blank: int) -> None:
    text = ("\n" * (blank + 1)).join("\n".join(paragraph) for paragraph in prose)
    begins = {
        sentence: text[: text.index(paragraph[0])].count("\n") + 1 for paragraph in prose for sentence in paragraph
    }
    for passage in split_passages(text):
        assert passage.line == begins[passage.text.split(". ")[0].removesuffix(".") + "."]


def of(text: str) -> list[Passage]:
    return list(split_passages(text))


def test_a_table_row_names_its_columns() -> None:
    table = "| model | layers | heads |\n|---|--:|---|\n| A | 28 | 4 |\n| B | 32 | |\n\nAfter it."
    assert of(table) == [Passage("A · layers: 28 · heads: 4. B · layers: 32. After it.", 3)]
    assert of("| only | columns |\n|---|---|") == []


def test_a_table_whose_header_was_cut_off_has_no_columns() -> None:
    assert of("Before.\n\n| A | 28 | 4 |\n| B | 32 | |") == [Passage("Before. A · 28 · 4. B · 32.", 1)]
    assert of("|---|---|\n| A | 28 |") == [Passage("A · 28.", 2)]


@pytest.mark.parametrize("opening", ["**KV cache.** ", "**KV cache**: ", "**KV cache:** ", "**KV cache** "])
def test_bold_words_at_the_start_of_a_paragraph_are_its_heading(opening: str) -> None:
    kept = "The keys of all tokens are kept."
    found = of(f"{opening}{kept} It is large.\n\n**Prefix.** The beginning.\n\nBoth matter.")
    assert [passage.heading for passage in found] == ["KV cache", "Prefix", ""]
    assert kept in found[0].text
    assert [passage.line for passage in found] == [1, 3, 5]


def test_a_heading_below_the_section_is_that_of_its_passages() -> None:
    assert of("Above.\n\n### Steps ###\nOne. Two.\n\n### More\n- three\n- four") == [
        Passage("Above.", 1),
        Passage("One. Two.", 4, "Steps"),
        Passage("three four", 7, "More"),
    ]


def test_each_line_of_code_is_whole_and_stands_with_its_neighbours() -> None:
    assert of("So:\n```py\n# no heading. Really.\npages = tokens // 16\n\n| no | table |\n```\nDone.") == [
        Passage("So: # no heading. Really. pages = tokens // 16 | no | table | Done.", 1)
    ]


def test_markup_is_left_out_and_wrapped_lines_are_joined() -> None:
    assert of("A *cache* of\n[keys](https://x.org) is `kept`.\n> Quoted\n1. one\n   still one\n2. two") == [
        Passage("A cache of keys is kept. Quoted one still one two", 1)
    ]


@given(st.sampled_from(["x", "字", "一句话。", "ab-"]), st.integers(1, 9_000))
def test_a_passage_of_a_writing_without_blanks_is_short_too(letters: str, times: int) -> None:
    assert all(
        len(passage.text) <= max(SENTENCE_CHARACTERS, 2 * CHARACTERS_PER_WORD * MOST_WORDS)
        for passage in of(letters * times)
    )


@pytest.mark.parametrize(
    "text",
    [
        f"|a|{'n' * 20_000}|\n|-|-|\n" + "|x|y|\n" * 2_000,
        "# " + "n" * 20_000 + "\n\n" + "One two three four five six seven eight nine. " * 2_000,
        "a\n" * 50_000,
        "- a b\n" * 5_000,
        "> a\n" * 20_000,
        "a" + "\u0300\u0316" * 50_000,
        "**" * 20_000,
        "[" * 50_000,
        "`" * 50_000,
        ". " * 20_000,
    ],
    ids=["row", "heading", "lines", "items", "quote", "marks", "bold", "brackets", "ticks", "stops"],
)
def test_the_passages_of_a_hostile_text_are_not_much_longer_than_it(text: str) -> None:
    found = list(split_passages(text))
    assert sum(len(passage.text) + len(passage.heading) for passage in found) <= 40 * len(text)
    assert all(len(passage.heading) <= HEADING_CHARACTERS for passage in found)
    assert all(len(passage.text) <= 3 * SENTENCE_CHARACTERS for passage in found)
    assert Library(Path("x"), (parse_article(f"x\n\n{text}", "a.md"),)).index.rows.size == len(
        list(split_passages(f"x\n\n{text}"))
    )
