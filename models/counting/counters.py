"""Counting tokens: with the model's own vocabulary where it is on this disk, by an estimate elsewhere.

Nothing here reaches for the network. A vocabulary is read on the first count, once, from whichever thread counts
first.
"""

from __future__ import annotations

import json
import math
import re
import threading
from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.budget import Counter
from agent.messages import Message, Schema, ToolCall

if TYPE_CHECKING:
    from tiktoken import Encoding

REMEMBERED = 8_192
"""Counts of messages that are kept at least; twice as many at most."""

TOOLS_PREAMBLE_TOKENS = 77
"""What the Qwen2.5 chat template puts around the tool schemas, in tokens of its vocabulary."""

PLAUSIBLE = (0.5, 2.0)
"""Reported over counted tokens, as another tokenizer can explain it."""

LEAST_ONCE_KNOWN = 0.75
"""The least of it where we count with the model's own vocabulary, or a server has told before."""

_Key = tuple[str, str, tuple[ToolCall, ...]]


class MessageCounter(Counter):
    """Counts each message by itself, so that counts add up, and once; subclasses say what one costs."""

    exact = False

    def __init__(self) -> None:
        self._ratio = 1.0
        self._calibrated = False
        self._young: dict[_Key, int] = {}
        self._old: dict[_Key, int] = {}

    def measured(self, message: Message) -> int:
        """Tokens of a message in a prompt, its role markers included."""
        raise NotImplementedError

    def count(self, message: Message) -> int:
        """Tokens of a message in a prompt, its role markers included; its thinking is not sent and not counted."""
        key = (message.role, message.content, message.calls)
        tokens = self._young.get(key)
        if tokens is None:
            tokens = self._remember(key, message)
        return tokens if self._ratio == 1.0 else self._scaled(tokens)

    def calibrate(self, counted: int, reported: int) -> bool:
        """Scale later counts so that `counted` would have been `reported`.

        Both are tokens of one whole prompt. What no tokenizer can explain is ignored; False where it is too little:
        that is a server that cuts. Counts are rounded to the nearest token, since rounding up would add one to each of
        many small messages.
        """
        if counted <= 0:
            return True
        if reported < counted * (LEAST_ONCE_KNOWN if self.exact or self._calibrated else PLAUSIBLE[0]):
            return False
        ratio = self._ratio * reported / counted
        if PLAUSIBLE[0] <= ratio <= PLAUSIBLE[1]:
            self._ratio, self._calibrated = ratio, True
        return True

    @property
    def learnt(self) -> Any:
        """What `calibrate` has learnt, to be put back."""
        return self._ratio, self._calibrated

    @learnt.setter
    def learnt(self, learnt: Any) -> None:
        ratio, calibrated = learnt
        if not PLAUSIBLE[0] <= ratio <= PLAUSIBLE[1]:
            raise ValueError(f"no tokenizer explains {ratio}")
        self._ratio, self._calibrated = ratio, bool(calibrated)

    def _scaled(self, tokens: int) -> int:
        return round(tokens * self._ratio)

    def _remember(self, key: _Key, message: Message) -> int:
        """Count anew or find among the older counts; forget the oldest half when there are many."""
        if len(self._young) >= REMEMBERED:
            self._old, self._young = self._young, {}
        tokens = self._old.get(key)
        if tokens is None:
            tokens = self.measured(message)
        self._young[key] = tokens
        return tokens


class ChatCounter(MessageCounter):
    """Counts messages as the Qwen2.5 chat template sends them; subclasses say what a text costs.

    Parallel tool results share their markers in a real prompt, and have their own here: the count is then a few tokens
    above the prompt, never below.
    """

    def tokens(self, text: str) -> int:
        """Tokens of a text; spellings of special tokens in it count as those."""
        raise NotImplementedError

    def measured(self, message: Message) -> int:
        """Tokens of the message as the template writes it."""
        return self.tokens(_rendered(message.role, message.content, message.calls))

    def overhead(self, tools: Sequence[Schema]) -> int:
        """Tokens of the schemas, of the template around them, and of the marker that asks for the reply."""
        total = self.tokens("<|im_start|>assistant\n")
        if tools:
            total += TOOLS_PREAMBLE_TOKENS + sum(self.tokens("\n" + _json(tool)) for tool in tools)
        return self._scaled(total)


class VocabularyCounter(ChatCounter):
    """Counts with a vocabulary, which is loaded on the first count.

    On a text that is more than half a million blanks the pattern that splits words gives up; such a text is
    counted in parts, at most a token too many for each.
    """

    def __init__(self, load: Callable[[], Encoding], *, exact: bool) -> None:
        super().__init__()
        self.exact = exact
        self._load = load

    def tokens(self, text: str) -> int:
        """Tokens of a text, composed (NFC) as Qwen models read it."""
        from unicodedata import normalize

        encoding, text = self._load(), normalize("NFC", text)
        try:
            return len(encoding.encode(text, allowed_special="all"))
        except ValueError:
            parts = (text[start : start + 100_000] for start in range(0, len(text), 100_000))
            return sum(len(encoding.encode(part, allowed_special="all")) for part in parts)


class EstimateCounter(ChatCounter):
    """Counts without a vocabulary: words by their length, digits singly, other scripts by their letters.

    Mean error against the Qwen vocabulary, measured by tests/models/counting/test_counting.py: 1 % on the articles,
    4 % on Python code, 3 % on JSON, 9 % on Chinese and Japanese; German or Polish come out a quarter too low. Four
    characters a token, the usual rule, is off by 5, 11, 17 and 60 %.
    """

    def tokens(self, text: str) -> int:
        """Tokens of a text, estimated."""
        return math.ceil(sum(map(_piece_tokens, _PIECES.findall(text))))


def counter_for(model: str) -> ChatCounter:
    """The best counter for a model that is at hand on this disk.

    Exact for Qwen models that share one vocabulary, where it is installed (`thimble[qwen]`). That vocabulary is the
    estimate for every other model, and a plain estimate where it is missing.

    Args:
        model: Name as a server knows it: "qwen2.5:7b", "Qwen/Qwen3-8B", "gpt-oss:20b".
    """
    name = model.rsplit("/", 1)[-1].lower()
    for prefix, encoding in TIKTOKEN_FAMILIES.items():
        if name.startswith(prefix) and _is_cached(encoding):
            return VocabularyCounter(partial(_tiktoken_encoding, encoding), exact=False)
    if qwen_file() is None:
        return EstimateCounter()
    family = re.match(r"qwq|qwen\d*(?:\.\d+)?", name)
    added = QWEN_FAMILIES.get(family[0]) if family else None
    return VocabularyCounter(partial(qwen_encoding, added or _QWEN_2_5), exact=added is not None)


# ---- how a message is sent ----


def _rendered(role: str, content: str, calls: Sequence[ToolCall]) -> str:
    """A message as the Qwen2.5 chat template writes it; a history read from a file may hold None for a content."""
    content = content or ""
    if role == "tool":
        role, content = "user", f"<tool_response>\n{content}\n</tool_response>"
    parts = [content] if content or not calls else []
    parts += [f'<tool_call>\n{{"name": "{c.name}", "arguments": {_spaced(c.arguments)}}}\n</tool_call>' for c in calls]
    return f"<|im_start|>{role}\n" + "\n".join(parts) + "<|im_end|>\n"


def _spaced(arguments: str) -> str:
    """JSON text with the template's spacing; text that is no JSON as it is."""
    try:
        return _json(json.loads(arguments))
    except (ValueError, RecursionError):
        return arguments


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=dict)


# ---- the Qwen vocabulary ----

_QWEN_2 = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_QWEN_2_5 = (
    *_QWEN_2,
    *("<|object_ref_start|>", "<|object_ref_end|>", "<|box_start|>", "<|box_end|>", "<|quad_start|>", "<|quad_end|>"),
    *("<|vision_start|>", "<|vision_end|>", "<|vision_pad|>", "<|image_pad|>", "<|video_pad|>"),
    *("<tool_call>", "</tool_call>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>"),
    *("<|repo_name|>", "<|file_sep|>"),
)
_QWEN_3 = (*_QWEN_2_5, "<tool_response>", "</tool_response>", "<think>", "</think>")

QWEN_FAMILIES: Mapping[str, Sequence[str]] = {
    "qwen": _QWEN_2,
    "qwen1.5": _QWEN_2,
    "qwen2": _QWEN_2,
    "qwen2.5": _QWEN_2_5,
    "qwen3": _QWEN_3,
    "qwq": _QWEN_3,
}
"""Families that share the vocabulary, and what each added to it, in order. Later ones (qwen3.5) have another."""

_QWEN_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_QWEN_FILE_BYTES = 2_561_218

_loading = threading.Lock()


def qwen_file() -> Path | None:
    """The vocabulary inside the installed `dashscope` package, which is not imported; None when it is missing."""
    from importlib.util import find_spec

    spec = find_spec("dashscope")
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / "resources" / "qwen.tiktoken"
    return path if path.is_file() and path.stat().st_size == _QWEN_FILE_BYTES else None


def qwen_encoding(added: Sequence[str] = _QWEN_2_5) -> Encoding:
    """The vocabulary of the Qwen models with the tokens that a family added to it. Takes 0.3 s once."""
    with _loading:
        return _read_qwen(tuple(added))


@lru_cache
def _read_qwen(added: Sequence[str]) -> Encoding:
    from base64 import b64decode

    from tiktoken import Encoding

    path = qwen_file()
    assert path is not None, "counter_for has seen the file"
    lines = map(bytes.split, path.read_bytes().splitlines())
    ranks = {b64decode(token): int(rank) for token, rank in lines}
    special = {token: len(ranks) + index for index, token in enumerate(added)}
    return Encoding("qwen", pat_str=_QWEN_PATTERN, mergeable_ranks=ranks, special_tokens=special)


# ---- other vocabularies, where tiktoken has them in its cache ----

TIKTOKEN_FAMILIES = {"gpt-oss": "o200k_base"}
"""Families whose vocabulary tiktoken knows. Their template is another, so that their counts are estimates."""

_TIKTOKEN_FILES = {
    "o200k_base": (
        "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
}


def _is_cached(encoding: str) -> bool:
    """Whether tiktoken would find this encoding on the disk, whole; it downloads what it does not find."""
    import os
    from hashlib import sha1, sha256
    from tempfile import gettempdir

    url, digest = _TIKTOKEN_FILES[encoding]
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if folder == "":  # tiktoken's way to say: no cache
        return False
    file = Path(folder or Path(gettempdir(), "data-gym-cache")) / sha1(url.encode()).hexdigest()
    return file.is_file() and sha256(file.read_bytes()).hexdigest() == digest


def _tiktoken_encoding(name: str) -> Encoding:
    from tiktoken import get_encoding

    with _loading:
        return get_encoding(name)


# ---- the estimate: the same split into pieces as the Qwen pattern, and what a piece costs on average ----

_PIECES = re.compile(
    r"<\|im_start\|>|<\|im_end\|>|</?tool_call>"
    r"|[^\r\n\w]?[^\W\d_]+|_+|\d| ?[^\s\w]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_SCRIPTS = (0x80, 0x370, 0x400, 0x530, 0x600, 0x900, 0xE00, 0xE80, 0x2E80)
_TOKENS_PER_LETTER = (0.22, 0.45, 0.95, 0.3, 0.4, 0.45, 1.0, 0.57, 0.8, 0.65)
"""Latin, accented, Greek, Cyrillic, Armenian and Hebrew, Arabic, Indic, Thai and Lao, others, East Asian."""


@lru_cache(maxsize=65_536)
def _piece_tokens(piece: str) -> float:
    """Tokens of one piece on average; the curves were fitted to English prose and to Python."""
    length = len(piece.strip())
    if not length or piece.startswith(("<|", "<tool_call", "</tool_call")):
        return 1
    if not piece.isascii():
        return max(1, sum(_TOKENS_PER_LETTER[bisect(_SCRIPTS, ord(letter))] for letter in piece.strip()))
    if piece[-1].isalpha():
        return 1 + (length / 14) ** 3 if length <= 14 else 2 + (length - 14) / 4
    return 1 + 0.35 * max(0, length - 2)
