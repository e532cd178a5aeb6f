"""recall: an earlier message comes back word for word, in pages; an unknown id is told what there is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import Story
from thimble.agent.errors import ToolError
from thimble.agent.messages import Message
from thimble.tools.recall import recall_tools
from thimble.tools.schema import ERROR_LIMIT, RESULT_CHARACTERS
from thimble.tools.wording import PAGE_CHARACTERS, split_pages


def recall(history: list[Message], **arguments: object) -> str:
    (tool,) = recall_tools(lambda: history)
    return tool.run(arguments)


@given(st.text(alphabet="ab \n日", max_size=60).map(lambda text: text * 700))
def test_the_pages_are_the_text_word_for_word(text: str) -> None:
    pages = list(split_pages(text))
    assert "".join(pages) == text
    assert all(0 < len(page) <= PAGE_CHARACTERS for page in pages) or text == ""


@given(st.integers(0, 9_000), st.integers(1, 4))
def test_a_message_comes_back_whole(tokens: int, turns: int) -> None:
    story = Story().ask("?")
    for _ in range(turns):
        story.turn(tokens)
    wanted = story.messages[-1]
    first = recall(story.messages, id=wanted.id)
    pages = int(first.split("\n")[0].rpartition(" of ")[2])
    shown = ""
    for page in range(1, pages + 1):
        text = recall(story.messages, id=wanted.id, page=page)
        assert len(text) <= RESULT_CHARACTERS
        assert text.startswith(f"{wanted.id} · result of read_article · page {page} of {pages}\n\n")
        body = text.partition("\n\n")[2]
        more = f'\n[page {page} of {pages}: recall(id="{wanted.id}", page={page + 1}) has the next]'
        assert body.endswith(more) == (page < pages)
        shown += body.removesuffix(more)
    assert shown == wanted.content


def test_the_history_is_the_live_one() -> None:
    story = Story().ask("?")
    (tool,) = recall_tools(lambda: story.messages)
    with pytest.raises(ToolError, match="no result yet"):
        tool.run({"id": "m4"})
    story.turn(9)
    assert tool.run({"id": "m4"}).endswith(story.messages[3].content)


@pytest.mark.parametrize("spelling", ["m4", "M4", " m4 ", "4", 4, "[m4]", '"m4"'])
def test_spellings_of_an_id_are_forgiven(spelling: object) -> None:
    history = Story().ask("?").turn(9).messages
    assert recall(history, id=spelling) == recall(history, id="m4")


def test_words_of_the_user_and_the_assistant_come_back_too() -> None:
    history = Story().ask("the task").answer("the answer").messages
    assert recall(history, id="m2") == "m2 · words of the user · page 1 of 1\n\nthe task"
    assert recall(history, id="m3") == "m3 · words of the assistant · page 1 of 1\n\nthe answer"


@pytest.mark.parametrize("unknown", ["m99", "", "m1", "../m4", "m" * 10_000])
def test_an_unknown_id_is_told_what_can_be_recalled(unknown: str) -> None:
    history = Story().ask("?").turn(9, 9).turn(9).messages
    with pytest.raises(ToolError) as caught:
        recall(history, id=unknown)
    assert "Results to recall: m4 (read_article), m5 (read_article), m7 (read_article)" in caught.value.what


def test_the_named_results_are_limited_and_leave_out_recalls() -> None:
    story = Story().ask("?").turn(*[9] * 500)
    again = Message("again", "tool", "m4 · …", call_id="c9", name="recall")
    with pytest.raises(ToolError) as caught:
        recall([*story.messages[:5], again], id="x")
    assert "again" not in caught.value.what
    with pytest.raises(ToolError) as caught:
        recall(story.messages, id="x")
    assert len(caught.value.what) <= ERROR_LIMIT


@pytest.mark.parametrize("page", [0, -1, 3])
def test_a_page_that_is_not_there(page: int) -> None:
    history = Story().ask("?").turn(3_000).messages
    with pytest.raises(ToolError, match=f"there is no page {page}: m4 has 2 pages"):
        recall(history, id="m4", page=page)
