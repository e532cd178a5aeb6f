"""The budget: how many prompt tokens one model call may use, and how to count them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from thimble.agent.errors import UsageError
from thimble.agent.messages import Message, Schema

LEAST_BUDGET, MOST_BUDGET = 500, 2_000_000
"""The legal budgets of a session, in tokens."""
UNLIMITED = 10**9
"""A limit that no prompt reaches, for `--budget none`."""


def read_limit(text: str) -> int:
    """Parse a `--budget` that may be any number of tokens, or `none`.

    Raises:
        UsageError: the text is not a number of tokens.
    """
    if text.strip() == "none":
        return UNLIMITED
    limit = int(text) if text.isdecimal() and len(text) < 10 else 0
    if not limit:
        raise UsageError(f"budget cannot be {text[:40]!r} (flag --budget)", "it takes a number of tokens, or none")
    return limit


@dataclass(frozen=True, slots=True)
class Prices:
    """The price card: the cost of a token. A computed prompt token costs 1.

    `dollars`: the price of a million computed prompt tokens; 0 if none is set.
    """

    cached: float = 0.1
    output: float = 4.0
    dollars: float = 0.0

    def prompt(self, tokens: int, cached: int) -> float:
        """The price of a prompt of `tokens` tokens, `cached` of them cached."""
        return tokens - cached + self.cached * cached

    def money(self, cost: float) -> float:
        """The dollars that this many computed prompt tokens cost."""
        return cost * self.dollars / 1_000_000


class Counter(Protocol):
    """Counts tokens as one model does. A subclass inherits defaults for the members that it does not define."""

    learnt: Any = None
    """Everything that `calibrate` has learnt, as JSON: saved with a session, and restored when it is resumed."""

    @property
    def exact(self) -> bool:
        """Whether the counts are the model's own; estimates are shown with `~`."""

    def count(self, message: Message) -> int:
        """Tokens of a message in a prompt, its role markers included. Cached, so asking again is cheap."""

    def counts(self, messages: Sequence[Message]) -> list[int]:
        """Tokens of each of these messages."""
        return [*map(self.count, messages)]

    def overhead(self, tools: Sequence[Schema]) -> int:
        """Tokens of a prompt outside all messages: tool schemas and the template around them."""

    def calibrate(self, counted: int, reported: int) -> bool:
        """Learn that a server read `reported` tokens instead of the `counted` ones.

        Returns False and learns nothing if the number is too small: then the server must have cut the prompt.
        """

    def doubt(self) -> str:
        """A notice for the user, given once when a reply shows that counts are inexact; else ""."""
        return ""


@dataclass(frozen=True, slots=True)
class Budget:
    """The prompt tokens that one call may use, as the model in use counts them, and their prices.

    System prompt, tool schemas, messages and template overhead all count against `limit`; the reserve for the reply
    does not. `overhead` is the part outside all messages.
    """

    limit: int
    counter: Counter
    overhead: int = 0
    prices: Prices = Prices()

    def count(self, message: Message) -> int:
        """Tokens of one message, its share of the template included."""
        return self.counter.count(message)

    def size(self, messages: Iterable[Message]) -> int:
        """Tokens of the whole prompt that these messages make, overhead included."""
        return self.overhead + sum(self.counter.counts([*messages]))

    def over(self, messages: Iterable[Message]) -> bool:
        """Whether the prompt that these messages make is larger than the budget."""
        return self.size(messages) > self.limit
