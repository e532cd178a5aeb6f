"""The prefix cache of a server that does not report it: what it can still hold, checked against its seconds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from thimble.agent.budget import Budget, Counter
from thimble.agent.messages import Message, Schema, common_prefix
from thimble.agent.protocols import ModelId

MOST_PROMPTS = 8
"""The prompts that a server is taken to hold, over all models."""
LEAST_KEPT = 0.5
"""A prompt that keeps this share of another one's tokens takes its place (as in llama-server); else both are held."""
LOAD_SECONDS = 0.1
"""A server that says that it loaded for so long holds no prompt; with the model at hand it says some milliseconds."""
LEAST_CALLS, MOST_CALLS = 3, 24
"""The calls that a rate is read from."""
FACTOR = 2.0
"""Seconds agree with a number of tokens up to this factor."""
SLACK = 0.1
"""The share of a prompt that is too small to be judged by seconds."""


class PrefixCache:
    """The prompts of a session that its servers can still hold.

    A new prompt is computed from where it leaves the one that it shares most with. It takes the place of that one if
    it keeps most of it, and the tail of the old one is lost, as by an edit. Otherwise the server holds both: a side
    call costs the conversation nothing.
    """

    def __init__(self) -> None:
        self._prompts: list[tuple[ModelId, Sequence[Schema], Sequence[Message]]] = []

    def held(self, model: ModelId, tools: Sequence[Schema]) -> Iterator[Sequence[Message]]:
        """The prompts of a model that began with these tools, the newest first."""
        for of, offered, messages in reversed(self._prompts):
            if of == model and [*offered] == [*tools]:
                yield messages

    def read(self, model: ModelId, tools: Sequence[Schema], messages: Sequence[Message], counter: Counter) -> int:
        """A server reads this prompt, which is held from now on; the tokens of it that it had cached."""
        nearest = max(self.held(model, tools), key=lambda one: common_prefix(messages, one), default=())
        kept = common_prefix(messages, nearest)
        whole = Budget(0, counter, counter.overhead(tools)).size(messages) if kept else 0
        cached = whole - sum(map(counter.count, messages[kept:])) if kept else 0
        lost = sum(map(counter.count, nearest[kept:]))
        if kept and cached >= LEAST_KEPT * (cached + lost):
            self._prompts = [row for row in self._prompts if row[2] is not nearest]
        self._prompts = [*self._prompts, (model, tools, messages)][-MOST_PROMPTS:]
        return cached


@dataclass(frozen=True, slots=True)
class Timed:
    """A call with its seconds of prefill: tokens that must have been computed, and tokens of the whole prompt."""

    computed: int
    prompt: int
    seconds: float


def agrees(call: Timed, earlier: Sequence[Timed]) -> bool:
    """Whether the seconds of a call speak for its computed tokens, at the rate of earlier calls of the same model.

    They do not where another prompt lay between, the model was loaded anew, or the server held more than we know.
    True if there are too few calls to tell.
    """
    if len(earlier) < LEAST_CALLS:
        return True
    took, slack = call.seconds / seconds_per_token(earlier), SLACK * call.prompt
    return call.computed / FACTOR - slack <= took <= call.computed * FACTOR + slack


def seconds_per_token(calls: Sequence[Timed]) -> float:
    """The rate that explains most of these calls, each computed as we expect or else as a whole.

    So a few calls with a lost cache, or on a busy machine, do not move it. Among equals the middle one.
    """

    def explained(rate: float) -> tuple[int, int]:
        took = [(call, call.seconds / rate) for call in calls]
        expected = sum(_near(tokens, call.computed) for call, tokens in took)
        return sum(_near(tokens, call.computed) or _near(tokens, call.prompt) for call, tokens in took), expected

    rates = sorted({call.seconds / tokens for call in calls for tokens in (call.computed, call.prompt)})
    scores = [explained(rate) for rate in rates]
    best = [rate for rate, score in zip(rates, scores, strict=True) if score == max(scores)]
    return best[len(best) // 2]


def _near(tokens: float, expected: int) -> bool:
    return expected / FACTOR <= tokens <= expected * FACTOR
