"""The text of a reply as servers send it: what is thinking, and characters that come in halves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from thimble.agent.protocols import Delta, Text, Thinking, Usage
from thimble.models.wire.calls import mended

OPEN, CLOSE = "<think>", "</think>"
BLANKS = 1_000
"""Behind more blanks than these, a tag is text."""


class ReplyText:
    """Takes the deltas of a reply; what it thinks in its text, up to </think>, becomes thinking.

    A model writes so if its server does not know that the model thinks, or has switched thinking off. The reply begins
    with <think>, or, where the template has already opened the thought, with the thought itself: then its text has been
    shown when the end of a line is </think>, and comes once more as a `Thinking` that `was_text`. Blanks around the
    tags are removed. Any other tag is text: the model may be writing about tags.

    The result does not depend on how the text is cut into deltas. A possible beginning of a tag is held back, and so
    are blanks beside a tag, and half a character.
    """

    def __init__(self) -> None:
        self._held = ""
        self._halves: dict[type[Text | Thinking], str] = {Text: "", Thinking: ""}
        self._place: Literal["before", "inside", "open", "after"] = "before"
        self._strips = False
        self._open: list[str] = []
        self._begins_line = True

    def take(self, delta: Delta) -> list[Delta]:
        """What can be told apart now; all of it before the usage, which ends a reply."""
        if isinstance(delta, Usage):
            left = [kind("") for kind, half in self._halves.items() if half]
            return [*(part for each in left for part in self.take(each)), *self._rest(), delta]
        if not isinstance(delta, Text | Thinking):
            return [delta]
        text = self._halves[type(delta)] + delta.text
        half = text[-1:] if delta.text and "\ud800" <= text[-1] <= "\udbff" else ""
        self._halves[type(delta)] = half
        text = mended(text.removesuffix(half))
        if isinstance(delta, Text):
            return [*self._add(text)]
        return [Thinking(text)] if text else []

    def _rest(self) -> Iterator[Delta]:
        """What was held back, at the end of the reply."""
        held, self._held = self._held, ""
        text = "".join(self._open)
        if self._place == "open" and held.rstrip().endswith(CLOSE) and OPEN not in text:
            yield Thinking(text, was_text=True)
        elif held:
            yield Thinking(held) if self._place == "inside" else Text(held)

    def _add(self, text: str) -> Iterator[Delta]:
        self._held += text
        if self._place == "before":
            self._begin()
        if self._strips:
            self._strip()
        if self._place == "inside":
            thought, tag, rest = self._held.partition(CLOSE)
            sure = len(thought) if tag else _sure(thought)
            self._held = rest if tag else thought[sure:]
            if sure:
                yield Thinking(thought[:sure])
            if tag:
                self._end()
        elif self._place == "open":
            yield from self._look()
        if self._place == "after" and self._held:
            yield Text(self._held)
            self._held = ""

    def _begin(self) -> None:
        """Decide where the reply begins, as soon as that is sure."""
        start = self._held.lstrip()
        is_near = len(self._held) - len(start) <= BLANKS
        if is_near and start.startswith(OPEN):
            self._held, self._place, self._strips = start.removeprefix(OPEN), "inside", True
        elif is_near and start.startswith(CLOSE):
            self._held = start.removeprefix(CLOSE)
            self._end()
        elif not (is_near and (OPEN.startswith(start) or CLOSE.startswith(start))):
            self._place = "open"

    def _look(self) -> Iterator[Delta]:
        """The text, until a closing tag shows that it was a thought, or stands in a line and is text."""
        said, tag, rest = self._held.partition(CLOSE)
        sure = len(said) if tag else _sure(said)
        if sure:
            self._open.append(said[:sure])
            _, ended, line = said[:sure].rpartition("\n")
            self._begins_line = not line.strip(" \t") and bool(ended or self._begins_line)
            yield Text(said[:sure])
        self._held = self._held[sure:]
        behind = rest.lstrip(" \t")
        if tag and (self._begins_line or behind or len(rest) > BLANKS):
            text = "".join(self._open)
            if (self._begins_line or behind.startswith("\n")) and OPEN not in text:
                yield Thinking(text, was_text=True)
                self._held = rest
                self._end()
            else:
                self._place = "after"
            self._open.clear()

    def _end(self) -> None:
        self._place = "after"
        self._strip()

    def _strip(self) -> None:
        self._held = self._held.lstrip()
        self._strips = not self._held


def _sure(text: str) -> int:
    """The place in a text from which its end may be the beginning of the closing tag."""
    return next(
        (at for at in range(max(0, len(text) - len(CLOSE)), len(text)) if CLOSE.startswith(text[at:])), len(text)
    )
