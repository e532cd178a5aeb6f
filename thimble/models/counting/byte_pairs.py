"""Byte-pair vocabularies from the metadata of GGUF files, and counting tokens with them.

Counts are those of llama.cpp (src/llama-vocab.cpp), which does not normalise a text (NFC) before it reads it.
Vocabularies that are not made of bytes, such as those of SentencePiece, are not read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from thimble.models.counting.message_counter import split_pieces

if TYPE_CHECKING:
    from tiktoken import Encoding

_SHORT = "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
_REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_PATHS = r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_CASED = (
    r"[^\r\n\p{L}\p{N}]?(?:(?![a-z])\p{L})*(?:(?![A-Z])\p{L})+{0}"
    r"|[^\r\n\p{L}\p{N}]?(?:(?![a-z])\p{L})+(?:(?![A-Z])\p{L})*{0}|"
)
_HAN = "[一-龥぀-ゟ゠-ヿ]"

LLAMA_3 = _SHORT + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|" + _REST
QWEN_2 = _SHORT + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|" + _REST
QWEN_3_5 = _SHORT + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|" + _REST.replace(r"\p{L}", r"\p{L}\p{M}")
GPT_2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
SINGLE_DIGITS = r"\p{N}|'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?=\p{N})|\s+(?!\S)|\s+"
GPT_4O = _CASED.replace("{0}", _SHORT + "?") + r"\p{N}{1,3}|" + _PATHS
TEKKEN = _CASED.replace("{0}", "") + r"\p{N}|" + _PATHS
_DEEPSEEK_PIECE = (
    r"(?:{0}[^\r\n\p{L}\p{N}\p{P}\p{S}])?(?:{0}[\p{L}\p{M}])+|(?:{0} )?(?:{0}[\p{P}\p{S}])+(?:{0}[\r\n])*"
    r"|(?:{0}[^\s\p{L}\p{M}\p{N}\p{P}\p{S}](?!{0}[\p{L}\p{M}]))+|"
)
DEEPSEEK_3 = (
    r"\p{N}{1,3}|" + _DEEPSEEK_PIECE.replace("{0}", f"(?={_HAN})") + r"[!-/:-@\[-`{-~][A-Za-z]+|"
    rf"{_DEEPSEEK_PIECE.replace('{0}', f'(?!{_HAN})')}\s*[\r\n]+|\s+(?=\p{{N}}|{_HAN})|\s+(?!\S)|\s+"
)

PATTERNS: Mapping[str, str] = {
    name: pattern
    for names, pattern in (
        ("llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral lfm2 dbrx smaug-bpe glm4 chatglm-bpe", LLAMA_3),
        ("qwen2 deepseek-r1-qwen stablelm2 megrez hunyuan solar-open grok-2", QWEN_2),
        ("qwen35", QWEN_3_5),
        ("gpt-2 phi-2 mpt olmo jais exaone4 gigachat mellum trillion granite-docling", GPT_2),
        ("smollm starcoder refact command-r codeshell exaone minerva-7b mellum2", SINGLE_DIGITS),
        ("gpt-4o llama4 kanana2 minimax-m2", GPT_4O),
        ("tekken", TEKKEN),
        ("deepseek-v3 hunyuan-dense", DEEPSEEK_3),
    )
    for name in names.split()
}
"""How texts are split into words, by the name of the pre-tokenizer in a GGUF file (`tokenizer.ggml.pre`)."""

WHOLE_WORDS = frozenset(
    ["llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "lfm2", "tekken", "glm4"]
)
"""Pre-tokenizers that take a word of the vocabulary as one token, merges or not; all but glm4 add one to a prompt."""

_NORMAL, _SPECIAL = 1, (2, 3, 4)

_PRINTED = [byte for byte in range(0x21, 0x100) if chr(byte).isprintable()]
_OTHERS = [byte for byte in range(0x100) if byte not in _PRINTED]
_BYTES = {byte: byte for byte in _PRINTED} | {0x100 + at: byte for at, byte in enumerate(_OTHERS)}
"""The byte of each letter by which vocabularies write bytes: printable ones unchanged, the others from U+0100."""


@dataclass(frozen=True)
class BytePairs:
    """A vocabulary. Its fields are plain, so that it can be kept as JSON."""

    pre: str
    """The name of its pre-tokenizer."""

    merged: Sequence[str]
    """Its tokens of more than one byte, in the order in which they are merged, a letter a byte (latin-1)."""

    special: Sequence[str]
    """Texts that are one token wherever they occur."""

    lost: Sequence[int]
    """Bytes without a token: they are left out of a text."""

    begin: int = 0
    """Tokens that the server adds around a prompt."""

    def tokens(self, text: str) -> int:
        """Tokens of a text; spellings of special tokens in it count as those."""
        parts = self._around.split(text) if self.special else [text]
        return len(parts) // 2 + sum(map(self._words, parts[::2]))

    def _words(self, text: str) -> int:
        found = map(self._encoding.encode, split_pieces(text))
        return sum(len(piece) - sum(map(piece.count, self.lost)) for piece in found)

    @cached_property
    def _around(self) -> re.Pattern[str]:
        return re.compile(f"({'|'.join(map(re.escape, sorted(self.special, key=len, reverse=True)))})")

    @cached_property
    def _encoding(self) -> Encoding:
        from tiktoken import Encoding

        ranks = {bytes([byte]): byte for byte in range(256)}
        for token in self.merged:
            ranks.setdefault(token.encode("latin-1"), len(ranks))
        # llama.cpp knows the characters of Unicode 15.1, tiktoken later ones, too
        pattern = re.sub(r"\\p\{.\}", r"[\g<0>&&\\p{age:15.1}]", PATTERNS[self.pre])
        return Encoding(self.pre, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})


def byte_pairs(facts: Mapping[str, Any]) -> BytePairs | None:
    """The vocabulary in the metadata of a GGUF file; None if it is missing or of another kind.

    Args:
        facts: The metadata, with the keys that start with `tokenizer.ggml.`.
    """
    pre, merges, tokens, types = (
        facts.get(f"tokenizer.ggml.{key}") or () for key in ("pre", "merges", "tokens", "token_type")
    )
    if facts.get("tokenizer.ggml.model") != "gpt2" or not isinstance(pre, str) or pre not in PATTERNS:
        return None
    try:
        kinds = list(zip(tokens, types, strict=True))
        merged = [merge.replace(" ", "", 1) for merge in merges]
        if pre in WHOLE_WORDS:
            merged += [token for token, kind in kinds if kind == _NORMAL]
        letters = [token.translate(_BYTES).encode("latin-1").decode("latin-1") for token in merged]
    except (AttributeError, TypeError, ValueError):
        return None
    if not letters or not kinds:
        return None
    begin = facts.get("tokenizer.ggml.add_bos_token", pre in WHOLE_WORDS - {"glm4"})
    end = facts.get("tokenizer.ggml.add_eos_token")
    special = [token for token, kind in kinds if kind in _SPECIAL and token]
    lost = [byte for letter, byte in _BYTES.items() if chr(letter) not in tokens]
    return BytePairs(pre, list(dict.fromkeys(letters)), special, lost, bool(begin) + bool(end))
