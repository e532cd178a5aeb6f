"""Check a strategy's answer: reject it if it is not messages; repair it if it breaks a law, and note each repair."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from operator import lt

from agent.history import History, pinned
from agent.messages import Message, pending
from agent.repair import repair

MOST_MESSAGES = 200_000
"""The most messages of a view; a longer answer may have no end."""
PINNED = {"system": "system message", "user": "question or task"}


def messages_of(answer: Sequence[Message]) -> Sequence[Message]:
    """The messages of a strategy's answer. Raises TypeError, in words, for anything else."""
    if type(answer) is History:
        return answer
    if not isinstance(answer, Iterable):
        raise TypeError(f"prepare must return a list of messages, not {answer!r:.40}")
    proposed: list[Message] = []
    for one in answer:  # one by one: the answer may have no end
        if not isinstance(one, Message):
            raise TypeError(f"prepare must return a list of messages; {one!r:.40} in it is none")
        if len(proposed) == MOST_MESSAGES:
            raise TypeError(f"prepare must return a list of messages, at most {MOST_MESSAGES:,}")
        proposed.append(one)
    return proposed


def settle(view: Sequence[Message], history: Sequence[Message], known: Sequence[Message] = ()) -> Settled:
    """Make a strategy's answer keep the laws: the history's order, pinned messages, whole turns.

    An answer that keeps the laws comes back unchanged. One that breaks them (a participant's first try, for example) is
    repaired, with a note for each repair. Only a call that waits for its result in the history may wait for it here.
    `known` is a view that keeps the laws.
    """
    view, history = History.of(view), History.of(history)
    if view is history or view == history:
        return Settled(view, [])
    notes: list[str] = []
    messages = _ordered(_with_roles(view, history, notes), history, notes)
    for message in pinned(history):
        messages = _with(messages, message, history, notes)
    if history and history[0].role == "system" and messages[0].id != history[0].id:
        notes.append("put the system message first")
        messages = History(sorted(messages, key=lambda message: message.id != history[0].id))
    waiting = pending(history)
    if waiting and messages[-len(waiting) :] != waiting:
        notes.append("put the pending call at the end")
        ids = {message.id for message in waiting}
        messages = History([*(message for message in messages if message.id not in ids), *waiting])
    sound = repair(messages, known, waits=bool(waiting))
    return Settled(sound.messages, [*notes, *sound.notes])


@dataclass(frozen=True, slots=True)
class Settled:
    """A view that keeps the laws, and a note for each law that the strategy broke."""

    messages: History
    notes: list[str]


def _with_roles(view: History, history: History, notes: list[str]) -> History:
    """The view without system messages that the history has as others: these stand in their places."""
    if view.rewrites(history):
        return view
    own = {}
    for message in view:
        before = history.named(message.id) if message.role == "system" else None
        if before and before.role != message.role:
            own[message.id] = before.role
    if not own:
        return view
    notes.append("put back the role of what the strategy made a system message")
    return History(replace(one, role=own[one.id]) if one.role == "system" and one.id in own else one for one in view)


def _ordered(view: History, history: History, notes: list[str]) -> History:
    if view.rewrites(history):
        return view
    placed = [-1 if (place := history.place(message.id)) is None else place for message in view]
    known = [index for index in placed if index >= 0]
    if all(map(lt, known, known[1:])):
        return view
    notes.append("put messages back into the order of the history, each once")
    latest, keyed = -1, []
    for message, index in zip(view, placed, strict=True):
        latest = index if index >= 0 else latest
        keyed.append((latest, message))
    unique: dict[str, Message] = {}
    for _, message in sorted(keyed, key=lambda pair: pair[0]):
        unique.setdefault(message.id, message)
    return History(unique.values())


def _with(messages: History, needed: Message, history: History, notes: list[str]) -> History:
    """The messages with this one of the history added, unchanged and in its place."""
    there = messages.named(needed.id)
    if there and there.same(needed):
        return messages
    notes.append(f"put back the {PINNED.get(needed.role, 'pending call')}")
    rest = [message for message in messages if message.id != needed.id]
    here = history.place(needed.id) or 0
    later = (index for index, message in enumerate(rest) if (history.place(message.id) or -1) > here)
    place = next(later, len(rest)) if here else 0
    return History([*rest[:place], needed, *rest[place:]])
