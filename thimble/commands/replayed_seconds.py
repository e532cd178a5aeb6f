"""Replayed seconds: how long each step of a recorded model would have taken on a described machine."""

from __future__ import annotations

from collections.abc import Sequence

from thimble.agent.events import Prepared, Replied, ReplyPiece, SideCalled
from thimble.agent.ledger import Call
from thimble.agent.protocols import Sent, Waiting
from thimble.models.hardware import Hardware
from thimble.session.journal.lines import Line
from thimble.session.story import read_stories

WORD_LETTERS = 5
"""Letters per token, about, if a recording has no token counts."""


def replayed_seconds(lines: Sequence[Line], agent: Hardware, memory: Hardware) -> dict[int, float]:
    """The seconds before each line that a model produced, by line number; other lines keep their recorded times.

    A call takes the prefill of the prompt tokens that were not cached, and the decode of its output, divided among the
    recorded pieces of the reply. Tokens are as the server reported them, else as thimble counted them. Side calls are
    made by the memory model; one in the background takes no time of its own. Every machine is idle and has its model
    loaded.
    """
    found: dict[int, float] = {}
    pieces: list[tuple[int, int]] = []
    for number, _, record, spent in (one for story in read_stories(lines, whole=False) for one in story.records):
        match record:
            case Prepared():
                pieces = []
            case Sent() | Waiting():
                found[number] = 0.0
            case ReplyPiece(text=text):
                pieces.append((number, len(text)))
            case Replied(message=message) if spent:
                pieces.append((number, sum(len(call.name) + len(call.arguments) for call in message.calls)))
                letters = [count for _, count in pieces]
                prompt, cached = _prompt_tokens(spent)
                output = (
                    sum(letters) // WORD_LETTERS if spent.usage.output_tokens is None else spent.usage.output_tokens
                )
                seconds = agent.piece_seconds(prompt, output, letters)
                found |= {place: took for (place, _), took in zip(pieces, seconds, strict=True)}
                found[pieces[0][0]] += agent.prefill_seconds(prompt - cached)
            case SideCalled(lag=int()):
                found[number] = 0.0
            case SideCalled() if spent:
                prompt, cached = _prompt_tokens(spent)
                decode = memory.decode_seconds(prompt, spent.usage.output_tokens or 0)
                found[number] = memory.prefill_seconds(prompt - cached) + decode
    return found


def _prompt_tokens(spent: Call) -> tuple[int, int]:
    """The tokens of a prompt, and how many of them were cached."""
    prompt = spent.prompt.tokens or 0
    return prompt, min(prompt, (spent.shared or 0) if spent.cached.tokens is None else spent.cached.tokens)
