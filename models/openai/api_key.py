"""The API key of a server: read from the environment, sent only over private connections, never shown."""

from __future__ import annotations

import json
import os
from contextlib import suppress

from agent.errors import ModelError
from models.wire.address import is_loopback

VARIABLES = ("THIMBLE_API_KEY", "OPENAI_API_KEY", "VLLM_API_KEY")
"""Environment variables for the key; the first that is not empty counts."""

HIDDEN = "[key]"
_NEVER = frozenset("\"'\\")


def origin() -> str:
    """The name of the variable that holds the key; "" if none does."""
    return next((name for name in VARIABLES if os.environ.get(name, "").strip()), "")


def is_private(base_url: str) -> bool:
    """Whether nobody can read the traffic on the way: it is encrypted, or stays on this machine."""
    return base_url.startswith("https:") or is_loopback(base_url)


def headers(base_url: str) -> dict[str, str]:
    """The headers that carry the key; none without a key, or over plain http to another machine.

    Raises:
        ModelError: The key has an impossible character; the message does not show it.
    """
    key = _key()
    if not key or not is_private(base_url):
        return {}
    if any(not "!" <= letter <= "~" or letter in _NEVER for letter in key):
        raise ModelError(f"the key in {origin()} has characters that no key has", f"set {origin()} anew")
    return {"Authorization": f"Bearer {key}"}


def hidden(text: str) -> str:
    """A server's words without the key, in any JSON spelling of the key."""
    key = _key()
    if not key:
        return text
    text = text.replace(key, HIDDEN)
    if "\\" in text:
        with suppress(ValueError, RecursionError):
            text = json.dumps(json.loads(text), ensure_ascii=False).replace(key, HIDDEN)
    return text


def _key() -> str:
    return os.environ.get(origin(), "").strip()
