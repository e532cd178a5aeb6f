"""The prefix cache of a server that does not report it: the prompts it can still hold, checked against its seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from thimble.agent.budget import Budget, Counter
from thimble.agent.messages import LOSSLESS, Message, Schema, common_prefix
from thimble.agent.protocols import ModelId

MOST_PROMPTS = 8
"""The prompts of a model that a server is assumed to hold in addition to the one in its slot."""
LEAST_KEPT = 0.5
"""If a new prompt keeps a smaller share of the one in the slot, that is saved first, and another may be loaded."""
LEAST_LOADED = 0.25
"""A saved prompt is not loaded if a smaller share of it would be kept."""
LOAD_SECONDS = 0.1
"""A server that reports this load time or more holds no prompt; with the model in memory it reports milliseconds."""
LEAST_CALLS, MOST_CALLS = 3, 24
"""The number of calls to compute a rate from."""
LEAST_WRITTEN = 8
"""A reply of fewer tokens is too short to measure the time for one."""
FACTOR = 2.0
"""Seconds agree with a number of tokens up to this factor."""
SLACK = 0.1
"""The share of a prompt that is too small to be judged by seconds."""


@dataclass(frozen=True, slots=True, eq=False)
class _Prompt:
    tools: Sequence[Schema]
    messages: Sequence[Message]
    tokens: int = 0

    def shared(self, other: _Prompt) -> int:
        """The number of messages at its start that another prompt has too; 0 if the tools differ."""
        return common_prefix(self.messages, other.messages) if [*self.tools] == [*other.tools] else 0

    def kept(self, new: _Prompt, counter: Counter) -> int:
        """The tokens of it that a new prompt keeps."""
        shared = self.shared(new)
        return max(0, self.tokens - sum(map(counter.count, self.messages[shared:]))) if shared else 0


class PrefixCache:
    """The prompts of a session that its servers can still hold, by the rules of llama-server, and so of Ollama.

    The newest prompt of a model is in a slot. The next one replaces it and is computed from the first difference on:
    the rest of the old one is lost, as by an edit. If less than half of the old one would be kept, it is saved whole
    first, and a saved one is moved to the slot if it is nearer: if more tokens are shared, and a larger share of it is
    kept. So a side call costs the conversation nothing. But a first question that is asked again finds itself in the
    slot, so the saved prompts that continue it are not searched. Without a `slot`, each prompt is cached whole and the
    longest prefix counts, as in vLLM.
    """

    def __init__(self, slot: bool = True) -> None:
        self._slot = slot
        self._held: dict[ModelId, list[_Prompt]] = {}  # the one in the slot is the last

    def kept(
        self, model: ModelId, tools: Sequence[Schema], counter: Counter, messages: Sequence[Message]
    ) -> int | None:
        """The number of messages at the start of a prompt that the server has cached; None if it has read none yet."""
        held, new = self._held.get(model), _Prompt(tools, messages)
        return self._nearest(held, new, counter).shared(new) if held else None

    def read(self, model: ModelId, tools: Sequence[Schema], messages: Sequence[Message], counter: Counter) -> int:
        """Note that a server reads this prompt, and caches it; return its tokens that were cached."""
        new = _Prompt(tools, messages, Budget(0, counter, counter.overhead(tools)).size(messages))
        held, kept = self._held.get(model), 0
        if held:
            nearest = self._nearest(held, new, counter)
            kept = nearest.shared(new)
            if self._slot and (nearest is not held[-1] or nearest.kept(new, counter) >= LEAST_KEPT * nearest.tokens):
                # the new prompt overwrites it in the slot
                held.remove(nearest)
        self._held[model] = [*(held or ())[-MOST_PROMPTS:], new]
        return new.tokens - sum(map(counter.count, messages[kept:])) if kept else 0

    def as_sent(self, model: ModelId, messages: Sequence[Message]) -> list[Message]:
        """This prompt, with the lossless copies that the newest prompt had of its messages as far as the two agree."""
        held, start = self._held.get(model), list[Message]()
        for message, sent in zip(messages, held[-1].messages if held else (), strict=False):
            if message.id != sent.id or not (sent.ref == LOSSLESS or message.same(sent)):
                break
            start.append(sent)
        return [*start, *messages[len(start) :]]

    def forget(self, model: ModelId) -> None:
        """Note that the server no longer holds a prompt of this model."""
        self._held.pop(model, None)

    def _nearest(self, held: Sequence[_Prompt], new: _Prompt, counter: Counter) -> _Prompt:
        """The prompt from which a new one is computed: the one in the slot, or a saved one."""
        if not self._slot:
            return max(held, key=lambda one: one.shared(new))
        *saved, nearest = held
        kept = nearest.kept(new, counter)
        for one in saved if kept < LEAST_KEPT * nearest.tokens else ():
            its = one.kept(new, counter)
            if its > kept and its / one.tokens > kept / nearest.tokens and its >= LEAST_LOADED * one.tokens:
                nearest, kept = one, its
        return nearest


@dataclass(frozen=True, slots=True)
class Timed:
    """A call with its seconds of prefill: tokens that must have been computed, and tokens of the whole prompt.

    `wrote`: the seconds per token of the reply; None if unknown.
    """

    computed: int
    prompt: int
    seconds: float
    wrote: float | None = None


def agrees(call: Timed, earlier: Sequence[Timed]) -> bool:
    """Whether the seconds of a call agree with its computed tokens, at the rate of earlier calls of the same model.

    They do not if another prompt came between, the model was reloaded, or the server held more than we know. With too
    few earlier calls, as after /reset, only too many seconds disagree: a server takes at most as long to compute a
    token of a prompt as to write one.
    """
    most, slack = call.computed * FACTOR, SLACK * call.prompt
    if len(earlier) < LEAST_CALLS:
        return not call.wrote or call.seconds / call.wrote <= most + slack
    took = call.seconds / seconds_per_token(earlier)
    return call.computed / FACTOR - slack <= took <= most + slack


def seconds_per_token(calls: Sequence[Timed]) -> float:
    """The rate that explains most of these calls, whether each computed the expected tokens or its whole prompt.

    So a few calls with a lost cache, or on a busy machine, do not change it. Among equally good rates, the median.
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
