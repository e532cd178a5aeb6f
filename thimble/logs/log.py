"""A log: what an agent and its model said to each other, what each call was sent, and what the provider counted."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

Entry = dict[str, Any]
"""A message in its chat-completions form."""
ODD = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What a value raises that is not as its form has it."""


@dataclass(frozen=True, slots=True)
class Reported:
    """Tokens of a call as the provider reported them, each counted once; None: not recorded.

    `output` includes what the model thought.
    """

    uncached: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    output: int | None = None

    @classmethod
    def of_sum(cls, prompt: int | None, read: int | None, written: int | None, output: int | None) -> Reported:
        """Of a prompt that is counted with what was read from the cache and written to it."""
        return cls(None if prompt is None else prompt - (read or 0) - (written or 0), read, written, output)

    @property
    def prompt(self) -> int | None:
        """All tokens of the prompt, cached or not."""
        if self.uncached is None:
            return None
        return self.uncached + (self.cache_read or 0) + (self.cache_write or 0)


@dataclass(slots=True)
class LoggedCall:
    """A call of the agent's model. `at` is the place of its reply in `Log.entries`; `began` in seconds since 1970."""

    at: int
    reported: Reported = Reported()
    model: str = ""
    began: float | None = None


@dataclass(frozen=True, slots=True)
class Context:
    """From the place `since` on, a prompt begins with the entries `base`; what follows `since` comes behind them."""

    since: int
    base: Sequence[int]


@dataclass(slots=True)
class Log:
    """One recorded session.

    Attributes:
        name: Its id, or the name of its file.
        form: The name of its form, as in `FORMS`.
        entries: All messages, in the order in which they were said, those of dropped contexts too.
        summaries: The places of entries that the agent's own context management wrote.
        calls: The calls of its model, in order.
        contexts: What prompts begin with; the first one begins with nothing.
        tools: The schemas of its tools, if they are in the file.
        left_out: What is not in `entries`, by name: how often, and how many bytes.
        notes: What a reader of the log must know, a sentence each.
    """

    name: str
    form: str
    entries: list[Entry] = field(default_factory=list)
    summaries: set[int] = field(default_factory=set)
    calls: list[LoggedCall] = field(default_factory=list)
    contexts: list[Context] = field(default_factory=lambda: [Context(0, ())])
    tools: Sequence[Entry] = ()
    left_out: Counter[str] = field(default_factory=Counter)
    bytes_left_out: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def add(self, entry: Entry, *, summary: bool = False) -> int:
        """Append an entry, and return its place."""
        self.entries.append(entry)
        if summary:
            self.summaries.add(len(self.entries) - 1)
        return len(self.entries) - 1

    def reply(self, entry: Entry, reported: Reported = Reported(), model: str = "", began: float | None = None) -> int:
        """Append the reply of a call, and return its place."""
        at = self.add(entry)
        self.calls.append(LoggedCall(at, reported, model, began))
        return at

    def begin_context(self, base: Iterable[int]) -> None:
        """Let the prompts from here on begin with these entries alone."""
        self.contexts.append(Context(len(self.entries), tuple(base)))

    def now(self) -> list[int]:
        """The places of the entries that a prompt would have now."""
        context = self.contexts[-1]
        return [*context.base, *range(context.since, len(self.entries))]

    def send(self, request: Sequence[Entry]) -> None:
        """Let the next prompt be this request. Entries that were there before keep their places.

        If it does not begin with the context so far, a context begins; what is new in the middle of it, the agent's own
        context management wrote.
        """
        now = self.now()
        same = 0
        while same < min(len(now), len(request)) and self.entries[now[same]] == request[same]:
            same += 1
        if same == len(now):
            for entry in request[same:]:
                self.add(entry)
            return
        known = {key_of(self.entries[place]): place for place in now}
        places = [known.get(key_of(entry)) for entry in request]
        last = max((at for at, place in enumerate(places) if place is not None), default=-1)
        for at, (entry, place) in enumerate(zip(request, places, strict=True)):
            if place is None:
                places[at] = self.add(entry, summary=at < last)
        self.begin_context(place for place in places if place is not None)

    def swap(self, entries: Mapping[int, Entry]) -> None:
        """Let prompts from here on hold these entries, which the agent wrote, in place of those at these places."""
        now = self.now()
        places = {place: self.add(entry, summary=True) for place, entry in entries.items() if place in now}
        if places:
            self.begin_context(places.get(place, place) for place in now)

    def leave_out(self, name: str, what: object = "") -> None:
        """Count what is not taken."""
        self.left_out[name[:40]] += 1
        self.bytes_left_out[name[:40]] += len(what if isinstance(what, str) else json.dumps(what))

    def leave_out_rest(self, value: Mapping[str, Any], *taken: str) -> None:
        """Count what else an object holds that is not sent: results, rewards, settings."""
        self.leave_out("about the run", {key: value[key] for key in value if key not in taken})

    def report(self, usages: Sequence[Reported]) -> None:
        """Give the n-th call the n-th usage. If there are not as many as calls, none gets one, and a note says so."""
        if len(usages) == len(self.calls):
            for call, usage in zip(self.calls, usages, strict=True):
                call.reported = usage
        elif usages:
            told = f"Usage is known for the session only: {len(usages)} records, {len(self.calls)} calls."
            self.notes.append(told)

    def prompt(self, call: LoggedCall) -> list[int]:
        """The places of the entries that this call was sent, as far as the file tells."""
        context = next(one for one in reversed(self.contexts) if one.since <= call.at)
        return [*context.base, *range(context.since, call.at)]

    def until(self, at: int, name: str) -> Log:
        """A log of its own that begins as this one, with its first `at` entries."""
        return replace(
            self,
            name=name,
            entries=self.entries[:at],
            summaries={place for place in self.summaries if place < at},
            calls=[call for call in self.calls if call.at < at],
            contexts=[context for context in self.contexts if context.since <= at],
            left_out=Counter(),
            bytes_left_out=Counter(),
            notes=[],
        )


def take_each(values: Iterable[Any], take: Callable[[Any], None], log: Log) -> None:
    """Take each value. One that is not as its form has it is counted in the log: the next version may write others."""
    for value in values:
        try:
            take(value)
        except ODD as error:
            log.leave_out(f"unreadable: {type(error).__name__} {error}", value)


def key_of(entry: Entry) -> str:
    """The same for equal entries."""
    return json.dumps(entry, sort_keys=True)


def seconds(time: object) -> float | None:
    """Seconds since 1970 of a time in ISO form; None for anything else."""
    try:
        return datetime.fromisoformat(str(time)).timestamp()
    except (ValueError, OverflowError):
        return None
