"""headroom-ai: its `compress`, on the raw history at each call, and on the history that it compressed before.

It has no budget and drops no messages. For counting it uses the vocabulary in a folder of litellm, its dependency, or
it would download one.
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
from thimble.models.chat import read_messages, write_message

VOCABULARIES = "litellm_core_utils/tokenizers"


def entries() -> list[Entry]:
    """Its defaults, and with the messages of the last prompt frozen, as it advises for a prompt cache."""
    return [Entry("compress", defaults), Entry("compress: last prompt frozen", frozen)]


def defaults() -> Session:
    """Compress the whole history at each call; it caches the result of each text itself."""

    async def manage(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return compressed(messages)

    return Session(manage, into, out)


def frozen() -> Session:
    """Replace the history by the compressed messages, and only compress new ones."""
    sent = 0

    async def manage(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        nonlocal sent
        messages[:] = compressed(messages, frozen_message_count=sent)
        sent = len(messages)
        return list(messages)

    return Session(manage, into, out)


def compressed(messages: list[dict[str, Any]], **settings: Any) -> list[dict[str, Any]]:
    """Compress messages of chat completions."""
    _settle()
    return list(compress(messages, **settings).messages)


def original(text: str) -> str | None:
    """The reply of its tool to each marker in this text; None if there are no markers or no replies."""
    _settle()
    store = get_compression_store()
    found = map(store.retrieve, CCRToolInjector().scan_for_markers([{"role": "tool", "content": text}]))
    return "\n".join(entry.original_content for entry in found if entry) or None


@cache
def _settle() -> None:
    """Make it count as if online, and store the removed text in memory instead of the user's home."""
    litellm = find_spec("litellm")
    if litellm and litellm.origin:
        os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(Path(litellm.origin).parent / VOCABULARIES))
    get_compression_store(backend=InMemoryBackend())


def into(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Convert messages to its format."""
    return list(map(write_message, messages))


def out(message: dict[str, Any]) -> list[Message]:
    """Convert one of its messages to ours."""
    return read_messages([message])
