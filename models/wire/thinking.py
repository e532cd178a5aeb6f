"""Separation of the answer from the thinking that a model writes in <think> tags."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agent.protocols import Delta, Text, Thinking, Usage

OPEN, CLOSE = "<think>", "</think>"


def apart(deltas: Iterable[Delta]) -> Iterator[Delta]:
    """The deltas of a reply; text that begins with <think> is thinking until </think>.

    A model writes so if its server does not know that the model thinks, or has switched thinking off. Blanks around
    the tags are removed. A later tag is text: the model may be writing about tags. The result does not depend on how
    the text is cut into deltas.
    """
    tags = _Tags()
    for delta in deltas:
        if isinstance(delta, Text):
            yield from tags.add(delta.text)
        elif isinstance(delta, Usage):
            yield from tags.end()
            yield delta
        else:
            yield delta
    yield from tags.end()


class _Tags:
    """Text as it comes in. A possible beginning of a tag is held back."""

    def __init__(self) -> None:
        self._held = ""
        self._in = self._before

    def add(self, text: str) -> Iterator[Text | Thinking]:
        """The text that can be classified now."""
        self._held += text
        return self._in()

    def end(self) -> Iterator[Text | Thinking]:
        """The text that was held back; the reply has ended."""
        held, self._held = self._held, ""
        if held and self._in != self._behind:
            yield Thinking(held) if self._in == self._inside else Text(held)

    def _before(self) -> Iterator[Text | Thinking]:
        start = self._held.lstrip()
        if start.startswith(OPEN):
            self._held, self._in = start[len(OPEN) :], self._begun
            yield from self._in()
        elif not OPEN.startswith(start):
            self._in = self._after
            yield from self._in()

    def _begun(self) -> Iterator[Text | Thinking]:
        self._held = self._held.lstrip()
        if self._held:
            self._in = self._inside
            yield from self._in()

    def _inside(self) -> Iterator[Text | Thinking]:
        thought, tag, rest = self._held.partition(CLOSE)
        self._held = rest
        if tag:
            self._in = self._behind
        else:
            sure = _sure(thought)
            thought, self._held = thought[:sure], thought[sure:]
        if thought:
            yield Thinking(thought)
        if tag:
            yield from self._in()

    def _behind(self) -> Iterator[Text | Thinking]:
        self._held = self._held.lstrip()
        if self._held:
            self._in = self._after
            yield from self._in()

    def _after(self) -> Iterator[Text | Thinking]:
        text, self._held = self._held, ""
        if text:
            yield Text(text)


def _sure(text: str) -> int:
    """The place in a text from which its end may be the beginning of the closing tag."""
    return next(
        (at for at in range(max(0, len(text) - len(CLOSE)), len(text)) if CLOSE.startswith(text[at:])), len(text)
    )
