"""Masks: one line in place of an observation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from thimble.agent.fates import is_mask
from thimble.agent.messages import Message


@dataclass
class Masks:
    """Why each observation is masked, by id."""

    masked: dict[str, str] = field(default_factory=dict)


@lru_cache(maxsize=65_536)
def mask_message(message: Message, why: str = "") -> Message:
    """A copy that names only the tool and the length of its result. A mask stays unchanged."""
    if is_mask(message):
        return message
    what = f"{len(message.content):,} characters of {message.name}"
    return message.rewritten(f"[masked: {what}; call it again if you need it]", why)


def with_masks(messages: Sequence[Message], masked: Mapping[str, str]) -> list[Message]:
    """The messages, with a mask in place of each id in `masked`, for the reason given there."""
    return [mask_message(message, masked[message.id]) if message.id in masked else message for message in messages]
