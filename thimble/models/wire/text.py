"""The text of a reply as servers send it: thinking in tags, and characters that come in halves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from thimble.agent.protocols import Delta, Text, Thinking, Usage
from thimble.models.wire.calls import mend_surrogates

OPEN, CLOSE = "<think>", "</think>"
BLANKS = 1_000
"""After more blanks than these, a tag is text."""


class ReplyText:
    """Takes the deltas of a reply; thinking in its text, up to </think>, becomes `Thinking`.

    A model writes it there if its server does not know that the model thinks, or has switched thinking off. The reply
    starts with <think>, or with the thought itself, if the template has already opened it: that text has already been
    shown, and comes once more as a `Thinking` that `was_text`. Blanks around the tags are removed. A later tag is text,
    and so is one after a backtick or <think>: the model may be writing about tags.

    The result does not depend on how the text is cut into deltas: the possible start of a tag is held back, and so are
    blanks next to a tag, and half a character.
    """

    def __init__(self) -> None:
        self._held = ""
        self._halves: dict[type[Text | Thinking], str] = {Text: "", Thinking: ""}
        self._place: type[Text | Thinking] | Literal["before", "after"] = "before"
        self._strips = False
        self._said: list[str] = []

    def add_delta(self, delta: Delta) -> list[Delta]:
        """The deltas that are certain now; all that was held back before the usage, which ends a reply."""
        if isinstance(delta, Usage):
            left = [part for kind, half in self._halves.items() if half for part in self.add_delta(kind(""))]
            held, self._held = self._held, ""
            rest: Delta = (Thinking if self._place is Thinking else Text)(held)
            return [*left, rest, delta] if held else [*left, delta]
        if not isinstance(delta, Text | Thinking):
            return [delta]
        text = self._halves[type(delta)] + delta.text
        half = text[-1:] if delta.text and "\ud800" <= text[-1] <= "\udbff" else ""
        self._halves[type(delta)] = half
        text = mend_surrogates(text.removesuffix(half))
        if isinstance(delta, Text):
            return [*self._add(text)]
        return [Thinking(text)] if text else []

    def _add(self, text: str) -> Iterator[Delta]:
        self._held += text
        if self._place == "before":
            start = self._held.lstrip()
            is_near = len(self._held) - len(start) <= BLANKS
            if is_near and start.startswith((OPEN, CLOSE)):
                self._held, self._place, self._strips = start.removeprefix(OPEN), Thinking, True
            elif not (is_near and (OPEN.startswith(start) or CLOSE.startswith(start))):
                self._place = Text
        if self._strips:
            self._strip()
        if self._place in (Text, Thinking):
            yield from self._look()
        if self._place == "after" and self._held:
            yield Text(self._held)
            self._held = ""

    def _look(self) -> Iterator[Delta]:
        """The text up to the closing tag, if that has come."""
        kind = Text if self._place is Text else Thinking
        said, tag, rest = self._held.partition(CLOSE)
        sure = len(said) if tag else _count_certain(said)
        if said[:sure]:
            self._said.append(said[:sure])
            yield kind(said[:sure])
        self._held = self._held[sure:]
        text = "".join(self._said) if tag and kind is Text else ""
        if tag:
            self._place = "after"
        if tag and not (OPEN in text or text.endswith("`")):
            if text.strip():
                yield Thinking(text, was_text=True)
            self._held = rest
            self._strip()

    def _strip(self) -> None:
        self._held = self._held.lstrip()
        self._strips = not self._held


def _count_certain(text: str) -> int:
    """The place in a text from which on it may be the start of the closing tag."""
    return next(
        (at for at in range(max(0, len(text) - len(CLOSE)), len(text)) if CLOSE.startswith(text[at:])), len(text)
    )
