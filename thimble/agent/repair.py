"""Repair a message list so that every chat server accepts it, and note each change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count

from thimble.agent.messages import NO_RESULT, Message, ToolCall


@dataclass(frozen=True, slots=True)
class Repaired:
    """A valid message list, and one note for each repair (none for valid input)."""

    messages: list[Message]
    notes: list[str]


def repair(messages: Sequence[Message], *, waits: bool = True) -> Repaired:
    """Ensure unique ids, one system message, at the front, and exactly one result for every call.

    Results directly follow the call's message, matched by call id, or by position if there is none. Results that are
    late, second or without a call are left out; a missing one is filled in, except for pending calls at the end, which
    `waits` says that there may be.
    """
    if is_sound(messages, waits=waits):
        return Repaired([*messages], [])
    notes: list[str] = []
    plain = [_plain(message, notes) for message in messages]
    own = _unique(_system_first(plain, notes), notes)
    return Repaired(_unique(_paired(own, notes, waits), notes), notes)


def is_sound(messages: Sequence[Message], *, waits: bool = True) -> bool:
    """Whether a server would accept the list as it is; calls at the end may still wait for results if it `waits`."""
    ids = {message.id for message in messages}
    if len(ids) < len(messages) or "" in ids:
        return False
    waiting: set[str] = set()
    for index, message in enumerate(messages):
        role, calls = message.role, message.calls
        if message.content is None or (calls and role != "assistant"):
            return False
        if role == "tool":
            if message.call_id not in waiting:
                return False
            waiting.remove(message.call_id)
        elif waiting or (role == "system" and index):
            return False
        elif calls:
            waiting = {call.id for call in calls}
            if not all(waiting) or len(waiting) < len(calls):
                return False
    return waits or not waiting


def _plain(message: Message, notes: list[str]) -> Message:
    """The message with text as its content, and with calls only if it is the assistant's."""
    if message.content is None:
        notes.append("no content is empty content")
        message = replace(message, content="")
    if message.calls and message.role != "assistant":
        notes.append(f"left out calls of the {message.role}")
        message = replace(message, calls=())
    return message


def _system_first(messages: Sequence[Message], notes: list[str]) -> list[Message]:
    """The messages with the first system message in front; others with another text become marked user messages."""
    first = next((index for index, message in enumerate(messages) if message.role == "system"), None)
    if first is None:
        return list(messages)
    if first:
        notes.append("moved the system message to the front")
    system, rest = messages[first], []
    for index, message in enumerate(messages):
        if message.role != "system":
            rest.append(message)
        elif index != first:
            notes.append("a second system message goes as the user's, or not at all if it is the same")
            if message.content != system.content:
                rest.append(replace(message, role="user", why="a second system message"))
    return [system, *rest]


def _paired(messages: Sequence[Message], notes: list[str], waits: bool) -> list[Message]:
    paired: list[Message] = []
    index = 0
    while index < len(messages):
        message = messages[index]
        index += 1
        if message.role == "tool":
            notes.append(f"left out a result without a call ({message.name or message.id})")
            continue
        start = index
        while message.role == "assistant" and index < len(messages) and messages[index].role == "tool":
            index += 1
        paired += _turn(message, messages[start:index], waits and index == len(messages), notes)
    return paired


def _turn(caller: Message, results: Sequence[Message], waits: bool, notes: list[str]) -> list[Message]:
    """A message and exactly one result for each call, in the order in which the results came."""
    calls = named(caller.calls, caller.id)
    if calls != caller.calls:
        notes.append("gave calls without an id of their own one")
    waiting = list(range(len(calls)))
    place: dict[int, int] = {}
    for match in (_by_id, _result_has_none, _call_has_none):
        for number, result in enumerate(results):
            found = next((at for at in waiting if match(result, caller.calls[at])), None)
            if number not in place and found is not None:
                place[number] = found
                waiting.remove(found)
    turn = [replace(caller, calls=calls) if calls != caller.calls else caller]
    for number, result in enumerate(results):
        if number not in place:
            notes.append(f"left out a result without a call ({result.name or result.id})")
            continue
        call = calls[place[number]]
        if result.call_id != call.id:
            notes.append("paired a result with its call by position")
            result = replace(result, call_id=call.id, name=call.name)
        turn.append(result)
    for call in [] if waits else [calls[at] for at in waiting]:
        notes.append(f"filled in the missing result of {call.name}")
        turn.append(Message(f"{caller.id}.{call.id}", "tool", NO_RESULT, call_id=call.id, name=call.name))
    return turn


def _by_id(result: Message, call: ToolCall) -> bool:
    return bool(call.id) and result.call_id == call.id


def _result_has_none(result: Message, call: ToolCall) -> bool:
    return not result.call_id


def _call_has_none(result: Message, call: ToolCall) -> bool:
    return not call.id


def named(calls: Sequence[ToolCall], stem: str) -> tuple[ToolCall, ...]:
    """The calls, each with its own id: made from `stem` if a server gave none, or the same one twice."""
    taken = {call.id for call in calls} | {""}
    made = (f"{stem}.{number}" for number in count(1))
    fresh = (id_ for id_ in made if id_ not in taken)
    seen: set[str] = set()
    own = []
    for call in calls:
        own.append(replace(call, id=next(fresh)) if call.id in seen | {""} else call)
        seen.add(call.id)
    return tuple(own)


def _unique(messages: Sequence[Message], notes: list[str]) -> list[Message]:
    taken = {message.id for message in messages} | {""}
    seen: set[str] = set()
    numbers = count(2)
    unique = []
    for message in messages:
        new = message.id
        if not new or new in seen:
            stem = new or "message"
            new = next(made for made in (f"{stem}~{number}" for number in numbers) if made not in taken)
            notes.append(f"gave a message an id of its own ({new})")
        seen.add(new)
        taken.add(new)
        unique.append(message if new == message.id else replace(message, id=new))
    return unique
