"""A backend wrapper for tool calls: native ones, calls printed as text, or the text ReAct protocol."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from functools import cached_property, partial

from agent.budget import Counter
from agent.errors import Circled
from agent.messages import Message, Schema, ToolCall, last_turn
from agent.protocols import Backend, BackendDefaults, Delta, Text, Usage
from models.openai import api_key
from models.server import ServedBackend, ToolsRefused
from models.text_calls.parsers import malformed, offered
from models.text_calls.printed_calls import PrintedCalls
from models.text_calls.prompt import TextCounter, conversation

TEXT_REACT = "text ReAct"

_Ask = Callable[[Sequence[Message], Sequence[Schema]], Generator[Delta, None, None]]


class ToolCaller(BackendDefaults):
    """A backend whose model calls tools in whichever way it can.

    Calls in the model's text are recognised. If the model has no tools (`inner.tools` is False), or its server refuses
    them, the prompt describes the tools in text, and the same question is asked again; this holds for the session.

    Args:
        inner: The backend of the model's server.
    """

    def __init__(self, inner: Backend) -> None:
        self.name, self.model = inner.name, inner.model
        self.room: int = getattr(inner, "room", 0)
        self.inner = inner
        self._refused = False
        self._warned = False

    @property
    def protocol(self) -> str:
        """How the model learns of the tools: "text ReAct", or "" if the server tells it."""
        return TEXT_REACT if self._refused or getattr(self.inner, "tools", None) is False else ""

    @property
    def renders_tools(self) -> bool:
        """Whether a prompt begins with the tools; in text ReAct they are in the system message."""
        return bool(self.protocol) or self.inner.renders_tools

    @property
    def ruled_out(self) -> Sequence[str]:
        """The tokens that begin a call and can be ruled out; in text ReAct none is such a token."""
        return () if self.protocol else self.inner.ruled_out

    @property
    def counter(self) -> Counter:
        """Counts tokens of the prompt as it is sent."""
        return self._text_counter if self.protocol else self.inner.counter

    def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[Schema],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        may_call: bool = True,
    ) -> Generator[Delta, None, None]:
        """Stream one reply without the key, its calls as calls. Closing it closes the connection. Raises ModelError."""
        ask = partial(self.inner.stream, max_tokens=max_tokens, temperature=temperature, may_call=may_call)
        return api_key.taken_out(self._replied(messages, tools, ask))

    def _replied(self, messages: Sequence[Message], tools: Sequence[Schema], ask: _Ask) -> Generator[Delta, None, None]:
        tells = not _was_told(messages)
        if not (self.protocol or tools):
            yield from ask(messages, tools)
            return
        if not self.protocol:
            printed = PrintedCalls(offered(tools), tells=tells)
            try:
                yield from _with_calls(ask(messages, tools), printed)
                return
            except ToolsRefused:
                self._refused = True
        texts = conversation(messages, tools)
        self._text_counter.sends(texts)
        printed = PrintedCalls(offered(tools), labelled=True, tells=tells)
        yield from _with_calls(ask(texts, ()), printed)

    def rendered(self, messages: Sequence[Message], tools: Sequence[Schema]) -> str | None:
        """The prompt as the model reads it; None where the server does not tell. Raises ModelError."""
        if self.protocol:
            messages, tools = conversation(messages, tools), ()
        rendered = self.inner.rendered(messages, tools)
        return rendered and api_key.hidden(rendered)

    def with_room(self, tokens: int) -> ToolCaller:
        """The same model with this much room, if its server can give it; itself where it has it already."""
        inner = self.inner.with_room(tokens) if isinstance(self.inner, ServedBackend) else self.inner
        if inner is self.inner:
            return self
        roomy = ToolCaller(inner)
        roomy._refused, roomy._warned = self._refused, self._warned
        return roomy

    def check(self) -> str:
        """A warning of one line about how the server runs the model; once, that text ReAct is in use."""
        served = self.inner.check() if isinstance(self.inner, ServedBackend) else ""
        if not self.protocol or self._warned:
            return served
        self._warned = True
        without = f"{self.model} cannot call tools: it is told of them in text ({TEXT_REACT})"
        return f"{without}; {served}" if served else without

    @cached_property
    def _text_counter(self) -> TextCounter:
        return TextCounter(self.inner.counter)


def _with_calls(stream: Generator[Delta, None, None], printed: PrintedCalls) -> Generator[Delta, None, None]:
    """A reply, with calls for those printed in its text. After a native call the rest of the text is only text.

    If the model makes up the result of its call, the stream is closed, and its usage is unknown. If its server ends the
    reply because it went round in circles, so does this one, behind all that came.
    """
    usage, native, circled = Usage(), False, False
    with closing(stream):
        try:
            for delta in stream:
                if isinstance(delta, Usage):
                    usage = delta
                elif isinstance(delta, Text) and not native:
                    shown = printed.feed(delta.text)
                    if shown:
                        yield Text(shown)
                    if printed.over:
                        break
                elif isinstance(delta, ToolCall) and not native:
                    native = True
                    yield from map(Text, filter(None, [printed.held]))
                    yield delta
                else:
                    yield delta
        except Circled:
            circled = True
    if not native:
        yield from printed.close(cut=circled or usage.finish == "length")
    if circled:
        raise Circled
    yield usage


def _was_told(messages: Sequence[Message]) -> bool:
    """Whether the last turn made a malformed call: the model has had one error for it, and gets no second."""
    turn = messages[last_turn(messages) :]
    return any(map(malformed, turn[0].calls)) if turn else False
