"""The tokenizer: byte-level BPE that never joins a made-up word with what stands before it.

At run time texts are split as Qwen2 does, which both servers know how to do. There a word carries the space or the
hyphen before it, so that one and the same word would have as many spellings in tokens as it has neighbours. The merges
are therefore learnt on a finer split; only frequent words of plain English get a token with the mark before them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from tests.servers.tiny.template import SPECIAL, TAGS

VOCABULARY = 2048
LEARNT = 1350
"""Tokens of bytes and learnt merges; the rest is for words with the space before them, and for the special ones."""
SPACE = "Ġ"
"""How a space is written in the vocabulary."""
JOINED = re.compile(r"[ -][A-Za-z]+\b")
"""A word with the space or the hyphen before it."""
QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
FINER = r"\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s"


def train(names: Sequence[str], plain: Sequence[str]) -> Any:
    """A tokenizer for made-up names, each given once, and for plain texts, whose frequent words become single tokens.

    Those words have a token with the space or hyphen before them, too, but not one that a name begins with: the name
    would be cut in another way behind a space.
    """
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    def split(pattern: str) -> Any:
        parts = [
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
        return pre_tokenizers.Sequence(parts)

    first = Tokenizer(models.BPE())
    first.pre_tokenizer = split(FINER)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=LEARNT, initial_alphabet=alphabet, show_progress=False)
    first.train_from_iterator([*names, *plain], trainer)
    begins = {first.encode(name).tokens[0] for name in names}
    vocabulary, merges = _joined(first, plain, begins)
    whole = Tokenizer(models.BPE(vocabulary, merges))
    whole.normalizer = normalizers.NFC()
    whole.pre_tokenizer, whole.decoder = split(QWEN2), decoders.ByteLevel()
    whole.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIAL])
    whole.add_tokens([AddedToken(token, special=False, normalized=False) for token in TAGS])
    return whole


def _joined(learnt: Any, plain: Sequence[str], begins: set[str]) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Vocabulary and merges, with a token for each frequent word and the mark before it."""
    import json

    model = json.loads(learnt.to_str())["model"]
    vocabulary: dict[str, int] = dict(model["vocab"])
    merges = [tuple(merge) for merge in model["merges"]]
    joined = Counter(word for text in plain for word in JOINED.findall(text) if word[1:] not in begins)
    room = VOCABULARY - len(SPECIAL) - len(TAGS)
    for word, _ in sorted(joined.items(), key=lambda item: (-item[1], item[0])):
        mark, rest = word[0].replace(" ", SPACE), word[1:]
        if rest in vocabulary and len(vocabulary) < room:
            vocabulary[mark + rest] = len(vocabulary)
            merges.append((mark, rest))
    return vocabulary, merges
