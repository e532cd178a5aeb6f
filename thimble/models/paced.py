"""Paced: a reply that comes as slowly as from a model on a described machine. It sleeps and does not work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from thimble.agent.background import pause
from thimble.agent.messages import ToolCall
from thimble.agent.protocols import Delta, Text, Usage, Waiting
from thimble.models.hardware import Hardware


def paced(deltas: Sequence[Text | ToolCall], usage: Usage, on: Hardware) -> Iterator[Delta]:
    """The deltas of a reply, each when this hardware would have written it; then the usage, with its seconds.

    It loads the model, computes what is not cached of the prompt, and writes each token the slower, the longer the
    context is. The seconds are those of the described machine, exactly, and not those that the clock shows.
    """
    prompt, cached, output = usage.prompt_tokens or 0, usage.cached_tokens or 0, usage.output_tokens or 0
    if on.load_seconds:
        yield Waiting("loading the model")
        pause(on.load_seconds)
    prefill = on.prefill_seconds(prompt - cached)
    pause(prefill)
    for delta, seconds in zip(deltas, on.piece_seconds(prompt, output, [*map(_letters, deltas)]), strict=True):
        pause(seconds)
        yield delta
    decode = on.decode_seconds(prompt, output)
    yield replace(usage, load_seconds=on.load_seconds, prefill_seconds=prefill, decode_seconds=decode)


def _letters(delta: Text | ToolCall) -> int:
    return len(delta.text) if isinstance(delta, Text) else len(delta.name + delta.arguments)
