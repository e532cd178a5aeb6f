"""A log: what an agent and its model said to each other, what each call was sent, and what the provider counted."""

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
"""What a file holds, in order: lines, documents."""
Entry = dict[str, Any]
"""A message in its chat-completions form. `put_in`: the agent's program put it in, and no user wrote it."""
PIECES = ("content", "tool_calls")
"""Keys of a reply whose lists may come in pieces."""
CLEARED = "[Old tool result content cleared]"
"""What Claude Code and opencode send in place of a result that they cleared."""
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


UNKNOWN = LoggedCall(0)
"""A call that nothing is told of."""


@dataclass(frozen=True, slots=True)
class Context:
    """From the place `since` on, a prompt begins with the entries `base`; what follows `since` comes behind them."""

    since: int
    base: Sequence[int]


@dataclass(slots=True, eq=False)
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
        replies: Calls whose reply may have further pieces, by what their reader knows them by.
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
    replies: dict[object, LoggedCall] = field(default_factory=dict)

    def prompt(self, call: LoggedCall) -> list[int]:
        """The places of the entries that this call was sent, as far as the file tells."""
        context = next(one for one in reversed(self.contexts) if one.since <= call.at)
        return [*context.base, *range(context.since, call.at)]

    @property
    def view(self) -> list[Entry]:
        """What a prompt would hold now: the entries themselves, in a list of its own.

        A reader sets it where the agent changed it. An entry that was not in the log before, the agent's own context
        management wrote: it is put among the summaries.
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
        """Where in the view an entry is, or behind its end."""
        view = self.view
        return next((at for at, one in enumerate(view) if one is entry), len(view))

    def same(self, entries: Iterable[Entry]) -> list[Entry]:
        """These entries; in place of one that equals an entry of the view, that one."""
        known = {key_of(entry): entry for entry in self.view}
        return [known.get(key_of(entry), entry) for entry in entries]

    def add(self, *entries: Entry) -> None:
        """Append what is said, behind the view too."""
        self.entries += entries

    def say(self, entries: Iterable[Entry], call: LoggedCall = UNKNOWN, key: object = None) -> None:
        """Append what is said. An entry of the assistant is the reply of a call, or a further piece of it (`key`)."""
        for entry in entries:
            known = self.replies.get(key) if entry["role"] == "assistant" else None
            if known:
                known.reported = max(known.reported, call.reported, key=lambda one: one.output or 0)
                whole = self.entries[known.at]
                whole |= {name: whole.get(name, []) + entry[name] for name in entry if name in PIECES}
            else:
                if entry["role"] == "assistant":
                    self.calls.append(replace(call, at=len(self.entries)))
                    self.replies |= {key: self.calls[-1]} if key is not None else {}
                self.add(entry)

    def clear(self, ids: Container[object]) -> None:
        """Let prompts hold a placeholder in place of the results of these calls."""
        self.view = [
            {**entry, "content": CLEARED} if entry.get("tool_call_id") in ids and entry["content"] != CLEARED else entry
            for entry in self.view
        ]

    def send(self, request: list[Entry]) -> None:
        """Let the next prompt be this request: an entry that equals one of the view is that one.

        What is new before the last of these, the agent's own context management wrote; behind it, it was said.
        """
        view = self.view
        if request[: len(view)] != view:
            known, request = {*map(id, view)}, self.same(request)
            last = max((at for at, entry in enumerate(request, 1) if id(entry) in known), default=0)
            self.view = view = request[:last]
        self.add(*request[len(view) :])

    def leave_out(self, name: object, what: object = "") -> None:
        """Count what is not taken, by a name: the type of a line, in most forms."""
        name = str(name or "without a type")[:40]
        self.left_out[name] += 1
        self.bytes_left_out[name] += len(what if isinstance(what, str) else json.dumps(what))

    def leave_out_rest(self, value: Json, taken: str) -> None:
        """Count what else an object holds that is not sent: results, rewards, settings."""
        if rest := {key: value[key] for key in value.keys() - taken.split()}:
            self.leave_out("about the run", rest)

    def report(self, usages: Sequence[Reported]) -> None:
        """Give the n-th call the n-th usage. If there are not as many as calls, none gets one, and a note says so."""
        if len(usages) == len(self.calls):
            for call, usage in zip(self.calls, usages, strict=True):
                call.reported = usage
        elif usages:
            told = f"Usage is known for the session only: {len(usages)} records, {len(self.calls)} calls."
            self.notes.append(told)


def take_each(values: Values, take: Callable[[Any], None], log: Log) -> None:
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
    """Seconds since 1970 of a time in seconds or in ISO form; None for anything else."""
    try:
        return float(time) if isinstance(time, int | float) else datetime.fromisoformat(str(time)).timestamp()
    except (ValueError, OverflowError):
        return None
