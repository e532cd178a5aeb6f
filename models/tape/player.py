"""Playing: a backend, a counter and tools that answer from a tape, and never in any other way."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from agent.budget import Counter
from agent.errors import ModelError, NotOnTape, ToolError
from agent.messages import Message, Schema
from agent.protocols import BackendDefaults, Delta, Text, Thinking, Tool
from models.tape.tape import (
    Calibrated,
    Call,
    Line,
    Offered,
    Ran,
    Sizes,
    State,
    Tape,
    Voice,
    Warned,
    asked,
    counted,
    digest,
    unpacked,
)

Pace = Callable[[float, str], float]
"""Seconds to let pass before a piece, of the seconds that it took and its text."""


STOPPED = "stopped, as it was when it was recorded"
LONGEST_SECONDS = 600.0
"""No pause is longer."""


class Playback:
    """A tape as it is played: what was asked more than once is answered in the order of the recording.

    Args:
        tape: What can be read of it.
        pace: How fast it answers.
        differs: Says in what the session is another than the one that was recorded; "" where that is not known.
    """

    def __init__(self, tape: Tape, pace: Pace, differs: Callable[[], str] = str) -> None:
        self.tape, self.pace, self.differs = tape, pace, differs
        self._newest: Call | None = None
        self._calls: defaultdict[tuple[int, str], list[Call]] = defaultdict(list)
        self._ran: defaultdict[str, list[Ran]] = defaultdict(list)
        for entry in tape.entries:
            if isinstance(entry, Call):
                self._calls[entry.voice, entry.asked].append(entry)
            elif isinstance(entry, Ran):
                told = self._ran[entry.asked]
                told.append(replace(entry, result=told[-1].result) if entry.again and told else entry)

    @property
    def offered(self) -> Offered | None:
        """What every request begins with."""
        return next((entry for entry in self.tape.entries if isinstance(entry, Offered)), None)

    def call(self, voice: Voice, request: str) -> Call:
        """The next answer to this request. Raises NotOnTape."""
        found = self._calls.get((voice.number, request))
        if not found and self._was_stopped():
            raise KeyboardInterrupt(STOPPED)
        if not found:
            raise self._missing()
        self._newest = found.pop(0) if len(found) > 1 else found[0]
        return self._newest

    def ran(self, name: str, arguments: Mapping[str, Any]) -> Ran:
        """The next result of this tool with these arguments. Raises NotOnTape."""
        found = self._ran.get(digest([name, arguments]))
        if not found and self._was_stopped():
            raise KeyboardInterrupt(STOPPED)
        if not found:
            raise NotOnTape(f"what {name} said to these arguments is not on the cassette", self._way_out())
        return found.pop(0) if len(found) > 1 else found[0]

    def wait(self, milliseconds: float, text: str = "") -> None:
        """Let the time pass that this took, at our pace."""
        seconds = self.pace(milliseconds / 1000, text)
        if seconds > 0:
            time.sleep(min(seconds, LONGEST_SECONDS))

    def expect(self, question: str) -> None:
        """Raise NotOnTape where this was never asked."""
        lines = {line.text for line in self.tape.lines}
        if question not in lines:
            raise NotOnTape(f"“{question[:60]}” is not on the cassette, and no model is asked", self._way_out())

    def _was_stopped(self) -> bool:
        """Whether the user stopped behind the newest call: it called tools, and no other call of the exchange came."""
        if self._newest is None or not any(kind == "call" for _, kind, _ in self._newest.deltas):
            return False
        place = next(place for place, entry in enumerate(self.tape.entries) if entry is self._newest)
        rest = (entry for entry in self.tape.entries[place + 1 :] if isinstance(entry, Call | Line))
        return isinstance(next(rest, None), Line)

    def _missing(self) -> NotOnTape:
        lost = "a part of it is lost" if self.tape.damaged or self.tape.cut_off else ""
        differs = self.differs() or lost or "what was asked before it was not what was asked then"
        return NotOnTape(f"this prompt is not on the cassette, and no model is asked: {differs}", self._way_out())

    def _way_out(self) -> str:
        questions = [line for line in self.tape.lines if not line.text.startswith("/")]
        if not questions:
            return "it holds no question: record another with --record FILE"
        under = dict.fromkeys(f"{line.strategy} in {line.budget:,} tokens" for line in questions)
        several = f"{len(questions)} questions" if len(questions) > 1 else "1 question"
        return f"it holds {several} under {'; '.join(under)}, in this order, from “{questions[0].text[:40]}” on"


class Player(BackendDefaults):
    """A backend that says what a voice of the tape said."""

    room = 0
    renders_tools = False

    def __init__(self, playback: Playback, voice: Voice, nearest: Callable[[], Counter]) -> None:
        self._playback, self._voice = playback, voice
        self.name, self.model, self.renders_tools = voice.name, voice.model, voice.renders_tools
        self._counter = TapeCounter(playback.tape, voice, nearest)

    @property
    def counter(self) -> Counter:
        """What was counted then, and the nearest that is at hand for what was not."""
        return self._counter

    @property
    def protocol(self) -> str:
        """As it was behind the newest call."""
        return self._counter.state.protocol

    def stream(
        self, messages: Sequence[Message], tools: Sequence[Schema], *, max_tokens: int | None = None
    ) -> Generator[Delta, None, None]:
        """What was said to this, until it ended as it ended then.

        Raises:
            NotOnTape: nothing was.
            ModelError: as it was raised then.
            KeyboardInterrupt: the user stopped it then.
        """
        call = self._playback.call(self._voice, asked(messages, tools, max_tokens))
        for milliseconds, delta in unpacked(call.deltas):
            self._playback.wait(milliseconds, delta.text if isinstance(delta, Text | Thinking) else "")
            yield delta
        self._counter.enter(call.state)
        if call.ending == "error":
            raise ModelError(*call.error)
        if call.ending == "stopped":
            raise KeyboardInterrupt(STOPPED)

    def with_room(self, tokens: int) -> Player:
        """Itself: a tape has room for what is on it."""
        return self

    def check(self) -> str:
        """The warning about the server that was recorded."""
        number = self._voice.number
        warned = (entry for entry in self._playback.tape.entries if isinstance(entry, Warned))
        return next((entry.text for entry in warned if entry.voice == number), "")


class TapeCounter(Counter):
    """Counts as was counted then, state by state; what was not counted then as the nearest counter does.

    `exact` is no longer said once that one had to guess.
    """

    def __init__(self, tape: Tape, voice: Voice, nearest: Callable[[], Counter]) -> None:
        entries = tape.entries
        self._states = {e.number: e for e in entries if isinstance(e, State) and e.voice == voice.number}
        self._sizes: dict[tuple[int, str], int] = {}
        for sizes in (entry for entry in entries if isinstance(entry, Sizes)):
            self._sizes |= {(sizes.state, key): tokens for key, tokens in sizes.tokens.items()}
        told = (entry for entry in entries if isinstance(entry, Calibrated))
        self._told = {(entry.state, entry.counted, entry.reported): entry for entry in told}
        self.state = self._states.get(voice.state, State(0, voice.number, "", False))
        self._make_nearest = nearest
        self._guessed = False
        self._keys: dict[tuple[object, ...], str] = {}

    @property
    def exact(self) -> bool:
        """As it was then, unless something had to be guessed since."""
        return self.state.exact and not self._guessed

    @property
    def learnt(self) -> Any:
        """What the counter had learnt by now."""
        return self.state.learnt

    @learnt.setter
    def learnt(self, learnt: Any) -> None:
        same = json.dumps(learnt)
        found = next((state for state in self._states.values() if json.dumps(state.learnt) == same), None)
        self.enter(found.number if found else self.state.number)

    def enter(self, state: int) -> None:
        """Count from here on as in this state; in one whose line is lost, as before."""
        self.state = self._states.get(state, self.state)
        if "_nearest" in self.__dict__:
            _teach(self._nearest, self.state.learnt)

    def count(self, message: Message) -> int:
        """Tokens of a message."""
        key = self._keys.get(message.sent)
        if key is None:
            key = self._keys[message.sent] = counted(message)
        tokens = self._sizes.get((self.state.number, key))
        return self._guess(lambda: self._nearest.count(message)) if tokens is None else tokens

    def overhead(self, tools: Sequence[Schema]) -> int:
        """Tokens of a prompt that belong to no message."""
        tokens = self._sizes.get((self.state.number, digest(list(tools))))
        return self._guess(lambda: self._nearest.overhead(tools)) if tokens is None else tokens

    def calibrate(self, expected: int, reported: int) -> bool:
        """Learn what was learnt then."""
        told = self._told.get((self.state.number, expected, reported))
        if told:
            self.enter(told.after)
        return told.plausible if told else True

    @cached_property
    def _nearest(self) -> Counter:
        counter = self._make_nearest()
        _teach(counter, self.state.learnt)
        return counter

    def _guess(self, count: Callable[[], int]) -> int:
        self._guessed = self._guessed or not self._nearest.exact
        return count()


class TapeTool:
    """A tool whose results come from the tape, or one that runs, as the model was told of it then."""

    def __init__(self, schema: Schema, playback: Playback, live: Tool | None = None) -> None:
        self.schema, self.name = schema, str(schema["function"]["name"])
        self._playback, self._live = playback, live

    def run(self, arguments: Mapping[str, Any]) -> str:
        """What it said then.

        Raises:
            ToolError: as it was raised then.
            NotOnTape: it was not asked this.
        """
        if self._live:
            return self._live.run(arguments)
        ran = self._playback.ran(self.name, arguments)
        self._playback.wait(ran.after)
        if ran.ending == "error":
            raise ToolError(ran.result)
        if ran.ending == "stopped":
            raise KeyboardInterrupt(STOPPED)
        return ran.result


def _teach(counter: Counter, learnt: Any) -> None:
    """Give a counter what another has learnt, where it is one of the same kind."""
    match learnt:
        case [float() | int() as ratio, bool() as calibrated] if counter.learnt is not None and 0.1 < ratio < 10:
            counter.learnt = (float(ratio), calibrated)
