from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import Any

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, Tokenizer
from tokenizers import models as tokenizer_models
from tokenizers import pre_tokenizers as pre

from tests.support.family import family
from tests.support.paths import ROOT
from thimble.models.counting.byte_pairs import DEEPSEEK_3, GPT_2, PATTERNS, SINGLE_DIGITS, BytePairs, byte_pairs

SHOWN = ROOT / "tests" / "models" / "recorded" / "ollama-0.33.0-rc2" / "show-verbose-tiny.response"

texts = st.lists(
    st.text(st.characters(codec="utf-8"), max_size=8)
    | st.sampled_from(["<|im_start|>", "<tool_call>", "<|im_", "don't", "I'LL", " context", "  12345", "\n\n", " \t"])
    | st.sampled_from(
        ["上下文", "한국어", "ゼロ゛", "ÉCOLEs", "camelCase", "e\u0301", "\u200b", "a/b/c\n", "x" * 40, "\r\n"]
    ),
    max_size=8,
).map("".join)


@lru_cache
def facts() -> dict[str, Any]:
    """What a real server told of a model."""
    lines = SHOWN.read_bytes().partition(b"\r\n\r\n")[2].splitlines(keepends=True)
    told: dict[str, Any] = json.loads(b"".join(lines[1:])[: int(lines[0], 16)])["model_info"]
    return told


@lru_cache
def vocabulary(name: str = "qwen2") -> BytePairs:
    found = byte_pairs(facts() | {"tokenizer.ggml.pre": name})
    assert found
    return found


@lru_cache
def other_tokenizer(name: str) -> Tokenizer:
    """The same vocabulary, read by the library of its makers."""
    tokens, types = facts()["tokenizer.ggml.tokens"], facts()["tokenizer.ggml.token_type"]
    merges = [tuple(merge.split(" ")) for merge in facts()["tokenizer.ggml.merges"]]
    made = Tokenizer(tokenizer_models.BPE({token: at for at, token in enumerate(tokens)}, merges))
    split = pre.Split(Regex(PATTERNS[name]), "isolated")
    made.pre_tokenizer = pre.Sequence([split, pre.ByteLevel(add_prefix_space=False, use_regex=False)])
    made.add_special_tokens([AddedToken(token) for token, kind in zip(tokens, types, strict=True) if kind != 1])
    return made


# ---- laws ----


@given(texts, st.sampled_from(["qwen2", "gpt-2"]))
def test_a_text_has_the_tokens_that_another_tokenizer_finds(text: str, name: str) -> None:
    assert vocabulary(name).tokens(text) == len(other_tokenizer(name).encode(text, add_special_tokens=False).ids)


@pytest.mark.parametrize("name", family(sorted(PATTERNS)))
@given(texts)
def test_every_letter_of_a_text_is_counted(name: str, text: str) -> None:
    assert without_pairs(name).tokens(text) == len(text.encode())


@cache
def without_pairs(name: str) -> BytePairs:
    return BytePairs(name, (), (), ())


def staged(text: str, stages: Sequence[str]) -> list[str]:
    """A text split by one pattern after another, as llama.cpp does; what a pattern leaves is a piece, too."""
    pieces = [text]
    for stage in stages:
        pieces = [part for piece in pieces for part in _split(stage, piece)]
    return pieces


def _split(pattern: str, text: str) -> Iterable[str]:
    at = 0
    for found in regex.finditer(pattern, text):
        yield from filter(None, [text[at : found.start()], found[0]])
        at = found.end()
    yield from filter(None, [text[at:]])


LETTERS = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+"
STAGES = {
    SINGLE_DIGITS: [r"\p{N}", GPT_2.removesuffix(r"|\s+")],
    DEEPSEEK_3: [
        r"\p{N}{1,3}",
        "[一-龥぀-ゟ゠-ヿ]+",
        LETTERS + r"|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ],
}


@pytest.mark.parametrize("pattern", STAGES)
@given(st.text(st.sampled_from("aB1²9 \t\n\r.,'s!゠゛ゼ上龥é\u0301_$\u3040\u3099\u200b\x07")))
def test_one_pattern_splits_as_llama_does_in_stages(pattern: str, text: str) -> None:
    assert list(_split(pattern, text)) == staged(text, STAGES[pattern])


PAIRS = ["1 2", "2 3", "12 3", "' s", "âĢ ĭ", "âĢĭ âĢĭ"]
WORDS = ["Ġzyzzyva", *(pair.replace(" ", "") for pair in PAIRS)]


def without_a_byte(name: str) -> dict[str, Any]:
    """The recorded vocabulary with pairs that a split parts and a word to which no pair leads, without the byte F1."""
    told = {f"tokenizer.ggml.{key}": facts()[f"tokenizer.ggml.{key}"] for key in ("tokens", "token_type", "merges")}
    more = zip(told, (WORDS, [1] * len(WORDS), PAIRS), strict=True)
    told = {key: ["(none)" if one == "ñ" else one for one in told[key] + added] for key, added in more}
    return facts() | told | {"tokenizer.ggml.pre": name}


TEXTS = (
    *("a\U00040000b", " \U000f0000", "\u200b\u200b.", "\u3040\u200b\u200b上", "\U0001d7ce12", "\U0001fbf0123"),
    *("\U00020000's \U0002f800.\n", "\U0001f600.\n", " zyzzyva"),
    *("\U00010d40123", "\U000105c0's"),  # a digit and a letter of Unicode 16
)
COUNTED = {
    "llama-bpe": (5, 5, 2, 7, 5, 6, 11, 5, 1, 5, 6),
    "glm4": (5, 5, 2, 7, 5, 6, 11, 5, 1, 5, 6),
    "qwen2": (5, 5, 2, 7, 6, 7, 11, 5, 7, 7, 6),
    "qwen35": (5, 5, 2, 7, 6, 7, 11, 5, 7, 7, 6),
    "gpt-2": (5, 5, 2, 7, 5, 5, 12, 6, 7, 5, 6),
    "starcoder": (5, 5, 2, 7, 6, 7, 12, 6, 7, 7, 6),
    "refact": (5, 5, 2, 7, 6, 7, 12, 6, 7, 7, 6),
    "gpt-4o": (5, 5, 2, 7, 5, 6, 11, 5, 7, 5, 6),
    "tekken": (5, 5, 2, 7, 6, 7, 11, 5, 1, 7, 6),
    "deepseek-v3": (5, 5, 2, 7, 5, 6, 11, 5, 7, 5, 5),
}
"""Tokens of each text, as the llama.cpp in xllamacpp 2026.10.11549 counts them with these vocabularies."""


@pytest.mark.parametrize("name", COUNTED)
def test_a_text_has_the_tokens_that_llama_counted(name: str) -> None:
    found = byte_pairs(without_a_byte(name))
    assert found
    assert tuple(map(found.tokens, TEXTS)) == COUNTED[name]


DAMAGED: list[dict[str, Any]] = [
    {"tokenizer.ggml.model": "llama"},
    {"tokenizer.ggml.pre": "of next year"},
    {"tokenizer.ggml.pre": ["qwen2"]},
    {"tokenizer.ggml.tokens": None},
    {"tokenizer.ggml.merges": None},
    {"tokenizer.ggml.merges": [1, 2]},
    {"tokenizer.ggml.merges": ["▁ a"]},
    {"tokenizer.ggml.merges": 7},
    {"tokenizer.ggml.token_type": [1]},
    {"tokenizer.ggml.token_type": None, "tokenizer.ggml.tokens": None},
]


@pytest.mark.parametrize("damage", DAMAGED)
def test_another_kind_of_vocabulary_is_none(damage: dict[str, Any]) -> None:
    assert byte_pairs(facts() | damage) is None


# ---- what is told beside the merges ----


@pytest.mark.parametrize(
    ("told", "begin"),
    [
        ({"tokenizer.ggml.add_bos_token": False}, 0),
        ({"tokenizer.ggml.add_bos_token": True}, 1),
        ({"tokenizer.ggml.add_bos_token": True, "tokenizer.ggml.add_eos_token": True}, 2),
    ],
)
def test_special_tokens_of_the_server_are_counted(told: dict[str, Any], begin: int) -> None:
    found = byte_pairs(facts() | told)
    assert found
    assert found.begin == begin


@pytest.mark.parametrize(("name", "begin"), [("llama-bpe", 1), ("glm4", 0), ("qwen2", 0)])
def test_llama_begins_a_prompt_unless_it_says_not(name: str, begin: int) -> None:
    plain = {key: value for key, value in facts().items() if not key.endswith("bos_token")}
    found = byte_pairs(plain | {"tokenizer.ggml.pre": name})
    assert found
    assert found.begin == begin


def test_a_special_token_that_begins_as_another_is_the_longer_one() -> None:
    assert BytePairs("gpt-2", (), ("\n", "\n\n", "<a>", "<a><b>"), ()).tokens("\n\n\n<a><b>x") == 4
