"""The budget: how many prompt tokens one model call may use, and how to count them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from agent.errors import UsageError
from agent.history import History
from agent.messages import Message, Schema

LEAST_BUDGET, MOST_BUDGET = 500, 2_000_000
"""What a session may be given, in tokens."""
UNLIMITED = 10**9
"""A limit that no prompt reaches: budget none."""


def read_limit(text: str) -> int:
    """The tokens that `--budget` names where it may be any number of them, or none.

    Raises:
        UsageError: it is no number of tokens.
    """
    if text.strip() == "none":
        return UNLIMITED
    limit = int(text) if text.isdecimal() and len(text) < 10 else 0
    if not limit:
        raise UsageError(f"budget cannot be {text[:40]!r} (flag --budget)", "it takes a number of tokens, or none")
    return limit


@dataclass(frozen=True, slots=True)
class Prices:
    """The price card: what a token costs, where a prompt token that is computed anew costs 1."""

    cached: float = 0.1
    output: float = 4.0

    def prompt(self, tokens: int, cached: int) -> float:
        """The price of a prompt of so many tokens, of which so many are cached."""
        return tokens - cached + self.cached * cached


class Counter(Protocol):
    """Counts tokens as one model does. A class that derives from it has the defaults of what it does not define."""

    learnt: Any = None
    """All that `calibrate` has learnt, as JSON: saved with a session, and set again when that is resumed."""

    @property
    def exact(self) -> bool:
        """Whether the counts are the model's own; those of an estimate are shown with `~`."""

    def count(self, message: Message) -> int:
        """Tokens of a message in a prompt, its role markers included. Remembered, so that asking again is cheap."""

    def overhead(self, tools: Sequence[Schema]) -> int:
        """Tokens of a prompt that belong to no message: tool schemas and the template around them."""

    def calibrate(self, counted: int, reported: int) -> bool:
        """Learn from a server that it read `reported` tokens where `counted` were expected.

        False, and nothing learnt, where so few cannot be explained but by a prompt that was cut.
        """


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """The measure of a message in tokens; equal to another as long as the counter counts as it did then."""

    counter: Counter
    learnt: Any

    def __call__(self, message: Message) -> int:
        """Tokens of the message."""
        return self.counter.count(message)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tokens) and self.counter is other.counter and self.learnt == other.learnt

    def __hash__(self) -> int:
        return id(self.counter)

    def __deepcopy__(self, memo: object) -> Tokens:
        return self


@dataclass(frozen=True, slots=True)
class Budget:
    """Prompt allowance of one call, in tokens of the model in use, and what its tokens cost.

    System prompt, tool schemas, messages and template overhead all count against `limit`; the reserve for the reply
    does not. `overhead` is the part that belongs to no message.
    """

    limit: int
    counter: Counter
    overhead: int = 0
    prices: Prices = Prices()

    def count(self, message: Message) -> int:
        """Tokens of one message, its share of the template included."""
        return self.counter.count(message)

    @property
    def tokens(self) -> Tokens:
        """How a message is counted now."""
        return Tokens(self.counter, getattr(self.counter, "learnt", None))

    def size(self, messages: Iterable[Message]) -> int:
        """Tokens of the whole prompt that these messages make, overhead included."""
        if isinstance(messages, History):
            return self.overhead + messages.total(self.tokens)
        return self.overhead + sum(map(self.counter.count, messages))

    def over(self, messages: Iterable[Message]) -> bool:
        """Whether the prompt that these messages make is larger than the budget."""
        return self.size(messages) > self.limit
