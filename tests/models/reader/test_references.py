"""References: the reader reads the view of `dedup` as if each line stood where it came."""

from __future__ import annotations

from hypothesis import given

from agent.marks import ABOVE, REPEATED
from agent.messages import Message
from models.reader.references import read_back
from tests.strategies.test_dedup import FILES, readings, say
from tests.support.histories import Story, budget
from tests.support.specs import build


@given(readings())
def test_a_result_without_a_mark_left_is_the_result_that_came(history: list[Message]) -> None:
    view = build("dedup").prepare(history, budget(10**6))
    whole = {message.id: message.content for message in history}
    for shown, back in zip(view, read_back(view), strict=True):
        if ABOVE not in whole[shown.id] and not REPEATED.search(back.content):
            assert back.content == whole[shown.id]


def test_a_file_that_is_read_again_is_read_back_and_a_lost_source_leaves_the_mark() -> None:
    story = Story().ask("?")
    for lines in (FILES[0], [*FILES[0][:20], "new", *FILES[0][20:]]):
        say(story, "\n".join(lines))
    view = build("dedup").prepare(story.messages, budget(10**6))
    assert ABOVE in view[-1].content
    assert read_back(view)[-1].content == story.messages[-1].content
    assert read_back(view[-1:])[-1].content == view[-1].content
