"""Read recorded trajectories: runs of any agent as messages in the chat-completions form, from files."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from itertools import count
from os.path import isfile
from pathlib import Path

from thimble.agent.errors import UsageError
from thimble.agent.messages import Message, Schema
from thimble.agent.repair import Repaired
from thimble.commands.faults import Needs, needs_of
from thimble.logs.forms import read_logs
from thimble.logs.log import UNKNOWN, Log, LoggedCall
from thimble.models.chat import read_conversation, read_messages, write_message
from thimble.session.bounded import MOST_RUNS_BYTES
from thimble.session.file_text import file_text
from thimble.session.jsonl import from_json

TRAJECTORY_FORMS = (
    "give JSON or JSON Lines, gzipped or not: lists of chat-completions messages, or objects with `messages`"
)

MAX_LOST_SHARE = 0.1
"""The largest share of a run's text that may be left out: beyond it, the costs would be those of another run."""


@dataclass(frozen=True, slots=True)
class PromptStart:
    """The start of a recorded agent's prompts: from the message `since` on, `base` and the messages since.

    `asked`: the file has the call that wrote the summary in `base`.
    """

    since: int = 0
    base: Sequence[Message] = ()
    asked: bool = False


@dataclass(frozen=True)
class Trajectory:
    """One recorded run, with the repairs made in it; `tools` are the tool schemas of the run, if the file has them.

    For the log of another agent: its `form`, the starts of its prompts (`sent`), its calls by the id of their reply
    (`logged`), the `times` at which messages were complete, by id, in seconds since 1970, the ids of the messages that
    the agent's program put in (`put_in`), and `remarks` on the parts of the file that are left out.
    """

    name: str
    messages: Sequence[Message]
    tools: Sequence[Schema] = ()
    repaired: Repaired = field(default_factory=lambda: Repaired([]))
    sent: Sequence[PromptStart] = ()
    logged: Mapping[str, LoggedCall] = field(default_factory=dict)
    times: Mapping[str, float] = field(default_factory=dict)
    form: str = ""
    put_in: Collection[str] = ()
    remarks: Sequence[str] = ()

    @property
    def calls(self) -> list[int]:
        """The number of messages before each of its model calls."""
        return [at for at, message in enumerate(self.messages) if message.role == "assistant"]

    def starts(self) -> Iterator[tuple[int, PromptStart]]:
        """The place of each call, and the start of its prompt."""
        for at in self.calls:
            yield at, next((one for one in reversed(self.sent) if one.since <= at), PromptStart())

    def prompts(self) -> Iterator[tuple[int, PromptStart, list[Message]]]:
        """The place of each call, the start of its prompt, and the whole prompt, as far as the file has it."""
        for at, sent in self.starts():
            yield at, sent, [*sent.base, *self.messages[sent.since : at]]

    def call(self, at: int) -> LoggedCall:
        """The file's record of the call whose reply is message `at`; one with nothing recorded if there is none."""
        return self.logged.get(self.messages[at].id, UNKNOWN)

    @property
    def turns(self) -> int:
        """The number of its model calls."""
        return len(self.calls)

    @property
    def size(self) -> int:
        """The number of messages in all prompts of the run, if everything is sent: the work of a replay."""
        return sum(self.calls)

    @cached_property
    def needs(self) -> Needs:
        """The texts that each action takes from earlier results, by its place."""
        return needs_of(self.messages)

    @cached_property
    def digest(self) -> str:
        """A hash of the run and of its repairs."""
        repaired = self.repaired.notes, self.repaired.touched, self.repaired.lost
        sent = [[one.since, [*map(write_message, one.base)]] for one in self.sent]
        whole = [self.name, [*map(write_message, self.messages)], list(self.tools), *repaired, *sent]
        return sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()[:32]


def read_trajectories(
    paths: Iterable[Path], observations: str | None = None, keep_secrets: bool = False
) -> list[Trajectory]:
    """The runs in these files, in order, each with its own name. `observations` is a pattern of `read_observations`.

    Keys and tokens in the logs of other agents are masked, unless `keep_secrets`.

    Raises:
        UsageError: a file or a line cannot be read; the error names it.
    """
    taken: set[str] = set()
    runs = []
    for run in (run for path in paths for run in _iter_runs(path, observations, keep_secrets)):
        names = (run.name if number == 1 else f"{run.name}~{number}" for number in count(1))
        name = next(name for name in names if name not in taken)
        taken.add(name)
        runs.append(replace(run, name=name))
    return runs


def _iter_runs(path: Path, observations: str | None, keep_secrets: bool) -> Iterator[Trajectory]:
    there = isfile(path)  # noqa: PTH113 (Path.is_file raises for a name that is too long)
    if logs := read_logs(path, keep_secrets=keep_secrets) if there else []:
        yield from (_of_log(log, path, observations) for log in logs)
        return
    found = [(line, number, run) for line, value in _read_values(path) for number, run in _iter_list(value)]
    if not found:
        raise UsageError(f"{path} contains no trajectory", TRAJECTORY_FORMS)
    for line, number, run in found:
        places = {"line": line, "run": number}
        place = ", ".join([str(path), *(f"{name} {at}" for name, at in places.items() if at)])
        yield _run(run, place, ":".join([path.name, *(str(at) for at in places.values() if at)]), observations)


def _read_values(path: Path) -> Sequence[tuple[int, object]]:
    """The JSON values of a file with their lines: one document (line 0), or one a line."""
    text = file_text(path, MOST_RUNS_BYTES, TRAJECTORY_FORMS)
    try:
        return [(0, from_json(text))] if text.strip() else []
    except ValueError as error:
        whole = error
    values: list[tuple[int, object]] = []
    for number, line in enumerate(text.split("\n"), 1):
        try:
            values += [(number, from_json(line))] if line.strip() else []
        except ValueError as error:
            found, at = (error, number) if values else (whole, getattr(whole, "lineno", 1))
            what = f"{path}, line {at}: this is not JSON ({getattr(found, 'msg', found)})"
            raise UsageError(what, TRAJECTORY_FORMS) from error
    return values


def _iter_list(value: object) -> Iterable[tuple[int, object]]:
    """The runs of a list of runs, numbered from 1; anything else is one run, without a number."""
    if isinstance(value, list) and all(isinstance(one, list) or _holds_messages(one) for one in value):
        return enumerate(value, 1)
    return [(0, value)]


def _holds_messages(value: object) -> bool:
    return isinstance(value, Mapping) and ("messages" in value or "traj" in value)


def _of_log(log: Log, path: Path, observations: str | None) -> Trajectory:
    """The run in a log; the messages that its agent's own context management wrote are only in `sent`."""
    places = [place for place in range(len(log.entries)) if place not in log.summaries]
    document = {"messages": [log.entries[place] for place in places], "tools": [*log.tools], "id": log.name}
    run = _run(document, str(path), log.name, observations)
    there = {message.id: message for message in run.messages}
    ids = {place: f"m{number}" for number, place in enumerate(places, 1)}
    messages = {place: there[id_] for place, id_ in ids.items() if id_ in there}
    replies, sent = {call.at for call in log.calls}, [PromptStart()]
    for context, before in zip(log.contexts[1:], log.contexts, strict=False):
        prompt = [*before.base, *range(before.since, context.since)]
        gone = [messages[place] for place in prompt if place in messages and place not in context.base]
        for place in context.base:
            if place in log.summaries and place not in messages:
                messages[place], gone = _written(log, place, gone)
        since = sum(place in messages for place in places if place < context.since)
        base = [messages[place] for place in context.base if place in messages]
        sent.append(PromptStart(since, base, not replies.isdisjoint(log.summaries.intersection(context.base))))
    return replace(
        run,
        sent=sent,
        logged={ids[call.at]: call for call in log.calls if ids.get(call.at) in there},
        times={ids[place]: time for place, time in log.times.items() if ids.get(place) in there},
        form=log.form,
        put_in={ids[place] for place in places if log.entries[place].get("put_in")},
        remarks=[*log.notes, *_left_out(log)],
    )


def _written(log: Log, place: int, gone: list[Message]) -> tuple[Message, list[Message]]:
    """The message that the agent's own context management wrote there, and those of `gone` that it does not replace.

    It is a copy of the result of the same call, or a summary of all that are gone.
    """
    (message,) = read_messages([log.entries[place]])
    for one in gone:
        if message.call_id and one.call_id == message.call_id:
            return one.rewritten(message.content, f"{log.form} put this in place of the result"), gone
    covers = dict.fromkeys(id_ for one in gone for id_ in ([*one.covers] or [one.id]))
    why = f"the summary that {log.form} wrote"
    return replace(message, id=f"s{place}", name=log.form, why=why, covers=tuple(covers)), []


def _left_out(log: Log) -> list[str]:
    """A sentence on the parts of a log that are not among its messages; none if there are no such parts."""
    left = ", ".join(f"{count:,} {name}" for name, count in log.left_out.most_common())
    return [f"Left out: {left}."] if left else []


def _run(value: object, place: str, name: str, observations: str | None) -> Trajectory:
    try:
        found = read_conversation(value, observations)
    except UsageError as error:
        raise UsageError(f"{place}: {error.what}", error.fix) from error
    repaired = found.repaired
    whole = sum(len(message.content) for message in repaired.messages) + repaired.lost
    if repaired.lost > MAX_LOST_SHARE * whole:
        what = f"{place}: {repaired.lost / whole:.0%} of the text would be left out ({repaired.notes[0]})"
        raise UsageError(what, "give each result the id of its call")
    given = value.get("id") if isinstance(value, Mapping) else None
    name = str(given) if isinstance(given, str | int) and given != "" else name
    return Trajectory(name, repaired.messages, found.tools, repaired)
