"""Laws: reject a strategy's answer if it is not messages; repair it if it breaks a law, and note each repair."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from thimble.agent.messages import YOU, Message, blocks, common_prefix, pending_turn
from thimble.agent.repair import Repaired, repair
from thimble.agent.turns import pinned

MAX_MESSAGES = 200_000
"""The most messages of a view; a longer answer may be endless."""
PINNED = {"system": "system message", "user": "question or task"}


def messages_of(answer: Sequence[Message]) -> list[Message]:
    """The messages of a strategy's answer. Raises TypeError, in words, for anything else."""
    if not isinstance(answer, Iterable):
        raise TypeError(f"prepare must return a list of messages, not {answer!r:.40}")
    proposed = [*islice(answer, MAX_MESSAGES + 1)]  # the answer may have no end
    if not {*map(type, proposed)} <= {Message}:
        other = next(one for one in proposed if type(one) is not Message)
        raise TypeError(f"prepare must return a list of messages; it contains {other!r:.40}")
    if len(proposed) > MAX_MESSAGES:
        raise TypeError(f"prepare must return a list of messages, at most {MAX_MESSAGES:,}")
    return proposed


def keep_laws(
    view: Sequence[Message], history: Sequence[Message], kept: Sequence[Message] = (), sound: Sequence[Message] = ()
) -> Repaired:
    """Make a strategy's answer keep the laws: the history's order, pinned messages, whole turns.

    An answer that keeps the laws is returned unchanged. One that breaks them (a participant's first try, for example)
    is repaired, with a note for each repair. Only a call that waits for its result in the history may wait for it here.
    Messages that the user has `kept` are put back without a note. `sound`: an earlier answer that kept the laws.
    """
    notes: list[str] = []
    places = {message.id: at for at, message in enumerate(history)}
    messages = _in_order(_with_roles(view, history, places, notes), places, notes)
    pins = pinned(history)
    needed = {message.id for message in (*pins, *kept)}
    shown = {message.id: message for message in messages if message.id in needed}
    for message in [*pins, *(one for one in kept if one.ref == YOU or one.id not in shown)]:
        if message.id not in shown or not shown[message.id].same(message):
            messages = _insert_in_place(messages, message, places, [] if message in kept else notes)
            shown[message.id] = message
    if history and history[0].role == "system" and messages[0].id != history[0].id:
        notes.append("put the system message first")
        messages.sort(key=lambda message: message.id != history[0].id)
    waiting = pending_turn(history)
    if common_prefix(messages[-len(waiting) :], waiting) < len(waiting):
        notes.append("put the pending call at the end")
        ids = {message.id for message in waiting}
        messages = [*(message for message in messages if message.id not in ids), *waiting]
    repaired = repair(messages, waits=bool(waiting), sound=sound)
    if repaired.notes and not _is_in_order(repaired.messages, places):  # results were moved to calls of other turns
        notes.append("sent the turns as the history has them: their calls and results were mixed up")
        repaired.messages = _turns_of({message.id for message in repaired.messages}, history)
    return Repaired(repaired.messages, [*notes, *repaired.notes])


def _turns_of(ids: Collection[str], history: Sequence[Message]) -> list[Message]:
    """The system message and the whole blocks of the history that have a message with one of these ids."""
    system = [message for message in history[:1] if message.role == "system"]
    found = [block for block in blocks(history) if any(history[at].id in ids for at in block)]
    return [*system, *(history[at] for block in found for at in block)]


def _with_roles(
    view: Sequence[Message], history: Sequence[Message], places: Mapping[str, int], notes: list[str]
) -> list[Message]:
    """The view, with the original role of each message that the strategy made a system message."""
    roles = {one.id: history[places[one.id]].role for one in view if one.role == "system" and one.id in places}
    if {*roles.values()} <= {"system"}:
        return [*view]
    notes.append("put back the role of a message that the strategy made a system message")
    return [replace(one, role=roles.get(one.id, one.role)) if one.role == "system" else one for one in view]


def _is_in_order(view: Sequence[Message], places: Mapping[str, int]) -> bool:
    """Whether the messages of the history are in its order, each once."""
    known = [at for message in view if (at := places.get(message.id)) is not None]
    return known == sorted({*known})


def _in_order(view: list[Message], places: Mapping[str, int], notes: list[str]) -> list[Message]:
    """The messages in the order of the history, each once; an inserted message stays after the one before it."""
    if _is_in_order(view, places):
        return view
    notes.append("put messages back into the order of the history, each once")
    latest, keyed = -1, []
    for message in view:
        latest = places.get(message.id, latest)
        keyed.append((latest, message))
    unique: dict[str, Message] = {}
    for _, message in sorted(keyed, key=lambda pair: pair[0]):
        unique.setdefault(message.id, message)
    return [*unique.values()]


def _insert_in_place(
    messages: list[Message], needed: Message, places: Mapping[str, int], notes: list[str]
) -> list[Message]:
    """The messages with this one of the history added, unchanged and in its place."""
    notes.append(f"put back the {PINNED.get(needed.role, 'pending call')}")
    rest = [message for message in messages if message.id != needed.id]
    here = places[needed.id]
    later = (at for at, message in enumerate(rest) if places.get(message.id, -1) > here)
    at = next(later, len(rest)) if here else 0
    return [*rest[:at], needed, *rest[at:]]
