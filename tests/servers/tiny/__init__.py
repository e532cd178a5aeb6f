"""A tiny language model of our own, which makes real tool calls in real servers: it drives them in the tests.

Its weights are in `qwen2-tiny/`, and `gguf_file` writes them as the file that llama.cpp loads. `words` makes words up,
`corpora` articles and questions of them, as it was trained on.
"""

from __future__ import annotations

import json
from pathlib import Path

FOLDER = Path(__file__).with_name("qwen2-tiny")
"""Where the weights are, with all that a server needs."""


def template() -> str:
    """The chat template, in the form that Qwen models use."""
    return str(json.loads((FOLDER / "tokenizer_config.json").read_text("utf-8"))["chat_template"])
