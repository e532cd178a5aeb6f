"""The history: messages in order that only grow, so that each call can go on from what the call before it did."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Self

from agent.chunked import Chunked
from agent.messages import Message, pending

Measure = Callable[[Message], int]


class History(Chunked[Message]):
    """Messages that never change: a history that grows, or in which messages are rewritten, is a new one.

    It reads and slices as a list does (a slice is a list), and shares all but the difference with the history that it
    comes from. So a longer one costs next to nothing, and where two histories part is seen at once: what was worked out
    for the part that they share, such as a total of tokens, need not be worked out again.
    """

    __slots__ = ("_register", "_totals", "covering", "unique")

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        super().__init__()
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
        for key, (counted, total) in self._totals.items():
            gone = sum(map(key, self[length:counted])) if counted > length else 0
            shorter._totals[key] = min(counted, length), total - gone
        shorter._cut(length)
        shorter.covering = tuple(message for message in self.covering if self._register.places[message.id] < length)
        shorter.unique = self.unique or len({message.id for message in shorter}) == length
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
        changed = {self._register.places[copy.id]: copy for copy in copies}
        for key, (counted, total) in self._totals.items():
            more = sum(key(copy) - key(self[at]) for at, copy in changed.items() if at < counted)
            other._totals[key] = counted, total + more
        other._put(changed)
        return other

    def _like(self) -> Self:
        other = super()._like()
        other._register, other._totals = self._register, dict(self._totals)
        other.covering, other.unique = self.covering, self.unique
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

    # --- what every call asks -----------------------------------------------------------------------------------------

    def place(self, id_: str) -> int | None:
        """Where the message with this id stands; None where there is none."""
        place = self._register.places.get(id_)
        return place if place is not None and place < self._length else None

    def since(self, start: int, stays: Iterable[str]) -> list[Message]:
        """The messages from this place on, and before them those that stay, by id."""
        places = {at for id_ in stays if (at := self.place(id_)) is not None and at < start}
        return [*(self[at] for at in sorted(places)), *self[start:]]

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
        while len(self._totals) > 3:
            del self._totals[next(iter(self._totals))]
        self._totals[measure] = self._length, total
        return total

    def rewrites(self, history: History) -> bool:
        """Whether this was made from that history, or from its beginning, by rewriting: it has the same ids."""
        return self._register is history._register and self._length <= history._length

    @property
    def turns(self) -> Sequence[int]:
        """Where each turn begins."""
        return _Upto(self._register.turns, self._length)

    @property
    def acts(self) -> Sequence[int]:
        """Where each turn begins that calls a tool: T = (reasoning, action, observation), as in the papers."""
        return _Upto(self._register.acts, self._length)

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

    def newest(self, turns: int, *, answers: bool = False) -> int:
        """Where the newest turns begin, so many of them or as many as there are; the end for none.

        A turn that calls no tool counts only with `answers`.
        """
        starts = self.turns if answers else self.acts
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
        self.acts: list[int] = []
        self.asked: list[int] = []

    def enter(self, place: int, message: Message) -> bool:
        """Enter a message at its place; False where another stands there."""
        kind: str = message.role
        if kind == "user" and message.why:
            kind = "aside"
        elif kind == "assistant" and message.calls:
            kind = "act"
        entry = message.id, kind
        if place < len(self.entries):
            return self.entries[place] == entry
        self.entries.append(entry)
        self.places.setdefault(message.id, place)
        if message.role == "assistant":
            self.turns.append(place)
        if kind == "act":
            self.acts.append(place)
        elif kind == "user":
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
        other.acts = self.acts[: bisect_left(self.acts, length)]
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
