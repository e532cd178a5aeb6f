"""Read recorded trajectories: runs of any agent as messages in the chat-completions form, from files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from pathlib import Path

from thimble.agent.errors import UsageError
from thimble.agent.messages import Message, Schema
from thimble.agent.repair import Repaired
from thimble.lab.experiment import hash_of
from thimble.lab.file_text import file_text
from thimble.models.chat import conversation, write
from thimble.session.bounded import MOST_RUNS_BYTES
from thimble.session.jsonl import from_json

TRAJECTORY_FORMS = (
    "give JSON or JSON Lines, gzipped or not: lists of chat-completions messages, or objects with `messages`"
)

MOST_LOST = 0.1
"""The share of the text of a run that may be left out: with less of it, its costs are those of another run."""


@dataclass(frozen=True)
class Trajectory:
    """One recorded run, and what was repaired in it; `tools` are the tool schemas of the run, if the file has them."""

    name: str
    messages: Sequence[Message]
    tools: Sequence[Schema] = ()
    repaired: Repaired = field(default_factory=lambda: Repaired([]))

    @property
    def calls(self) -> list[int]:
        """The messages before each of its model calls: its assistant messages."""
        return [at for at, message in enumerate(self.messages) if message.role == "assistant"]

    @property
    def turns(self) -> int:
        """The number of these calls."""
        return len(self.calls)

    @property
    def size(self) -> int:
        """The number of messages in all prompts of the run, if everything is sent: the work of a replay."""
        return sum(self.calls)

    @cached_property
    def digest(self) -> str:
        """A hash of the run and of what was repaired in it."""
        repaired = self.repaired.notes, self.repaired.touched, self.repaired.lost
        return hash_of([self.name, [*map(write, self.messages)], list(self.tools), *repaired])


def read(paths: Iterable[Path], observations: str | None = None) -> list[Trajectory]:
    """The runs in these files, in order, each with its own name. The pattern is one of `recognise`.

    Raises:
        UsageError: a file or a line cannot be read; the error names it.
    """
    taken: set[str] = set()
    runs = []
    for run in (run for path in paths for run in _runs(path, observations)):
        names = (run.name if number == 1 else f"{run.name}~{number}" for number in count(1))
        name = next(name for name in names if name not in taken)
        taken.add(name)
        runs.append(replace(run, name=name))
    return runs


def _runs(path: Path, observations: str | None) -> Iterator[Trajectory]:
    found = False
    for line, value in _values(path):
        for number, one in enumerate(_several(value), 1):
            found = True
            places = {"line": line, "run": 0 if one is value else number}
            place = ", ".join([str(path), *(f"{name} {at}" for name, at in places.items() if at)])
            name = ":".join([path.name, *(str(at) for at in places.values() if at)])
            yield _run(one, place, name, observations)
    if not found:
        raise UsageError(f"{path} holds no trajectory", TRAJECTORY_FORMS)


def _values(path: Path) -> Iterator[tuple[int, object]]:
    """The JSON values of a file with their lines: one document (line 0), or one a line."""
    text = file_text(path, MOST_RUNS_BYTES, TRAJECTORY_FORMS)
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines:
        return
    try:
        yield 0, from_json(text)
        return
    except ValueError as error:
        whole = error
    for number, line in lines:
        try:
            value = from_json(line)
        except ValueError as error:
            found, at = (whole, getattr(whole, "lineno", 1)) if number == lines[0][0] else (error, number)
            what = f"{path}, line {at}: this is no JSON ({getattr(found, 'msg', found)})"
            raise UsageError(what, TRAJECTORY_FORMS) from error
        yield number, value


def _several(value: object) -> Sequence[object]:
    """The runs of a list of runs; anything else is one run."""
    if isinstance(value, list) and value and all(isinstance(one, list) or _holds_messages(one) for one in value):
        return value
    return [] if value == [] else [value]


def _holds_messages(value: object) -> bool:
    return isinstance(value, Mapping) and ("messages" in value or "traj" in value)


def _run(value: object, place: str, name: str, observations: str | None) -> Trajectory:
    try:
        found = conversation(value, observations)
    except UsageError as error:
        raise UsageError(f"{place}: {error.what}", error.fix) from error
    repaired = found.repaired
    whole = sum(len(message.content) for message in repaired.messages) + repaired.lost
    if repaired.lost > MOST_LOST * whole:
        what = f"{place}: {repaired.lost / whole:.0%} of the text would be left out ({repaired.notes[0]})"
        raise UsageError(what, "give each result the id of its call")
    given = value.get("id") if isinstance(value, Mapping) else None
    name = str(given) if isinstance(given, str | int) and given != "" else name
    return Trajectory(name, repaired.messages, found.tools, repaired)
