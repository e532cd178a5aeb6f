"""A session on a cassette: one that is recorded, and one that is played and asks no model.

Both stand where a session gets its models and its tools from the world. What depends on the session alone (notes,
recall, sub-agents) runs in both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from agent import budget, figures
from agent.errors import ModelError, NotOnTape, ThimbleError, UsageError
from agent.protocols import Backend, Tool
from models import READER
from session.settings import Settings
from strategies.spec import is_code

if TYPE_CHECKING:
    from agent.agent import Agent
    from models.tape.player import Pace
    from models.tape.tape import Tape, Voice
    from session.session import Session

SHAPING = ("strategy", "budget", "max_turns", "price")
"""The settings on which the views depend."""
LIVE = ("save_note", "get_notes")
"""Tools that look at the session only."""
LEFT_OUT = ("/quit", "/exit", "/doctor", "/pull", "/sessions", "/save", "/load", "/export")
"""Commands that no cassette is to repeat."""
SUMMARISER = "summariser"


class Cassette(Protocol):
    """What a session does otherwise because of a cassette."""

    steps: bool
    notices: list[str]

    @property
    def error(self) -> str:
        """Why nothing more is recorded; "" where all is, or nothing is to be."""

    def backend(self, part: str, make: Callable[[], Backend]) -> Backend:
        """The model that the session has for this; `make` gives the live one. Raises ThimbleError."""

    def summariser(self, make: Callable[[], Backend | None]) -> Backend | None:
        """The model that strategies ask, None for the session's own; `make` gives the live one. Raises ThimbleError."""

    def equip(self, agent: Agent) -> None:
        """See to the tools that an agent was given."""

    def heard(self, session: Session, text: str) -> None:
        """The user sends this. Raises ThimbleError where it cannot be answered; nothing has changed then."""

    def suggested(self) -> str | None:
        """What comes next, as it was recorded; "" behind the last line, None where nothing is played."""

    def holds(self, error: BaseException) -> bool:
        """Whether this happened in the recording, which went on behind it."""

    def models(self) -> list[str] | None:
        """The models to choose from; None for those that are there."""


class Recorded:
    """A session that is written to a tape."""

    steps = False

    def __init__(self, path: Path, settings: Settings, clock: Callable[[], float] | None = None) -> None:
        from models.tape.recorder import Recording
        from models.tape.tape import VERSION, Header

        self._tape = Recording(path, clock) if clock else Recording(path)
        self._tape.write(Header(VERSION, {name: getattr(settings, name) for name in SHAPING}))
        if self.error:
            path.unlink(missing_ok=True)
            raise UsageError(f"{path} cannot be recorded to: {self.error}", "name a file where there is room")
        self._offered = self._told = False
        self.notices = [f"Recorded to {path}: all that is asked, and all that is answered."]

    @property
    def error(self) -> str:
        """Why nothing more is recorded."""
        return self._tape.error

    def backend(self, part: str, make: Callable[[], Backend]) -> Backend:
        """The live one, recorded."""
        from models.tape.recorder import recorded

        return recorded(make(), part, self._tape)

    def summariser(self, make: Callable[[], Backend | None]) -> Backend | None:
        """The live one, recorded."""
        made = make()
        return made and self.backend(SUMMARISER, lambda: made)

    def equip(self, agent: Agent) -> None:
        """The tools that look at the world go on the tape."""
        from models.tape.recorder import ToolRecorder
        from models.tape.tape import Offered

        if not self._offered:
            self._offered = True
            usual, on_demand = (tuple(tool.schema for tool in them.values()) for them in (agent.tools, agent.on_demand))
            self._tape.write(Offered(agent.state.system, usual, on_demand))
        world = {name: ToolRecorder(tool, self._tape) for name, tool in agent.tools.items() if name not in LIVE}
        agent.tools = {**agent.tools, **world}

    def heard(self, session: Session, text: str) -> None:
        """It goes on the tape."""
        from models.tape.tape import Line

        if repeated(text):
            self._tape.write(Line(text, session.spec, _budget(session)))
        if self.error and not self._told:
            self._told = True
            session.notices.append(f"The cassette cannot be recorded any more: {self.error}.")

    def suggested(self) -> None:
        """Nothing is played."""

    def holds(self, error: BaseException) -> bool:
        """Nothing happened yet."""
        return False

    def models(self) -> None:
        """Those that are there."""


class Played:
    """A session whose models and whose world are on a tape. No server is looked for.

    Args:
        tape: What could be read of it.
        title: What it is called.
        pace: How fast it answers.
        steps: Whether the presenter presses a key for each step.
    """

    error = ""

    def __init__(self, tape: Tape, title: str, pace: Pace, steps: bool = False) -> None:
        from models.tape.player import Playback

        self.tape, self.steps, self.notices = tape, steps, told_of(tape, title)
        self._playback = Playback(tape, pace, self._differs)
        self._lines = [line.text for line in tape.lines if repeated(line.text) and not names_code(line.text)]
        self._next = 0
        self._now: Callable[[], Mapping[str, object]] = dict
        self._taken: Counter[str] = Counter()

    def backend(self, part: str, make: Callable[[], Backend]) -> Backend:
        """The voice of the tape for it; never the live one. Raises ModelError where there is none."""
        return self._voice(part)

    def _voice(self, part: str) -> Backend:
        from models.tape.player import Player

        voices = self.tape.voices
        fits = [voice for voice in voices if voice.part == part]
        fits = fits or [voice for voice in voices if part == called(voice) and voice.part != SUMMARISER]
        if not fits:
            names = ", ".join(self.models())
            raise ModelError(f"{part} does not speak on this cassette", f"it holds {names or 'no model'}")
        voice = fits[min(self._taken[part], len(fits) - 1)]
        self._taken[part] += 1
        return Player(self._playback, voice, lambda: nearest(voice.name, voice.model))

    def summariser(self, make: Callable[[], Backend | None]) -> Backend | None:
        """That of the tape, if it has one of its own."""
        spoke = any(voice.part == SUMMARISER for voice in self.tape.voices)
        return self._voice(SUMMARISER) if spoke else None

    def equip(self, agent: Agent) -> None:
        """System prompt and tools as they were; those that look at the world answer from the tape."""
        from models.tape.player import TapeTool

        offered = self._playback.offered
        if offered is None:
            return
        agent.state.system = offered.system
        live = {name: tool for name, tool in agent.tools.items() if name in LIVE}

        def named(schemas: tuple[Mapping[str, Any], ...], live: Mapping[str, Tool]) -> dict[str, Tool]:
            made = [TapeTool(schema, self._playback) for schema in schemas]
            return {each.name: TapeTool(each.schema, self._playback, live.get(each.name)) for each in made}

        agent.tools = named(offered.tools, live)
        agent.on_demand = named(offered.on_demand, agent.on_demand)

    def heard(self, session: Session, text: str) -> None:
        """Where it stands on the tape is where the session goes on. Raises NotOnTape for a question that does not."""
        self._now = lambda: {"strategy": session.spec, "budget": _budget(session)}
        if not text.startswith("/"):
            self._playback.expect(text)
        if text in self._lines[self._next :]:
            self._next = self._lines.index(text, self._next) + 1

    def suggested(self) -> str:
        """The next line."""
        return next(iter(self._lines[self._next :]), "")

    def holds(self, error: BaseException) -> bool:
        """Errors that were recorded, and stops, with the lines behind them; not that something is not on the tape."""
        return bool(self.suggested()) and not isinstance(error, NotOnTape)

    def models(self) -> list[str]:
        """Those that the session was held with."""
        return list(dict.fromkeys(map(called, self.tape.voices)))

    def _differs(self) -> str:
        now, asked = self._now(), self._lines[max(0, self._next - 1) :][:1]
        then = next((line for line in self.tape.lines if line.text in asked), None)
        if then is None or not now:
            return ""
        recorded = {"strategy": then.strategy, "budget": then.budget}
        return "; ".join(
            f"the {name} is {now[name]}, and was {recorded[name]}" for name in recorded if now[name] != recorded[name]
        )


def told_of(tape: Tape, title: str) -> list[str]:
    """What the user should know of a cassette that is played."""
    voices = ", ".join(dict.fromkeys(f"{voice.name}/{voice.model}" for voice in tape.voices)) or "no model"
    lines = figures.several(len(tape.lines), "line")
    told = [f"Played from {title}: {lines}, recorded with {voices}. No model is asked."]
    if tape.damaged:
        damaged = figures.several(len(tape.damaged), "line")
        told.append(f"{damaged} of it cannot be read (the first is line {tape.damaged[0]}): the rest is used.")
    code = [line.text for line in tape.lines if names_code(line.text)]
    if code:
        told.append(f"{code[0]} runs a file: it does not come by itself, type it if it is yours.")
    if tape.cut_off:
        told.append("Its end is missing: what is there is used.")
    return told


def called(voice: Voice) -> str:
    """What /model calls a voice."""
    return READER if voice.name == READER else voice.model


def repeated(line: str) -> bool:
    """Whether a cassette repeats this: a question, or a command but for some."""
    words = line.split()
    return bool(words) and words[0] not in LEFT_OUT


def names_code(line: str) -> bool:
    """Whether a command names a strategy that is code from elsewhere, which data must not run by itself."""
    return line.strip().startswith("/") and any(map(is_code, line.split()[1:]))


def nearest(name: str, model: str) -> budget.Counter:
    """The best counter that is at hand for a model of a tape."""
    from models.counting.counters import counter_for

    return counter_for("qwen2.5:7b" if name == READER else model)


def _budget(session: Session) -> int:
    try:
        return session.agent.limit
    except ThimbleError:  # a command may be there to mend it
        return session.settings.budget
