"""Asking models of the small Ollama of tests/support/ollama_http.py."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from tests.support.ollama_server import Model
from thimble.agent.messages import Message
from thimble.agent.protocols import Delta, Text, Thinking, Usage
from thimble.models.ollama.backend import Ollama
from thimble.models.ollama.server import OllamaServer
from thimble.models.server import ServerOptions

SYSTEM, USER = Message("s", "system", "Be brief."), Message("u", "user", "What holds 2 ml?")
TOOL = {"type": "function", "function": {"name": "list_articles", "description": "List.", "parameters": {}}}
THINKER = Model(("completion", "tools", "thinking"), family="qwen3")
LONG = Message("l", "user", "word " * 20_000)


def backend(url: str, model: str = "qwen2.5:7b", room: int = 16_384, sleep: Any = None, **options: Any) -> Ollama:
    return Ollama(model, OllamaServer(url, ServerOptions(**options), sleep=sleep or time.sleep), room=room)


def ask(model: Ollama, *messages: Message, tools: Sequence[Any] = (TOOL,), most: int | None = 400) -> list[Delta]:
    return list(model.stream(messages or (SYSTEM, USER), tools, max_tokens=most))


def usage(deltas: Sequence[Delta]) -> Usage:
    assert isinstance(deltas[-1], Usage)
    return deltas[-1]


def said(deltas: Sequence[Delta], kind: type[Text] | type[Thinking] = Text) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, kind))
