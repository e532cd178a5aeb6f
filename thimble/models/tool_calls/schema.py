"""A turn by schema: the schemas of its possible forms, and its parser while it streams."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from thimble.agent import foreign
from thimble.agent.messages import Message, Schema, ToolCall
from thimble.agent.prompts import is_framing
from thimble.agent.protocols import Delta, Text
from thimble.corpus.attribution import attribute_answer, collect_sources
from thimble.corpus.markdown import split_sentences
from thimble.models.tool_calls.prompt import DECLINES, required_arguments
from thimble.models.wire.calls import mend_surrogates

LONGEST_ARGUMENT, LONGEST_ANSWER = 300, 800
"""Characters of an argument and of an answer: a small model may write one without end."""
LONGEST_KEY, LONGEST_SENTENCE = 1_000, 4_000
"""Characters before the words of an answer, or between two parts; and of a sentence that is held back until it ends."""
ANSWER_BEGINNING = re.compile(r'\s*\{\s*"(?P<kind>answer|cannot_answer)"\s*:\s*(?:\{\s*"(?P<part>[^"]*)"\s*:\s*)?"')
"""The text before the words of an answer, or of its first part."""
NEXT_PART = re.compile(r'"\s*,\s*"(?P<part>[^"]*)"\s*:\s*"')
_HEX = r"[\da-fA-F]"
_HALF_PAIR = rf"[dD][89abAB]{_HEX}{{2}}(?!(?:\\(?:u{_HEX}{{0,3}})?)?\Z)"
WHOLE_WORDS_TEXT = re.compile(
    rf'(?:[^"\\]|\\[^u]|\\u(?:{_HALF_PAIR}|(?![dD][89abAB]){_HEX}{{4}}|(?!{_HEX}{{4}}|{_HEX}{{0,3}}\Z)))*'
)
"""The words of a JSON string as far as they are whole: half an escape, or half a surrogate pair, waits."""
ESCAPE = re.compile(r"\\(?:u([\da-fA-F]{4})|(.))", re.DOTALL)
ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def object_schema(properties: Mapping[str, Any]) -> Schema:
    """The schema of an object with exactly these properties."""
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def value_schema(function: Schema) -> Schema:
    """The schema of a tool's arguments: a single one bare, several as an object."""
    values = {name: _bounded(schema) for name, schema in required_arguments(function).items()}
    return next(iter(values.values())) if len(values) == 1 else object_schema(values)


def _bounded(schema: Schema) -> Schema:
    kept = {key: value for key, value in schema.items() if key in ("type", "enum", "items", "minimum", "maximum")}
    return {**kept, "maxLength": LONGEST_ARGUMENT} if kept.get("type") == "string" else kept


class Turn:
    """Reads a turn while it streams: the sentences of an answer come out as they end, its source and a call at the end.

    Args:
        tools: The tools on offer.
        messages: The prompt, in whose results the source of the answer is found.
    """

    cut = False
    """Whether the answer was cut, by its own limit or with the reply: then it ends with a sentence."""

    def __init__(self, tools: Sequence[Schema], messages: Sequence[Message] = ()) -> None:
        self._functions = {tool["function"]["name"]: tool["function"] for tool in tools}
        self._messages = [message for message in messages if not is_framing(message)]
        self._text = ""
        self._said: re.Match[str] | None = None
        self._at = 0
        self._shown, self._rest, self._label = "", "", ""

    def add_delta(self, delta: Delta) -> list[Delta]:
        """The text that can be shown after this delta."""
        if not isinstance(delta, Text):
            return [delta]
        shown = self._feed(delta.text)
        return [Text(shown)] if shown else []

    def finish(self, *, cut: bool = False) -> list[Delta]:
        """The rest of the turn: an answer's last sentence and source, or the call; a malformed one has no name."""
        if not self._said:
            return [self._call()] if self._text.strip() and not self._at else []
        answers = self._said["kind"] == "answer"
        limit = LONGEST_ANSWER if answers else LONGEST_ARGUMENT
        closed = self._text.startswith('"', self._at)
        if self._label:
            self.cut = cut and not closed
            self._end_part()
            return [Text(self._rest)] if self._rest else []
        self.cut = len(self._shown + self._rest) == limit if closed else cut
        if self.cut:
            self._rest = "" if self._shown else self._rest.rpartition(" ")[0] or self._rest
        sources = attribute_answer(self._shown + self._rest, collect_sources(self._messages)) if answers else []
        left = self._rest.rstrip() + "".join(f" [{source}]" for source in sources if source)
        return [Text(left)] if left else []

    def _feed(self, text: str) -> str:
        """The text to show after this piece. A reply that does not start as an object is plain text."""
        if len(self._text) < LONGEST_KEY and self._text.strip() in ("", "{"):
            text = text.lstrip()  # a model may write blanks without end
        self._text += text
        begins = ""
        if not self._said:
            if self._text.lstrip()[:1] not in ("", "{"):
                at, self._at = self._at, len(self._text)
                return self._text[at:]
            self._said = ANSWER_BEGINNING.match(self._text, 0, LONGEST_KEY)
            if not self._said:
                return ""
            self._at = self._said.end()
            begins = "" if self._said["kind"] == "answer" else DECLINES
            self._rest = self._label = f"{self._said['part']}: " if self._said["part"] else ""
        self._rest += self._words()
        while self._label and (part := NEXT_PART.match(self._text, self._at, self._at + LONGEST_KEY)):
            self._at = part.end()
            self._end_part()
            self._label = f"{part['part']}: "
            self._rest += f"\n{self._label}{self._words()}"
        *whole, last = split_sentences(self._rest) or [""]
        ended = self._rest[: len(self._rest.rstrip()) - len(last)].rstrip() if whole else ""
        ended = self._rest if len(self._rest) - len(ended) > LONGEST_SENTENCE else ended
        self._shown, self._rest = self._shown + ended, self._rest.removeprefix(ended)
        return begins + ended

    def _end_part(self) -> None:
        """End a part with its source. Its last sentence goes if it was cut off, unless it is the only one."""
        *whole, last = split_sentences(self._rest) or [""]
        is_cut = not last.rstrip("\"'”’)]").endswith((".", "!", "?"))
        if is_cut and (whole or self._label not in self._rest):
            self._rest = self._rest.rstrip().removesuffix(last).rstrip()
        part = (self._shown + self._rest).rpartition(self._label)[2]
        self._rest += "".join(
            f" [{source}]" for source in attribute_answer(part, collect_sources(self._messages))[:1] if source
        )

    def _words(self) -> str:
        """The words from here on, as far as they are whole."""
        words = WHOLE_WORDS_TEXT.match(self._text, self._at)
        assert words, "it may be empty"
        self._at = words.end()
        return mend_surrogates(ESCAPE.sub(_unescaped, words[0]))

    def _call(self) -> ToolCall:
        try:
            ((name, value),) = foreign.parse_json(self._text, strict=False).items()
            arguments = [*required_arguments(self._functions[name])]
        except (ValueError, KeyError, AttributeError):
            return ToolCall("", "", self._text)
        given = dict(zip(arguments, [value], strict=False)) if len(arguments) == 1 else value
        return ToolCall("", name, mend_surrogates(json.dumps(given, ensure_ascii=False)))


def _unescaped(escape: re.Match[str]) -> str:
    """The character of an escape; for an escape that JSON does not have, the one after the backslash."""
    return chr(int(escape[1], 16)) if escape[1] else ESCAPED.get(escape[2], escape[2])
