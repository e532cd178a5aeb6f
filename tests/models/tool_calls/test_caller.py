"""A model that calls tools in the way it can, and whole sessions with it."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import pytest

from tests.support.histories import TinyCounter, is_sound, pending_calls
from tests.support.schemas import SCHEMAS, call
from tests.support.scripted import Scripted, Step
from tests.support.sessions import ask, scripted, tool_call
from thimble.agent.errors import ModelError
from thimble.agent.events import Answered, Event, Prepared, ToolReturned
from thimble.agent.messages import Message, Schema, ToolCall
from thimble.agent.protocols import Delta, Text, Thinking, Usage, Waiting
from thimble.models.chat import UNREADABLE, write_message
from thimble.models.ollama import wire
from thimble.models.server import CallUnreadable, OptionRefused, ServedBackend, ToolsRefused
from thimble.models.tool_calls.caller import ToolCaller
from thimble.models.tool_calls.prompt import SchemaCounter, describe_tools, plain_conversation
from thimble.session.session import Session

USER = Message("u", "user", "What holds 2 ml?")
REFUSED = ToolsRefused("scripted cannot call tools")
NO_SCHEMA = OptionRefused("no schema is enforced")
UNREADABLE_CALL = CallUnreadable("error parsing tool call")
PRINTED = '<tool_call>{"name": "read_article", "arguments": {"slug": "x"}}</tool_call>'


class Model(Scripted):
    """A model that plays a script behind a server: with tools, without them, or who knows; and with room to grow."""

    def __init__(
        self, *steps: Step, tools: bool | None = None, shapes: bool = True, room: int = 16_384, warning: str = ""
    ) -> None:
        super().__init__(steps, TinyCounter())
        self.tools, self.shapes, self.room, self.warning = tools, shapes, room, warning
        self.shaped: list[bool] = []

    def stream(
        self, messages: Sequence[Message], tools: Sequence[Schema], *, shape: Schema | None = None, **asked: Any
    ) -> Generator[Delta, None, None]:
        """The next step."""
        self.shaped.append(shape is not None)
        yield from super().stream(messages, tools, **asked)

    def with_room(self, tokens: int) -> Model:
        """Itself, or one with more room."""
        return self if tokens <= self.room else Model(*self._steps, tools=self.tools, room=tokens, warning=self.warning)

    def check(self) -> str:
        """The warning."""
        return self.warning


def said(model: ToolCaller, messages: Sequence[Message] = (USER,), tools: Sequence[Schema] = SCHEMAS) -> list[Delta]:
    """The deltas of the next reply."""
    return list(model.stream(messages, tools, max_tokens=9))


# ---- in the server's own way ----


def test_a_native_reply_passes_as_it_is() -> None:
    usage = Usage(100, 60, 5, finish="stop")
    native = ToolCall("c1", "read_article", '{"slug": "x"}')
    reply = [Waiting("loading"), Thinking("hm"), Text(f"I look.\n{PRINTED}"), native, native, usage]
    inner = Model(reply, tools=True)
    assert said(ToolCaller(inner)) == reply
    (request,) = inner.requests
    assert (request.messages, request.tools, request.max_tokens) == ((USER,), tuple(SCHEMAS), 9)


def test_it_is_served_as_the_inner_backend_is() -> None:
    inner = Model("a", warning="it is slow")
    model = ToolCaller(inner)
    assert isinstance(model, ServedBackend)
    assert (model.name, model.model, model.room, model.check()) == ("scripted", "scripted", 16_384, "it is slow")
    assert model.with_room(16_384) is model
    larger = model.with_room(20_000)
    assert (larger.room, larger.inner is inner, larger.protocol) == (20_000, False, "")
    bare = ToolCaller(Scripted(["a"]))
    assert (bare.with_room(10**6), bare.check(), bare.renders_tools) == (bare, "", False)


# ---- by schema ----


def test_a_model_without_tools_calls_by_schema() -> None:
    inner = Model('{"read_article": "x"}', '{"answer": "a thimble"}', tools=False)
    model = ToolCaller(inner)
    assert (model.protocol, model.renders_tools, type(model.counter)) == ("calls by schema", True, SchemaCounter)
    assert said(model)[:-1] == [call(slug="x")]
    assert said(model)[:-1] == [Text("a thimble")]
    assert ([request.tools for request in inner.requests], inner.shaped) == ([(), ()], [True, True])
    assert list(inner.requests[0].messages) == plain_conversation([USER], SCHEMAS)


def test_a_refused_way_to_call_is_never_taken_again() -> None:
    inner = Model(REFUSED, '{"answer": "one"}', '{"answer": "two"}')
    model = ToolCaller(inner)
    assert model.protocol == ""
    assert [said(model)[0], said(model)[0]] == [Text("one"), Text("two")]
    assert [bool(request.tools) for request in inner.requests] == [True, False, False]
    assert model.protocol == model.with_room(10**6).protocol == "calls by schema"
    inner = Model(NO_SCHEMA, "one", "two")
    model = ToolCaller(inner, "schema")
    assert [said(model)[0], said(model)[0]] == [Text("one"), Text("two")]
    assert inner.shaped == [True, False, False]


@pytest.mark.parametrize(
    ("inner", "what"),
    [
        (Model(tools=False, shapes=False), "can neither call tools nor write objects of a schema"),
        (Model(REFUSED, shapes=False), "cannot call tools"),
        (Model(NO_SCHEMA, tools=False), "no schema is enforced"),
        (Model(REFUSED, NO_SCHEMA), "no schema is enforced"),
        (Model(UNREADABLE_CALL, shapes=False), "error parsing tool call"),
        (Model([Text("half"), ModelError("gone")]), "gone"),
    ],
)
def test_a_model_that_fails_or_can_call_in_neither_way_is_an_error(inner: Model, what: str) -> None:
    with pytest.raises(ModelError, match=what):
        said(ToolCaller(inner))
    inner.assert_done()


def test_a_call_that_its_server_cannot_read_is_asked_for_once_more_by_schema() -> None:
    inner = Model([Text("I look."), UNREADABLE_CALL], '{"read_article": "x"}', "native again")
    model = ToolCaller(inner)
    assert said(model)[:-1] == [Text("I look."), Text("\n\n"), call(slug="x")]
    assert said(model)[0] == Text("native again")
    assert inner.shaped == [False, True, False]


def test_the_notice_of_calls_by_schema_is_shown_once() -> None:
    model = ToolCaller(Model("a", tools=False, warning="it is slow"))
    told_once = "scripted cannot call tools: each turn is an object of a schema (calls by schema)"
    assert model.check() == f"{told_once}; it is slow"
    assert model.check() == model.with_room(10**6).check() == "it is slow"


# ---- sessions ----


def session_with(*steps: Step, tools: bool | None = False, **settings: object) -> tuple[Session, Model]:
    """A session whose model calls by schema, unless it has tools."""
    inner = Model(*steps, tools=tools)
    session = scripted(**settings)
    session.agent.use(ToolCaller(inner))
    return session, inner


def ends_well(session: Session) -> None:
    """The history is sound and closed."""
    assert is_sound(session.agent.history) == []
    assert pending_calls(session.agent.history) == []


def results(events: Sequence[Event]) -> list[ToolReturned]:
    """What came of each call."""
    return [event for event in events if isinstance(event, ToolReturned)]


def test_a_whole_loop_by_schema_is_counted_as_it_is_sent() -> None:
    read = '{"read": "observation-masking"}'
    session, inner = session_with('{"list": "masking"}', read, '{"answer": "It hides old results."}')
    events = ask(session)
    assert [result.ok for result in results(events)] == [True, True]
    assert isinstance(events[-1], Answered)
    assert events[-1].text.startswith("It hides old results.")
    inner.assert_done()
    told = describe_tools(session.agent.schemas()).content
    assert inner.requests[-1].messages[0].content == f"{session.agent.state.system}\n\n{told}"
    assert inner.requests[-1].messages[-2].content == read
    assert [counted - tokens for counted, tokens in inner.counter.calibrated] == [0, 0, 0]
    views = [event.view for event in events if isinstance(event, Prepared)]
    for view, request in zip(views, inner.requests, strict=True):
        sent = inner.counter.overhead(()) + sum(map(inner.counter.count, request.messages))
        assert sent <= view.tokens <= 1.02 * sent
    ends_well(session)


def test_after_native_turns_the_history_is_told_by_schema() -> None:
    call = tool_call("list_articles", topic="masking")
    session, inner = session_with([Text("I look."), call], REFUSED, '{"answer": "yes"}', tools=None)
    ask(session)
    assert inner.requests[-1].messages[2].content == 'I look.\n{"list_articles": "masking"}'
    ends_well(session)


# ---- a call that is written as text ----


@pytest.mark.parametrize("tools", [True, None])
def test_a_call_that_is_written_as_text_is_not_run_but_asked_for_by_schema(tools: bool | None) -> None:
    looked, answer = tool_call("list_articles"), '{"answer": "It hides old results."}'
    session, inner = session_with(looked, f"Now this.\n{PRINTED}", '{"read_article": "glossary"}', answer, tools=tools)
    events = ask(session)
    assert [result.call.name for result in results(events)] == ["list_articles", "read_article"]
    assert inner.shaped == [False, False, True, True]
    assert not any(PRINTED in message.content for message in session.agent.history)
    assert session.notices == ["scripted called no tool: each turn is an object of a schema (calls by schema)"]
    ends_well(session)


def test_a_printed_call_is_the_answer_if_only_native_calls_are_wanted() -> None:
    session, inner = session_with(PRINTED, PRINTED)
    session.agent.use(ToolCaller(inner, "tools"))
    inner.tools = True
    *_, answered = ask(session)
    assert answered == Answered(PRINTED, "answered")
    assert inner.shaped == [False, False]
    ends_well(session)


# ---- to a server with tools, later ----


def test_a_call_without_a_name_is_sent_under_one() -> None:
    caller = Message("a", "assistant", "", calls=(ToolCall("c1", "", "oops"),))
    result = Message("t", "tool", "Error: no", call_id="c1")
    assert write_message(caller)["tool_calls"][0]["function"] == {"name": UNREADABLE, "arguments": "oops"}
    assert wire.request_message(caller)["tool_calls"][0]["function"] == {
        "name": UNREADABLE,
        "arguments": {"_raw": "oops"},
    }
    assert wire.request_message(result)["tool_name"] == UNREADABLE
