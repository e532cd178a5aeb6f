"""Counting tokens by asking the server that will read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from thimble.agent.errors import ModelError
from thimble.agent.messages import Message, Schema
from thimble.models.counting.choose import counter_for
from thimble.models.counting.prompt_counter import SYSTEM, USER, PromptCounter, Refused, Tokenizer
from thimble.models.openai import wire
from thimble.models.openai.connection import Connection
from thimble.models.wire import http
from thimble.models.wire.connection import encoded

PASSING = (429, 502, 503, 504)
"""Statuses that do not depend on the request."""


class ServerCounter(PromptCounter):
    """Counts with the server's own tokenizer and chat template; by an estimate if it offers none.

    Args:
        connection: The way to the server.
        model: The model that will read the messages.
        thinking: The fields of requests about thinking, which templates may write into the prompt.
    """

    def __init__(self, connection: Connection, model: str, thinking: Mapping[str, Any] | None = None) -> None:
        super().__init__(counter_for(model))
        self._asks = Asks(connection, {"model": model, **(thinking or {})})
        self._numbers: dict[str, list[int]] = {}

    def found(self) -> Tokenizer:
        """The server's tokenizer, tried with a short prompt."""
        if not self._asks.connection.url:
            raise ModelError("the server is not started")
        for kind in (_Vllm, _Llama):
            with suppress(Refused):
                found: Tokenizer = kind(self._asks)
                found.prompt((SYSTEM, USER))
                return found
        raise Refused

    def numbers(self, texts: Iterable[str]) -> Mapping[str, int]:
        """Those of the texts that are one token of the model each, with its number; none where nobody tells."""
        tokenizer = self.tokenizer
        if not isinstance(tokenizer, _Vllm | _Llama):
            return {}
        for text in texts:
            if text not in self._numbers:
                try:
                    self._numbers[text] = tokenizer.tokens(text)
                except Refused:
                    self._numbers[text] = []
                except ModelError:
                    return {}
        return {text: self._numbers[text][0] for text in texts if len(self._numbers[text]) == 1}


class Asks:
    """Requests to a server. `body` is part of each."""

    def __init__(self, connection: Connection, body: Mapping[str, Any]) -> None:
        self.body = body
        self.connection = connection

    def post(self, path: str, wanted: str, **body: Any) -> Any:
        """The value of `wanted` in the answer. Raises Refused if there is none, ModelError on failure."""
        allowance = self.connection.allowance()
        with self.connection.answered(path, encoded({**self.body, **body}), allowance) as response:
            said = http.whole(response, allowance)
        if response.status_code in PASSING:
            raise ModelError(f"the server failed with status {response.status_code}")
        answer = self.connection.parsed(said) if response.status_code == 200 else None
        if not isinstance(answer, dict) or wanted not in answer:
            raise Refused
        return answer[wanted]


class _Vllm:
    """vLLM: /tokenize accepts messages."""

    def __init__(self, asks: Asks) -> None:
        self._asks = asks
        kwargs = dict(asks.body.get("chat_template_kwargs", {}))
        if effort := asks.body.get("reasoning_effort"):  # /tokenize accepts it only as an argument of the template
            kwargs |= {"reasoning_effort": effort, "enable_thinking": True}
        self._kwargs = {"chat_template_kwargs": kwargs} if kwargs else {}

    def prompt(self, messages: Sequence[Message], tools: Sequence[Schema] = ()) -> int:
        """Tokens of a whole prompt."""
        return _number(self._prompt("count", messages, tools))

    def text(self, text: str) -> int:
        """Tokens of a text."""
        return _number(self._asks.post("/tokenize", "count", prompt=text, add_special_tokens=False))

    def tokens(self, text: str) -> list[int]:
        """The tokens of a text, a special one as one."""
        return _list(self._asks.post("/tokenize", "tokens", prompt=text, add_special_tokens=False))

    def rendered(self, messages: Sequence[Message], tools: Sequence[Schema] = ()) -> str:
        """A whole prompt as the model reads it: its tokens, turned back into text."""
        return _text(self._asks.post("/detokenize", "prompt", tokens=self._prompt("tokens", messages, tools)))

    def _prompt(self, wanted: str, messages: Sequence[Message], tools: Sequence[Schema]) -> Any:
        body = {"messages": list(map(wire.sent, messages)), **({"tools": list(tools)} if tools else {}), **self._kwargs}
        return self._asks.post("/tokenize", wanted, **body, add_generation_prompt=True)


class _Llama:
    """llama-server: it renders the prompt as text, and /tokenize accepts texts."""

    def __init__(self, asks: Asks) -> None:
        self._asks = asks

    def prompt(self, messages: Sequence[Message], tools: Sequence[Schema] = ()) -> int:
        """Tokens of a whole prompt."""
        return len(self._tokens(self.rendered(messages, tools), begin=True))

    def text(self, text: str) -> int:
        """Tokens of a text."""
        return len(self.tokens(text))

    def tokens(self, text: str) -> list[int]:
        """The tokens of a text, a special one as one."""
        return self._tokens(text, begin=False)

    def rendered(self, messages: Sequence[Message], tools: Sequence[Schema] = ()) -> str:
        """A whole prompt as the model reads it."""
        body = {"messages": list(map(wire.sent, messages)), **({"tools": list(tools)} if tools else {})}
        return _text(self._asks.post("/apply-template", "prompt", **body))

    def _tokens(self, text: str, *, begin: bool) -> list[int]:
        return _list(self._asks.post("/tokenize", "tokens", content=text, add_special=begin, parse_special=True))


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**40:
        raise Refused
    return value


def _list(value: Any) -> list[int]:
    if not isinstance(value, list):
        raise Refused
    return list(map(_number, value))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise Refused
    return value
