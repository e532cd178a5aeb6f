"""Repair a message list so that every chat server accepts it, and note each change."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count, pairwise

from thimble.agent.messages import NO_RESULT, Message, ToolCall, differences, last_turn

RESULT_MOVED_UP = "moved a result up to its call"
RESULT_MISSING = "its call has no result, and servers refuse a call without one"


@dataclass(slots=True)
class Repaired:
    """A valid message list, and one note for each repair (none for valid input).

    `touched`: the characters of the messages that were changed, moved or left out; `lost`: of those left out. `within`:
    the id of the message that another one was joined to, by the id of that other one.
    """

    messages: list[Message]
    notes: list[str] = field(default_factory=list)
    within: dict[str, str] = field(default_factory=dict)
    touched: int = 0
    lost: int = 0

    def note(self, what: str, *messages: Message) -> None:
        """Note a repair of these messages."""
        self.notes.append(what)
        self.touched += sum(len(message.content or "") for message in messages)


def repair(messages: Sequence[Message], *, waits: bool = True, sound: Sequence[Message] = ()) -> Repaired:
    """Ensure unique ids, one system message, at the front, and exactly one result for every call.

    A result belongs to the newest call before it with its id, wherever it is. One without an id belongs to the first
    call of the turn before it that no result names. Results directly follow the message of their calls, in the order of
    these; several results of one call are joined, and so are the parts of a split turn. Only results without a call are
    left out. A missing result is filled in, except for pending calls at the end if it `waits`. `sound` is a list that
    needed no repair: a shared start is not checked again.
    """
    found = Repaired([*messages])
    if not is_sound(messages, waits=waits, sound=sound):
        plain = [_normalise(message, found) for message in messages]
        own = _make_ids_unique(_system_first(plain, found), found)
        found.messages = _make_ids_unique(_pair_calls(own, found, waits), found)
    return found


def is_sound(messages: Sequence[Message], *, waits: bool = True, sound: Sequence[Message] = ()) -> bool:
    """Whether a server would accept the list unchanged; calls at the end may still wait for results if it `waits`.

    The messages at its start that a `sound` list has too are not checked again.
    """
    ids = {message.id for message in messages}
    if len(ids) < len(messages) or "" in ids:
        return False
    start, waiting = last_turn(messages[: next(differences(sound, messages), len(sound))]), set[str]()
    for index, message in enumerate(messages[start:], start):
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


def _normalise(message: Message, found: Repaired) -> Message:
    """The message with text as its content, and with calls only if it is the assistant's."""
    if message.content is None:
        found.note("replaced missing content by an empty text", message)
        message = replace(message, content="")
    if message.calls and message.role != "assistant":
        found.note(f"left out calls of the {message.role}", message)
        message = replace(message, calls=())
    return message


def _system_first(messages: Sequence[Message], found: Repaired) -> list[Message]:
    """The messages with the first system message in front; others with another text become marked user messages."""
    first = next((index for index, message in enumerate(messages) if message.role == "system"), None)
    if first is None:
        return list(messages)
    system, rest = messages[first], list[Message]()
    if first:
        found.note("moved the system message to the front", system)
    for index, message in enumerate(messages):
        if message.role != "system":
            rest.append(message)
        elif index != first:
            found.note("made a second system message the user's, or left it out if it is the same", message)
            if message.content != system.content:
                rest.append(replace(message, role="user", why="a second system message"))
    return [system, *rest]


@dataclass(slots=True, eq=False)
class _Call:
    """A call, the number of turns up to its own, and its results."""

    call: ToolCall
    turn: int
    results: list[Message] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class _Turn:
    """A message with its calls, or several that are one turn; `follows`: a message with calls directly precedes it."""

    messages: list[Message]
    calls: list[_Call]
    follows: bool


def _pair_calls(messages: Sequence[Message], found: Repaired, waits: bool) -> list[Message]:
    turns: list[_Turn] = []
    for before, turn in pairwise([_Turn([], [], False), *_match_results(messages, found)]):
        if turn.follows and any(one.results for one in before.calls):  # its results come later: one turn, split
            turns[-1].messages.extend(turn.messages)
            turns[-1].calls.extend(turn.calls)
        else:
            turns.append(turn)
    return [*chain.from_iterable(_complete_turn(turn, found, waits and turn is turns[-1]) for turn in turns)]


def _match_results(messages: Sequence[Message], found: Repaired) -> list[_Turn]:
    """The messages as turns, each result with its call."""
    names = {message.call_id for message in messages if message.role == "tool"} - {""}
    turns: list[_Turn] = []
    newest: dict[str, deque[_Call]] = {}
    unnamed: deque[_Call] = deque()  # calls of the last turn that no result names
    early: list[Message] = []
    last = None
    for message in messages:
        if message.role != "tool":
            calls = [_Call(call, len(turns) + 1) for call in message.calls]
            follows = bool(calls and last and last.calls)
            turns.append(_Turn([message], calls, follows))
            if calls and not follows:
                unnamed.clear()
            newest.update((call.id, deque()) for call in message.calls)
            for one in calls:
                (newest[one.call.id] if one.call.id in names else unnamed).append(one)
        elif its := newest.get(message.call_id):
            its[0].results.append(message)
            if its[0].turn < len(turns):
                found.note(RESULT_MOVED_UP, message)
            if len(its) > 1:
                its.popleft()
        elif unnamed and not (message.call_id and unnamed[0].call.id):
            unnamed.popleft().results.append(message)
        else:
            early.append(message)
        last = message
    for message in early:
        if its := newest.get(message.call_id):
            its[0].results.append(message)
            found.note(RESULT_MOVED_UP, message)
        else:  # servers refuse it, and as the user's message it would speak for the user
            found.note("left out a result without a call" + f" ({message.name})" * bool(message.name), message)
            found.lost += len(message.content)
    return turns


def _complete_turn(turn: _Turn, found: Repaired, waits: bool) -> Iterator[Message]:
    """The message and exactly one result for each call."""
    caller, given = _join(turn.messages, "messages of one turn", found), tuple(one.call for one in turn.calls)
    calls = assign_call_ids(given, caller.id)
    if calls != given:
        found.note("gave calls without a unique id one", caller)
    yield caller if calls == caller.calls else replace(caller, calls=calls)
    for one, call in zip(turn.calls, calls, strict=True):
        if one.results:
            result = _join(one.results, "results of one call", found)
            if result.call_id != call.id:
                found.note("paired a result with its call by position", result)
                result = replace(result, call_id=call.id, name=call.name)
            yield result
        elif not waits:
            found.notes.append(f"filled in the missing result of {call.name}")
            yield Message(
                f"{caller.id}.{call.id}", "tool", NO_RESULT, call_id=call.id, name=call.name, why=RESULT_MISSING
            )


def _join(messages: Sequence[Message], what: str, found: Repaired) -> Message:
    """The messages as one: the first, with the words of all."""
    if not messages[1:]:
        return messages[0]
    found.note(f"joined {len(messages):,} {what}", *messages)
    found.within.update((message.id, messages[0].id) for message in messages[1:])
    texts = zip(*((message.content, message.thinking) for message in messages), strict=True)
    content, thinking = ("\n".join(dict.fromkeys(filter(None, each))) for each in texts)
    return replace(messages[0], content=content, thinking=thinking)


def assign_call_ids(calls: Sequence[ToolCall], stem: str) -> tuple[ToolCall, ...]:
    """The calls, each with a unique id: made from `stem` if a server gave none, or the same one twice."""
    taken = {call.id for call in calls} | {""}
    made = (f"{stem}.{number}" for number in count(1))
    fresh = (id_ for id_ in made if id_ not in taken)
    seen: set[str] = set()
    own = []
    for call in calls:
        own.append(replace(call, id=next(fresh)) if call.id in seen | {""} else call)
        seen.add(call.id)
    return tuple(own)


def _make_ids_unique(messages: Sequence[Message], found: Repaired) -> list[Message]:
    taken = {message.id for message in messages} | {""}
    seen: set[str] = set()
    numbers = count(2)
    unique = []
    for message in messages:
        new = message.id
        if not new or new in seen:
            stem = new or "message"
            new = next(made for made in (f"{stem}~{number}" for number in numbers) if made not in taken)
            found.notes.append(f"gave a message a unique id ({new})")
        seen.add(new)
        taken.add(new)
        unique.append(message if new == message.id else replace(message, id=new))
    return unique
