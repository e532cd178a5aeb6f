"""Counting messages one by one, as a chat template writes them; subclasses count texts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from thimble.agent import foreign
from thimble.agent.budget import Counter
from thimble.agent.messages import Message, Schema
from thimble.models.text_observations import write_as_text

MAX_CACHED_COUNTS = 131_072
"""Maximum number of counts in the cache, which is then emptied."""

REMEMBERED_TOOLS = 16
"""Maximum number of sets of tools whose tokens are cached."""

TOOLS_PREAMBLE_TOKENS = 77
"""Tokens that the Qwen2.5 chat template puts around the tool schemas."""

PLAUSIBLE_RATIOS = (0.5, 2.0)
"""The range of reported over counted tokens that another tokenizer can explain."""

MIN_KNOWN_RATIO = 0.75
"""Minimum ratio if we count with the model's own vocabulary, or after a calibration."""

PIECE_LENGTH, SEARCHED = 4_096, 512
"""Maximum characters of a piece of a long text, and of its end in which it is cut after a word."""
_WORD_ENDS = r"(?<=\S)(?= )|(?<=[^\W_])(?=[\n.,;:!?，。、！？；：])|(?<=[A-Za-z])(?=[0-9])"
_PIECE = re.compile(rf"(?s).{{{PIECE_LENGTH - SEARCHED},{PIECE_LENGTH}}}(?:{_WORD_ENDS})|.{{1,{PIECE_LENGTH}}}")


class MessageCounter(Counter):
    """Counts each message once and separately, so that counts add up. Subclasses implement `measured`."""

    exact = False

    def __init__(self) -> None:
        self._ratio = 1.0
        self._calibrated = False
        self._counted: dict[tuple[object, ...], int] = {}
        self._known: tuple[dict[int, int], list[Message]] = {}, []  # by `id` of messages, which are kept alive for that
        self._overheads: dict[str, int] = {}

    def measured(self, message: Message) -> int:
        """Tokens of a message in a prompt, its role markers included."""
        raise NotImplementedError

    def template(self, tools: Sequence[Schema]) -> int:
        """Tokens of a prompt without its messages."""
        raise NotImplementedError

    def count(self, message: Message) -> int:
        """Tokens of a message in a prompt, its role markers included."""
        tokens = self._known[0].get(id(message))
        if tokens is None:
            tokens = self._by_content(message) + message.attached
            if len(self._known[0]) >= MAX_CACHED_COUNTS:
                self._known = {}, []
            known, alive = self._known
            alive.append(message)
            known[id(message)] = tokens
        return tokens if self._ratio == 1.0 else self._scaled(tokens)

    def counts(self, messages: Sequence[Message]) -> list[int]:
        """Tokens of each of these messages; cached counts are looked up in one pass."""
        if self._ratio != 1.0:
            return super().counts(messages)
        known = map(self._known[0].get, map(id, messages))
        return [tokens or self.count(message) for tokens, message in zip(known, messages, strict=True)]

    def _by_content(self, message: Message) -> int:
        """Tokens of a message, cached by a key that its copies share; making the key is slower than `id`."""
        message = write_as_text(message)
        # templates may write names
        key = (message.role, message.content, message.thinking, message.calls, message.name)
        tokens = self._counted.get(key)
        if tokens is None:
            tokens = self.measured(message)
            if len(self._counted) >= MAX_CACHED_COUNTS:
                self._counted.clear()
            self._counted[key] = tokens
        return tokens

    def overhead(self, tools: Sequence[Schema]) -> int:
        """Tokens of the schemas, of the template around them, and of the start of the reply."""
        key = _json(tools)
        if key not in self._overheads:
            if len(self._overheads) > REMEMBERED_TOOLS:
                self._overheads.clear()
            self._overheads[key] = self.template(tools)
        return self._scaled(self._overheads[key])

    def calibrate(self, counted: int, reported: int) -> bool:
        """Scale later counts so that `counted` would have been `reported`.

        Both are tokens of one whole prompt. A ratio that no tokenizer can explain is ignored; False if it is too low:
        the server cut the prompt. Counts are rounded to the nearest token, since rounding up would add one to each of
        many small messages.
        """
        if counted <= 0:
            return True
        if reported < counted * (MIN_KNOWN_RATIO if self.exact or self._calibrated else PLAUSIBLE_RATIOS[0]):
            return False
        ratio = self._ratio * reported / counted
        if PLAUSIBLE_RATIOS[0] <= ratio <= PLAUSIBLE_RATIOS[1]:
            self._ratio, self._calibrated = ratio, True
        return True

    @property
    def learnt(self) -> Any:
        """The state of `calibrate`, to be restored."""
        return self._ratio, self._calibrated

    @learnt.setter
    def learnt(self, learnt: Any) -> None:
        ratio, calibrated = learnt
        if not PLAUSIBLE_RATIOS[0] <= ratio <= PLAUSIBLE_RATIOS[1]:
            raise ValueError(f"no tokenizer explains {ratio}")
        self._ratio, self._calibrated = ratio, bool(calibrated)

    def _scaled(self, tokens: int) -> int:
        return round(tokens * self._ratio)


class ChatCounter(MessageCounter):
    """Counts messages as the Qwen2.5 chat template writes them; subclasses count the tokens of a text.

    Parallel tool results share their markers in a real prompt, and have their own here: the count is then a few tokens
    above the prompt, never below.
    """

    def tokens(self, text: str) -> int:
        """Tokens of a text; spellings of special tokens in it count as those."""
        raise NotImplementedError

    def measured(self, message: Message) -> int:
        """Tokens of the message as the template writes it."""
        return self.tokens(_render_message(message))

    def template(self, tools: Sequence[Schema]) -> int:
        """Tokens of the schemas, of the template around them, and of the marker that asks for the reply."""
        around = self.tokens("<|im_start|>assistant\n") + TOOLS_PREAMBLE_TOKENS * bool(tools)
        return around + sum(self.tokens(f"\n{_json(tool)}") for tool in tools)


def _render_message(message: Message) -> str:
    """A message as the Qwen2.5 chat template writes it, its thinking as that of Qwen3 does.

    A history read from a file may hold None for a content.
    """
    role, content, calls = message.role, message.content or "", message.calls
    if message.thinking:
        content = f"<think>\n{message.thinking}\n</think>\n\n{content}"
    if role == "tool":
        role, content = "user", f"<tool_response>\n{content}\n</tool_response>"
    parts = [content] if content or not calls else []
    parts += [
        f'<tool_call>\n{{"name": "{c.name}", "arguments": {space_json(c.arguments)}}}\n</tool_call>' for c in calls
    ]
    return f"<|im_start|>{role}\n" + "\n".join(parts) + "<|im_end|>\n"


def space_json(arguments: str) -> str:
    """JSON text in one line with the usual spacing, as templates write it; other text unchanged."""
    try:
        return _json(foreign.parse_json(arguments))
    except ValueError:
        return arguments


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=dict)


def split_pieces(text: str) -> Iterator[str]:
    """The text in pieces whose tokens add up to its own, so that counting takes linear time and little memory.

    A piece ends at the end of a word by every pattern, such as before a space or a comma. If its last 512 characters
    have no such place, it ends anywhere, which adds a token or two.
    """
    return (piece[0] for piece in _PIECE.finditer(text))
