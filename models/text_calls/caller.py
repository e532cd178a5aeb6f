"""A backend wrapper for tool calls: native ones, calls printed as text, calls by schema, or text ReAct."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from functools import cached_property, partial
from typing import Literal

from agent.budget import Counter
from agent.errors import Circled
from agent.messages import Message, Schema, ToolCall, last_turn
from agent.protocols import Backend, BackendDefaults, Delta, Text, Usage, Waiting
from models.counting.kept import keep, kept
from models.openai import api_key
from models.server import Calls, Check, OptionRefused, ServedBackend, ToolsRefused
from models.text_calls.parsers import malformed, offered
from models.text_calls.printed_calls import PrintedCalls
from models.text_calls.prompt import REACT, Form, TextCounter, conversation
from models.text_calls.schema import SCHEMA, Turn, turn_schema

PROTOCOLS: Mapping[Calls, str] = {"tools": "", "schema": "calls by schema", "text": "text ReAct"}

_Ask = Callable[..., Generator[Delta, None, None]]


class ToolCaller(BackendDefaults):
    """A backend whose model calls tools in whichever way it can.

    In the server's own way, calls in the model's text are recognised too. If the model has no tools (`inner.tools` is
    False), or its server refuses them, each turn is an object of a schema, where `inner` has a `digest`; else the
    prompt describes the tools in text. The same question is asked again then; this holds for the session.

    Args:
        inner: The backend of the model's server.
        calls: The way that the user wants; "auto" for the first that works.
    """

    def __init__(self, inner: Backend, calls: Calls | Literal["auto"] = "auto") -> None:
        self.name, self.model = inner.name, inner.model
        self.room: int = getattr(inner, "room", 0)
        self.inner = inner
        self.wanted = calls
        self._digest: Callable[[], str] | None = getattr(inner, "digest", None)
        self._refused: set[Calls] = set()
        self._known: Calls | Literal[""] = ""
        self._warned = False

    @property
    def calls(self) -> Calls:
        """The way in which this model calls tools."""
        native = self.wanted in ("auto", "tools") and getattr(self.inner, "tools", None) is not False
        native = native and self._known != "schema"
        shaped = self.wanted != "text" and self._digest is not None
        able: Mapping[Calls, bool] = {"tools": native, "schema": shaped}
        return next((way for way, can in able.items() if can and way not in self._refused), "text")

    @property
    def is_open(self) -> bool:
        """Whether a trial has to say if this model calls tools in its server's own way. Raises ModelError."""
        if self.wanted != "auto" or self._known or self.calls != "tools" or not self._digest:
            return False
        found = kept("calls", self._digest())
        self._known = next((way for way in PROTOCOLS if way == found), "")
        return not self._known

    def how(self) -> Check:
        """The doctor's finding of how this model calls tools. Raises ModelError."""
        if self.is_open:
            return Check("calls", "ok", "the first question tries how the model calls tools, once")
        chosen = "" if self.wanted == "auto" else f", as --calls {self.wanted} says"
        return Check("calls", "ok", (self.protocol or "the tools of the server") + chosen)

    def settle(self, found: Calls) -> None:
        """Call in this way from now on, and whenever this model is used again: a trial has found it."""
        self._known = found
        if self._digest:
            keep("calls", self._digest(), found)

    @property
    def protocol(self) -> str:
        """How the model learns of the tools; "" if the server tells it."""
        return PROTOCOLS[self.calls]

    @property
    def renders_tools(self) -> bool:
        """Whether a prompt begins with the tools; in a protocol they are in the system message."""
        return bool(self.protocol) or self.inner.renders_tools

    @property
    def ruled_out(self) -> Sequence[str]:
        """The tokens that begin a call and can be ruled out; in a protocol none is such a token."""
        return () if self.protocol else self.inner.ruled_out

    @property
    def counter(self) -> Counter:
        """Counts tokens of the prompt as it is sent."""
        return self._counters[self.calls] if self.protocol else self.inner.counter

    def loading(self) -> Iterable[Waiting]:
        """Make the model ready. Raises ModelError."""
        return self.inner.loading()

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
        return api_key.taken_out(self._replied(messages, tools, ask, may_call))

    def _replied(
        self, messages: Sequence[Message], tools: Sequence[Schema], ask: _Ask, may_call: bool
    ) -> Generator[Delta, None, None]:
        tells = not _was_told(messages)
        if not (self.protocol or tools):
            yield from ask(messages, tools)
            return
        if self.calls == "tools":
            printed = PrintedCalls(offered(tools), tells=tells)
            try:
                yield from _with_calls(ask(messages, tools), printed)
                return
            except ToolsRefused:
                self._refused.add("tools")
        if self.calls == "schema":
            texts = self._written(messages, tools)
            shape = turn_schema(messages, tools, may_call) if tools else None
            try:
                yield from _in_turn(ask(texts, (), shape=shape), Turn(tools)) if tools else ask(texts, ())
                return
            except OptionRefused:
                self._refused.add("schema")
        printed = PrintedCalls(offered(tools), labelled=True, tells=tells)
        yield from _with_calls(ask(self._written(messages, tools), ()), printed)

    def _written(self, messages: Sequence[Message], tools: Sequence[Schema]) -> list[Message]:
        """The messages in the form of the protocol, as they are about to be sent."""
        texts = conversation(messages, tools, FORMS[self.calls])
        self._counters[self.calls].sends(texts)
        return texts

    def rendered(self, messages: Sequence[Message], tools: Sequence[Schema]) -> str | None:
        """The prompt as the model reads it; None where the server does not tell. Raises ModelError."""
        if self.protocol:
            messages, tools = conversation(messages, tools, FORMS[self.calls]), ()
        rendered = self.inner.rendered(messages, tools)
        return rendered and api_key.hidden(rendered)

    def with_room(self, tokens: int) -> ToolCaller:
        """The same model with this much room, if its server can give it; itself where it has it already."""
        inner = self.inner.with_room(tokens) if isinstance(self.inner, ServedBackend) else self.inner
        if inner is self.inner:
            return self
        roomy = ToolCaller(inner, self.wanted)
        roomy._refused, roomy._known, roomy._warned = self._refused, self._known, self._warned
        return roomy

    def check(self) -> str:
        """A warning of one line about how the server runs the model; once, that it is told of the tools in text."""
        served = self.inner.check() if isinstance(self.inner, ServedBackend) else ""
        if not self.protocol or self._warned or self.wanted == self.calls:
            return served
        self._warned = True
        how = "each turn is an object of a schema" if self.calls == "schema" else "it is told of them in text"
        without = f"{self.id.called} cannot call tools: {how} ({self.protocol})"
        return f"{without}; {served}" if served else without

    @cached_property
    def _counters(self) -> Mapping[Calls, TextCounter]:
        return {way: TextCounter(self.inner.counter, form) for way, form in FORMS.items()}


FORMS: Mapping[Calls, Form] = {"schema": SCHEMA, "text": REACT}


def _in_turn(stream: Generator[Delta, None, None], turn: Turn) -> Generator[Delta, None, None]:
    """A reply of one object as text or a call, then its usage."""
    usage = Usage()
    with closing(stream):
        for delta in stream:
            if isinstance(delta, Usage):
                usage = delta
            elif isinstance(delta, Text):
                yield from map(Text, filter(None, [turn.feed(delta.text)]))
            else:
                yield delta
    left = turn.close()
    if left:
        yield left
    yield usage


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
