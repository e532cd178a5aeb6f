"""A backend wrapper for tool calls: native ones, calls printed as text, calls by schema, or text ReAct."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal

from thimble.agent.budget import Counter
from thimble.agent.errors import Circled, ModelError
from thimble.agent.messages import Message, Schema, last_turn
from thimble.agent.protocols import Backend, BackendDefaults, Delta, Expects, Usage, Waiting
from thimble.models.server import Calls, Check, OptionRefused, ServedBackend, ToolsRefused
from thimble.models.text_calls.kept_way import keep_way, kept_way
from thimble.models.text_calls.next_turn import turn_schema
from thimble.models.text_calls.parsers import malformed, offered
from thimble.models.text_calls.printed_calls import PrintedCalls
from thimble.models.text_calls.prompt import REACT, CallForm, TextCounter, conversation
from thimble.models.text_calls.schema import SCHEMA, Turn
from thimble.models.wire import api_key

CALL_FORMS: Mapping[Calls, CallForm] = {"schema": SCHEMA, "text": REACT}
"""How calls are written where the server's own way is not taken."""


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
        self._known = ""
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
    def small(self) -> bool:
        """Whether its summaries are poor and slow: it calls by schema, or its server says that it is small."""
        return self.calls == "schema" or getattr(self.inner, "small", False)

    @property
    def is_open(self) -> bool:
        """Whether a trial has to say if this model calls tools in its server's own way. Raises ModelError."""
        if self.wanted != "auto" or self._known or self.calls != "tools" or not self._digest:
            return False
        digest = self._digest()
        found = kept_way(digest) if digest else ""
        self._known = found if found in ("tools", *CALL_FORMS) else ""
        return not self._known

    def how(self) -> Iterator[Check]:
        """The doctor's finding of how this model calls tools; none where the server does not answer."""
        with suppress(ModelError):
            trial = "the first question tries how the model calls tools, once" if self.is_open else ""
            chosen = "" if self.wanted == "auto" else f", as --calls {self.wanted} says"
            yield Check("calls", "ok", trial or (self.protocol or "the tools of the server") + chosen)

    def settle(self, found: Calls) -> None:
        """Call in this way from now on, and whenever this model is used again: a trial has found it."""
        self._known = found
        if self._digest and (digest := self._digest()):
            keep_way(digest, found)

    @property
    def protocol(self) -> str:
        """How the model learns of the tools; "" if the server tells it."""
        return CALL_FORMS[self.calls].name if self.calls in CALL_FORMS else ""

    @property
    def renders_tools(self) -> bool:
        """Whether a prompt begins with the tools; in a protocol they are in the system message."""
        return bool(self.protocol) or self.inner.renders_tools

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
        expects: Expects = "turn",
        **asked: Any,
    ) -> Generator[Delta, None, None]:
        """Stream one reply without the key, its calls as calls. Closing it closes the connection. Raises ModelError."""
        key, usage, circled = api_key.KeyHider(), Usage(), False
        while True:
            way = self.calls
            texts, offers, reading, shape = self._question(way, messages, tools, expects)
            try:
                with closing(self.inner.stream(texts, offers, expects=expects, **asked, **shape)) as deltas:
                    for delta in deltas:
                        if isinstance(delta, Usage):
                            usage = delta
                        else:
                            for part in reading.take(delta):
                                yield from key.take(part)
                        if reading.over:
                            break
            except (ToolsRefused, OptionRefused) as refusal:
                if way == "text" or (way == "tools") != isinstance(refusal, ToolsRefused):
                    raise
                self._refused.add(way)
                continue
            except Circled:
                circled = True
            break
        for part in reading.end(cut=circled or usage.finish == "length"):
            yield from key.take(part)
        yield from key.end()
        if circled:
            raise Circled
        yield replace(usage, finish="length") if reading.cut else usage

    def _question(
        self, way: Calls, messages: Sequence[Message], tools: Sequence[Schema], expects: Expects
    ) -> tuple[Sequence[Message], Sequence[Schema], PrintedCalls | Turn, Mapping[str, Any]]:
        """The messages and tools that the model is sent in this way, the reader of its reply, and the reply's shape."""
        printed = PrintedCalls(offered(tools), labelled=way == "text", tells=not _was_told(messages))
        if way == "tools":
            return messages, tools, printed, {}
        texts = conversation(messages, tools, CALL_FORMS[way])
        self._counters[way].sends(texts)
        if way == "text" or not (tools or expects == "text"):
            return texts, (), printed, {}
        if expects == "text":  # unasked, too, a small model may write the object that it was told of
            return texts, (), Turn(tools), {}
        return texts, (), Turn(tools, messages), {"shape": turn_schema(messages, tools, expects == "turn")}

    def rendered(self, messages: Sequence[Message], tools: Sequence[Schema]) -> str | None:
        """The prompt as the model reads it; None where the server does not tell. Raises ModelError."""
        if self.protocol:
            messages, tools = conversation(messages, tools, CALL_FORMS[self.calls]), ()
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
        unable = "called no tool when that was tried" if self._known == "schema" else "cannot call tools"
        without = f"{self.id.called} {unable}: {how} ({self.protocol})"
        return f"{without}; {served}" if served else without

    @cached_property
    def _counters(self) -> Mapping[Calls, TextCounter]:
        return {way: TextCounter(self.inner.counter, form) for way, form in CALL_FORMS.items()}


def _was_told(messages: Sequence[Message]) -> bool:
    """Whether the last turn made a malformed call: the model has had one error for it, and gets no second."""
    turn = messages[last_turn(messages) :]
    return any(map(malformed, turn[0].calls)) if turn else False
