"""Calls printed in a streamed reply: text passes through, calls are taken out of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

from agent.messages import ToolCall
from agent.protocols import Text
from agent.reply import CALL_CHARACTERS
from models.text_calls.openings import FENCE, code_end, label, opening
from models.text_calls.parsers import SURE, Read, Tools, malformed, read

MOST_PIECES = 64
"""Calls, and what only looks like one, that are looked for in a reply."""
LONGEST_LABEL = 64


class PrintedCalls:
    """Separates text and calls of a reply while it streams.

    Text that cannot begin a call comes out at once. From the beginning of a call on, everything is held back until
    the reply ends; no call runs earlier. Held text that is not a call then comes out as text, and so does held text
    that is longer than a call may be.

    Args:
        tools: The tools that are offered. Without tools, everything is text.
        labelled: The model writes text ReAct: labels and lines that repeat the instructions are not shown, and each
            `Action:` is a call.
        tells: Malformed calls come out too, so that the loop can report the mistake to the model.
    """

    def __init__(self, tools: Tools, *, labelled: bool = False, tells: bool = True) -> None:
        self.over = False
        self._prose = _Prose(tools, labelled)
        self._tells = tells
        self._held: list[str] = []
        self._seen = "\n"
        self._looks = 0
        results = ("Observation", "Final Answer") if labelled else ("Observation",)
        self._result = re.compile(rf"{label(*results)}|<tool_response>")

    def feed(self, text: str) -> str:
        """The text to show after this piece.

        `over` becomes true when the model makes up the result of its call; later pieces are ignored.
        """
        if self._held:
            self._hold(text)
            return ""
        shown = self._prose.feed(text)
        if self._prose.form:
            begun, self._prose = self._prose.rest, self._prose.anew()
            self._hold(begun)
        return shown

    @property
    def held(self) -> str:
        """The text that has arrived and was not shown yet."""
        return "".join(self._held) or self._prose.rest

    def close(self, *, cut: bool = False) -> list[Text | ToolCall]:
        """The deltas left at the end of the reply. `cut`: the reply reached its limit of tokens."""
        return self._read(self.held, cut) if self.held else []

    def _hold(self, text: str) -> None:
        """Hold back what arrives, up to a made-up result."""
        if self.over:
            return
        self._held.append(text)
        seen, self._seen = self._seen + text, (self._seen + text)[-LONGEST_LABEL:]
        while self._looks < MOST_PIECES and self._result.search(seen, 1):
            whole = "".join(self._held)
            found = list(self._result.finditer(whole))[self._looks :]
            if not found:
                return
            self._looks += 1
            before = whole[: found[0].start()]
            if any(isinstance(delta, ToolCall) for delta in self._read(before, cut=False)):
                self._held, self.over = [before], True
                return

    def _read(self, text: str, cut: bool) -> list[Text | ToolCall]:
        if len(text) > CALL_CHARACTERS:
            return [Text(text)]
        pieces = _pieces(self._prose.anew(), text + "\n", cut)
        said = _settled(pieces, self._tells)
        if said and isinstance(said[-1], Text):  # the line break that was put behind all is its last character
            said[-1] = Text(said[-1].text[:-1])
        called = any(isinstance(delta, ToolCall) for delta in said)
        return [each for each in said if isinstance(each, ToolCall) or (each.text.strip() if called else each.text)]


@dataclass
class _Prose:
    """The part of a reply that is read as text: where it is code, and up to where a call begins."""

    tools: Tools
    labelled: bool
    in_code: bool = False
    before: str = "\n"
    rest: str = ""
    form: str = ""
    opened: int = 0

    def anew(self) -> _Prose:
        """The same place, with nothing behind it yet."""
        other = copy(self)
        other.rest = other.form = ""
        return other

    def feed(self, text: str) -> str:
        """The text up to where a call begins, in this `form`, or may begin; that and all behind it is `rest`."""
        line, at = self.before + self.rest + text, 1
        shown: list[str] = []
        while at < len(line) and not self.form:
            found = code_end(line, at) if self.in_code else opening(line, at, self.tools, self.labelled)
            start, end, form = (found.start, found.end, found.form) if found else (len(line), len(line), "")
            shown.append(line[at:start])
            at = start
            if not form:
                break
            if form == "code":
                self.in_code = not self.in_code
                shown.append(line[start:end])
                at = end
            elif form in ("thought", "answer", "echo"):
                self.labelled = form != "answer"
                at = end
            else:
                self.form, self.opened = form, end - start
        self.before, self.rest = line[at - 1], line[at:]
        return "".join(shown)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A stretch of a reply: text, or calls and the text that they were read from."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    sure: bool = True


def _pieces(prose: _Prose, text: str, cut: bool) -> list[_Piece]:
    """The rest of a reply, with the calls in it, whether they will stand or not."""
    pieces = [_Piece(prose.feed(text))]
    while prose.form and len(pieces) < 2 * MOST_PIECES:
        held, form, opened = prose.rest, prose.form, prose.opened
        prose = prose.anew()
        found = _read(held, form, prose, cut)
        end = found.end if found else opened
        if not found and form.startswith("fenced"):
            end, prose.in_code = held.index(FENCE) + len(FENCE), True
        pieces.append(_Piece(held[:end], found.calls if found else (), form in SURE))
        prose.before = held[end - 1]
        pieces.append(_Piece(prose.feed(held[end:])))
    return [*pieces, _Piece(prose.rest)]


def _read(held: str, form: str, prose: _Prose, cut: bool) -> Read | None:
    if not prose.tools:
        return None
    if not form.startswith("fenced"):
        return read(held, form, prose.tools, cut=cut)
    fence = re.match(r"\s*```[\w+-]*[ \t]*\n?(.*?)(?:\n[ \t]*```|```(?=\s*\Z)|\Z)", held, re.DOTALL)
    inside = _pieces(_Prose(prose.tools, prose.labelled), f"{fence[1]}\n" if fence else "", cut)
    if fence is None or any(piece.text.strip() for piece in inside if not piece.calls):
        return None
    return Read(tuple(call for piece in inside for call in piece.calls), fence.end())


def _settled(pieces: Sequence[_Piece], tells: bool) -> list[Text | ToolCall]:
    """The pieces as deltas, texts joined. A doubtful call stands only where no text follows: else it is an example."""
    said: list[Text | ToolCall] = []
    text = ""
    at_end = True
    for piece in reversed(pieces):
        stands = (piece.sure or at_end) and (tells or not any(map(malformed, piece.calls)))
        if piece.calls and stands:
            said += [*([Text(text)] if text else []), *reversed(piece.calls)]
            text = ""
        else:
            at_end = at_end and not piece.text.strip()
            text = piece.text + text
    return [*([Text(text)] if text else []), *reversed(said)]
