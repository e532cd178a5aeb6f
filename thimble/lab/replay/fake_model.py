"""A model that writes summaries of a given number of meaningless tokens."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Generator, Sequence
from random import Random

from thimble.agent.budget import Counter
from thimble.agent.messages import Message, Schema
from thimble.agent.protocols import Backend, Delta, Expects, Text, Usage
from thimble.agent.reply import Reply
from thimble.strategies.summary import find_names

SUMMARY_WORDS = ("what", "was", "found", "so", "far", "in", "the", "old", "part", "of", "this", "run")
AnsweredPrompt = tuple[Sequence[Message], int]
"""A prompt, and the tokens of its reply."""


def newest_name(messages: Sequence[Message]) -> str:
    """A name from the newest message before the instruction that has one; a summary without a name is refused."""
    found = (sorted(find_names(message.content or "")) for message in reversed(messages[:-1]))
    return min(next(filter(None, found), [""]), key=len)


class FakeModel(Backend):
    """Replies to each call with `tokens` tokens of text, different each time, but at most `max_tokens`.

    Without `caches`, it reports no cached tokens. A `writer` is a model that writes the text instead.
    """

    name = "fake"
    counter: Counter

    def __init__(
        self, counter: Counter, tokens: int, caches: bool = True, writer: Backend | None = None, model: str = "fake"
    ) -> None:
        self.counter, self.model = counter, model
        self._tokens, self._caches, self._writer = tokens, caches, writer
        self._written = 0
        self._answered: list[AnsweredPrompt] = []

    def drain(self) -> list[AnsweredPrompt]:
        """Return and forget the calls since the last drain."""
        answered, self._answered = self._answered, []
        return answered

    def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[Schema],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        expects: Expects = "turn",
    ) -> Generator[Delta, None, None]:
        """Stream a reply."""
        if self._writer:
            made = self._writer.stream(messages, tools, max_tokens=max_tokens, temperature=0.0, expects=expects)
            text = Reply.of(made).text
        else:
            text = self._text(messages, min(self._tokens, max_tokens or self._tokens))
        output = self._size(text)
        self._answered.append((messages, output))
        yield Text(text)
        yield Usage(cached_tokens=None if self._caches else 0, output_tokens=output, finish="stop")

    def _text(self, messages: Sequence[Message], tokens: int) -> str:
        """A text of at most this many tokens, different at each call, with a name and without repetition."""
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
