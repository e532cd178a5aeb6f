"""LLMLingua for compress: a trained model chooses the words that stay. It needs an extra package and weights.

LLMLingua (Jiang et al., LLMLingua: Compressing Prompts for Accelerated Inference of Large Language Models, 2023) in its
second form, a small token classifier that runs on a CPU (Pan et al., LLMLingua-2, 2024). Tested with a tiny model of
that form with random weights: the two fit together. Trained weights were not tested.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from itertools import groupby
from operator import itemgetter
from typing import Any

from agent.errors import UsageError
from corpus.markdown import shorten
from strategies.self_information import AROUND, OPENING, UNIT, may_go, stays_whole

MODEL = "microsoft/llmlingua-2-bert-base-multilingual-cased-meetingbank"
SETTING = "THIMBLE_LLMLINGUA"
"""The environment variable that names another model of LLMLingua-2, by name or folder."""
FORCED = 1000
"""The most texts that one call may force to stay."""


def load() -> Any:
    """The compressor, loaded from this disk.

    Raises:
        UsageError: the package or its model is not on this disk.
    """
    if find_spec("llmlingua") is None:
        raise UsageError("the llmlingua package is not installed", 'pip install "thimble[llmlingua]"')
    name = os.environ.get(SETTING) or MODEL
    try:
        return _compressor(name)
    except Exception as error:
        what = f"LLMLingua cannot load {name}: {shorten(str(error) or type(error).__name__, 160)}"
        fetch = f"hf download {name} && python -c \"import tiktoken; tiktoken.get_encoding('cl100k_base')\""
        raise UsageError(what, f"once, with a network: {fetch}; or set {SETTING} to a folder with a model") from error


@lru_cache(maxsize=1)
def _compressor(name: str) -> Any:
    compressor = import_module("llmlingua").PromptCompressor(
        name,
        device_map="cpu",
        model_config={"local_files_only": True},
        use_llmlingua2=True,
        llmlingua2_config={"max_force_token": FORCED},
    )
    compressor.compress_prompt_llmlingua2(["It can read a text."], rate=0.5)
    return compressor


def compressed(text: str, ratio: float) -> str:
    """The text with about `ratio` of its tokens, as the model chooses them.

    The model gets only the lines that may change, and must leave numbers, names, negations and line breaks. A part that
    loses one of them stays as it was.
    """
    lines = text.split("\n")
    whole = [stays_whole(line) for line in lines]
    whole[0] |= len(lines[0].split()) <= OPENING
    grouped = groupby(zip(whole, lines, strict=True), key=itemgetter(0))
    parts = [(stays, "\n".join(line for _, line in group)) for stays, group in grouped]
    return "\n".join(part if stays or not part.strip() else _shorter(part, ratio) for stays, part in parts)


def _shorter(part: str, ratio: float) -> str:
    stays = _protected(part)
    # A text that is forced is replaced by a token [NEW7] for the time being: none may be a piece of such a name.
    forced = [one for one in stays if len(one) > 1 and not one.isdigit() and one not in "NEW"]
    options = {"rate": ratio, "force_tokens": ["\n", *forced][:FORCED], "force_reserve_digit": True}
    found = load().compress_prompt_llmlingua2([part], **options)["compressed_prompt"]
    shorter = re.sub(r" *\n *", "\n", found).strip()
    return shorter if all(one in shorter for one in stays) else part


def _protected(part: str) -> list[str]:
    """The texts that must stay, longest first."""
    units = {unit.strip(AROUND) for unit in UNIT.findall(part) if not may_go(unit)}
    return sorted(units - {""}, key=lambda one: (-len(one), one))
