"""A model that follows a script, for tests of the code around a model."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass

from tests.support.estimate import EstimateCounter
from thimble.agent.budget import Counter
from thimble.agent.messages import Message, Schema, ToolCall
from thimble.agent.protocols import Backend, Delta, Expects, Sent, Text, Thinking, Usage, Waiting
from thimble.models.counting.prefix import PrefixMeter

Reply = str | Delta | BaseException | Sequence[Delta | BaseException]
"""One reply: an answer, a tool call, an error to raise, or any of these and more in order."""

Step = Reply | Callable[[Sequence[Message], Sequence[Schema]], Reply]
"""A reply, or a function of the messages and tools that the model is sent, which returns one."""


@dataclass(frozen=True, slots=True)
class ScriptedRequest:
    """The prompt of one call."""

    messages: tuple[Message, ...]
    tools: tuple[Schema, ...]
    max_tokens: int | None
    temperature: float | None = None
    expects: Expects = "turn"


class Scripted(Backend):
    """A backend that answers each call with the next step of a script, and records the prompts.

    It ends each reply with the usage that a server with a prefix cache would report, unless the step says its own.

    Args:
        steps: The replies, in order. One call too many is an AssertionError, and so is `assert_done` before the end.
        counter: Counts tokens; an estimate by default, which needs no vocabulary.
        pace: Tokens a second at which text streams; 0 streams each delta at once.
    """

    name = "scripted"
    model = "scripted"
    returns_thinking = True

    def __init__(self, steps: Iterable[Step], counter: Counter | None = None, *, pace: float = 0) -> None:
        self.counter: Counter = counter or EstimateCounter()
        self.requests: list[ScriptedRequest] = []
        self._steps = list(steps)
        self._meter = PrefixMeter(self.counter)
        self._pace = pace

    def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[Schema],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        expects: Expects = "turn",
    ) -> Generator[Delta, None, None]:
        """Stream the next step."""
        self.requests.append(ScriptedRequest(tuple(messages), tuple(tools), max_tokens, temperature, expects))
        if len(self.requests) > len(self._steps):
            raise AssertionError(f"the script has {len(self._steps)} steps, and this is call {len(self.requests)}")
        step = self._steps[len(self.requests) - 1]
        reply = step(messages, tools) if callable(step) else step
        said: list[Delta] = []
        for part in _parts(reply):
            if isinstance(part, BaseException):
                raise part
            said.append(part)
            yield from self._paced(part)
        if not any(isinstance(part, Usage) for part in said):
            yield self._meter.usage(messages, tools, "".join(map(_written, said)))

    def assert_done(self) -> None:
        """Raise AssertionError when steps of the script are left."""
        left = self._steps[len(self.requests) :]
        if left:
            raise AssertionError(f"{len(left)} of {len(self._steps)} steps are left, the next is {left[0]!r}")

    def _paced(self, part: Delta) -> Iterator[Delta]:
        """Text word by word, as fast as the pace allows; everything else, and without a pace all, at once."""
        if not self._pace or not isinstance(part, Text | Thinking):
            yield part
            return
        for word in re.findall(r"\s*\S+\s*|\s+", part.text):
            time.sleep(max(1, len(word) / 5) / self._pace)
            yield type(part)(word)


def _parts(reply: Reply) -> Sequence[Delta | BaseException]:
    """A reply as a list."""
    match reply:
        case str():
            return [Text(reply)]
        case Text() | Thinking() | ToolCall() | Sent() | Waiting() | Usage() | BaseException():
            return [reply]
        case _:
            return reply


def _written(part: Delta) -> str:
    """What a model writes for a delta, as text to count."""
    if isinstance(part, ToolCall):
        return f'\n<tool_call>\n{{"name": "{part.name}", "arguments": {part.arguments}}}\n</tool_call>'
    return "" if isinstance(part, Usage | Sent | Waiting) else part.text
