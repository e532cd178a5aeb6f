"""Repair: whatever comes in, what goes out is a list that every chat server accepts."""

from __future__ import annotations

import sys
from copy import deepcopy
from dataclasses import replace
from itertools import takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import Story, broken_histories, is_sound, pending, sound_histories
from thimble.agent.messages import NO_RESULT, Message, ToolCall
from thimble.agent.repair import repair

# --- laws -------------------------------------------------------------------------------------------------------------


@given(broken_histories())
def test_what_comes_out_is_sound(history: list[Message]) -> None:
    assert is_sound(repair(history).messages) == []


@given(broken_histories())
def test_a_second_repair_finds_nothing(history: list[Message]) -> None:
    once = repair(history).messages
    twice = repair(once)
    assert twice.messages == once
    assert twice.notes == []


@given(sound_histories())
def test_a_sound_list_comes_back_as_it_is(history: list[Message]) -> None:
    assert is_sound(history) == []
    repaired = repair(history)
    assert repaired.messages == history
    assert repaired.notes == []


@given(broken_histories())
def test_a_list_is_changed_only_with_a_note(history: list[Message]) -> None:
    repaired = repair(history)
    assert (repaired.messages == history) == (repaired.notes == [])


@given(broken_histories())
def test_notes_are_there_exactly_when_the_list_was_not_sound(history: list[Message]) -> None:
    assert bool(repair(history).notes) == bool(is_sound(history))


@given(broken_histories())
def test_the_input_is_not_changed(history: list[Message]) -> None:
    before = deepcopy(history)
    repair(history)
    assert history == before


@given(broken_histories())
def test_no_words_of_user_or_assistant_are_lost(history: list[Message]) -> None:
    spoken = [message.content or "" for message in history if message.role in ("user", "assistant")]
    left = [message.content for message in repair(history).messages]
    for content in spoken:
        assert any(content in text for text in left)


@given(broken_histories())
def test_the_first_system_message_stays_byte_for_byte(history: list[Message]) -> None:
    systems = [message.content for message in history if message.role == "system"]
    repaired = repair(history).messages
    assert [message.content for message in repaired if message.role == "system"] == systems[:1]


@given(sound_histories())
def test_pending_calls_at_the_tail_stay(history: list[Message]) -> None:
    assert pending(repair(history).messages) == pending(history)


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
def test_what_is_lost_is_counted_and_only_that(history: list[Message]) -> None:
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
def test_it_takes_time_in_proportion_to_the_messages(ids: tuple[str, ...]) -> None:
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


def test_nothing_is_repaired_in_an_empty_list() -> None:
    assert repair([]).messages == []
    assert repair([]).notes == []


def shown(history: list[Message]) -> list[str]:
    """The messages of the repaired history in words: r and the id of its call for a result."""
    messages = repair(history).messages
    return [f"{one.role[0]}{one.call_id}: {one.content}" if one.role == "tool" else one.content for one in messages]


def test_an_orphan_is_left_out_and_counted() -> None:
    repaired = repair([Message("q", "user", "?"), result("x")])
    assert [message.id for message in repaired.messages] == ["q"]
    assert repaired.notes == ["left out a result without a call (read)"]
    assert (repaired.touched, repaired.lost) == (4, 4)


def test_a_late_result_moves_up_to_its_call() -> None:
    history = [asks(CALL), Message("q", "user", "?"), result("x"), Message("p", "user", "Well?")]
    assert shown(history) == ["", "tx: text", "?", "Well?"]
    assert repair(history).notes == ["moved a result up to its call"]
    assert (repair(history).touched, repair(history).lost) == (4, 0)


def test_a_result_before_its_call_moves_behind_it() -> None:
    assert shown([result("x"), asks(CALL), Message("q", "user", "?")]) == ["", "tx: text", "?"]


def test_a_result_belongs_to_its_call_up_to_the_next_use_of_the_id() -> None:
    user = Message("q", "user", "?")
    history = [asks(CALL), user, result("x", "one"), asks(CALL, id="b"), replace(user, id="p"), result("x", "two", "s")]
    assert shown(history) == ["", "tx: one", "?", "", "tx: two", "?"]


def test_several_results_of_one_call_are_joined() -> None:
    repaired = repair(
        [asks(CALL), *(result("x", text, f"r{n}") for n, text in enumerate(("one", "two", "one more", "one")))]
    )
    assert [message.content for message in repaired.messages] == ["", "one\ntwo\none more"]
    assert repaired.notes == ["joined 4 results of one call"]


def test_messages_that_are_one_turn_are_joined() -> None:
    first, second = replace(asks(CALL), content="I look.", thinking="hm"), replace(asks(OTHER, id="b"), thinking="so")
    repaired = repair([first, second, result("x"), result("y", "other", "s"), Message("q", "user", "?")])
    turn, *rest = repaired.messages
    assert (turn.content, turn.thinking, turn.calls) == ("I look.", "hm\nso", (CALL, OTHER))
    assert [message.content for message in rest] == ["text", "other", "?"]
    assert repaired.within == {"b": "a"}


def test_a_call_that_was_made_again_is_a_turn_of_its_own() -> None:
    """As after a break: the first call never got its result, so the messages are not one turn."""
    assert shown([asks(CALL), asks(OTHER, id="b"), result("y", "other")]) == ["", f"tx: {NO_RESULT}", "", "ty: other"]


def test_results_of_a_batch_that_interleave_are_joined_each_with_its_call() -> None:
    found = [result(id_, text, text) for id_, text in (("x", "x1"), ("y", "y1"), ("x", "x2"))]
    assert shown([asks(CALL, OTHER), *found]) == ["", "tx: x1\nx2", "ty: y1"]


def test_an_id_that_is_called_again_in_vain_leaves_the_first_result_where_it_is() -> None:
    history = [asks(CALL), result("x"), asks(CALL, id="b"), asks(OTHER, id="c"), result("y", "other", "s")]
    assert shown(history) == ["", "tx: text", "", f"tx: {NO_RESULT}", "", "ty: other"]


def test_a_result_that_comes_after_a_whole_other_turn_is_found() -> None:
    """As of a tool that ran in the background while the agent went on."""
    history = [asks(CALL), asks(OTHER, id="b"), result("y", "other", "s"), Message("q", "user", "?"), result("x")]
    assert shown(history) == ["", "tx: text", "ty: other", "?"]


def test_split_calls_without_ids_are_paired_by_position() -> None:
    nameless = [asks(ToolCall("", name), id=name) for name in ("read", "list")]
    repaired = repair([*nameless, result("", "one", "r1"), result("", "two", "r2")]).messages
    names = {call.id: call.name for call in repaired[0].calls}
    assert [(names[message.call_id], message.content) for message in repaired[1:]] == [("read", "one"), ("list", "two")]


def test_one_missing_result_of_a_parallel_batch_is_filled_in() -> None:
    repaired = repair([asks(CALL, OTHER), result("y"), Message("q", "user", "?")])
    assert [message.call_id for message in repaired.messages if message.role == "tool"] == ["x", "y"]


def test_calls_without_ids_are_paired_by_position() -> None:
    nameless = ToolCall("", "read"), ToolCall("", "list")
    repaired = repair([asks(*nameless), result("", "one", "r1"), result("", "two", "r2")]).messages
    assert is_sound(repaired) == []
    pairs = {call.id: call.name for call in repaired[0].calls}
    assert [(pairs[message.call_id], message.content) for message in repaired[1:]] == [("read", "one"), ("list", "two")]


def test_doubled_call_ids_are_paired_by_position() -> None:
    repaired = repair([asks(CALL, CALL), result("x", "one", "r1"), result("x", "two", "r2")]).messages
    assert is_sound(repaired) == []
    assert [message.content for message in repaired] == ["", "one", "two"]


def test_an_id_made_for_a_call_is_not_one_that_another_has() -> None:
    repaired = repair([asks(ToolCall("", "read"), ToolCall("a.1", "list"), id="a"), result("a.1", "of list")])
    assert is_sound(repaired.messages) == []
    (answered,) = [call.name for call in repaired.messages[0].calls if call.id == repaired.messages[1].call_id]
    assert answered == "list"


def test_a_call_id_used_again_later_belongs_to_the_nearest_call() -> None:
    history = [asks(CALL), result("x", "one"), asks(CALL, id="b"), result("x", "two", "s")]
    assert repair(history).messages == history


def test_a_late_system_message_goes_to_the_front() -> None:
    repaired = repair([Message("q", "user", "?"), Message("s", "system", "Be kind.")])
    assert [message.id for message in repaired.messages] == ["s", "q"]
    assert repaired.notes == ["moved the system message to the front"]


def test_a_late_system_message_takes_no_id_that_is_taken() -> None:
    repaired = repair([Message("a", "user", "?"), Message("a", "system", "Be kind.")])
    assert is_sound(repaired.messages) == []


def test_a_late_system_message_without_an_id_gets_one() -> None:
    repaired = repair([Message("a", "user", "?"), Message("", "system", "Be kind.")])
    assert is_sound(repaired.messages) == []


def test_a_doubled_system_message_is_noted() -> None:
    system = Message("s", "system", "Be kind.")
    repaired = repair([system, Message("q", "user", "?"), Message("s2", "system", "Be kind.")])
    assert [message.id for message in repaired.messages] == ["s", "q"]
    assert len(repaired.notes) == 1


def test_a_system_message_that_is_there_twice_is_noted() -> None:
    system = Message("s", "system", "Be kind.")
    assert len(repair([system, system]).notes) == 1


def test_a_doubled_id_is_noted() -> None:
    repaired = repair([Message("a", "user", "one"), Message("a", "user", "two")])
    assert [message.content for message in repaired.messages] == ["one", "two"]
    assert len(repaired.notes) == 1


def test_a_system_message_between_call_and_result_does_not_cost_the_result() -> None:
    system = Message("s", "system", "Be kind.")
    repaired = repair([system, asks(CALL), Message("s2", "system", "Be kind."), result("x", "gold")])
    assert [message.content for message in repaired.messages] == ["Be kind.", "", "gold"]


def test_a_result_without_an_id_leaves_the_call_that_another_result_names() -> None:
    repaired = repair([asks(CALL, OTHER), result("", "of y", "r1"), result("x", "of x", "r2")])
    assert {message.call_id: message.content for message in repaired.messages[1:]} == {"x": "of x", "y": "of y"}


def test_a_result_with_an_id_may_answer_the_only_call_without_one() -> None:
    repaired = repair([asks(ToolCall("", "read")), result("x", "gold")])
    assert [message.content for message in repaired.messages] == ["", "gold"]


@pytest.mark.parametrize("role", ["user", "system"])
def test_only_the_assistant_calls(role: str) -> None:
    history = [
        Message("s", "system", "Be kind."),
        Message("a", role, "hello", calls=(CALL,)),  # type: ignore[arg-type]
        Message("q", "user", "?"),
    ]
    repaired = repair(history)
    assert is_sound(repaired.messages) == []
    assert repair(repaired.messages).notes == []


def test_no_content_at_all_is_empty_content() -> None:
    history = [replace(message, content=None) for message in (Message("q", "user"), asks(CALL), result("x"))]
    assert [message.content for message in repair(history).messages] == ["", "", ""]


def test_a_loop_s_own_history_is_left_alone() -> None:
    history = Story().ask("?").turn(10, 20).turn(5).answer("!").ask("?").turn(3, pending=1).messages
    assert repair(history).notes == []
