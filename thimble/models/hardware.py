"""Hardware: the speed of a model on a machine, and how short a summary must be to pay off there."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations, pairwise
from typing import TYPE_CHECKING

from thimble.agent.prefix_cache import AGREEMENT_FACTOR, LEAST_CALLS, Timed, seconds_per_token

if TYPE_CHECKING:
    from thimble.agent.ledger import Call

MIN_OUTPUT_TOKENS = 8
"""Tokens of the shortest reply in the fit: a shorter one says little about the seconds per token."""
MIN_CONTEXT_SPREAD = 1.5
"""Minimum ratio of the longest context to the shortest one: below it, the slope cannot be estimated."""
NEWEST_CALLS = 100
"""Calls in the fit: the server may have changed since older ones."""


@dataclass(frozen=True, slots=True)
class Hardware:
    """A model on a machine that serves one conversation.

    Attributes:
        prefill: Prompt tokens computed per second (P in Eq. 7 of the CoMem paper); `inf` for no delay.
        token_seconds: Seconds of one output token at an empty context: the time to read the weights.
        slope: Seconds that each token of context adds to one output token: the time to read its keys and values
            (S/W in Eq. 6).
        load_seconds: Seconds before its first prompt, once.
    """

    prefill: float
    token_seconds: float
    slope: float = 0.0
    load_seconds: float = 0.0

    def prefill_seconds(self, computed: int) -> float:
        """Seconds to compute this many prompt tokens; cached tokens take no time."""
        return computed / self.prefill

    def decode_seconds(self, context: int, output: float) -> float:
        """Seconds to write `output` tokens after a context of `context` tokens, which grows with each.

        Two replies in a row take as long as one of their total length.
        """
        return output * (self.token_seconds + self.slope * (context + output / 2))

    def piece_seconds(self, context: int, output: int, letters: Sequence[int]) -> list[float]:
        """The seconds of decode for each piece of a reply, whose tokens are spread evenly over the letters."""
        whole = sum(letters)
        ends = [self.decode_seconds(context, output * end / whole if whole else output) for end in accumulate(letters)]
        return [end - start for start, end in pairwise([0.0, *ends])]


def largest_ratio(on: Hardware, output: int) -> float:
    """The share of the full context below which a summary pays, 0 to 1.

    A summary pays if it saves more seconds of decode than its own prefill takes. CoMem, Eq. 7:
    Y · (L_full - L_sum) · S / W > L_sum / P; Y tokens are written before the next summary. From it follows
    Eq. 8: L_sum / L_full < Y · S · P / (Y · S · P + W). The case study of the paper (W = 2 TB/s, P = 3,000,
    S = 2e-4 GB, Y = 1,000) gives 600 / (600 + 2,000) = 0.2308; the paper says 0.23.
    """
    saved = output * on.slope
    return saved / (saved + 1 / on.prefill) if saved else 0.0


def largest_summary(on: Hardware, full: int, output: int) -> int:
    """The longest summary, in tokens, that pays in place of a full context (Eq. 8); 0 if none pays."""
    return max(0, math.ceil(largest_ratio(on, output) * full) - 1)


def fit_hardware(calls: Iterable[Call]) -> Hardware | None:
    """The hardware behind these calls of one model, fitted to the seconds that its server reports.

    The rate of prefill is the median of the calls near the most common rate (`agent.prefix_cache.seconds_per_token`).
    The seconds per output token are a line over the context in the middle of the reply (after Theil and Sen): its slope
    is the median over all pairs of calls whose contexts lie at least half of their range apart, its intercept the
    median over all calls. A negative slope becomes 0.

    None for fewer than three calls with seconds of prefill, or three with seconds of decode and at least 8 tokens of
    output; and if the longest of their contexts is less than 1.5 times the shortest one. Only the newest 100 calls
    count.
    """
    newest = [*calls][-NEWEST_CALLS:]
    timed = [call.timed for call in newest if call.timed]
    points = [*filter(None, map(_decode_point, newest))]
    contexts = [context for context, _ in points]
    if min(len(timed), len(points)) < LEAST_CALLS or max(contexts) < MIN_CONTEXT_SPREAD * min(contexts):
        return None
    height, slope = _fit_line(points)
    loads = [call.usage.load_seconds or 0.0 for call in newest]
    return Hardware(1 / _seconds_per_token(timed), height, slope, max(loads))


def _seconds_per_token(timed: Sequence[Timed]) -> float:
    """Seconds per computed token, from the calls whose number of computed tokens is known."""
    from statistics import median  # imported late: it imports `fractions` and `decimal`

    about = seconds_per_token(timed)
    rates = [call.seconds / call.computed for call in timed]
    return median([rate for rate in rates if about / AGREEMENT_FACTOR <= rate <= about * AGREEMENT_FACTOR] or [about])


def _decode_point(call: Call) -> tuple[float, float] | None:
    """The context in the middle of a reply, in tokens, and the seconds per output token; None if not known."""
    prompt, output, seconds = call.prompt.tokens, call.output.tokens, call.usage.decode_seconds
    if prompt is None or output is None or output < MIN_OUTPUT_TOKENS or not seconds:
        return None
    return prompt + output / 2, seconds / output


def _fit_line(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The intercept and the slope of the line through most of these points, neither below 0."""
    from statistics import median

    contexts = [context for context, _ in points]
    apart = (max(contexts) - min(contexts)) / 2
    pairs = ((one, other) for one, other in combinations(points, 2) if abs(one[0] - other[0]) >= apart)
    slope = max(0.0, median((other[1] - one[1]) / (other[0] - one[0]) for one, other in pairs))
    return max(0.0, median(seconds - slope * context for context, seconds in points)), slope


def _make_hardware(weights: float, kv: float, bandwidth: float, prefill: float, load_seconds: float = 0.0) -> Hardware:
    """Hardware by its figures: bytes of the weights and of a token's keys and values, bytes and tokens per second.

    Decode is bound by memory: for each token the weights and the keys and values of the context are read once.
    """
    return Hardware(prefill, weights / bandwidth, kv / bandwidth, load_seconds)


ATTAINED_SHARE = 0.63
"""The share of its peak FLOP/s that a machine reaches in prefill, at 2 FLOP per parameter and token.

From the case study: 2 x 32.8e9 x 3,000 = 197 of the 312 TFLOP/s of an A100.
"""

HARDWARE: Mapping[str, Hardware] = {
    # The case study of the CoMem paper (3.3): W = 2e12 bytes/s, S = 2e-4 GB, P = 3,000 tokens/s.
    # Qwen3-32B has 32.8e9 parameters of 2 bytes.
    "a100-32b": _make_hardware(weights=65.6e9, kv=2e5, bandwidth=2e12, prefill=3000),
    # A memory model beside it, on an A100 of its own: Qwen3-4B has 4.0e9 parameters of 2 bytes.
    # Keys and values: 2 x 36 layers x 8 heads x 128 numbers x 2 bytes. An A100 computes 312e12 FLOP/s.
    "a100-4b": _make_hardware(weights=8.0e9, kv=147_456, bandwidth=2e12, prefill=ATTAINED_SHARE * 312e12 / 2 / 4.0e9),
    # Fast: Qwen3-8B has 8.2e9 parameters of 2 bytes; 36 layers, 8 heads of keys and values of 128 numbers of 2 bytes.
    # An H100 (SXM) reads 3.35e12 bytes/s and computes 989e12 FLOP/s.
    "h100-8b": _make_hardware(
        weights=16.4e9, kv=147_456, bandwidth=3.35e12, prefill=ATTAINED_SHARE * 989e12 / 2 / 8.2e9
    ),
    # Slow: Qwen2.5-7B has 7.6e9 parameters; in 4 bits (Q4_K_M) its file has 4.7e9 bytes.
    # Keys and values: 2 x 28 layers x 4 heads x 128 numbers x 2 bytes. The laptop reads 100e9 bytes/s from memory and
    # 3e9 bytes/s from disk, and its GPU computes 3.6e12 FLOP/s (as an Apple M2).
    "laptop-7b": _make_hardware(
        weights=4.7e9, kv=57_344, bandwidth=100e9, prefill=ATTAINED_SHARE * 3.6e12 / 2 / 7.6e9, load_seconds=4.7 / 3
    ),
}
"""Described machines by name. Each number is derived from the facts beside it; none is measured."""
