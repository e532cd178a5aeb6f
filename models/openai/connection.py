"""A connection to an OpenAI-compatible server: its key, its refusals, and its answers without the key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from thimble.agent import foreign
from thimble.agent.errors import ModelError
from thimble.models.openai.errors import START, refusal, unreadable
from thimble.models.wire import api_key
from thimble.models.wire.connection import ServerConnection

if TYPE_CHECKING:
    import httpx


class Connection(ServerConnection):
    """Sends requests to the server at an address without /v1, with the key."""

    start = START
    sends_key = True
    """Off for an address that the user has not named: no key goes there."""
    key = ""
    """Sent instead of the user's, where it is set."""

    def headers(self) -> Mapping[str, str]:
        """The key, where it may be sent. Raises ModelError."""
        headers = api_key.headers(self.url) if self.sends_key else {}
        return headers | ({"Authorization": f"Bearer {self.key}"} if self.key else {})

    def refused(self, response: httpx.Response, said: str, model: str) -> ModelError:
        """The error for a response that refuses a request."""
        if response.status_code in (401, 403) and not self.sends_key and api_key.origin():
            return api_key.kept_back(self.url)
        return refusal(response.status_code, said, model, self.url, response.headers, response.request.url.path)

    def unreadable(self, body: bytes) -> ModelError:
        """The error for an answer that is no chat completion."""
        return unreadable(body, self.url)

    def parsed(self, body: bytes) -> Any:
        """A body as JSON, without the key. Raises ModelError if it is not JSON."""
        try:
            return foreign.read(api_key.hidden(body.decode(json.detect_encoding(body), "surrogatepass")))
        except ValueError as error:
            raise self.unreadable(body) from error
