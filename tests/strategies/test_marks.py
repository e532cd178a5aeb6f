"""What strategies write into a copy of a result is known by its marks: what is left is text of the result."""

from __future__ import annotations

import re

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.support.histories import TinyCounter
from tests.support.planted_marks import MARKS
from thimble.agent.budget import Budget
from thimble.agent.fit import shorten_message
from thimble.agent.messages import CANCELLED, NO_RESULT, Message
from thimble.corpus.marks import Shown, read_marks
from thimble.strategies.compress import compress_message
from thimble.strategies.compression.repeated_lines import find_runs, line_places, run_start_lines
from thimble.strategies.dedup import with_references
from thimble.strategies.delegate import replace_with_brief
from thimble.strategies.masks import mask_message
from thimble.strategies.offload import make_reference
from thimble.strategies.tidy import rewrite_result

BUDGET = Budget(1_000, TinyCounter())
FORMS = (
    "2026-03-01 08:{0:02}:07 INFO request GET /api/students/{0} 200 took={0}ms",
    "Jun{0},7b,{0},2,4,",
    "def step_{0}(grades, weight={0}): return grades",
    "src/app.py:{0}: total += {0}",
    "{0}. slug-{0} — Title of number {0} (1,{0} words; tags: a)",
    "{0}: Bees of hive {0} fly far. They come back at {0} o'clock, or they do not!",
    "+    return x + {0}",
    "    total += grade",
    "",
)
LINES = st.builds(str.format, st.sampled_from(FORMS), st.integers(0, 99))
TEXTS = st.builds(
    lambda form, more: "\n".join([*(form.format(number) for number in range(40)), *more]),
    st.sampled_from(FORMS[:-2]),
    st.lists(LINES, max_size=20),
)


def result(text: str) -> Message:
    return Message("m8", "tool", text, call_id="c", name="read_file")


def assert_is_text_of(text: str, of: str) -> None:
    for line in filter(None, map(str.strip, text.split("\n"))):
        assert line in of


@settings(max_examples=40, deadline=None)
@given(TEXTS, st.floats(0.05, 0.9))
def test_an_excerpt_is_text_without_its_marks_and_names_its_id(text: str, ratio: float) -> None:
    copy = compress_message(result(text), ratio).content
    assume(copy != text)
    view = read_marks(copy, "m8")
    assert_is_text_of(view.text, text)
    assert (view.whole, view.id) == (False, "m8")


@settings(max_examples=40, deadline=None)
@given(TEXTS, TEXTS)
def test_references_are_gaps(text: str, above: str) -> None:
    lines = run_start_lines(text)
    repeated = [*find_runs(text, lines, line_places(text, lines), line_places(above, run_start_lines(above)))]
    view = read_marks(with_references(result(text), repeated).content, "m8")
    assert_is_text_of(view.text, text)
    assert (view.whole, view.id) == ((False, "m8") if repeated else (True, ""))


@given(st.integers(20, 200), st.floats(0.1, 0.9))
def test_around_a_cut_no_half_of_a_sentence_stays(many: int, share: float) -> None:
    sentences = [f"Bees of hive {number} fly 3.5 miles and come back." for number in range(many)]
    view = read_marks(shorten_message(result(" ".join(sentences)), share, BUDGET).content, "m8")
    assert set(re.split(r"(?<=back\.)\s+", view.text.strip())) <= set(sentences)
    assert (view.whole, view.id) == (False, "")


@given(TEXTS)
def test_a_hidden_result_shows_nothing(text: str) -> None:
    for copy in (mask_message(result(text)), replace_with_brief(result(text), "Bees fly far.")):
        assert read_marks(copy.content, "m8") == Shown("", False, "")
    view = read_marks(make_reference(result(text), 100, 400, "").content, "m8")
    assert (view.text, view.whole, view.id) == ("", False, "m8")


@given(st.lists(LINES | MARKS, max_size=20))
def test_a_text_that_a_tool_gave_is_whole_whatever_marks_stand_in_it(lines: list[str]) -> None:
    text = "\n".join(["x.py · lines 1-20 of 20", *lines])
    assert read_marks(text) == Shown(text)


@given(MARKS, st.integers(1, 80), st.floats(0.2, 0.9), st.booleans())
def test_a_mark_in_the_text_of_a_copy_hides_no_more_than_the_line_below_it(
    mark: str, place: int, share: float, fits: bool
) -> None:
    lines = [f"key_{number:03} = {number:03}" for number in range(80)]
    lines.insert(place, mark)
    whole = result("\n".join(["x.py · lines 1-81 of 81", *lines]))
    copy = shorten_message(whole, share, BUDGET) if fits else compress_message(whole, share)
    there, seen = set(copy.content.split("\n")), set(read_marks(copy.content, "m8").text.split("\n"))
    cuts = fits or mark.startswith("[… ")  # as the mark of `fit`, which cuts the line above in two
    assert len(there.intersection(lines) - seen - {mark}) <= 1 + cuts


@given(st.sampled_from([CANCELLED, NO_RESULT]))
def test_a_result_that_never_came_shows_nothing(text: str) -> None:
    assert read_marks(text) == Shown("", False)


def test_a_tidied_text_is_whole() -> None:
    text = "\n".join(["\x1b[31mred\x1b[0m", *["the same line"] * 9, "end"])
    view = read_marks(rewrite_result(result(text), "text").content, "m8")
    assert view.text.split() == ["red", "the", "same", "line", "end"]
    assert (view.whole, view.id) == (True, "")
