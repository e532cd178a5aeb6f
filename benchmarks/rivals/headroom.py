"""headroom-ai: its `compress`, on the raw history at each call, and on the history that it compressed before.

It has no budget and drops no message. Its vocabulary for counting is the one in a folder of litellm, which it brings;
otherwise it would ask the network for it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from headroom import compress
from headroom.cache.backends import InMemoryBackend
from headroom.cache.compression_store import get_compression_store
from headroom.ccr.tool_injection import CCRToolInjector

from benchmarks.rivals.session import Entry, Session
from thimble.agent.messages import Message
from thimble.models.chat import read, write

VOCABULARIES = "litellm_core_utils/tokenizers"


def entries() -> list[Entry]:
    """Its defaults, and with the messages of the last prompt frozen, as it advises for a prompt cache."""
    return [Entry("compress", defaults), Entry("compress: last prompt frozen", frozen)]


def defaults() -> Session:
    """Compresses the whole history anew at each call; it remembers by itself what it did to a text."""

    async def manage(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return compressed(messages)

    return Session(manage, into, out)


def frozen() -> Session:
    """The compressed messages replace the history; only those that are new since the last call are compressed."""
    sent = 0

    async def manage(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        nonlocal sent
        messages[:] = compressed(messages, frozen_message_count=sent)
        sent = len(messages)
        return list(messages)

    return Session(manage, into, out)


def compressed(messages: list[dict[str, Any]], **settings: Any) -> list[dict[str, Any]]:
    """Chat-completions messages as it would send them."""
    _settle()
    return list(compress(messages, **settings).messages)


def original(text: str) -> str | None:
    """What its tool answers to a model that asks for each marker in this text; None if there is none, or nothing."""
    _settle()
    store = get_compression_store()
    found = map(store.retrieve, CCRToolInjector().scan_for_markers([{"role": "tool", "content": text}]))
    return "\n".join(entry.original_content for entry in found if entry) or None


@cache
def _settle() -> None:
    """Have it count as it does with a network, and keep what it takes out in memory, not in the user's home."""
    litellm = find_spec("litellm")
    if litellm and litellm.origin:
        os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(Path(litellm.origin).parent / VOCABULARIES))
    get_compression_store(backend=InMemoryBackend())


def into(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Messages in its form."""
    return list(map(write, messages))


def out(message: dict[str, Any]) -> list[Message]:
    """One of its messages in our form."""
    return read([message])
