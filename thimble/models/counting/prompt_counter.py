"""Counting the messages of prompts that only a model's own template can write."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from threading import RLock
from time import monotonic
from typing import Any, Protocol

from thimble.agent.budget import Counter
from thimble.agent.errors import ModelError
from thimble.agent.messages import Message, Schema, ToolCall
from thimble.models.counting.message_counter import MessageCounter

# The smallest conversation around a message. Some templates require ids of nine letters.
_IDS = ("callaaaaa", "callbbbbb")
SYSTEM, USER, ASSISTANT = Message("s", "system", "x."), Message("u", "user", "x"), Message("a", "assistant", "x")
RETRY_SECONDS = 10.0
"""Seconds until a server that failed to count is asked again."""
TEMPLATE_TOKENS = 10_000
"""Tokens that a template may add to a prompt. A count above these and two tokens a byte is rejected."""
RESULTS = tuple(Message("t", "tool", "x", call_id=call_id) for call_id in _IDS)


class Refused(Exception):
    """The server or the model's template does not accept these messages."""


class Tokenizer(Protocol):
    """Counts like one kind of server. Raises Refused for messages that it does not accept, ModelError on failure."""

    def prompt(self, messages: Sequence[Message], tools: Sequence[Schema] = ()) -> int:
        """Tokens of a whole prompt, up to the start of the reply."""

    def text(self, text: str) -> int:
        """Tokens of a text."""

    def rendered(self, messages: Sequence[Message], tools: Sequence[Schema] = ()) -> str:
        """A whole prompt as the model reads it, special tokens as text."""


def count_plausible(tokenizer: Tokenizer, messages: Sequence[Message], tools: Sequence[Schema] = ()) -> int:
    """Tokens of a whole prompt. Raises Refused also for more tokens than a template can add."""
    tokens = tokenizer.prompt(messages, tools)
    texts = [json.dumps(tools, default=dict)]
    for one in messages:
        texts += [one.content or "", one.thinking, *(call.name + call.arguments for call in one.calls)]
    if tokens > TEMPLATE_TOKENS + 2 * sum(len(text.encode("utf-8", "replace")) for text in texts):
        raise Refused
    return tokens


class PromptCounter(MessageCounter):
    """Counts with a model's own tokenizer and chat template; by an estimate while they cannot be used.

    Templates write whole conversations. So the count of a message is the tokens that it adds to the smallest valid
    conversation. The part common to all conversations belongs to the overhead; the part common to several results
    belongs to the message with the calls. So the counts of a prompt's messages add up to the prompt.

    Any thread may find the tokenizer. Subclasses implement `found`.

    Args:
        estimate: Counts while the tokenizer cannot be used.
    """

    def __init__(self, estimate: Counter) -> None:
        super().__init__()
        self._estimate = estimate
        self._found: Tokenizer | None = None
        self._none = False
        self._resting_until = 0.0
        self._finding = RLock()
        self._prompts: dict[tuple[Message, ...], int] = {}

    def find_tokenizer(self) -> Tokenizer:
        """Find the tokenizer. Raises ModelError if there is none now, Refused if there will never be one."""
        raise NotImplementedError

    @property
    def tokenizer(self) -> Tokenizer | None:
        """The tokenizer, if it can be used now: not within 10 seconds of a failure."""
        with self._finding:
            if self._none or monotonic() < self._resting_until:
                return None
            try:
                self._found = self._found or self.find_tokenizer()
            except Refused:
                self._none = True
            except ModelError:
                self._pause_after_failure()
            return self._found

    def begin(self) -> None:
        """Ask for the tokenizer again at once, since the server has loaded the model."""
        self._resting_until = 0.0

    @property
    def exact(self) -> bool:  # type: ignore[override]
        """Whether the tokenizer can be used now."""
        return self.tokenizer is not None

    def count(self, message: Message) -> int:
        """Tokens of a message in a prompt, its role markers included."""
        return self._count_or_guess(
            lambda: super(PromptCounter, self).count(message), lambda: self._estimate.count(message)
        )

    def counts(self, messages: Sequence[Message]) -> list[int]:
        """Tokens of each of these messages."""
        return super().counts(messages) if self.tokenizer else [*map(self.count, messages)]

    def overhead(self, tools: Sequence[Schema]) -> int:
        """Tokens of the schemas, of the template around them, and of the start of the reply."""
        return self._count_or_guess(
            lambda: super(PromptCounter, self).overhead(tools), lambda: self._estimate.overhead(tools)
        )

    def calibrate(self, counted: int, reported: int) -> bool:
        """Learn from the number of tokens that the server read."""
        if self.tokenizer:
            return super().calibrate(counted, reported)
        return self._estimate.calibrate(counted, reported)

    @property
    def learnt(self) -> Any:
        """The state of `calibrate` in both counters, to be restored."""
        return super().learnt, self._estimate.learnt

    @learnt.setter
    def learnt(self, learnt: Any) -> None:
        (self._ratio, self._calibrated), self._estimate.learnt = learnt

    def count_prompt(self, messages: Sequence[Message], tools: Sequence[Schema]) -> int | None:
        """Tokens of exactly this prompt; None if they cannot be counted."""
        with suppress(ModelError, Refused):
            return self._prompt(*messages, tools=tools) if self.tokenizer else None
        return None

    def rendered(self, messages: Sequence[Message], tools: Sequence[Schema]) -> str | None:
        """This prompt as the model reads it; None if the server cannot render it. Raises ModelError."""
        with suppress(Refused):
            return self._known_tokenizer().rendered(messages, tools)
        return None

    def measured(self, message: Message) -> int:
        """Tokens that the message adds to a prompt. If the template refuses it alone, it costs its text and markers."""
        try:
            return max(0, self._added(message))
        except Refused:
            calls = [f'{{"name": "{call.name}", "arguments": {call.arguments}}}' for call in message.calls]
            text = "\n".join([message.thinking, message.content or "", *calls])
            return self._known_tokenizer().text(text) + self._short() - 1

    def _added(self, message: Message) -> int:
        match message.role:
            case "system":
                return self._prompt(message, USER) - self._count_once(SYSTEM, USER) + self._short()
            case "user":
                return self._prompt(SYSTEM, message) - self._count_once(SYSTEM, USER) + self._short()
            case "tool":
                before = (SYSTEM, USER, _make_call_message(message.name or "f"))
                alone = replace(message, call_id=_IDS[0])
                return self._prompt(*before, alone) - self._count_once(*before, RESULTS[0]) + self._short_result()
            case _ if message.calls:
                results = [Message("t", "tool", "x", call_id=call.id, name=call.name) for call in message.calls]
                around = self._count_once(SYSTEM, USER) + len(results) * self._short_result()
                return self._prompt(SYSTEM, USER, message, *results) - around
            case _:
                return self._prompt(SYSTEM, USER, message, USER) - self._count_once(SYSTEM, USER) - self._short()

    def template(self, tools: Sequence[Schema]) -> int:
        """Tokens of a prompt without its messages."""
        return self._prompt(SYSTEM, USER, tools=tools) - 2 * self._short()

    def _short(self) -> int:
        """Tokens of a system or user message of one letter: nearly all of them are markers."""
        try:
            return self._count_once(SYSTEM, USER, USER) - self._count_once(SYSTEM, USER)
        except Refused:  # the template requires alternating roles
            return (self._count_once(SYSTEM, USER, ASSISTANT, USER) - self._count_once(SYSTEM, USER)) // 2

    def _short_result(self) -> int:
        """Tokens of a result of one letter after another result."""
        both = (SYSTEM, USER, _make_call_message("f", 2))
        try:
            return self._count_once(*both, *RESULTS) - self._count_once(*both, RESULTS[0])
        except Refused:
            return self._short()

    def _count_once(self, *messages: Message) -> int:
        """Tokens of a prompt; each one is counted only once."""
        if messages not in self._prompts:
            self._prompts[messages] = self._prompt(*messages)
        return self._prompts[messages]

    def _prompt(self, *messages: Message, tools: Sequence[Schema] = ()) -> int:
        """Tokens of a prompt; as `count_plausible`."""
        return count_plausible(self._known_tokenizer(), messages, tools)

    def _count_or_guess(self, ask: Callable[[], int], guess: Callable[[], int]) -> int:
        if self.tokenizer:
            try:
                return ask()
            except Refused:
                pass
            except ModelError:
                self._pause_after_failure()
        return guess()

    def _known_tokenizer(self) -> Tokenizer:
        if not (found := self.tokenizer):
            raise Refused
        return found

    def _pause_after_failure(self) -> None:
        self._resting_until = monotonic() + RETRY_SECONDS


def _make_call_message(name: str, calls: int = 1) -> Message:
    return Message("c", "assistant", calls=tuple(ToolCall(call_id, name) for call_id in _IDS[:calls]))
