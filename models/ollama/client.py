"""The Client of the `ollama` package with our bounds, and its types with what they leave out.

To be imported late: it costs 0.15 s. Three parts are private, and tests/models/ollama/test_client.py pins them: the
modules `_client` and `_types`, the factory of an HTTP client that `BaseClient` takes, and `_request`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec, module_from_spec
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import httpx
from pydantic import BeforeValidator, SkipValidation, ValidationError

from agent import foreign
from agent.errors import ModelError
from models.ollama.errors import START, unreadable
from models.wire import http
from models.wire.bounds import REPLY_CALLS, Allowance, endless

Refused = Callable[[httpx.Response, str], ModelError]
"""The error for a response and the words of its refusal."""


@contextmanager
def _bare(name: str) -> Iterator[None]:
    """Import modules of a package without its `__init__`.

    That of `ollama` makes a client of its own from OLLAMA_HOST, the proxies and the certificates of the environment,
    and fails where one of them cannot be used, even if nobody asked for it.
    """
    spec = None if name in sys.modules else find_spec(name)
    if spec is not None:
        sys.modules[name] = module_from_spec(spec)
    try:
        yield
    finally:
        if spec is not None:
            del sys.modules[name]  # a later import is a whole one


if TYPE_CHECKING:
    from ollama._client import BaseClient, Client
    from ollama._types import ChatRequest, ChatResponse, Message
else:
    with _bare("ollama"):
        from ollama._client import BaseClient, Client
        from ollama._types import ChatRequest, ChatResponse, Message

Figure = Annotated[int | None, BeforeValidator(http.figure)]
"""A figure that may be missing; one that cannot be is missing too."""


def _few(calls: Any) -> Any:
    """The calls, before each is looked at."""
    if isinstance(calls, list) and len(calls) > REPLY_CALLS:
        raise endless()
    return calls


class Chat(ChatRequest):
    """A request for a reply. The messages go as they are, with `id` and `tool_call_id`, and so do the tools."""

    messages: SkipValidation[Sequence[Mapping[str, Any]]]
    tools: SkipValidation[Any] = None
    keep_alive: int | str | None = None
    truncate: bool | None = None


class Function(Message.ToolCall.Function):
    """The name and arguments of a call, as the model wrote them."""

    name: SkipValidation[str] = ""
    arguments: SkipValidation[Any] = None


class Call(Message.ToolCall):
    """A tool call with its id."""

    id: SkipValidation[str | None] = None
    function: Function


class Said(Message):
    """A piece of a reply. Its texts are not checked: JSON can spell half a character."""

    role: SkipValidation[str] = "assistant"
    content: SkipValidation[str | None] = None
    thinking: SkipValidation[str | None] = None
    tool_calls: Annotated[Sequence[Call] | None, BeforeValidator(_few)] = None


class Line(ChatResponse):
    """A line of a reply, with the count of what was cached; without a message, the model was only loaded."""

    model: SkipValidation[str | None] = None
    created_at: SkipValidation[str | None] = None
    message: Annotated[Said, BeforeValidator(lambda message: message or {})] = Said()
    done: SkipValidation[bool | None] = None
    done_reason: SkipValidation[str | None] = None
    logprobs: SkipValidation[Any] = None
    total_duration: Figure = None
    load_duration: Figure = None
    prompt_eval_count: Figure = None
    prompt_eval_cached_count: Figure = None
    prompt_eval_duration: Figure = None
    eval_count: Figure = None
    eval_duration: Figure = None


Answer = TypeVar("Answer", dict[str, Any], Line)


class OllamaClient(Client):
    """The package's Client, which sends no key and whose HTTP client is ours.

    It goes to `url` alone: redirects are errors, and so are answers of more than 16 MB. Each error is a ModelError.

    Args:
        url: Address of the server.
        allowance: What the answers may use.
        transport: Replaces the network, for tests.
        refused: The error for a refusal.
    """

    def __init__(self, url: str, allowance: Allowance, transport: httpx.BaseTransport | None, refused: Refused) -> None:
        def bounded(headers: Mapping[str, str], **_: object) -> _Bounded:
            headers = {name: value for name, value in headers.items() if name != "authorization"}
            return _Bounded(http.client(url, allowance, transport, headers), url, allowance, refused)

        BaseClient.__init__(self, bounded, url)

    def ask(self, path: str, request: str | None) -> dict[str, Any]:
        """The answer to a request: a plain object, since the package's types refuse a whole list for one odd entry."""
        method = "GET" if request is None else "POST"
        answer: dict[str, Any] = self._request(dict, method, path, content=request, stream=False)
        return answer

    def replies(self, kind: type[Answer], path: str, request: str) -> Iterator[Answer]:
        """The lines of a streamed reply. Closing it closes the connection."""
        try:
            yield from self._request(kind, "POST", path, content=request, stream=True)
        except ValidationError as error:
            raise unreadable(json.dumps(error.errors()[0]["input"], default=str).encode()) from error


class _Bounded:
    """What the package uses of an HTTP client, with our limits and errors."""

    def __init__(self, client: httpx.Client, url: str, allowance: Allowance, refused: Refused) -> None:
        self._client, self._url, self._allowance, self._refused = client, url, allowance, refused

    def request(self, method: str, path: str, **rest: Any) -> httpx.Response:
        with self._response(method, path, **rest) as response:
            return _Body(200, content=http.whole(response, self._allowance), request=response.request)

    @contextmanager
    def stream(self, method: str, path: str, **rest: Any) -> Iterator[httpx.Response]:
        with self._response(method, path, **rest) as response:
            yield httpx.Response(200, content=self._checked(response), request=response.request)

    def close(self) -> None:
        self._client.close()

    @contextmanager
    def _response(self, method: str, path: str, **rest: Any) -> Iterator[httpx.Response]:
        with (
            http.as_model_errors(self._url, self._allowance.bounds.quiet_seconds, START),
            self._client.stream(method, path, **rest) as response,
        ):
            if response.is_redirect:
                raise http.moved(self._url, response.headers.get("location", ""))
            if response.status_code != 200:
                said = http.whole(response, self._allowance)
                raise self._refused(response, said.decode(errors="replace"))
            yield response

    def _checked(self, response: httpx.Response) -> Iterator[bytes]:
        for line in http.lines(response.iter_bytes()):
            answer = _line(line)
            if answer.get("error") is not None:
                raise self._refused(response, json.dumps(answer))
            yield json.dumps(answer).encode() + b"\n"  # in ASCII, since httpx ends a line at U+0085 too


class _Body(httpx.Response):
    """A whole answer, which the package reads with `json`."""

    def json(self, **_: Any) -> dict[str, Any]:
        return _object(self.content)


def _object(text: bytes) -> dict[str, Any]:
    try:
        answer = foreign.read(text)
    except ValueError as error:
        raise unreadable(text) from error
    if not isinstance(answer, dict):
        raise unreadable(text)
    return answer


def _line(text: bytes) -> dict[str, Any]:
    try:
        return _object(text)
    except ModelError as error:
        raise (http.stopped() if text.startswith(b"{") else error) from error
