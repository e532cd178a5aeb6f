"""A backend wrapper for tool calls: native ones, calls printed as text, calls by schema, or text ReAct."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal

from thimble.agent.budget import Counter
from thimble.agent.errors import RepetitionDetected
from thimble.agent.messages import Message, Schema, last_turn
from thimble.agent.protocols import Backend, BackendDefaults, Delta, Expects, Usage, Waiting
from thimble.models.server import Calls, Check, OptionRefused, ServedBackend, ToolsRefused
from thimble.models.text_calls.next_turn import turn_schema
from thimble.models.text_calls.parsers import malformed, offered
from thimble.models.text_calls.printed_calls import PrintedCalls
from thimble.models.text_calls.prompt import REACT, CallForm, TextCounter, conversation
from thimble.models.text_calls.schema import SCHEMA, Turn
from thimble.models.wire import api_key

CALL_FORMS: Mapping[Calls, CallForm] = {"schema": SCHEMA, "text": REACT}
"""How calls are written where the server's own way is not taken."""
SMALL_PARAMETERS = 4e9
"""A model of fewer seldom makes a call in the server's own way (docs/results/small-models.md)."""
NAMED_PARAMETERS = re.compile(r"(?<![\d.])(\d+(?:\.\d+)?)([bm])\b", re.IGNORECASE)


class ToolCaller(BackendDefaults):
    """A backend whose model calls tools in whichever way it can.

    In the server's own way, calls in the model's text are recognised too. If the model is small (by `inner.parameters`,
    else by its name), has no tools (`inner.tools` is False), has answered without a call that was due, or if its server
    refuses the tools, each turn is an object of a schema, where `inner` can enforce one (`inner.shapes`); else the
    prompt describes the tools in text. Refused, the same question is asked again; all this holds for the session.

    Args:
        inner: The backend of the model's server.
        calls: The way that the user wants; "auto" for the first that works.
        is_local: The server is on this machine: asking it costs nothing but time.
    """

    def __init__(self, inner: Backend, calls: Calls | Literal["auto"] = "auto", *, is_local: bool = False) -> None:
        self.name, self.model = inner.name, inner.model
        self.room: int = getattr(inner, "room", 0)
        self.inner = inner
        self.wanted = calls
        self.is_local = is_local
        self._refused: set[Calls] = set()
        self._failed = False
        self._warned = False

    @property
    def calls(self) -> Calls:
        """The way in which this model calls tools."""
        native = self.wanted == "tools" or (self.wanted == "auto" and not (self._failed or self._is_small))
        native = native and getattr(self.inner, "tools", None) is not False
        shaped = self.wanted != "text" and getattr(self.inner, "shapes", False)
        able: Mapping[Calls, bool] = {"tools": native, "schema": shaped}
        return next((way for way, can in able.items() if can and way not in self._refused), "text")

    @property
    def small(self) -> bool:
        """Whether its summaries are poor and slow: it calls by schema, or has few parameters."""
        return self.calls == "schema" or self._is_small

    def how(self) -> Iterator[Check]:
        """The doctor's finding of how this model calls tools."""
        chosen = "" if self.wanted == "auto" else f", as --calls {self.wanted} says"
        yield Check("calls", "ok", (self.protocol or "the tools of the server") + chosen)

    def use_schema(self) -> bool:
        """Call by schema from now on, since the model made no call where one was due; False if nothing changes."""
        if self.wanted != "auto" or self.calls != "tools":
            return False
        self._failed, self._warned = True, False
        return True

    @property
    def protocol(self) -> str:
        """How the model learns of the tools; "" if the server tells it."""
        return CALL_FORMS[self.calls].name if self.calls in CALL_FORMS else ""

    @property
    def renders_tools(self) -> bool:
        """Whether a prompt begins with the tools; in a protocol they are in the system message."""
        return bool(self.protocol) or self.inner.renders_tools

    @property
    def returns_thinking(self) -> bool:
        """As the server's model has it; in a protocol, calls are words, and thinking is left out."""
        return not self.protocol and self.inner.returns_thinking

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
            except RepetitionDetected:
                circled = True
            break
        for part in reading.end(cut=circled or usage.finish == "length"):
            yield from key.take(part)
        yield from key.end()
        if circled:
            raise RepetitionDetected
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
        roomy = ToolCaller(inner, self.wanted, is_local=self.is_local)
        roomy._refused, roomy._failed, roomy._warned = self._refused, self._failed, self._warned
        return roomy

    def check(self) -> str:
        """A warning of one line about how the server runs the model; once, that it does not call in the usual way."""
        served = self.inner.check() if isinstance(self.inner, ServedBackend) else ""
        if not self.protocol or self._warned or self.wanted == self.calls:
            return served
        self._warned = True
        how = "each turn is an object of a schema" if self.calls == "schema" else "it is told of them in text"
        unable = "called no tool" if self._failed else "is small" if self._is_small else "cannot call tools"
        without = f"{self.id.called} {unable}: {how} ({self.protocol})"
        return f"{without}; {served}" if served else without

    @property
    def _is_small(self) -> bool:
        known, named = getattr(self.inner, "parameters", None), NAMED_PARAMETERS.search(self.model)
        if known is None and named:
            known = float(named[1]) * (1e9 if named[2] in "bB" else 1e6)
        return known is not None and known < SMALL_PARAMETERS

    @cached_property
    def _counters(self) -> Mapping[Calls, TextCounter]:
        return {way: TextCounter(self.inner.counter, form) for way, form in CALL_FORMS.items()}


def _was_told(messages: Sequence[Message]) -> bool:
    """Whether the last turn made a malformed call: the model has had one error for it, and gets no second."""
    turn = messages[last_turn(messages) :]
    return any(map(malformed, turn[0].calls)) if turn else False
