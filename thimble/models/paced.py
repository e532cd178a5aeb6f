"""Paced replies, as slow as those of a model on a described machine: sleep instead of work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from thimble.agent.background import sleep_or_halt
from thimble.agent.messages import ToolCall
from thimble.agent.protocols import Delta, Text, Usage, Waiting
from thimble.models.hardware import Hardware


def pace_reply(deltas: Sequence[Text | ToolCall], usage: Usage, on: Hardware) -> Iterator[Delta]:
    """The deltas of a reply, each when this hardware would have written it; then the usage, with its seconds.

    The machine loads the model, computes the uncached part of the prompt, and writes each token more slowly the longer
    the context is. The seconds in the usage are exactly those of the described machine, not those of the clock.
    """
    prompt, cached, output = usage.prompt_tokens or 0, usage.cached_tokens or 0, usage.output_tokens or 0
    if on.load_seconds:
        yield Waiting("loading the model")
        sleep_or_halt(on.load_seconds)
    prefill = on.prefill_seconds(prompt - cached)
    sleep_or_halt(prefill)
    for delta, seconds in zip(deltas, on.piece_seconds(prompt, output, [*map(_count_letters, deltas)]), strict=True):
        sleep_or_halt(seconds)
        yield delta
    decode = on.decode_seconds(prompt, output)
    yield replace(usage, load_seconds=on.load_seconds, prefill_seconds=prefill, decode_seconds=decode)


def _count_letters(delta: Text | ToolCall) -> int:
    return len(delta.text) if isinstance(delta, Text) else len(delta.name + delta.arguments)
