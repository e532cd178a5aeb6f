"""A stage for the loop: a backend that plays a script and raises what the script says, and tools that misbehave."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.histories import TinyCounter, is_sound, pending_calls
from tests.support.scripted import Scripted
from thimble.agent.agent import Agent
from thimble.agent.errors import ToolError
from thimble.agent.events import Answered, Event
from thimble.agent.loop import run
from thimble.agent.messages import Message, Schema, ToolCall
from thimble.agent.prompts import SYSTEM_PROMPT
from thimble.agent.protocols import Delta, Expects, Text, Usage
from thimble.agent.side import SideModel
from thimble.agent.state import State
from thimble.session.grounding import ground_answer
from thimble.strategies.none import NoManagement

Step = Sequence[Delta | BaseException]
"""One reply: what is streamed, or raised in its midst."""


class Script(Scripted):
    """Plays its steps, holds every prompt to the laws, and knows whether a stream was left open."""

    renders_tools = False

    def __init__(self, steps: Iterable[Step], counter: TinyCounter | None = None) -> None:
        super().__init__(steps, counter or TinyCounter())
        self.open_streams = 0

    @property
    def prompts(self) -> list[list[Message]]:
        """The messages of each call."""
        return [list(request.messages) for request in self.requests]

    def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[Schema],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        expects: Expects = "turn",
    ) -> Generator[Delta, None, None]:
        assert is_sound(messages) == []
        self.open_streams += 1
        try:
            yield from super().stream(messages, tools, max_tokens=max_tokens, temperature=temperature, expects=expects)
        finally:
            self.open_streams -= 1


@dataclass
class Acts:
    """A tool that does what it is told to."""

    name: str
    act: Callable[[Mapping[str, Any]], str]
    seen: list[dict[str, Any]] = field(default_factory=list)

    @property
    def schema(self) -> Schema:
        return {"type": "function", "function": {"name": self.name, "description": "", "parameters": {}}}

    def run(self, arguments: Mapping[str, Any]) -> str:
        self.seen.append(dict(arguments))
        return self.act(arguments)


def raising(error: BaseException) -> Callable[[Mapping[str, Any]], str]:
    """An act that raises."""

    def act(arguments: Mapping[str, Any]) -> str:
        raise error

    return act


def agent(*steps: Step, **settings: Any) -> Agent:
    """A session over a script, with tools of every temper."""
    tools = [
        Acts("read_article", lambda arguments: f"text of {arguments.get('slug')}"),
        Acts("search_articles", raising(ToolError("nothing there"))),
        Acts("buggy", raising(ZeroDivisionError("a bug"))),
        Acts("endless", raising(KeyboardInterrupt())),
    ]
    backend = Script(list(steps))
    return Agent(
        backend=backend,
        strategy=settings.pop("strategy", NoManagement()),
        state=State(
            settings.pop("strategy_name", "none"), settings.pop("limit", 8000), settings.pop("system", SYSTEM_PROMPT)
        ),
        tools={tool.name: tool for tool in tools},
        grounds=ground_answer,
        side=settings.pop("side", SideModel(backend)),
        **settings,
    )


def says(*text: str) -> Step:
    """A reply of text alone, with its usage."""
    return [*map(Text, text), Usage(prompt_tokens=100, cached_tokens=60, output_tokens=5)]


def call(number: int, name: str = "read_article", arguments: str = '{"slug": "a"}') -> ToolCall:
    """A call with an id of its own."""
    return ToolCall(f"c{number}", name, arguments)


def kinds(events: Sequence[Event]) -> list[str]:
    """The types of events, by name."""
    return [type(event).__name__ for event in events]


def observations(session: Agent) -> list[str]:
    """What the model heard from tools."""
    return [message.content for message in session.history if message.role == "tool"]


def script(session: Agent) -> Script:
    """The script that a session plays."""
    assert isinstance(session.backend, Script)
    return session.backend


def goes_on(session: Agent) -> None:
    """The history is sound and closed, and the next question is answered."""
    assert is_sound(session.history) == []
    assert pending_calls(session.history) == []
    assert script(session).open_streams == 0
    session.backend = Script([says("going on")])
    assert list(run(session, "and now?"))[-1] == Answered("going on", "answered")
    assert script(session).prompts[-1][-1].content == "and now?"
    assert is_sound(session.history) == []
