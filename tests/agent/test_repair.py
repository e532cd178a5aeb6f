"""Repair: whatever comes in, what goes out is a list that every chat server accepts."""

from __future__ import annotations

import sys
from copy import deepcopy
from dataclasses import replace
from itertools import takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import Story, broken_histories, is_sound, pending_calls, sound_histories
from thimble.agent.messages import NO_RESULT, Message, ToolCall
from thimble.agent.repair import repair

# --- laws -------------------------------------------------------------------------------------------------------------


@given(broken_histories())
def test_repair_output_is_sound_and_every_change_has_a_note(history: list[Message]) -> None:
    before = deepcopy(history)
    repaired = repair(history)
    assert history == before
    assert is_sound(repaired.messages) == []
    assert bool(repaired.notes) == bool(is_sound(history)) == (repaired.messages != history)
    again = repair(repaired.messages)
    assert (again.messages, again.notes) == (repaired.messages, [])


@given(sound_histories())
def test_a_sound_list_comes_back_as_it_is(history: list[Message]) -> None:
    assert is_sound(history) == []
    repaired = repair(history)
    assert (repaired.messages, repaired.notes) == (history, [])
    assert pending_calls(repaired.messages) == pending_calls(history)


@given(broken_histories())
def test_words_of_user_and_assistant_and_the_first_system_message_stay(history: list[Message]) -> None:
    repaired = repair(history).messages
    for message in history:
        assert message.role not in ("user", "assistant") or any((message.content or "") in o.content for o in repaired)
    systems = [message.content for message in history if message.role == "system"]
    assert [message.content for message in repaired if message.role == "system"] == systems[:1]


@given(broken_histories())
def test_order_is_kept(history: list[Message]) -> None:
    history = [replace(message) for message in history if message.role not in ("system", "tool")]
    where = {id(message): place for place, message in enumerate(history)}
    places = [where[id(message)] for message in repair(history).messages if id(message) in where]
    assert places == sorted(places)


IDS = st.sampled_from(["", "a", "b", "c"])


@st.composite
def other_hands(draw: st.DrawFn) -> list[Message]:
    """Calls and results in any order, with few ids and none, each message with words of its own."""
    roles = draw(st.lists(st.sampled_from(["assistant", "assistant", "tool", "tool", "tool", "user"]), max_size=14))
    history = []
    for number, role in enumerate(roles):
        calls = [ToolCall(id_, "read") for id_ in draw(st.lists(IDS, max_size=3))] if role == "assistant" else []
        call_id = draw(IDS) if role == "tool" else ""
        history.append(Message(f"m{number}", role, f"words {number}.", calls=(*calls,), call_id=call_id))  # type: ignore[arg-type]
    return history


@given(other_hands())
def test_no_text_of_a_result_is_lost_whose_id_was_called(history: list[Message]) -> None:
    """It is behind the newest message before it that calls its id, or else behind the last one."""
    repaired = repair(history)
    assert is_sound(repaired.messages) == []
    for at, result in enumerate(history):
        callers = [place for place, one in enumerate(history) if result.call_id in {call.id for call in one.calls}]
        if result.role != "tool" or not result.call_id or not callers:
            continue
        caller = max([place for place in callers if place < at], default=callers[-1])
        turn = [one.content for one in turn_with(history[caller].content, repaired.messages)]
        assert any(result.content in content.split("\n") for content in turn), (result, turn)


@given(other_hands())
def test_lost_results_are_counted_and_nothing_else_is_lost(history: list[Message]) -> None:
    repaired = repair(history)
    left = "\n".join(message.content for message in repaired.messages).split("\n")
    gone = [message for message in history if message.content not in left]
    assert repaired.lost == sum(len(message.content) for message in gone)
    assert {message.role for message in gone} <= {"tool"}
    shown = {message.id for message in repaired.messages}
    assert {message.id for message in history} <= {message.id for message in gone} | shown | {*repaired.within}


def turn_with(words: str, messages: list[Message]) -> list[Message]:
    """The results behind the message with these words."""
    start = next(at for at, message in enumerate(messages) if words in message.content.split("\n"))
    return list(takewhile(lambda message: message.role == "tool", messages[start + 1 :]))


@pytest.mark.parametrize("ids", [("x",), ("",), ("x", "")])
def test_repair_takes_time_in_proportion_to_the_messages(ids: tuple[str, ...]) -> None:
    """Counted, not timed: what is done for each message of a history four times as long is the same."""

    def steps(many: int) -> int:
        calls = [asks(ToolCall(ids[0], "read"), id=f"a{number}") for number in range(many)]
        found = [result(ids[-1], f"text {number}", f"r{number}") for number in range(many)]
        done = 0

        def count(*_: object) -> None:
            nonlocal done
            done += 1

        sys.setprofile(count)
        try:
            repair([*calls, *found])
        finally:
            sys.setprofile(None)
        return done

    assert steps(400) < 4.2 * steps(100)


# --- examples ---------------------------------------------------------------------------------------------------------

CALL = ToolCall("x", "read", "{}")
OTHER = ToolCall("y", "read", '{"n": 2}')


def asks(*calls: ToolCall, id: str = "a") -> Message:
    return Message(id, "assistant", "", calls=calls)


def result(call_id: str, content: str = "text", id: str = "r") -> Message:
    return Message(id, "tool", content, call_id=call_id, name="read")


def shown(messages: list[Message]) -> list[str]:
    """The messages in words: r and the id of its call for a result."""
    return [f"t{one.call_id}: {one.content}" if one.role == "tool" else one.content for one in messages]


USER, AGAIN, SYSTEM = Message("q", "user", "?"), Message("p", "user", "Well?"), Message("s", "system", "Be kind.")
BATCH = [result(id_, text, text) for id_, text in (("x", "x1"), ("y", "y1"), ("x", "x2"))]
JOINED = [result("x", text, f"r{n}") for n, text in enumerate(("one", "two", "one more", "one"))]
FRONT = "moved the system message to the front"
EXAMPLES: dict[str, tuple[list[Message], list[str], int]] = {
    "an empty list": ([], [], 0),
    "an orphan is left out": ([USER, result("x")], ["?"], 1),
    "a late result moves up": ([asks(CALL), USER, result("x"), AGAIN], ["", "tx: text", "?", "Well?"], 1),
    "an early result moves down": ([result("x"), asks(CALL), USER], ["", "tx: text", "?"], 1),
    "a result belongs to the last use of its id": (
        [asks(CALL), USER, result("x", "one"), asks(CALL, id="b"), AGAIN, result("x", "two", "s")],
        ["", "tx: one", "?", "", "tx: two", "Well?"],
        2,
    ),
    "an id that is used again": (
        [asks(CALL), result("x", "one"), asks(CALL, id="b"), result("x", "two", "s")],
        ["", "tx: one", "", "tx: two"],
        0,
    ),
    "several results of one call": ([asks(CALL), *JOINED], ["", "tx: one\ntwo\none more"], 1),
    "results of a batch that interleave": ([asks(CALL, OTHER), *BATCH], ["", "tx: x1\nx2", "ty: y1"], 1),
    "a call that was made again after a break": (
        [asks(CALL), asks(OTHER, id="b"), result("y", "other")],
        ["", f"tx: {NO_RESULT}", "", "ty: other"],
        1,
    ),
    "an id that is called again in vain": (
        [asks(CALL), result("x"), asks(CALL, id="b"), asks(OTHER, id="c"), result("y", "other", "s")],
        ["", "tx: text", "", f"tx: {NO_RESULT}", "", "ty: other"],
        1,
    ),
    "the result of a tool that ran in the background": (
        [asks(CALL), asks(OTHER, id="b"), result("y", "other", "s"), USER, result("x")],
        ["", "tx: text", "ty: other", "?"],
        2,
    ),
    "one missing result of a batch": (
        [asks(CALL, OTHER), result("y"), USER],
        ["", f"tx: {NO_RESULT}", "ty: text", "?"],
        1,
    ),
    "a late system message": ([USER, SYSTEM], ["Be kind.", "?"], 1),
    "a late system message with an id that is taken": ([USER, replace(SYSTEM, id="q")], ["Be kind.", "?"], 2),
    "a late system message without an id": ([USER, replace(SYSTEM, id="")], ["Be kind.", "?"], 2),
    "a doubled system message": ([SYSTEM, USER, replace(SYSTEM, id="s2")], ["Be kind.", "?"], 1),
    "a system message twice": ([SYSTEM, SYSTEM], ["Be kind."], 1),
    "a doubled id": ([USER, replace(USER, content="two")], ["?", "two"], 1),
    "a system message before a result": (
        [SYSTEM, asks(CALL), replace(SYSTEM, id="s2"), result("x", "gold")],
        ["Be kind.", "", "tx: gold"],
        1,
    ),
    "no content at all": ([replace(one, content=None) for one in (USER, asks(CALL), result("x"))], ["", "", "tx: "], 3),
    "a loop's own history": (
        Story().ask("?").turn(1).answer("!").ask("?").turn(1, pending=1).messages,
        shown(Story().ask("?").turn(1).answer("!").ask("?").turn(1, pending=1).messages),
        0,
    ),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_history_is_repaired(name: str) -> None:
    history, words, notes = EXAMPLES[name]
    repaired = repair(history)
    assert (shown(repaired.messages), len(repaired.notes)) == (words, notes)
    assert is_sound(repaired.messages) == []


def test_a_repair_says_what_it_did_and_how_much_was_lost() -> None:
    orphan, late = repair([USER, result("x")]), repair([asks(CALL), USER, result("x"), AGAIN])
    assert (orphan.notes, orphan.touched, orphan.lost) == (["left out a result without a call (read)"], 4, 4)
    assert (late.notes, late.touched, late.lost) == (["moved a result up to its call"], 4, 0)
    assert repair([asks(CALL), *JOINED]).notes == ["joined 4 results of one call"]
    assert repair([USER, SYSTEM]).notes == [FRONT]


def test_messages_that_are_one_turn_are_joined() -> None:
    first, second = replace(asks(CALL), content="I look.", thinking="hm"), replace(asks(OTHER, id="b"), thinking="so")
    repaired = repair([first, second, result("x"), result("y", "other", "s"), USER])
    turn, *rest = repaired.messages
    assert (turn.content, turn.thinking, turn.calls) == ("I look.", "hm\nso", (CALL, OTHER))
    assert [message.content for message in rest] == ["text", "other", "?"]
    assert repaired.within == {"b": "a"}


READ, LIST = ToolCall("", "read"), ToolCall("", "list")


@pytest.mark.parametrize(
    ("history", "answered"),
    [
        ([asks(READ, LIST), result("", "1", "r1"), result("", "2", "r2")], {"read": "1", "list": "2"}),
        ([asks(READ), asks(LIST, id="b"), result("", "1", "r1"), result("", "2", "r2")], {"read": "1", "list": "2"}),
        (
            [asks(CALL, replace(CALL, name="list")), result("x", "1", "r1"), result("x", "2", "r2")],
            {"read": "1", "list": "2"},
        ),
        ([asks(READ, ToolCall("a.1", "list")), result("a.1", "2")], {"list": "2"}),
        (
            [asks(CALL, replace(OTHER, name="list")), result("", "2", "r1"), result("x", "1", "r2")],
            {"read": "1", "list": "2"},
        ),
        ([asks(READ), result("x", "1")], {"read": "1"}),
    ],
    ids=["nameless", "split", "doubled ids", "an id like one that is made", "one is named", "the only call"],
)
def test_results_are_paired_with_calls_by_id_or_else_by_position(
    history: list[Message], answered: dict[str, str]
) -> None:
    caller, *results = repair(history).messages
    names = {call.id: call.name for call in caller.calls}
    assert is_sound([caller, *results]) == []
    assert {names[one.call_id]: one.content for one in results if one.content != NO_RESULT} == answered


@pytest.mark.parametrize("role", ["user", "system"])
def test_only_the_assistant_calls(role: str) -> None:
    repaired = repair([SYSTEM, Message("a", role, "hello", calls=(CALL,)), USER])  # type: ignore[arg-type]
    assert is_sound(repaired.messages) == []
    assert repair(repaired.messages).notes == []
