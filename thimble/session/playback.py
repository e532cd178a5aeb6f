"""Play a recorded session: its events are repeated at a pace, and no model is asked.

A session is played line by line, as when it is resumed. Its strategy is not run and no tokens are counted: every view
and every figure is the recorded one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any, TypeVar

from thimble.agent.agent import Agent
from thimble.agent.budget import Counter
from thimble.agent.errors import BudgetError, ModelError, NotRecorded, ThimbleError, UsageError
from thimble.agent.events import (
    Answered,
    Asked,
    Changed,
    Event,
    Planted,
    Prepared,
)
from thimble.agent.messages import Message, Schema
from thimble.agent.override import Override
from thimble.agent.protocols import Backend, Delta, Expects, ModelId
from thimble.agent.repair import is_sound, repair
from thimble.models import READER
from thimble.session.journal.lines import Damage, Line, read_lines
from thimble.session.journal.records import (
    Aside,
    Branched,
    Change,
    Command,
    Opened,
    Record,
    Remark,
    Resumed,
    Switched,
    Unanswered,
)
from thimble.session.journal.state import SavedState, saved_state
from thimble.session.journal.tree import Tree
from thimble.strategies.spec import is_code
from thimble.tools.wording import count_noun

T = TypeVar("T")
Pace = Callable[[float, Line], float]
"""The seconds to wait before a line, given the seconds that it took when recorded."""
LEFT_OUT = ("/quit", "/exit", "/doctor", "/pull", "/sessions", "/save", "/load", "/export", "/tour")
"""Commands that are never repeated: they act beyond the session, or are a tour of it."""
STOPPED = "stopped, as in the recording"
MAX_PAUSE_SECONDS = 600.0
"""The longest pause."""
FirstRecord = Asked | Planted | Command | Aside | Opened | Changed | Override | Branched | Switched
"""Records that end an exchange: they can only be its first."""


@dataclass(frozen=True, slots=True)
class Recording:
    """The readable part of a recorded session.

    Attributes:
        opened: The session's first record, with its settings.
        lines: All lines, the pieces of replies included.
        damaged: The lines that cannot be read.
        cut_off: Whether the end of the last line is missing.
    """

    opened: Opened
    lines: Sequence[Line]
    damaged: Sequence[Damage] = ()
    cut_off: bool = False

    @property
    def typed_lines(self) -> list[tuple[int, str]]:
        """The questions and commands, each with the number of its line.

        A change that no command made, as on resuming, is given as the command that makes it.
        """
        found: list[tuple[int, str]] = []
        commanded = False
        for line in self.lines:
            text = typed_line_of(line.record)
            if text.strip() and not (commanded and isinstance(line.record, Change | Planted)):
                found.append((line.number, text))
            if not isinstance(line.record, Change | Planted) or isinstance(line.record, Resumed):
                commanded = False
            commanded = commanded or isinstance(line.record, Command | Branched | Switched)
        return found

    @property
    def models(self) -> list[ModelId]:
        """All models that answered, the first one first."""
        later = (line.record for line in self.lines if isinstance(line.record, Changed))
        told = [self.opened.settings.get("model", READER), *(one.value for one in later if one.setting == "model")]
        return list(dict.fromkeys(ModelId.read(str(one)) for one in told))


def read_recording(data: bytes, called: str) -> Recording:
    """A recorded session; `called` is its name in errors.

    Raises:
        UsageError: another version of thimble wrote it, or it is not a session.
    """
    lines, damaged = read_lines(data)
    opened = next((line.record for line in lines if isinstance(line.record, Opened)), None)
    if opened is None:
        raise UsageError(f"{called} is not a recording", "make one with --record FILE")
    return Recording(opened, lines, damaged, cut_off=not data.endswith(b"\n"))


class Playback:
    """A recorded session being played. Its models say nothing new.

    Args:
        recording: The session.
        title: Its name for the user.
        pace: The waiting time before each event.
        steps: Whether the presenter presses a key for each step.
    """

    def __init__(self, recording: Recording, title: str, pace: Pace, steps: bool = False) -> None:
        self.recording, self.pace, self.steps = recording, pace, steps
        self.notices = describe_recording(recording, title)
        self._suggested = [one for one in recording.typed_lines if is_repeated(one[1]) and not names_code(one[1])]
        self._position = 0
        self._played: set[int] = set()
        self._models = {one.called: RecordedModel(one.backend, one.name) for one in recording.models}
        self._tree = Tree(recording.lines)
        self._branch = {line.number: one.number for one in self._tree.branches.values() for line in one.lines}

    def models(self) -> list[str]:
        """The names that /model takes."""
        return list(self._models)

    def first_model(self) -> RecordedModel:
        """The model that the session started with."""
        return next(iter(self._models.values()))

    def model(self, name: str) -> RecordedModel:
        """The model of this name. Raises ModelError."""
        if name not in self._models:
            raise ModelError(f"{name} is not in this recording", f"it has {', '.join(self._models)}")
        return self._models[name]

    def suggested(self) -> str:
        """The next line that was typed; "" after the last one."""
        return next((text for number, text in self._suggested if number > self._position), "")

    def note_input(self, text: str) -> None:
        """Note that the user sends this text: if it was recorded, the playback continues from there."""
        later = (number for number, recorded in self._suggested if number > self._position and recorded == text)
        self._position = next(later, self._position)

    def play_exchange(
        self, agent: Agent, question: str, remember: Callable[[Mapping[str, Any]], None]
    ) -> Generator[Event, None, None]:
        """The events of the exchange with this question, each entered into `agent`, as in the session itself.

        Args:
            agent: The agent of the session that plays.
            question: The words of the question.
            remember: Called with the memory of strategy, notes and counter at this point.

        Raises:
            NotRecorded: the question was never asked, or not in this state of the session. Nothing has changed.
            ThimbleError: the error that ended the exchange.
            KeyboardInterrupt: the user stopped it in the recording.
        """
        asked = [line for line in self.recording.lines if _question_of(line) == question]
        if not asked:
            raise NotRecorded(
                f"“{question[:60]}” is not in the recording, and no model is asked", self._how_to_continue()
            )
        first = self._next(agent, asked)
        self._position = max(self._position, first.number)
        try:
            yield from self._play(agent, first, remember)
        finally:
            if not is_sound(agent.history):  # a line of it is damaged
                agent.state.history = repair(agent.history).messages
            agent.close_calls()

    def play_aside(self, agent: Agent, asked: tuple[str, ...], kind: type[T]) -> T:
        """The recorded outcome of a command's question in a copy of the session. Raises NotRecorded."""
        from pydantic import TypeAdapter

        found = [line for line in self.recording.lines if isinstance(line.record, Aside) and line.record.asked == asked]
        stored = self._next(agent, found).record
        try:
            came: T = TypeAdapter(kind).validate_python(stored.came if isinstance(stored, Aside) else None)
        except (ValueError, RecursionError) as error:
            raise self._missing("its line cannot be used") from error
        return came

    def _play(
        self, agent: Agent, first: Line, remember: Callable[[Mapping[str, Any]], None]
    ) -> Generator[Event, None, None]:
        then, before, answered = self._before(first), first.at, False
        agent.state = then.copy()
        for line in self._exchange(first):
            record = then.read(line)
            if not answered:  # a background call that ended later is written at the next question
                self._wait(line.at - before, line)
            before = line.at
            if "memory" in line.long:
                remember(then.saved_memory or {})
            if isinstance(record, Unanswered):
                raise _recorded_error(record)
            if isinstance(record, Change | Remark):
                continue
            agent.enter(record)
            if isinstance(record, Event):
                answered = answered or isinstance(record, Answered)
                yield record
        if not answered and self.recording.lines[-1].number > line.number:
            raise KeyboardInterrupt(STOPPED)
        if not answered:
            raise self._missing("the end of this answer is missing")

    def _exchange(self, first: Line) -> Iterator[Line]:
        """The lines of an exchange; a resumption, name or tour in the middle of it changes nothing."""
        yield first
        rest = self.recording.lines[self.recording.lines.index(first) + 1 :]
        yield from takewhile(lambda line: not isinstance(line.record, FirstRecord), rest)

    def _wait(self, seconds: float, line: Line) -> None:
        if (paced := self.pace(max(0.0, seconds), line)) > 0:
            time.sleep(min(paced, MAX_PAUSE_SECONDS))

    def _next(self, agent: Agent, found: Sequence[Line]) -> Line:
        """The first of these lines that was written in the session's state and not played yet; else the last one.

        Raises NotRecorded if no line was written in this state.
        """
        pasts = [(line, self._before(line)) for line in found]
        here = [
            line for line, then in pasts if then.history == agent.history and not _describe_differences(agent, then)
        ]
        if not here:
            raise self._missing(_describe_differences(agent, pasts[-1][1]) if pasts else "")
        line = next((line for line in here if line.number not in self._played), here[-1])
        self._played.add(line.number)
        return line

    def _before(self, line: Line) -> SavedState:
        """The session right before this line was written."""
        path = self._tree.path(self._branch[line.number])
        return saved_state(takewhile(lambda one: one.number < line.number, path))

    def _missing(self, differs: str) -> NotRecorded:
        lost = "a part of it is lost" if self.recording.damaged or self.recording.cut_off else ""
        differs = differs or lost or "the questions before it are not those of the recording"
        return NotRecorded(
            f"this prompt is not in the recording, and no model is asked: {differs}", self._how_to_continue()
        )

    def _how_to_continue(self) -> str:
        asked = [line for line in self.recording.lines if _question_of(line)]
        if not asked:
            return "it has no question: record another with --record FILE"
        sent = (line.record for line in self.recording.lines if isinstance(line.record, Prepared))
        under = dict.fromkeys(f"{one.strategy} in {one.view.limit:,} tokens" for one in sent)
        several = count_noun(len(asked), "question")
        return f"it has {several} under {'; '.join(under)}, in this order, from “{_question_of(asked[0])[:40]}” on"


class RecordedModel(Backend):
    """A model of a recording. It counts tokens with its own counter or the nearest one, and says nothing new."""

    def __init__(self, name: str, model: str) -> None:
        self.name, self.model = name, model

    @cached_property
    def counter(self) -> Counter:
        """The nearest counter that is available."""
        from thimble.models.counting.vocabulary import counter_for

        return counter_for("qwen2.5:7b" if self.name == READER else self.model)

    def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[Schema],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        expects: Expects = "turn",
    ) -> Generator[Delta, None, None]:
        """Nothing. Raises NotRecorded."""
        raise NotRecorded("this prompt is not in the recording, and no model is asked", "send a recorded line")
        yield


def describe_recording(recording: Recording, title: str) -> list[str]:
    """Notices, a line each: the recording that is played, and the parts of it that are not."""
    models = ", ".join(map(str, recording.models))
    lines = count_noun(len(recording.typed_lines), "line")
    found = [f"Played from {title}: {lines}, recorded with {models}. No model is asked."]
    if recording.damaged:
        damaged = count_noun(len(recording.damaged), "line")
        found.append(
            f"{damaged} of it cannot be read (the first is line {recording.damaged[0].number}): the rest is used."
        )
    code = [text for _, text in recording.typed_lines if names_code(text)]
    if code:
        found.append(f"{code[0]} runs a file and is not played by itself: type it if the file is yours.")
    if recording.cut_off:
        found.append("Its end is missing: the rest is used.")
    return found


def is_repeated(line: str) -> bool:
    """Whether a playback repeats this line: a question, or a command that acts within the session."""
    words = line.split()
    return bool(words) and words[0] not in LEFT_OUT


def names_code(line: str) -> bool:
    """Whether a command names a strategy that is the user's own code, which data must not run by itself."""
    return line.strip().startswith("/") and any(map(is_code, line.split()[1:]))


def describe_error(error: BaseException) -> Unanswered:
    """The record of an error or a stop."""
    if isinstance(error, BudgetError):
        return Unanswered("BudgetError", figures=(error.needed_tokens, error.available_tokens))
    if isinstance(error, ThimbleError):
        return Unanswered(type(error).__name__, error.what, error.fix)
    return Unanswered()


def _recorded_error(record: Unanswered) -> BaseException:
    """The recorded error or stop."""
    match record:
        case Unanswered(error="BudgetError", figures=(needed, available)):
            return BudgetError(needed, available)
        case Unanswered(error="ModelError" | "NotRecorded"):
            return ModelError(record.what, record.fix)
        case Unanswered(error=""):
            return KeyboardInterrupt(STOPPED)
    return UsageError(record.what, record.fix)


def _describe_differences(agent: Agent, then: SavedState) -> str:
    """The settings in which the session differs from the recording; "" if they are the same."""
    now, was = {**agent.state.settings, "model": str(agent.backend.id)}, then.settings
    differ = [name for name in now if name != "system" and now[name] != was[name]]
    said = [f"the {name} is {now[name]}, and was {was[name]}" for name in differ]
    return "; ".join(
        [*said, *["other messages were pinned, dropped or edited"] * (agent.state.overrides != then.overrides)]
    )


def typed_line_of(stored: Record) -> str:
    """The line that a user types to cause this record; "" if there is none."""
    match stored:
        case Asked(message):
            return message.content
        case Command(text):
            return text
        case Changed("model", value):
            return f"/model {ModelId.read(str(value)).called}"
        case Changed(setting, value) if setting != "system":
            return f"/{setting} {value}"
        case Planted(fact):
            return f"/plant {fact}"
    return ""


def _question_of(line: Line) -> str:
    return line.record.message.content if isinstance(line.record, Asked) else ""
