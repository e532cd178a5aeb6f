"""Choice of the best counter for a model."""

from __future__ import annotations

import re

from thimble.models.counting.estimate import EstimateCounter
from thimble.models.counting.message_counter import ChatCounter
from thimble.models.counting.vocabulary import QWEN_2_5, QWEN_FAMILIES, QwenCounter, qwen_file


def counter_for(model: str) -> ChatCounter:
    """The best counter for a model that is at hand on this disk.

    Exact for Qwen models that share one vocabulary, where it is installed (the extra `qwen`). That vocabulary is the
    estimate for every other model, and a plain estimate where it is missing.

    Args:
        model: Name as a server knows it: "qwen2.5:7b", "Qwen/Qwen3-8B", "llama3.2:3b".
    """
    if qwen_file() is None:
        return EstimateCounter()
    family = re.match(r"qwq|qwen\d*(?:\.\d+)?", model.rsplit("/", 1)[-1].lower())
    added = QWEN_FAMILIES.get(family[0]) if family else None
    return QwenCounter(added or QWEN_2_5, exact=added is not None)
