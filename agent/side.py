"""A model that a strategy may ask, for a summary say; the loop reports each such call as an event."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from time import perf_counter

from agent.errors import ModelError
from agent.events import SideCalled
from agent.messages import Message
from agent.protocols import Backend, Text, Usage


class SideModel:
    """Asks a backend outside the conversation. What is asked here never enters the history."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self._calls: list[SideCalled] = []

    def ask(self, messages: Sequence[Message], purpose: str, max_tokens: int) -> str:
        """The whole reply's text, of at most `max_tokens` tokens.

        Raises:
            ModelError: the server cannot be used; the failed call is reported all the same.
        """
        started, parts, usage, error = perf_counter(), [], Usage(), ""
        counter = self.backend.counter
        prompt = counter.overhead(()) + sum(map(counter.count, messages))
        try:
            with closing(self.backend.stream(messages, (), max_tokens=max_tokens)) as stream:
                for delta in stream:
                    if isinstance(delta, Text):
                        parts.append(delta.text)
                    elif isinstance(delta, Usage):
                        usage = delta
        except ModelError as failure:
            error = failure.what
            raise
        finally:
            seconds = perf_counter() - started
            self._calls.append(SideCalled(purpose, prompt, counter.exact, usage, seconds, error))
        return "".join(parts)

    def drain(self) -> list[SideCalled]:
        """The calls made since the last time this was asked."""
        calls, self._calls = self._calls, []
        return calls
