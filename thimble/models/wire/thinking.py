"""Separation of the answer from the thinking that a model writes in <think> tags."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from thimble.agent.protocols import Delta, Text, Thinking, Usage

OPEN, CLOSE = "<think>", "</think>"
BLANKS = 1_000
"""Behind more blanks than these, a tag is text."""


class ThinkingTags:
    """Takes the deltas of a reply; text that begins with <think> is thinking until </think>.

    A model writes so if its server does not know that the model thinks, or has switched thinking off. Blanks around
    the tags are removed. A later tag is text: the model may be writing about tags. The result does not depend on how
    the text is cut into deltas. A possible beginning of a tag is held back, and so are blanks beside a tag.
    """

    def __init__(self) -> None:
        self._held = ""
        self._place: Literal["before", "inside", "after"] = "before"
        self._strips = False

    def take(self, delta: Delta) -> list[Delta]:
        """What can be told apart now; all of it before the usage, which ends a reply."""
        if isinstance(delta, Text):
            return [*self._add(delta.text)]
        if isinstance(delta, Usage):
            held, self._held = self._held, ""
            rest: Delta = Thinking(held) if self._place == "inside" else Text(held)
            return [rest, delta] if held else [delta]
        return [delta]

    def _add(self, text: str) -> Iterator[Delta]:
        self._held += text
        if self._place == "before":
            start = self._held.lstrip()
            blanks = len(self._held) - len(start)
            if blanks <= BLANKS and start.startswith(OPEN):
                self._held, self._place, self._strips = start[len(OPEN) :], "inside", True
            elif blanks > BLANKS or not OPEN.startswith(start):
                self._place = "after"
        if self._strips:
            self._strip()
        if self._place == "inside":
            thought, tag, rest = self._held.partition(CLOSE)
            sure = len(thought) if tag else _sure(thought)
            self._held = rest if tag else thought[sure:]
            if sure:
                yield Thinking(thought[:sure])
            if tag:
                self._place = "after"
                self._strip()
        if self._place == "after" and self._held:
            yield Text(self._held)
            self._held = ""

    def _strip(self) -> None:
        self._held = self._held.lstrip()
        self._strips = not self._held


def _sure(text: str) -> int:
    """The place in a text from which its end may be the beginning of the closing tag."""
    return next(
        (at for at in range(max(0, len(text) - len(CLOSE)), len(text)) if CLOSE.startswith(text[at:])), len(text)
    )
