"""Repair: make a message list one that every chat server accepts, and say what was done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent.messages import Message, ToolCall

NO_RESULT = "[no result was recorded]"


@dataclass(frozen=True, slots=True)
class Repaired:
    """A sound message list, and one note for each thing that had to be mended (none for a sound input)."""

    messages: list[Message]
    notes: list[str]


def repair(messages: Sequence[Message]) -> Repaired:
    """Make it hold: unique ids, one system message and it is first, every call has exactly one result.

    Results directly follow the call's message, matched by call id, or by position where there is none. Orphan, late
    and second results are left out; a missing one is filled in, except for calls pending at the tail.
    """
    mender = _Mender()
    for message in messages:
        mender.add(message)
    return Repaired(mender.sound, mender.notes)


class _Mender:
    def __init__(self) -> None:
        self.sound: list[Message] = []
        self.notes: list[str] = []
        self._ids: set[str] = set()
        self._pending: list[tuple[str, ToolCall]] = []  # the id that the history knows, the call as it is now

    def add(self, message: Message) -> None:
        if message.role == "tool":
            self._add_result(message)
            return
        self._close_calls()
        if message.role == "system":
            self._add_system(message)
        else:
            sound = self._with_call_ids(message)
            self._append(sound)
            self._pending = [(old.id, call) for old, call in zip(message.calls, sound.calls, strict=True)]

    def _append(self, message: Message) -> None:
        unique, number = message.id, 1
        while not unique or unique in self._ids:
            number += 1
            unique = f"{message.id or 'message'}~{number}"
        self._ids.add(unique)
        self.sound.append(message if unique == message.id else replace(message, id=unique))

    def _add_system(self, message: Message) -> None:
        if not self.sound:
            self._append(message)
        elif self.sound[0].role != "system":
            self._ids.add(message.id)
            self.sound.insert(0, message)
            self.notes.append("moved the system message to the front")
        elif message.content != self.sound[0].content:
            self._append(replace(message, role="user"))
            self.notes.append("a second system message goes as the user's")

    def _with_call_ids(self, message: Message) -> Message:
        ids = [call.id for call in message.calls]
        if all(ids) and len(set(ids)) == len(ids):
            return message
        self.notes.append("gave calls without an id of their own one")
        calls = tuple(replace(call, id=f"{message.id}.{n}") for n, call in enumerate(message.calls, 1))
        return replace(message, calls=calls)

    def _add_result(self, message: Message) -> None:
        match = next((pair for pair in self._pending if message.call_id in (pair[0], "")), None)
        if match is None:
            self.notes.append(f"left out a result without a call ({message.name or message.id})")
            return
        self._pending.remove(match)
        call = match[1]
        if message.call_id != call.id:
            message = replace(message, call_id=call.id, name=message.name or call.name)
        self._append(message)

    def _close_calls(self) -> None:
        for _, call in self._pending:
            self._append(Message(f"{call.id}.none", "tool", NO_RESULT, call_id=call.id, name=call.name))
            self.notes.append(f"filled in the missing result of {call.name}")
        self._pending = []
