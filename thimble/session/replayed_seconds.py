"""Replayed seconds: how long each step of a recorded model would have taken on a described machine."""

from __future__ import annotations

from collections.abc import Sequence

from thimble.agent.events import Prepared, Replied, ReplyPiece, SideCalled
from thimble.agent.protocols import Sent, Usage, Waiting
from thimble.models.hardware import Hardware
from thimble.session.journal.lines import Line

WORD_LETTERS = 5
"""Letters of a token, about, where a recording has no tokens."""


def replayed_seconds(lines: Sequence[Line], agent: Hardware, memory: Hardware) -> dict[int, float]:
    """Seconds before each line that a model made, by the number of the line; what is left out takes what it took.

    A call takes the prefill of the prompt tokens that were not cached, and the decode of its output, divided among the
    recorded pieces of the reply. Tokens are those that the server reported, else as thimble counted them. Side calls
    are made by the memory model; one in the background takes no time of its own. No machine is ever busy, and each has
    its model loaded.
    """
    found: dict[int, float] = {}
    prepared: Prepared | None = None
    pieces: list[Line] = []
    for line in lines:
        match line.record:
            case Prepared() as prepared:
                pieces = []
            case Sent() | Waiting():
                found[line.number] = 0.0
            case ReplyPiece():
                pieces.append(line)
            case Replied() as reply if prepared:
                prompt, cached = _prompt(reply.usage, prepared.view.tokens, prepared.view.cached)
                letters = [len(one.record.text) for one in pieces if isinstance(one.record, ReplyPiece)]
                called = sum(len(call.name) + len(call.arguments) for call in reply.message.calls)
                output = _output(reply.usage, sum(letters) + called)
                seconds = agent.piece_seconds(prompt, output, [*letters, called])
                found |= {one.number: took for one, took in zip([*pieces, line], seconds, strict=True)}
                first = pieces[0] if pieces else line
                found[first.number] += agent.prefill_seconds(prompt - cached)
            case SideCalled(lag=int()):
                found[line.number] = 0.0
            case SideCalled() as side:
                prompt, cached = _prompt(side.usage, side.prompt_tokens, side.shared or 0)
                decode = memory.decode_seconds(prompt, side.usage.output_tokens or 0)
                found[line.number] = memory.prefill_seconds(prompt - cached) + decode
    return found


def _prompt(usage: Usage, counted: int, shared: int) -> tuple[int, int]:
    """The tokens of a prompt, and those of them that were cached."""
    prompt = counted if usage.prompt_tokens is None else usage.prompt_tokens
    cached = shared if usage.cached_tokens is None else usage.cached_tokens
    return prompt, min(cached, prompt)


def _output(usage: Usage, letters: int) -> int:
    return letters // WORD_LETTERS if usage.output_tokens is None else usage.output_tokens
