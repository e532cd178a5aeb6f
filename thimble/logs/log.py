"""A log: the messages of an agent and its model, the prompt of each call, and the provider's token counts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

Json = Mapping[str, Any]
"""An object in a file."""
Values = Iterable[Any]
"""The JSON values of a file, in order: lines or documents."""
Entry = dict[str, Any]
"""A chat-completions message. `put_in`: added by the agent's program, not written by a user."""
PIECES = ("content", "tool_calls")
"""Keys of a reply whose lists may come in pieces."""
CLEARED = "[Old tool result content cleared]"
"""The text that Claude Code and opencode send in place of a cleared result."""
MALFORMED_ERRORS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Errors that a malformed value raises."""


@dataclass(frozen=True, slots=True)
class Reported:
    """Tokens of a call as the provider reported them, each counted once; None: not recorded.

    `output` includes thinking.
    """

    uncached: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    output: int | None = None

    @property
    def prompt(self) -> int | None:
        """All tokens of the prompt, cached or not."""
        if self.uncached is None:
            return None
        return self.uncached + (self.cache_read or 0) + (self.cache_write or 0)


@dataclass(slots=True)
class LoggedCall:
    """A call of the agent's model. `at`: the index of its reply in `Log.entries`; `time`: as in `Log.times`."""

    at: int
    reported: Reported = Reported()
    model: str = ""
    time: float | None = None


UNKNOWN = LoggedCall(0)
"""A call with nothing recorded."""


@dataclass(frozen=True, slots=True)
class Context:
    """How prompts after entry `since` start: with the entries `base`, by index; those from `since` on follow."""

    since: int
    base: Sequence[int]


@dataclass(slots=True, eq=False)
class Log:
    """One recorded session.

    Attributes:
        name: Its id, or the name of its file.
        form: The name of its format.
        entries: All messages in order, those of dropped contexts too.
        summaries: Indices of the entries that the agent's own context management wrote.
        calls: The calls of its model, in order.
        contexts: The starts of prompts, in order; the first is empty.
        tools: The schemas of its tools, if they are in the file.
        times: When entries were complete, in seconds since 1970, by index; those of the others are unknown.
        left_out: Counts of the data that is not in `entries`, by name.
        notes: Warnings for whoever reads the log, a sentence each.
        replies: Calls whose reply may have further pieces, by a key of their reader.
    """

    name: str
    form: str
    entries: list[Entry] = field(default_factory=list)
    summaries: set[int] = field(default_factory=set)
    calls: list[LoggedCall] = field(default_factory=list)
    contexts: list[Context] = field(default_factory=lambda: [Context(0, ())])
    tools: Sequence[Entry] = ()
    times: dict[int, float] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    replies: dict[object, LoggedCall] = field(default_factory=dict)

    def prompt(self, call: LoggedCall) -> list[int]:
        """The indices of the entries in this call's prompt, as far as the file records it."""
        context = next(one for one in reversed(self.contexts) if one.since <= call.at)
        return [*context.base, *range(context.since, call.at)]

    @property
    def view(self) -> list[Entry]:
        """The entries that a prompt would hold now, in a new list.

        A reader sets it when the agent changes it. An entry that is not in the log yet was written by the agent's own
        context management: it is added to the summaries.
        """
        return [self.entries[place] for place in self.prompt(LoggedCall(len(self.entries)))]

    @view.setter
    def view(self, entries: Iterable[Entry]) -> None:
        known = {id(entry): at for at, entry in enumerate(self.entries)}
        now, base = self.prompt(LoggedCall(len(self.entries))), []
        for entry in entries:
            if id(entry) not in known:
                known[id(entry)] = len(self.entries)
                self.summaries.add(len(self.entries))
                self.entries.append(entry)
            base.append(known[id(entry)])
        if base != now:
            self.contexts.append(Context(len(self.entries), base))

    def at(self, entry: Entry | None) -> int:
        """The index of an entry in the view; the length of the view if it is not there."""
        view = self.view
        return next((at for at, one in enumerate(view) if one is entry), len(view))

    def reuse_equal(self, entries: Iterable[Entry]) -> list[Entry]:
        """These entries, each replaced by the equal entry of the view, if there is one."""
        known = {key_of(entry): entry for entry in self.view}
        return [known.get(key_of(entry), entry) for entry in entries]

    def add(self, *entries: Entry) -> None:
        """Append entries to the log, and so to the view."""
        self.entries += entries

    def append(self, entries: Iterable[Entry], call: LoggedCall = UNKNOWN, key: object = None) -> None:
        """Append entries. One of the assistant is the reply of a call, or a further piece of that with this `key`."""
        for entry in entries:
            known = self.replies.get(key) if entry["role"] == "assistant" else None
            if call.time:
                self.times[known.at if known else len(self.entries)] = call.time
            if known:
                known.reported = max(known.reported, call.reported, key=lambda one: one.output or 0)
                whole = self.entries[known.at]
                whole |= {name: whole.get(name, []) + entry[name] for name in entry if name in PIECES}
            else:
                if entry["role"] == "assistant":
                    self.calls.append(replace(call, at=len(self.entries)))
                    self.replies |= {key: self.calls[-1]} if key is not None else {}
                self.add(entry)

    def clear_results(self, ids: Container[object]) -> None:
        """Replace the results of these calls by a placeholder in the view."""
        self.view = [
            {**entry, "content": CLEARED} if entry.get("tool_call_id") in ids and entry["content"] != CLEARED else entry
            for entry in self.view
        ]

    def set_prompt(self, request: list[Entry]) -> None:
        """Make this request the next prompt; an entry that equals one of the view is taken to be that one.

        New entries before the last of these were written by the agent's own context management; later ones are new
        messages.
        """
        view = self.view
        if request[: len(view)] != view:
            known, request = {*map(id, view)}, self.reuse_equal(request)
            last = max((at for at, entry in enumerate(request, 1) if id(entry) in known), default=0)
            self.view = view = request[:last]
        self.add(*request[len(view) :])

    def leave_out(self, name: object) -> None:
        """Count skipped data under a name: the type of a line, in most formats."""
        self.left_out[str(name or "without a type")[:40]] += 1

    def leave_out_rest(self, value: Json, taken: str) -> None:
        """Count the other keys of an object, which are not sent: results, rewards, settings."""
        if value.keys() - taken.split():
            self.leave_out("about the run")

    def report(self, usages: Sequence[Reported]) -> None:
        """Assign the n-th usage to the n-th call. If the numbers differ, no call gets one, and a note says so."""
        if len(usages) == len(self.calls):
            for call, usage in zip(self.calls, usages, strict=True):
                call.reported = usage
        elif usages:
            told = f"Usage is known for the session only: {len(usages)} records, {len(self.calls)} calls."
            self.notes.append(told)


def add_each(values: Values, take: Callable[[Any], None], log: Log) -> None:
    """Call `take` with each value. A malformed one is counted in the log: a newer agent may write other values."""
    for value in values:
        try:
            take(value)
        except MALFORMED_ERRORS as error:
            log.leave_out(f"unreadable: {type(error).__name__} {error}")


def key_of(entry: Entry) -> str:
    """A key that equal entries share."""
    return json.dumps(entry, sort_keys=True)


def parse_time(time: object) -> float | None:
    """Seconds since 1970 of a time in seconds or in ISO form; None for anything else."""
    try:
        return float(time) if isinstance(time, int | float) else datetime.fromisoformat(str(time)).timestamp()
    except (ValueError, OverflowError):
        return None
