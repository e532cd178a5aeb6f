"""A simulated server: its prefix cache, and a summariser that writes a given number of meaningless tokens."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from random import Random

from thimble.agent.budget import Counter
from thimble.agent.messages import Message, Schema, common_prefix
from thimble.agent.prefix_cache import MOST_PROMPTS
from thimble.agent.protocols import Backend, BackendDefaults, Delta, Expects, Text, Usage
from thimble.strategies.summary import names

SUMMARY_WORDS = ("what", "was", "found", "so", "far", "in", "the", "old", "part", "of", "this", "run")


@dataclass(frozen=True, slots=True)
class SideCall:
    """A call of a strategy, and its tokens."""

    messages: Sequence[Message]
    prompt_tokens: int
    cached_tokens: int
    output_tokens: int


def newest_name(messages: Sequence[Message]) -> str:
    """A name of the newest message before the instruction that has one: without any, a summary is refused."""
    found = (sorted(names(message.content or "")) for message in reversed(messages[:-1]))
    return min(next(filter(None, found), [""]), key=len)


class FakeModel(BackendDefaults):
    """Answers every call of a strategy with `tokens` tokens of text, different at each call, within its `max_tokens`.

    It remembers the agent's last prompt and the side calls since, as a server with a prefix cache does (vLLM and
    llama.cpp keep both). The cached part of a prompt is its longest start, in whole messages, that it remembers. If it
    does not `remember` side calls, each is computed whole and leaves nothing, as on another server without a cache.
    A `writer` is a model that writes the text instead.
    """

    name = model = "fake"

    def __init__(self, counter: Counter, tokens: int, remember: bool = True, writer: Backend | None = None) -> None:
        self.counter = counter
        self._tokens, self._remember, self._writer = tokens, remember, writer
        self._known: list[tuple[int, Sequence[Message]]] = []
        self._written = 0
        self._calls: list[SideCall] = []

    def cached(self, messages: Sequence[Message], overhead: int) -> int:
        """The cached tokens of this prompt; none if the tools have changed."""
        others = (known for offered, known in self._known if offered == overhead)
        shared = max((common_prefix(messages, known) for known in others), default=0)
        return overhead + sum(map(self.counter.count, messages[:shared])) if shared else 0

    def sent(self, messages: Sequence[Message], overhead: int) -> None:
        """Remember a prompt of the agent; forget the last one and the side calls since."""
        self._known = [(overhead, messages)]

    def drain(self) -> tuple[SideCall, ...]:
        """The calls since the last drain."""
        calls, self._calls = tuple(self._calls), []
        return calls

    def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[Schema],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        expects: Expects = "turn",
    ) -> Generator[Delta, None, None]:
        """Answer a strategy."""
        overhead = self.counter.overhead(tools)
        prompt = overhead + sum(map(self.counter.count, messages))
        cached = self.cached(messages, overhead) if self._remember else 0
        if self._writer:
            made = self._writer.stream(messages, tools, max_tokens=max_tokens, temperature=0.0, expects=expects)
            text = "".join(delta.text for delta in made if isinstance(delta, Text))
        else:
            text = self._text(messages, min(self._tokens, max_tokens or self._tokens))
        output = self._size(text)
        if self._remember:
            self._known = [*self._known, (overhead, messages)][-MOST_PROMPTS:]
        self._calls.append(SideCall(messages, prompt, cached, output))
        yield Text(text)
        yield Usage(prompt_tokens=prompt, cached_tokens=cached, output_tokens=output, finish="stop")

    def _text(self, messages: Sequence[Message], tokens: int) -> str:
        """A text of this many tokens, another at each call, with a name; it never goes round in circles."""
        self._written += 1
        words = [
            "summary",
            str(self._written),
            newest_name(messages),
            *Random(self._written).choices(SUMMARY_WORDS, k=tokens),
        ]
        fitting = bisect_right(range(len(words) + 1), tokens, key=lambda number: self._size(" ".join(words[:number])))
        return " ".join(words[: fitting - 1])

    def _size(self, text: str) -> int:
        return self.counter.count(Message("", "assistant", text)) - self.counter.count(Message("", "assistant"))
