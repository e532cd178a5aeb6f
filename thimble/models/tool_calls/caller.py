"""A backend wrapper for tool calls: by the server's own way, or by schema."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal

from thimble.agent.budget import Counter
from thimble.agent.errors import ModelError, RepetitionDetected
from thimble.agent.messages import Message, Schema, ToolCall
from thimble.agent.protocols import Backend, Delta, Expects, Text, Usage, Waiting
from thimble.models.server import (
    Calls,
    CallUnreadable,
    Check,
    OptionRefused,
    ServedBackend,
    ToolsRefused,
    largest_budget,
)
from thimble.models.tool_calls.next_turn import turn_schema
from thimble.models.tool_calls.prompt import SchemaCounter, plain_conversation
from thimble.models.tool_calls.schema import Turn
from thimble.models.wire.calls import known_name

BY_SCHEMA = "calls by schema"
"""The name of this way in messages to the user."""
SMALL_PARAMETERS = 4e9
"""A smaller model seldom makes a call in the server's own way (docs/results/small-models.md)."""
CANNOT_CALL_TOOLS = "it can neither call tools nor write objects of a schema"
OTHER_MODEL = "choose another model (--model NAME), or a server that takes tools or a JSON schema"
COMPLETE_REASONS = ("stop", "")
"""The finish reasons of a reply that is whole, as far as the server says."""
NAMED_PARAMETERS = re.compile(r"(?<![\d.])(\d+(?:\.\d+)?)([bm])\b", re.IGNORECASE)


class ToolCaller(Backend):
    """A backend whose model calls tools in the server's own way, or by schema.

    By schema, each turn is an object of a schema that the server enforces. This way is taken if the model is small (by
    `inner.parameters`, else by its name), has no tools (`inner.tools` is False), has made no call when one was due, or
    if its server refuses the tools; and only if `inner` can enforce a schema (`inner.shapes`). After a refusal, the
    same question is asked in the other way. The choice applies to the whole session.

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
        ways: tuple[Calls, Calls] = ("tools", "schema") if native else ("schema", "tools")
        return next(filter(self._can, ways), ways[0])

    def _can(self, way: Calls) -> bool:
        if way == "schema":
            return getattr(self.inner, "shapes", False) and way not in self._refused
        return getattr(self.inner, "tools", None) is not False and way not in self._refused

    def longest_prompt(self) -> int | None:
        """The longest prompt, in tokens, that leaves room for a reply."""
        return self.inner.longest_prompt()

    @property
    def small(self) -> bool:
        """Whether its summaries are poor and slow: it calls by schema, or has few parameters."""
        return self.calls == "schema" or self._is_small

    def checks(self, budget: int) -> Iterator[Check]:
        """The doctor's findings: how this model calls tools, and whether prompts of `budget` tokens fit."""
        from thimble.models.refusals import WITH_TOOLS

        fix = "" if self._can(self.calls) else OTHER_MODEL
        how = CANNOT_CALL_TOOLS if fix else self.protocol or "calls tools"
        yield Check(f"{self.model} {how}", fix or (WITH_TOOLS if "tools" in self._refused else ""))
        if context := getattr(self.inner, "context", None):
            fits = largest_budget(context)
            yield Check(f"room for {context:,} tokens of prompt and reply", f"--budget {fits}" if fits < budget else "")

    def use_schema(self) -> None:
        """Call by schema from now on, since the model made no call when one was due; unless the user chose the way."""
        if self.wanted == "auto" and self.calls == "tools":
            self._failed, self._warned = True, False

    @property
    def protocol(self) -> str:
        """The way in which the prompt describes the tools; "" if the server describes them."""
        return BY_SCHEMA if self.calls == "schema" else ""

    @property
    def renders_tools(self) -> bool:
        """Whether a prompt starts with the tools; by schema they are in the system message."""
        return bool(self.protocol) or self.inner.renders_tools

    @property
    def returns_thinking(self) -> bool:
        """Whether replies contain thinking; by schema, calls are text, and thinking is left out."""
        return not self.protocol and self.inner.returns_thinking

    @property
    def counter(self) -> Counter:
        """Counts tokens of the prompt as it is sent."""
        return self._counter if self.protocol else self.inner.counter

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
        """Stream one reply. Closing it closes the connection.

        Raises:
            ModelError: the server cannot be used, or the model can call in neither way.
        """
        way, said = self.calls, False
        if tools and not self._can(way):
            raise ModelError(f"{self.id.called}: {CANNOT_CALL_TOOLS}", OTHER_MODEL)
        while True:
            try:
                with closing(self._reply(way, messages, tools, expects, asked)) as deltas:
                    for delta in deltas:
                        said = said or isinstance(delta, Text)
                        yield delta
                return
            except (ToolsRefused, OptionRefused, CallUnreadable) as refusal:
                other: Calls = "tools" if way == "schema" else "schema"
                if isinstance(refusal, OptionRefused) != (way == "schema") or not self._can(other):
                    raise
                if not isinstance(refusal, CallUnreadable):
                    self._refused.add(way)
                elif said:
                    yield Text("\n\n")
                way = other

    def _reply(
        self, way: Calls, messages: Sequence[Message], tools: Sequence[Schema], expects: Expects, asked: dict[str, Any]
    ) -> Generator[Delta, None, None]:
        """One reply in this way; its calls have the names of the offered tools."""
        texts, offers, usage, turn = messages, tools, Usage(), None
        if way == "schema":
            texts, offers = plain_conversation(messages, tools), ()
            self._counter.sends(texts)
            if expects == "text":  # even unasked, a small model may write an object
                turn = Turn(tools)
            elif tools:
                turn, asked = Turn(tools, messages), asked | {"shape": turn_schema(messages, tools, expects == "turn")}
        with closing(self.inner.stream(texts, offers, expects=expects, **asked)) as deltas:
            try:
                for delta in deltas:
                    if isinstance(delta, Usage):
                        usage = delta
                    elif isinstance(delta, ToolCall):
                        yield replace(delta, name=known_name(delta.name, tools))
                    else:
                        yield from turn.add_delta(delta) if turn else (delta,)
            except RepetitionDetected:
                yield from turn.finish(cut=True) if turn else ()
                raise
        is_whole = usage.finish in COMPLETE_REASONS
        yield from turn.finish(cut=not is_whole) if turn else ()
        yield replace(usage, finish="length") if turn and turn.cut and is_whole else usage

    def rendered(self, messages: Sequence[Message], tools: Sequence[Schema]) -> str | None:
        """The prompt as the model reads it; None if the server does not report it. Raises ModelError."""
        if self.protocol:
            messages, tools = plain_conversation(messages, tools), ()
        return self.inner.rendered(messages, tools)

    def with_room(self, tokens: int) -> ToolCaller:
        """The same model with this much room, if its server can give it; itself if it has that much already."""
        inner = self.inner.with_room(tokens) if isinstance(self.inner, ServedBackend) else self.inner
        if inner is self.inner:
            return self
        roomy = ToolCaller(inner, self.wanted, is_local=self.is_local)
        roomy._refused, roomy._failed, roomy._warned = self._refused, self._failed, self._warned
        return roomy

    def check(self) -> str:
        """A warning of one line about how the server runs the model; once, that the model calls by schema."""
        served = self.inner.check() if isinstance(self.inner, ServedBackend) else ""
        if not self.protocol or self._warned or self.wanted == self.calls:
            return served
        self._warned = True
        unable = "called no tool" if self._failed else "is small" if self._is_small else "cannot call tools"
        without = f"{self.id.called} {unable}: each turn is an object of a schema ({self.protocol})"
        return f"{without}; {served}" if served else without

    @property
    def _is_small(self) -> bool:
        known, named = getattr(self.inner, "parameters", None), NAMED_PARAMETERS.search(self.model)
        if known is None and named:
            known = float(named[1]) * (1e9 if named[2] in "bB" else 1e6)
        return known is not None and known < SMALL_PARAMETERS

    @cached_property
    def _counter(self) -> SchemaCounter:
        return SchemaCounter(self.inner.counter)
