"""The history: messages in order that only grow, so that each call can go on from what the call before it did."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, overload

from agent.messages import Message, pending

CHUNK = 256
"""Messages that are stored together: two histories share the chunks that are the same in both."""
Measure = Callable[[Message], int]


class History(Sequence[Message]):
    """Messages that never change: a history that grows, or in which messages are rewritten, is a new one.

    It reads and slices as a list does (a slice is a list), and shares all but the difference with the history that it
    comes from. So a longer one costs next to nothing, and where two histories part is seen at once: what was worked out
    for the part that they share, such as a total of tokens, need not be worked out again.
    """

    __slots__ = ("_chunks", "_length", "_register", "_totals", "covering", "unique")

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._chunks: list[tuple[Message, ...]] = []
        self._length = 0
        self._register = _Register()
        self._totals: dict[Any, tuple[int, int]] = {}
        self.covering: tuple[Message, ...] = ()
        """The messages that stand for others, oldest first."""
        self.unique = True
        """Whether each message has an id of its own."""
        self._extend(messages)

    @classmethod
    def of(cls, messages: Iterable[Message]) -> History:
        """These messages as a history: the same object where they are one."""
        return messages if isinstance(messages, cls) else cls(messages)

    # --- another history ----------------------------------------------------------------------------------------------

    def plus(self, *messages: Message) -> History:
        """This history with these messages at its end."""
        longer = self._like()
        longer._extend(messages)
        return longer

    def upto(self, length: int) -> History:
        """The first messages of this history."""
        if length >= self._length:
            return self
        shorter = self._like()
        full = length // CHUNK
        rest = self[full * CHUNK : length]
        shorter._chunks, shorter._length, shorter._totals = self._chunks[:full], full * CHUNK, {}
        for key, (counted, total) in self._totals.items():
            gone = sum(map(key, self[length:counted])) if counted > length else 0
            shorter._totals[key] = min(counted, length), total - gone
        shorter.covering = tuple(message for message in self.covering if self._register.places[message.id] < length)
        shorter.unique = self.unique or len({message.id for message in self[:length]}) == length
        shorter._store(rest)
        return shorter

    def begun(self, view: History) -> History:
        """This history with `view` at its start, which is a rewritten copy of its beginning."""
        longer = view._like()
        longer._register = self._register
        longer._store(self[len(view) :])
        longer.covering = (*view.covering, *(message for message in self[len(view) :] if message.covers))
        longer.unique = self.unique
        return longer

    def apart(self) -> History:
        """The same history for another thread, where it can grow on its own."""
        other = self._like()
        other._register = self._register.upto(self._length)
        return other

    def rewritten(self, copies: Iterable[Message]) -> History:
        """This history with a copy in place of each message of the same id, which must be in it."""
        other = self._like()
        chunks = other._chunks = [*self._chunks]
        touched: dict[int, list[Message]] = {}
        for copy in copies:
            chunk, at = divmod(self._register.places[copy.id], CHUNK)
            messages = touched.setdefault(chunk, [*chunks[chunk]])
            for key, (counted, total) in other._totals.items():
                if chunk * CHUNK + at < counted:
                    other._totals[key] = counted, total + key(copy) - key(messages[at])
            messages[at] = copy
        for chunk, messages in touched.items():
            chunks[chunk] = tuple(messages)
        return other

    def _like(self) -> History:
        other = History.__new__(History)
        other._chunks, other._length, other._register = self._chunks, self._length, self._register
        other._totals, other.covering, other.unique = dict(self._totals), self.covering, self.unique
        return other

    def _extend(self, messages: Iterable[Message]) -> None:
        messages = [*messages]
        for place, message in enumerate(messages, self._length):
            taken = self._register.places.get(message.id, place) < place
            self.unique = self.unique and bool(message.id) and not taken
            if not self._register.enter(place, message):
                self._register = self._register.upto(place)
                self._register.enter(place, message)
            if message.covers:
                self.covering = (*self.covering, message)
        self._store(messages)

    def _store(self, messages: Sequence[Message]) -> None:
        if not messages:
            return
        at = self._length % CHUNK
        chunks = self._chunks[:-1] if at else [*self._chunks]
        rest = [*(self._chunks[-1] if at else ()), *messages]
        chunks += (tuple(rest[start : start + CHUNK]) for start in range(0, len(rest), CHUNK))
        self._chunks, self._length = chunks, self._length + len(messages)

    # --- reading ------------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, at: int) -> Message: ...
    @overload
    def __getitem__(self, at: slice) -> list[Message]: ...
    def __getitem__(self, at: int | slice) -> Message | list[Message]:
        if isinstance(at, slice):
            start, stop, step = at.indices(self._length)
            if step != 1:
                return [*self][at]
            first = start // CHUNK
            found = [*chain.from_iterable(self._chunks[first : -(-stop // CHUNK)])] if start < stop else []
            return found[start - first * CHUNK : stop - first * CHUNK]
        at = range(self._length)[at]
        return self._chunks[at // CHUNK][at % CHUNK]

    def __iter__(self) -> Iterator[Message]:
        return chain.from_iterable(self._chunks)

    def __reversed__(self) -> Iterator[Message]:
        return chain.from_iterable(map(reversed, reversed(self._chunks)))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, History):
            return self._chunks == other._chunks
        return isinstance(other, list | tuple) and len(other) == self._length and [*self] == [*other]

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"History({[*self]!r})"

    def __deepcopy__(self, memo: object) -> History:
        return self  # it never changes

    # --- what every call asks -----------------------------------------------------------------------------------------

    def place(self, id_: str) -> int | None:
        """Where the message with this id stands; None where there is none."""
        place = self._register.places.get(id_)
        return place if place is not None and place < self._length else None

    def named(self, id_: str) -> Message | None:
        """The message with this id; None where there is none."""
        place = self.place(id_)
        return None if place is None else self[place]

    def total(self, measure: Measure) -> int:
        """The sum of a measure over all messages. One that is equal to an earlier one goes on from its sum."""
        counted, total = self._totals.get(measure, (0, 0))
        if counted < self._length:
            total += sum(map(measure, self[counted:] if counted else self))
        self._totals.pop(measure, None)
        while len(self._totals) > 2:
            del self._totals[next(iter(self._totals))]
        self._totals[measure] = self._length, total
        return total

    def shared(self, other: Sequence[Message]) -> int:
        """How many messages at the start are the very same objects in both."""
        if not isinstance(other, History):
            return _same(self, other)
        chunks = _same(self._chunks, other._chunks)
        start = chunks * CHUNK
        return min(start + _same(self[start:], other[start:]), len(self), len(other))

    def goes_with(self, other: History) -> bool:
        """Whether both have the same ids, message for message, since one came of the other; the longer one has more."""
        return self._register is other._register

    @property
    def turns(self) -> Sequence[int]:
        """Where each turn begins."""
        return _Upto(self._register.turns, self._length)

    @property
    def asked(self) -> Sequence[int]:
        """Where each message stands that the user wrote; what was inserted or repaired says why, and is none."""
        return _Upto(self._register.asked, self._length)

    def newest_blocks(self) -> Iterator[range]:
        """What must be kept or dropped whole, as `agent.messages.blocks` has it, newest first."""
        stop = self._length
        for start in reversed(range(self._length)):
            role = self[start].role
            if role == "tool" and start:
                continue
            if role != "system":
                yield range(start, stop)
            stop = start

    def newest(self, turns: int) -> int:
        """Where the newest turns begin, so many of them or as many as there are; the end for none."""
        starts = self.turns
        return starts[max(0, len(starts) - turns)] if turns and starts else self._length


def question(messages: Sequence[Message]) -> Message | None:
    """The current question: the user's newest message. What was inserted or repaired says `why` and is none."""
    history = History.of(messages)
    return history[history.asked[-1]] if history.asked else None


def task(messages: Sequence[Message]) -> Message | None:
    """The first task: the user's oldest message."""
    history = History.of(messages)
    return history[history.asked[0]] if history.asked else None


def pinned(messages: Sequence[Message]) -> list[Message]:
    """What every view must show as it is: system message, task, question, and a turn that still waits for results."""
    history = History.of(messages)
    system = history[0] if history and history[0].role == "system" else None
    return [one for one in (system, task(history), question(history), *pending(history)) if one]


class _Register:
    """Ids, turns and questions by place: the same for all histories that came of each other.

    It grows with the longest of them, and one that goes another way begins a register of its own.
    """

    def __init__(self) -> None:
        self.entries: list[tuple[str, str]] = []
        self.places: dict[str, int] = {}
        self.turns: list[int] = []
        self.asked: list[int] = []

    def enter(self, place: int, message: Message) -> bool:
        """Enter a message at its place; False where another stands there."""
        entry = message.id, "aside" if message.role == "user" and message.why else message.role
        if place < len(self.entries):
            return self.entries[place] == entry
        self.entries.append(entry)
        self.places.setdefault(message.id, place)
        if entry[1] == "assistant":
            self.turns.append(place)
        elif entry[1] == "user":
            self.asked.append(place)
        return True

    def upto(self, length: int) -> _Register:
        """A copy for a history of this length."""
        other = _Register()
        other.entries, other.places = self.entries[:length], dict(self.places)
        for id_, _ in self.entries[length:]:
            if other.places.get(id_, 0) >= length:
                del other.places[id_]
        other.turns = self.turns[: bisect_left(self.turns, length)]
        other.asked = self.asked[: bisect_left(self.asked, length)]
        return other


class _Upto(Sequence[int]):
    """The numbers of a growing list that are below a limit."""

    def __init__(self, numbers: list[int], limit: int) -> None:
        self._numbers, self._length = numbers, bisect_left(numbers, limit)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, at: Any) -> Any:
        return self._numbers[range(self._length)[at]]


def _same(one: Sequence[object], other: Sequence[object]) -> int:
    """How many entries at the start are the very same objects."""
    for at, (left, right) in enumerate(zip(one, other, strict=False)):
        if left is not right:
            return at
    return min(len(one), len(other))
