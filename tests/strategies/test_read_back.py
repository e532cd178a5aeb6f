"""What tidy and dedup write is read back by a reader that knows docs/reference/tidied.md alone, beside a terminal."""

from __future__ import annotations

import re

import pyte
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.histories import Story, budget
from tests.support.read_back import NOTHING, strings, unreferenced, untidied
from tests.support.tool_outputs import OUTPUTS
from thimble.agent.messages import Message
from thimble.strategies.dedup import Dedup
from thimble.strategies.tidy import TIDY_FORMS, Tidy, rewrite_result

REPEATS = "repeats earlier lines"
STYLE = re.compile(r"\x1b(\[[0-9;]*m|\(B)")
ERASING = re.compile(r"^\x1b\[2K|\x1b\[0?K")


def result(text: str) -> Message:
    return Message("m8", "tool", text, call_id="c", name="sh")


def screen(line: str) -> str:
    """What a terminal that is wide enough shows of a line."""
    shown = pyte.Screen(8 * len(line) + 9, 1)
    stream = pyte.Stream(shown)
    for letter in line:  # what is fed at once, pyte drops after a letter without a width
        stream.feed(letter)
    return "".join(shown.buffer[0][column].data for column in range(shown.columns)).rstrip(" ")


def assert_all_is_there(text: str, said: str) -> None:
    """Each line is what it was; of one with carriage returns, whole drawings may lack, which nobody would have seen."""
    for line, was in zip(said.split("\n"), STYLE.sub("", text).split("\n"), strict=True):
        if line == was:
            continue
        assert screen(line) == screen(was)
        (drawings, end), (drawn, its_end) = cut(line), cut(was)
        assert end == its_end
        if len(drawings) == 1:
            drawn[-1] = ERASING.sub("", drawn[-1])
        assert drawings[-1] == drawn[-1]
        left = iter(drawn)
        gone = [one for drawing in drawings for one in iter(lambda: next(left), drawing)]  # noqa: B023
        assert all(re.search(r"\d ?%", one) for one in gone)


def cut(line: str) -> tuple[list[str], str]:
    """The drawings of a line, and the carriage returns at its end."""
    bare = line.rstrip("\r")
    return bare.split("\r"), line[len(bare) :]


def assert_read_back(text: str) -> None:
    for form in TIDY_FORMS:
        copy = rewrite_result(result(text), form)
        if copy.why and form == "text":
            said = untidied(copy.content, rewritten=True)
            assert_all_is_there(text, said.before)
        elif copy.why:
            assert untidied(copy.content, rewritten=True) == untidied(text, rewritten=False) != NOTHING
        else:
            assert copy.content == text


@settings(max_examples=150)
@given(OUTPUTS)
@example('[{"id": 29, "age": 39}, {"id": 30, "age": 40}]200')
@example('[{"a":"p"},{"a":"q"}] r')
@example('[{"a":"p"},{"a":"q r"}]')
@example('{"total": 9, "items": [{"a": 1}, {"a": 2}]}\nstatus: 200')
@example("row0 \x1b[3C val0\n" * 5)
@example("10 \x1b[10G 70")
@example("one\x1bEtwo\x1bDthree")
@example("\r".join(f"pupil {n},{n}%" for n in range(46)))
@example("\x1b[m[5 times] a\n" + "a\n" * 5)
@example("a \n" * 3 + "b\x1b[K\n" * 5)
def test_a_reader_has_all_that_a_result_said(text: str) -> None:
    assert_read_back(text)


@settings(max_examples=50)
@given(st.lists(OUTPUTS, min_size=1, max_size=4), st.sampled_from(["", "1: ", "\t", "+"]))
def test_tidy_and_dedup_together_are_read_back(texts: list[str], lead: str) -> None:
    story, long = Story().ask("?"), "\n".join(f"line {n} of a file, which is long enough" for n in range(9))
    for text in [*texts, *texts]:
        story.turn(0)
        last = story.messages[-1]
        again = "\n".join(lead + line for line in f"{text}\n{long}".split("\n"))
        story.messages[-1] = Message(last.id, "tool", again, call_id=last.call_id, name="sh")
    allowed = budget(10**9)
    tidy = Tidy().prepare(story.messages, allowed)
    view = Dedup().prepare(tidy, allowed)
    whole = unreferenced(
        [
            (one.content, [text for call in one.calls for text in strings(call.arguments)], one.why == REPEATS)
            for one in view
        ]
    )
    assert whole == [one.content for one in tidy]
