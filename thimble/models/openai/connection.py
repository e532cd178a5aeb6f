"""A connection to an OpenAI-compatible server: its key, its refusals, and its answers without the key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from thimble.agent import foreign
from thimble.agent.errors import ModelError
from thimble.models.openai.errors import START, missing_model_error, refusal_error, unreadable_error
from thimble.models.server import NoModel
from thimble.models.wire import api_key
from thimble.models.wire.bounds import clean_name
from thimble.models.wire.connection import ServerConnection

if TYPE_CHECKING:
    import httpx


Entry = Mapping[str, Any]
"""One model in the list at /v1/models."""


class Connection(ServerConnection):
    """Sends requests to the server at an address without /v1, with the key."""

    start = START
    sends_key = True
    """Off for an address that the user has not named: the key is not sent there."""
    key = ""
    """Sent instead of the user's key, if set."""
    thinking = ""
    """The field of a message that contained thinking in replies: "content" for <think> tags in it."""

    def headers(self) -> Mapping[str, str]:
        """The key, if it may be sent. Raises ModelError."""
        headers = api_key.key_headers(self.url) if self.sends_key else {}
        return headers | ({"Authorization": f"Bearer {self.key}"} if self.key else {})

    def refusal_error(self, response: httpx.Response, said: str, model: str) -> ModelError:
        """The error for a response that refuses a request; for a missing model, it names the available ones."""
        if response.status_code in (401, 403) and not self.sends_key and api_key.key_variable():
            return api_key.key_withheld_error(self.url)
        path = response.request.url.path
        error = refusal_error(response.status_code, said, model, self.url, response.headers, path)
        if model and isinstance(error, NoModel):
            with suppress(ModelError):
                return missing_model_error(model, [entry["id"] for entry in self.list_models()])
        return error

    def list_models(self) -> list[Entry]:
        """The models of the server. Raises ModelError."""
        answer = self.request_json("/v1/models")
        entries = answer.get("data") if isinstance(answer, dict) else answer
        if not isinstance(entries, list):
            raise self.unreadable_answer(str(answer).encode(errors="replace"))
        return [entry for entry in entries if isinstance(entry, dict) and clean_name(entry.get("id"))]

    def unreadable_answer(self, body: bytes) -> ModelError:
        """The error for an answer that is not a chat completion."""
        return unreadable_error(body, self.url)

    def parse_json(self, body: bytes) -> Any:
        """A body as JSON, without the key. Raises ModelError if it is not JSON."""
        try:
            return foreign.parse_json(api_key.hide_key(body.decode(json.detect_encoding(body), "surrogatepass")))
        except ValueError as error:
            raise self.unreadable_answer(body) from error
