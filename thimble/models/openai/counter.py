"""Counting tokens by asking the server that will read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from thimble.agent.errors import ModelError
from thimble.agent.messages import Message, Schema
from thimble.models.counting.prompt_counter import SYSTEM, USER, PromptCounter, Refused, Tokenizer, count_plausible
from thimble.models.counting.vocabulary import counter_for
from thimble.models.openai import wire
from thimble.models.openai.connection import Connection
from thimble.models.wire import http
from thimble.models.wire.connection import encode_body

FAILURES = (429, 502, 503, 504)
"""Statuses that do not depend on the request."""


class ServerCounter(PromptCounter):
    """Counts with the server's own tokenizer and chat template; by an estimate if it offers none.

    Args:
        connection: The connection to the server.
        model: The model that will read the messages.
        thinking: The fields of requests about thinking, which templates may write into the prompt.
    """

    def __init__(self, connection: Connection, model: str, thinking: Mapping[str, Any] | None = None) -> None:
        super().__init__(counter_for(model))
        self._connection = connection
        self._body = {"model": model, **(thinking or {})}

    def find_tokenizer(self) -> Tokenizer:
        """The server's tokenizer, tried with a short prompt."""
        if not self._connection.url:
            raise ModelError("the server is not started")
        for kind in (_Vllm, _Llama):
            with suppress(Refused):
                found: Tokenizer = kind(self._connection, self._body)
                count_plausible(found, (SYSTEM, USER))  # or each message would get a large answer
                return found
        raise Refused


class _ServerTokenizer:
    """The tokenizer of a server. `body` is part of each request."""

    def __init__(self, connection: Connection, body: Mapping[str, Any]) -> None:
        self._connection = connection
        self._body = body

    def _request_value(self, path: str, wanted: str, **body: Any) -> Any:
        """The value of `wanted` in the answer. Raises Refused if there is none, ModelError on failure."""
        allowance = self._connection.allowance()
        request = encode_body({**self._body, **body})
        with self._connection.open_response(path, request, allowance, accepts=range(1_000)) as response:
            said = http.read_body(response, allowance)
        if response.status_code in FAILURES:
            raise ModelError(f"the server failed with status {response.status_code}")
        answer = self._connection.parse_json(said) if response.status_code == 200 else None
        if not isinstance(answer, dict) or wanted not in answer:
            raise Refused
        return answer[wanted]

    def _tokens(self, **body: Any) -> list[int]:
        """The tokens in the server's answer to this body."""
        found = self._request_value("/tokenize", "tokens", **body)
        if not isinstance(found, list) or None in map(http.read_count, found):
            raise Refused
        return found

    def _rendered(self, path: str, **body: Any) -> str:
        """The prompt in the server's answer to this body."""
        found = self._request_value(path, "prompt", **body)
        if not isinstance(found, str):
            raise Refused
        return found


class _Vllm(_ServerTokenizer):
    """vLLM: /tokenize accepts messages."""

    def prompt(self, messages: Sequence[Message], tools: Sequence[Schema] = ()) -> int:
        """Tokens of a whole prompt. Only vLLM reports a count."""
        tokens = http.read_count(self._request_value("/tokenize", "count", **self._prompt(messages, tools)))
        if tokens is None:
            raise Refused
        return tokens

    def text(self, text: str) -> int:
        """Tokens of a text."""
        return len(self._tokens(prompt=text, add_special_tokens=False))

    def rendered(self, messages: Sequence[Message], tools: Sequence[Schema] = ()) -> str:
        """A whole prompt as the model reads it: its tokens, turned back into text."""
        return self._rendered("/detokenize", tokens=self._tokens(**self._prompt(messages, tools)))

    def _prompt(self, messages: Sequence[Message], tools: Sequence[Schema]) -> dict[str, Any]:
        body = {**wire.request_fields(messages, tools, self._connection.thinking), "add_generation_prompt": True}
        if effort := self._body.get("reasoning_effort"):  # it is accepted here only as an argument of the template
            body["chat_template_kwargs"] = {"reasoning_effort": effort, "enable_thinking": True}
        return body


class _Llama(_ServerTokenizer):
    """llama-server: it renders the prompt as text, and /tokenize accepts texts."""

    def prompt(self, messages: Sequence[Message], tools: Sequence[Schema] = ()) -> int:
        """Tokens of a whole prompt."""
        return len(self._tokens(content=self.rendered(messages, tools), add_special=True, parse_special=True))

    def text(self, text: str) -> int:
        """Tokens of a text."""
        return len(self._tokens(content=text, add_special=False, parse_special=True))

    def rendered(self, messages: Sequence[Message], tools: Sequence[Schema] = ()) -> str:
        """A whole prompt as the model reads it."""
        return self._rendered("/apply-template", **wire.request_fields(messages, tools, self._connection.thinking))
