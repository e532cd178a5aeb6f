"""Recording: a backend, its counter and the tools of a session, passed through, and written down as they answer."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

from agent.budget import Counter
from agent.errors import ModelError, ToolError, UsageError
from agent.messages import Message, Schema
from agent.protocols import Backend, BackendDefaults, Delta, Tool
from models.server import ServedBackend
from models.tape.tape import (
    Calibrated,
    Call,
    Ending,
    Entry,
    Ran,
    Sizes,
    State,
    Voice,
    Warned,
    asked,
    counted,
    digest,
    packed,
    written,
)

STOPS = (GeneratorExit, KeyboardInterrupt)


class Recording:
    """A tape that is being written, a line at a time as things happen; a disk that is full is told in `error`.

    Args:
        path: The file, which must not be there yet.
        clock: Seconds, from any beginning.

    Raises:
        UsageError: the file is there, or cannot be made.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = perf_counter) -> None:
        self.path = path
        self.clock = clock
        self.error = ""
        self._voices: dict[tuple[str, str, str], int] = {}
        self._states: dict[str, State] = {}
        self._results: dict[str, str] = {}
        self.lock = threading.RLock()
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
            self._file = os.open(path, flags, 0o600)
        except FileExistsError as error:
            raise UsageError(f"{path} is there already", "record to another file, or remove it") from error
        except OSError as error:
            raise UsageError(f"{path} cannot be recorded to: {error.strerror}", "name a file in a folder") from error

    def write(self, entry: Entry) -> None:
        """Append a line; after an error nothing more, so that what is there stays whole."""
        with self.lock:
            data = memoryview(written(entry).encode())
            try:
                while data and not self.error:
                    data = data[os.write(self._file, data) :]
            except OSError as error:
                self.error = error.strerror or type(error).__name__

    def ran(self, ran: Ran) -> None:
        """Append what a tool said; a long result that it said the last time too is not written again."""
        with self.lock:
            last, self._results[ran.asked] = self._results.get(ran.asked), ran.result
            self.write(replace(ran, result="", again=True) if last == ran.result else ran)

    def voice(self, part: str, backend: Backend) -> int:
        """The number of the voice of a backend."""
        with self.lock:
            return self._voices.setdefault((part, backend.name, backend.model), len(self._voices) + 1)

    def state(self, voice: int, protocol: str, exact: bool, learnt: Any) -> State:
        """A state of a voice, which is told on the tape once."""
        with self.lock:
            key = digest([voice, protocol, exact, learnt])
            if key not in self._states:
                self._states[key] = State(len(self._states) + 1, voice, protocol, exact, learnt)
                self.write(self._states[key])
            return self._states[key]


def recorded(backend: Backend, part: str, tape: Recording) -> Backend:
    """A backend that answers as this one does and puts it on tape; `part` is what the session has it for."""
    recorder = (ServedRecorder if isinstance(backend, ServedBackend) else Recorder)(
        backend, tape, tape.voice(part, backend)
    )
    state = recorder.counts.look().number
    tape.write(Voice(recorder.voice, part, backend.name, backend.model, recorder.renders_tools, state))
    return recorder


class Recorder(BackendDefaults):
    """A backend that passes on what another says, and writes it to the tape."""

    def __init__(self, backend: Backend, tape: Recording, voice: int) -> None:
        self.backend, self.tape, self.voice = backend, tape, voice
        self.name, self.model = backend.name, backend.model
        self.counts = CountRecorder(backend, voice, tape)

    @property
    def counter(self) -> Counter:
        """That of the backend, on tape."""
        return self.counts

    @property
    def renders_tools(self) -> bool:
        """As the backend does."""
        return self.backend.renders_tools

    @property
    def protocol(self) -> str:
        """That of the backend."""
        return self.backend.protocol

    def stream(
        self, messages: Sequence[Message], tools: Sequence[Schema], *, max_tokens: int | None = None
    ) -> Generator[Delta, None, None]:
        """The backend's reply; when it ends, however it ends, it is on the tape."""
        deltas: list[tuple[int, Delta]] = []
        ending: Ending | None = None
        error, clock = ("", ""), self.tape.clock
        before = clock()
        try:
            with closing(self.backend.stream(messages, tools, max_tokens=max_tokens)) as stream:
                for delta in stream:
                    now = clock()
                    deltas.append((round((now - before) * 1000), delta))
                    before = now
                    yield delta
            ending = "whole"
        except ModelError as failure:
            ending, error = "error", (failure.what, failure.fix)
            raise
        except STOPS:
            ending = "stopped"
            raise
        finally:
            if ending:  # anything else is a bug, and no bug is played again
                self.counts.flush()
                state = self.counts.look().number
                request = asked(messages, tools, max_tokens)
                self.tape.write(Call(self.voice, request, packed(deltas), ending, state, error))


class ServedRecorder(Recorder):
    """A recorder of a backend that has a server behind it."""

    backend: ServedBackend

    @property
    def room(self) -> int:
        """That of the backend."""
        return self.backend.room

    def with_room(self, tokens: int) -> ServedRecorder:
        """The same model with this much room, on the same tape."""
        roomy = self.backend.with_room(tokens)
        return self if roomy is self.backend else ServedRecorder(roomy, self.tape, self.voice)

    def check(self) -> str:
        """The backend's warning, on tape."""
        warning = self.backend.check()
        if warning:
            self.tape.write(Warned(self.voice, warning))
        return warning


class CountRecorder(Counter):
    """A backend's counter; each count goes on the tape once, with the next thing that is written there."""

    def __init__(self, backend: Backend, voice: int, tape: Recording) -> None:
        self._backend, self._voice, self._tape = backend, voice, tape
        self._known: dict[tuple[int, str], int] = {}
        self._new: dict[int, dict[str, int]] = {}
        self._keys: dict[tuple[object, ...], str] = {}
        self._state: State | None = None

    @property
    def exact(self) -> bool:
        """As the backend's counter."""
        return self._backend.counter.exact

    @property
    def learnt(self) -> Any:
        """What the backend's counter has learnt."""
        return self._backend.counter.learnt

    @learnt.setter
    def learnt(self, learnt: Any) -> None:
        self._backend.counter.learnt = learnt
        self.look()

    def count(self, message: Message) -> int:
        """Tokens of a message."""
        key = self._keys.get(message.sent)
        if key is None:
            key = self._keys[message.sent] = counted(message)
        return self._noted(key, self._backend.counter.count(message))

    def overhead(self, tools: Sequence[Schema]) -> int:
        """Tokens of a prompt that belong to no message."""
        return self._noted(digest(list(tools)), self._backend.counter.overhead(tools))

    def calibrate(self, expected: int, reported: int) -> bool:
        """Learn from a server."""
        before = self.look().number
        plausible = self._backend.counter.calibrate(expected, reported)
        self.flush()
        self._tape.write(Calibrated(before, expected, reported, plausible, self.look().number))
        return plausible

    def look(self) -> State:
        """The state that the voice is in; on tape where it is another than before."""
        now = self._backend.protocol, self.exact, self.learnt
        state = self._state
        if state is None or (state.protocol, state.exact, state.learnt) != now:
            state = self._state = self._tape.state(self._voice, *now)
        return state

    def flush(self) -> None:
        """Write what was counted by now."""
        with self._tape.lock:
            new, self._new = self._new, {}
            for state, tokens in new.items():
                self._tape.write(Sizes(state, tokens))

    def _noted(self, key: str, tokens: int) -> int:
        state = (self._state or self.look()).number
        if (state, key) not in self._known:
            with self._tape.lock:  # the prompt counts in the background
                self._known[state, key] = self._new.setdefault(state, {})[key] = tokens
        return tokens


class ToolRecorder:
    """A tool whose results go on the tape."""

    def __init__(self, tool: Tool, tape: Recording) -> None:
        self._tool, self._tape = tool, tape
        self.name = tool.name

    @property
    def schema(self) -> Schema:
        """That of the tool."""
        return self._tool.schema

    def run(self, arguments: Mapping[str, Any]) -> str:
        """What the tool says. Raises ToolError."""
        ending: Ending | None = None
        result, started = "", self._tape.clock()
        try:
            result = self._tool.run(arguments)
            ending = "whole"
        except ToolError as error:
            result, ending = error.what, "error"
            raise
        except KeyboardInterrupt:
            ending = "stopped"
            raise
        finally:
            if ending:
                took = round((self._tape.clock() - started) * 1000)
                self._tape.ran(Ran(digest([self.name, arguments]), result, ending, took))
        return result
