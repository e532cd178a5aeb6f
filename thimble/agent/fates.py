"""Fates: what became of each message of the history in a view, measured by comparing the two."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from thimble.agent.messages import LOSSLESS, YOU, Message

Fate = Literal["kept", "tidied", "edited", "masked", "shortened", "summarised", "offloaded", "dropped"]
MASK = r"\[masked: [^\n]*\]\s*\Z"
"""What a copy says that says only what it replaces."""
REFS: dict[str, Fate] = {LOSSLESS: "tidied", YOU: "edited"}
"""The fate of a copy by its `ref`, where that is no message to recall."""
LEAST_SHARED = 8
"""Characters at an end of a copy that are the original's, where it was shortened and not masked."""


def fates(history: Sequence[Message], view: Sequence[Message]) -> list[Fate]:
    """The fate of each message of the history."""
    shown = {message.id: message for message in reversed(view)}
    covered = {id_ for message in view for id_ in message.covers}
    return [
        "kept" if (copy := shown.get(message.id)) is message else fate(message, copy, message.id in covered)
        for message in history
    ]


def fate(message: Message, copy: Message | None, covered: bool) -> Fate:
    """The fate of a message, of which a view has this copy or none; `covered`: a summary stands for it."""
    if copy is None:
        return "summarised" if covered else "dropped"
    if copy.same(message):
        return "kept"
    if copy.ref:
        return REFS.get(copy.ref, "offloaded")
    if message.id in copy.covers:
        return "summarised"
    if is_mask(copy):
        return "masked"
    if copy.content == message.content:  # its thinking is left out
        return "shortened"
    return "shortened" if "\n" in copy.content or _shares_an_end(copy.content, message.content) else "masked"


def is_mask(message: Message) -> bool:
    """Whether a message is a copy that says only what it replaces."""
    return bool(message.why and re.match(MASK, message.content))


def _shares_an_end(copy: str, original: str) -> bool:
    same = copy[:LEAST_SHARED] == original[:LEAST_SHARED] or copy[-LEAST_SHARED:] == original[-LEAST_SHARED:]
    return bool(original) and same
