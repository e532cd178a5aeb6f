"""The API key of a server: read from the environment, sent only over private connections, never shown."""

from __future__ import annotations

import json
import os
from contextlib import suppress

from thimble.agent import foreign
from thimble.agent.errors import ModelError
from thimble.models.wire.address import is_loopback

VARIABLES = ("THIMBLE_API_KEY", "OPENAI_API_KEY", "VLLM_API_KEY")
"""Environment variables for the key; the first that is not empty counts."""

HIDDEN_KEY = "[key]"
MIN_HIDDEN_KEY = 8
"""Letters of the shortest key that is hidden: EMPTY or none, used for servers without keys, are ordinary words."""
_NOT_IN_A_KEY = frozenset("\"'\\")


def key_variable() -> str:
    """The name of the variable that holds the key; "" if none does."""
    return next((name for name in VARIABLES if os.environ.get(name, "").strip()), "")


def is_private(base_url: str) -> bool:
    """Whether the traffic is encrypted, or stays on this machine."""
    return base_url.startswith("https:") or is_loopback(base_url)


def key_headers(base_url: str) -> dict[str, str]:
    """The headers that carry the key; none without a key, or over plain http to another machine.

    Raises:
        ModelError: The key has an impossible character; the message does not show it.
    """
    key = _key()
    if not key or not is_private(base_url):
        return {}
    if any(not "!" <= letter <= "~" or letter in _NOT_IN_A_KEY for letter in key):
        what = f"the key in {key_variable()} has characters that a key cannot have"
        raise ModelError(what, f"set {key_variable()} to a valid key")
    return {"Authorization": f"Bearer {key}"}


def hide_key(text: str) -> str:
    """A server's words without the key, in any JSON spelling of the key."""
    key = _key()
    if len(key) < MIN_HIDDEN_KEY:
        return text
    text = text.replace(key, HIDDEN_KEY)
    if "\\" in text:
        with suppress(ValueError):
            spelt = json.dumps(foreign.parse_json(text), ensure_ascii=False)
            return spelt.replace(key, HIDDEN_KEY) if key in spelt else text
    return text


def key_withheld_error(url: str) -> ModelError:
    """The error for a server that requires a key and gets none, since the user has not named its address."""
    what = f"the server at {url} requires a key, and none is sent: you have not named this address yourself"
    return ModelError(what, f"if you trust it with the key in {key_variable()}, add --base-url {url}")


def _key() -> str:
    return os.environ.get(key_variable(), "").strip()
