"""Fates: how a view treats each message of the history, found by comparing the two."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from thimble.agent.messages import LOSSLESS, YOU, Message

Fate = Literal["kept", "tidied", "edited", "masked", "shortened", "summarised", "offloaded", "dropped"]
MASK = r"\[masked: [^\n]*\]\s*\Z"
"""The content of a placeholder, which only describes the text that it replaces."""
FATE_OF_REF: dict[str, Fate] = {LOSSLESS: "tidied", YOU: "edited"}
"""The fate of a copy by its `ref`, if that is not the id of a message to recall."""
MIN_SHARED = 8
"""A copy that shares this many characters at either end with its original was shortened, not masked."""


def list_fates(history: Sequence[Message], view: Sequence[Message]) -> list[Fate]:
    """The fate of each message of the history."""
    shown = {message.id: message for message in reversed(view)}
    covered = {id_ for message in view for id_ in message.covers}
    return [
        "kept" if (copy := shown.get(message.id)) is message else fate(message, copy, message.id in covered)
        for message in history
    ]


def fate(message: Message, copy: Message | None, covered: bool) -> Fate:
    """The fate of a message, given its copy in the view (None if there is none); `covered`: a summary replaces it."""
    if copy is None:
        return "summarised" if covered else "dropped"
    if copy.same(message):
        return "kept"
    if copy.ref:
        return FATE_OF_REF.get(copy.ref, "offloaded")
    if message.id in copy.covers:
        return "summarised"
    if is_mask(copy):
        return "masked"
    if copy.content == message.content:  # its thinking is left out
        return "shortened"
    return "shortened" if "\n" in copy.content or _shares_an_end(copy.content, message.content) else "masked"


def is_mask(message: Message) -> bool:
    """Whether a message is a placeholder that only describes the text that it replaces."""
    return bool(message.why and re.match(MASK, message.content))


def _shares_an_end(copy: str, original: str) -> bool:
    same = copy[:MIN_SHARED] == original[:MIN_SHARED] or copy[-MIN_SHARED:] == original[-MIN_SHARED:]
    return bool(original) and same
