"""The API key of a server: read from the environment, sent only over private connections, never shown."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import replace

from thimble.agent import foreign
from thimble.agent.errors import ModelError
from thimble.agent.messages import ToolCall
from thimble.agent.protocols import Delta, Text, Thinking
from thimble.models.wire.address import is_loopback

VARIABLES = ("THIMBLE_API_KEY", "OPENAI_API_KEY", "VLLM_API_KEY")
"""Environment variables for the key; the first that is not empty counts."""

HIDDEN_KEY = "[key]"
LEAST_SECRET = 8
"""Letters of the shortest key that is hidden: EMPTY or none, which a server without keys is given, are words."""
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
    key = _secret()
    if not key:
        return text
    text = text.replace(key, HIDDEN_KEY)
    if "\\" in text:
        with suppress(ValueError):
            spelt = json.dumps(foreign.read(text), ensure_ascii=False)
            return spelt.replace(key, HIDDEN_KEY) if key in spelt else text
    return text


class KeyHider:
    """Takes the deltas of a reply and hides the key in them: in text, in thinking, and in each part of a call.

    An end that may be the beginning of the key is held back until the next delta shows it.
    """

    def __init__(self) -> None:
        self._key = _secret()
        self._held: dict[type[Text] | type[Thinking], str] = {Text: "", Thinking: ""}

    def take(self, delta: Delta) -> list[Delta]:
        """What can be shown now."""
        if not self._key:
            return [delta]
        if isinstance(delta, ToolCall):
            return [ToolCall(*map(hidden, (delta.id, delta.name, delta.arguments)))]
        if not isinstance(delta, Text | Thinking):
            return [delta]
        if isinstance(delta, Thinking) and delta.was_text:
            self._held[Text] = ""
        *before, rest = (self._held[type(delta)] + delta.text).split(self._key)
        begun = len(rest) - _begun(self._key, rest)
        self._held[type(delta)] = rest[begun:]
        shown = HIDDEN_KEY.join([*before, rest[:begun]])
        return [replace(delta, text=shown)] if shown else []

    def end(self) -> list[Delta]:
        """What was held back."""
        return [kind(text) for kind, text in self._held.items() if text]


def _begun(key: str, text: str) -> int:
    """How many letters at the end of a text may be the beginning of the key."""
    lengths = range(min(len(key) - 1, len(text)), 0, -1)
    return next((length for length in lengths if text.endswith(key[:length])), 0)


def kept_back(url: str) -> ModelError:
    """The error for a server that requires a key and gets none, as nobody but itself or a session names it."""
    what = f"the server at {url} requires a key, and gets none: you have not named this address yourself"
    return ModelError(what, f"if you trust it with the key in {origin()}, say --base-url {url}")


def _key() -> str:
    return os.environ.get(origin(), "").strip()


def _secret() -> str:
    key = _key()
    return key if len(key) >= LEAST_SECRET else ""
