"""Thinking that a model writes into its reply, in <think> tags, told apart from the answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agent.protocols import Delta, Text, Thinking, Usage

OPEN, CLOSE = "<think>", "</think>"


def apart(deltas: Iterable[Delta]) -> Iterator[Delta]:
    """The deltas of a reply; a text that begins with <think> is thinking until </think>.

    That is how a model thinks whose server does not know that it does, or was told to keep it from thinking. Blanks
    around the tags go. A tag further on is text: the model may be writing about tags. However the text is cut into
    deltas, the same comes out, but for where it is cut.
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
    """Text as it comes in. What may still turn out to be a tag is held back."""

    def __init__(self) -> None:
        self._held = ""
        self._in = self._before

    def add(self, text: str) -> Iterator[Text | Thinking]:
        """What is known for sure now."""
        self._held += text
        return self._in()

    def end(self) -> Iterator[Text | Thinking]:
        """What was held back, for nothing more comes."""
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
    """Where the end of a text begins that may be the beginning of the closing tag."""
    return next(
        (at for at in range(max(0, len(text) - len(CLOSE)), len(text)) if CLOSE.startswith(text[at:])), len(text)
    )
