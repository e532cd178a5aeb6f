"""The prefix cache of a server that does not report it: the prompts it can still hold, checked against its seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from thimble.agent.budget import Budget, Counter
from thimble.agent.messages import LOSSLESS, Message, Schema, common_prefix
from thimble.agent.protocols import ModelId

MAX_SAVED_PROMPTS = 8
"""The prompts of a model that a server is assumed to hold in addition to the one in its slot."""
MIN_KEPT_SHARE = 0.5
"""If a new prompt keeps a smaller share of the one in the slot, that is saved first, and another may be loaded."""
MIN_LOADED_SHARE = 0.25
"""A saved prompt is not loaded if a smaller share of it would be kept."""
LOAD_SECONDS = 0.1
"""A server that reports this load time or more holds no prompt; with the model in memory it reports milliseconds."""
LEAST_CALLS, MOST_CALLS = 3, 24
"""The number of calls to compute a rate from."""
MIN_TIMED_TOKENS = 8
"""A reply of fewer tokens is too short to measure the time for one."""
AGREEMENT_FACTOR = 2.0
"""Seconds agree with a number of tokens up to this factor."""
NEGLIGIBLE_SHARE = 0.1
"""The share of a prompt that is too small to be judged by seconds."""


@dataclass(frozen=True, slots=True, eq=False)
class _Prompt:
    tools: Sequence[Schema]
    messages: Sequence[Message]
    tokens: int = 0

    def count_shared(self, other: _Prompt) -> int:
        """The number of messages at its start that another prompt has too; 0 if the tools differ."""
        return common_prefix(self.messages, other.messages) if [*self.tools] == [*other.tools] else 0

    def count_kept_tokens(self, new: _Prompt, counter: Counter) -> int:
        """The tokens of it that a new prompt keeps."""
        shared = self.count_shared(new)
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

    def count_cached(
        self, model: ModelId, tools: Sequence[Schema], counter: Counter, messages: Sequence[Message]
    ) -> int | None:
        """The number of messages at the start of a prompt that the server has cached; None if it has read none yet."""
        held, new = self._held.get(model), _Prompt(tools, messages)
        return self._find_nearest(held, new, counter).count_shared(new) if held else None

    def read(self, model: ModelId, tools: Sequence[Schema], messages: Sequence[Message], counter: Counter) -> int:
        """Note that a server reads this prompt, and caches it; return its tokens that were cached."""
        new = _Prompt(tools, messages, Budget(0, counter, counter.overhead(tools)).size(messages))
        held, kept = self._held.get(model), 0
        if held:
            nearest = self._find_nearest(held, new, counter)
            kept = nearest.count_shared(new)
            if self._slot and (
                nearest is not held[-1] or nearest.count_kept_tokens(new, counter) >= MIN_KEPT_SHARE * nearest.tokens
            ):
                # the new prompt overwrites it in the slot
                held.remove(nearest)
        self._held[model] = [*(held or ())[-MAX_SAVED_PROMPTS:], new]
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

    def _find_nearest(self, held: Sequence[_Prompt], new: _Prompt, counter: Counter) -> _Prompt:
        """The prompt from which a new one is computed: the one in the slot, or a saved one."""
        if not self._slot:
            return max(held, key=lambda one: one.count_shared(new))
        *saved, nearest = held
        kept = nearest.count_kept_tokens(new, counter)
        for one in saved if kept < MIN_KEPT_SHARE * nearest.tokens else ():
            its = one.count_kept_tokens(new, counter)
            if its > kept and its / one.tokens > kept / nearest.tokens and its >= MIN_LOADED_SHARE * one.tokens:
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


def seconds_agree(call: Timed, earlier: Sequence[Timed]) -> bool:
    """Whether the seconds of a call agree with its computed tokens, at the rate of earlier calls of the same model.

    They do not if another prompt came between, the model was reloaded, or the server held more than we know. With too
    few earlier calls, as after /reset, only too many seconds disagree: a server takes at most as long to compute a
    token of a prompt as to write one.
    """
    most, slack = call.computed * AGREEMENT_FACTOR, NEGLIGIBLE_SHARE * call.prompt
    if len(earlier) < LEAST_CALLS:
        return not call.wrote or call.seconds / call.wrote <= most + slack
    took = call.seconds / seconds_per_token(earlier)
    return call.computed / AGREEMENT_FACTOR - slack <= took <= most + slack


def seconds_per_token(calls: Sequence[Timed]) -> float:
    """The rate that explains most of these calls, whether each computed the expected tokens or its whole prompt.

    So a few calls with a lost cache, or on a busy machine, do not change it. Among equally good rates, the median.
    """

    def explained(rate: float) -> tuple[int, int]:
        took = [(call, call.seconds / rate) for call in calls]
        expected = sum(_is_near(tokens, call.computed) for call, tokens in took)
        return sum(_is_near(tokens, call.computed) or _is_near(tokens, call.prompt) for call, tokens in took), expected

    rates = sorted({call.seconds / tokens for call in calls for tokens in (call.computed, call.prompt)})
    scores = [explained(rate) for rate in rates]
    best = [rate for rate, score in zip(rates, scores, strict=True) if score == max(scores)]
    return best[len(best) // 2]


def _is_near(tokens: float, expected: int) -> bool:
    return expected / AGREEMENT_FACTOR <= tokens <= expected * AGREEMENT_FACTOR
