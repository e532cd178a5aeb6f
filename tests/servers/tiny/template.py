"""A conversation as a server renders it: the chat template, in the form that Qwen models use."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("qwen2-tiny")
"""Where the weights are, with all that a server needs."""
SOURCE = Path(__file__).with_name("template.jinja").read_text("utf-8")
ASSISTANT, END = "<|im_start|>assistant\n", "<|im_end|>"
SPECIAL = ("<|endoftext|>", "<|im_start|>", END)
TAGS = ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<tools>", "</tools>")


def render(
    messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] = (), *, prompt: bool = False
) -> str:
    """The text that a model is sent for these messages; with `prompt`, up to where its reply begins."""
    return str(_template().render(messages=messages, tools=tools or None, add_generation_prompt=prompt))


@cache
def _template() -> Any:
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    return environment.from_string(SOURCE)
