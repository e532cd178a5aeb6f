"""Calls printed in a streamed reply: text passes through, calls are taken out of it."""

from __future__ import annotations

import re
from copy import copy
from dataclasses import dataclass

from thimble.agent.messages import ToolCall
from thimble.agent.protocols import Delta, Text
from thimble.agent.reply import CALL_CHARACTERS
from thimble.models.text_calls.openings import CODE_FENCE, label, openings
from thimble.models.text_calls.parsers import Tools, malformed, read

PRINTED_CALLS = 64
"""Calls, and what only looks like one, that are looked for in a reply."""
LONGEST_LABEL = 64


class PrintedCalls:
    """Separates text and calls of a reply while it streams.

    Text that cannot begin a call comes out at once. From the beginning of a call on, everything is held back until
    the reply ends; no call runs earlier. Held text that is not a call then comes out as text, and so does held text
    that is longer than a call may be.

    Args:
        tools: The tools that are offered. Without tools, everything is text.
        labelled: The model writes text ReAct: each `Action:` is a call, and labels and lines that repeat the
            instructions are not shown.
        tells: Malformed calls come out too, so that the loop can report the mistake to the model.
    """

    def __init__(self, tools: Tools, *, labelled: bool = False, tells: bool = True) -> None:
        self.over = self.cut = False
        """Whether the rest of the reply is of no use: its stream is closed then, and its usage is unknown."""
        self.held = ""
        """The text that has arrived and was not shown yet."""
        self._tools = tools
        self._tells = tells
        self._prose = _Prose(labelled)
        self._form = ""
        self._native = False
        self._result = re.compile(rf"{label('Observation', *['Final Answer'] * labelled)}|<tool_response>")
        self._looked = 0

    def take(self, delta: Delta) -> list[Delta]:
        """What can be shown after this delta. After a native call the rest of the text is only text.

        `over` becomes true when the model makes up the result of its call; later pieces are ignored.
        """
        if isinstance(delta, ToolCall) and not self._native:
            self._native = True
            return [Text(self.held), delta] if self.held else [delta]
        if self._native or not isinstance(delta, Text):
            return [delta]
        shown = self._feed(delta.text)
        return [Text(shown)] if shown else []

    def end(self, *, cut: bool = False) -> list[Delta]:
        """The deltas left at the end of the reply. `cut`: the reply did not come to its end."""
        return [] if self._native else [*self._read(self.held, cut)]

    def _feed(self, text: str) -> str:
        shown = ""
        self.held += "" if self.over else text
        if not self._form:
            shown, self.held, self._form = self._prose.split(self.held)
        if self._form and self._tools and self._looked >= 0:
            self._look()
        none = not self._tools and (self._form or not self._prose.labelled)
        if none or (self._form and len(self.held) > CALL_CHARACTERS):
            shown, self.held, self._tools = shown + self.held, "", {}
        return shown

    def _look(self) -> None:
        """End the reply before the first result in it, if a call stands there."""
        found = self._result.search(self.held, self._looked)
        self._looked = -1 if found else max(0, len(self.held) - LONGEST_LABEL)
        if found and any(isinstance(delta, ToolCall) for delta in self._read(self.held[: found.start()], cut=False)):
            self.held, self.over = self.held[: found.start()], True

    def _read(self, text: str, cut: bool) -> list[Text | ToolCall]:
        """The calls in the rest of a reply, and the text between them."""
        said: list[Text | ToolCall] = []
        prose, passed, rest = copy(self._prose), "", f"{text}\n"
        for _ in range(PRINTED_CALLS):
            shown, rest, form = prose.split(rest)
            passed += shown
            if not (form and self._tools):
                break
            found = read(rest, form, self._tools, cut=cut)
            end = found.end if found else prose.enter(rest)
            if found and (self._tells or not any(map(malformed, found.calls))):
                said += [Text(passed), *found.calls]
                passed = ""
            else:
                passed += rest[:end]
            prose.before, rest = rest[end - 1], rest[end:]
        said.append(Text((passed + rest)[:-1]))
        return [each for each in said if each != Text("")]


@dataclass
class _Prose:
    """The part of a reply that is read as text, and where it has come to: behind this character, perhaps in code."""

    labelled: bool
    in_code: bool = False
    before: str = "\n"

    def split(self, text: str) -> tuple[str, str, str]:
        """The text to show, the rest from where a call begins or may begin, and the form of that call."""
        text, at, form = self.before + text, 1, None
        shown: list[str] = []
        while at < len(text):
            found = (CODE_FENCE if self.in_code else openings(self.labelled)).search(text, at)
            start, end, kind = (*found.span(), found.lastgroup) if found else (len(text), len(text), None)
            shown.append(text[at:start])
            at = end
            if kind == "code":
                self.in_code = not self.in_code
                shown.append(text[start:end])
            elif kind in ("thought", "answer", "echo"):
                self.labelled = kind != "answer"
            else:
                form, at = kind, start
                break
        self.before = text[at - 1]
        return "".join(shown), text[at:], form or ""

    def enter(self, text: str) -> int:
        """Where text goes on behind the beginning of what is no call: a fence of code, or a bracket."""
        mark = re.search(r"```|{", text)
        assert mark, "only JSON may be no call"
        self.in_code = mark[0] != "{"
        return mark.end()
