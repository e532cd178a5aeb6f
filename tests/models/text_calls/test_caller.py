"""A model that calls tools in the way it can, and whole sessions with it."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from itertools import pairwise
from typing import Any

import pytest

from tests.support.histories import TinyCounter, is_sound, pending
from tests.support.printed_replies import SCHEMAS, call
from tests.support.scripted import Scripted, Step
from tests.support.sessions import ask, scripted, tool_call
from thimble.agent.errors import ModelError
from thimble.agent.events import Answered, Event, Prepared, ReplyPiece, ToolReturned
from thimble.agent.messages import Message, Schema, ToolCall
from thimble.agent.protocols import Delta, Text, Thinking, Usage, Waiting
from thimble.models.chat import UNREADABLE, write
from thimble.models.ollama import wire
from thimble.models.server import ServedBackend, ToolsRefused
from thimble.models.text_calls.caller import ToolCaller
from thimble.models.text_calls.openings import TOLD
from thimble.models.text_calls.prompt import REACT, TextCounter, conversation
from thimble.repl.screen.footer import footer
from thimble.session.session import Session

USER = Message("u", "user", "What holds 2 ml?")
REFUSED = ToolsRefused("scripted cannot call tools")
PRINTED = '<tool_call>{"name": "read_article", "arguments": {"slug": "x"}}</tool_call>'


class Model(Scripted):
    """A model that plays a script behind a server: with tools, without them, or who knows; and with room to grow."""

    def __init__(self, *steps: Step, tools: bool | None = None, room: int = 16_384, warning: str = "") -> None:
        super().__init__(steps, TinyCounter())
        self.tools, self.room, self.warning, self.open = tools, room, warning, 0

    def stream(
        self, messages: Sequence[Message], tools: Sequence[Schema], **asked: Any
    ) -> Generator[Delta, None, None]:
        """The next step, as long as it is not closed."""
        self.open += 1
        try:
            yield from super().stream(messages, tools, **asked)
        finally:
            self.open -= 1

    def with_room(self, tokens: int) -> Model:
        """Itself, or one with more room."""
        return self if tokens <= self.room else Model(*self._steps, tools=self.tools, room=tokens, warning=self.warning)

    def check(self) -> str:
        """The warning."""
        return self.warning


def said(model: ToolCaller, messages: Sequence[Message] = (USER,), tools: Sequence[Schema] = SCHEMAS) -> list[Delta]:
    """The deltas of the next reply."""
    return list(model.stream(messages, tools, max_tokens=9))


# ---- with tools ----


def test_a_native_reply_passes_as_it_is() -> None:
    usage = Usage(100, 60, 5, finish="stop")
    native = ToolCall("c1", "read_article", '{"slug": "x"}')
    reply = [Waiting("loading"), Thinking("hm"), Text("I look."), native, native, usage]
    inner = Model(reply, tools=True)
    assert said(ToolCaller(inner)) == reply
    (request,) = inner.requests
    assert (request.messages, request.tools, request.max_tokens) == ((USER,), tuple(SCHEMAS), 9)


@pytest.mark.parametrize("tools", [True, None])
def test_a_call_that_is_printed_becomes_one(tools: bool | None) -> None:
    usage = Usage(100, 60, 5)
    model = ToolCaller(Model([Text("I look.\n<tool"), Thinking("hm"), Text(PRINTED[5:]), usage], tools=tools))
    assert said(model) == [Text("I look.\n"), Thinking("hm"), call(slug="x"), usage]
    assert (model.protocol, model.counter) == ("", model.inner.counter)


def test_errors_pass() -> None:
    model = ToolCaller(Model([Text("half"), ModelError("gone")]))
    with pytest.raises(ModelError, match="gone"):
        said(model)
    assert model.protocol == ""


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


# ---- without tools ----


def test_a_model_without_tools_is_told_of_them_in_text() -> None:
    inner = Model('Action: read_article\nAction Input: {"slug": "x"}', "Final Answer: a thimble", tools=False)
    model = ToolCaller(inner)
    assert (model.protocol, model.renders_tools, type(model.counter)) == ("text ReAct", True, TextCounter)
    assert said(model)[:-1] == [call(slug="x")]
    assert said(model)[:-1] == [Text("a thimble")]
    assert [request.tools for request in inner.requests] == [(), ()]
    assert list(inner.requests[0].messages) == conversation([USER], SCHEMAS, REACT)


def test_a_server_that_refuses_tools_is_asked_again_in_text_and_for_good() -> None:
    inner = Model(REFUSED, "Final Answer: one", "Final Answer: two")
    model = ToolCaller(inner)
    assert model.protocol == ""
    assert [said(model)[0], said(model)[0]] == [Text("one"), Text("two")]
    assert [bool(request.tools) for request in inner.requests] == [True, False, False]
    assert model.protocol == "text ReAct"
    assert model.with_room(10**6).protocol == "text ReAct"


def test_a_result_that_is_made_up_closes_the_stream() -> None:
    words = ["Action: read_article\n", 'Action Input: {"slug": "x"}\n', "Observation", ": It says y.\n", "And so on."]
    inner = Model([*map(Text, words), Usage(1, 1, 1)], tools=False)
    stream = ToolCaller(inner).stream([USER], SCHEMAS)
    assert list(stream) == [call(slug="x"), Usage()]
    assert inner.open == 0


def test_why_is_told_once() -> None:
    model = ToolCaller(Model("a", tools=False, warning="it is slow"))
    told_once = "scripted cannot call tools: it is told of them in text (text ReAct)"
    assert model.check() == f"{told_once}; it is slow"
    assert model.check() == model.with_room(10**6).check() == "it is slow"


# ---- sessions ----


def session_with(*steps: Step, tools: bool | None = False, **settings: object) -> tuple[Session, Model]:
    """A session whose model is told of tools in text, unless it has them."""
    inner = Model(*steps, tools=tools)
    session = scripted(**settings)
    session.agent.use(ToolCaller(inner))
    return session, inner


def ends_well(session: Session) -> None:
    """The history is sound and closed."""
    assert is_sound(session.agent.history) == []
    assert pending(session.agent.history) == []


def results(events: Sequence[Event]) -> list[ToolReturned]:
    """What came of each call."""
    return [event for event in events if isinstance(event, ToolReturned)]


LOOP = (
    "Thought: I see what there is.\nAction: list_articles\nAction Input: {}",
    'Thought: This one.\nAction: read_article\nAction Input: {"slug": "observation-masking"}\nObservation: It says',
    "Thought: I have it.\nFinal Answer: It hides old results [observation-masking].",
)


def test_a_whole_loop_in_text() -> None:
    session, inner = session_with(*LOOP)
    events = ask(session)
    listed, read = results(events)
    assert (listed.ok, read.ok) == (True, True)
    assert events[-1] == Answered("I have it.\nIt hides old results [observation-masking].", "answered")
    inner.assert_done()
    last = inner.requests[-1].messages
    assert all(one.role != other.role for one, other in pairwise(last))
    assert last[0].content == f"{session.agent.state.system}\n\n{REACT.description(session.agent.schemas()).content}"
    assert last[2].content == f"Thought: I see what there is.\n{LOOP[0].partition(chr(10))[2]}"
    assert last[3].content == f"Observation: {listed.message.content}"
    assert last[4].content == LOOP[1].rpartition("\n")[0]
    assert last[5].content == f"Observation: {read.message.content}"
    ends_well(session)


ECHO = TOLD[TOLD.index("Thought") : TOLD.index("The user")]


@pytest.mark.parametrize("size", [1, 7, 1_000])
@pytest.mark.parametrize(
    ("reply", "left"),
    [
        (ECHO, ""),
        (TOLD, ""),
        ("Final Answer: the answer", ""),
        (f"{ECHO}Final Answer: the answer is 2 ml.", "the answer is 2 ml."),
        (2 * ECHO, ""),
        ("The user", "The user"),
        ("The tools, with their arguments", "The tools, with their arguments"),
    ],
)
def test_an_echo_of_the_instructions_is_neither_an_answer_nor_a_call(reply: str, left: str, size: int) -> None:
    pieces = [Text(reply[at : at + size]) for at in range(0, len(reply), size)]
    deltas = said(ToolCaller(Model([*pieces, Usage(output_tokens=9)], tools=False)))
    assert "".join(delta.text for delta in deltas if isinstance(delta, Text)).strip() == left.strip()
    assert [delta for delta in deltas if isinstance(delta, ToolCall)] == []
    assert deltas[-1] == Usage(output_tokens=9)


def test_a_call_behind_an_echo_is_run_and_an_echo_alone_is_no_answer() -> None:
    session, _ = session_with(f"{ECHO}{LOOP[0]}", ECHO)
    events = ask(session)
    assert [result.ok for result in results(events)] == [True]
    assert events[-1] == Answered("", "empty")
    ends_well(session)


def test_the_prompt_is_what_was_counted() -> None:
    session, inner = session_with(*LOOP)
    views = [event.view for event in ask(session) if isinstance(event, Prepared)]
    assert [counted - read for counted, read in inner.counter.calibrated] == [0, 0]  # the second reply was closed
    for view, request in zip(views, inner.requests, strict=True):
        sent = inner.counter.overhead(()) + sum(map(inner.counter.count, request.messages))
        assert sent <= view.tokens <= 1.02 * sent
    reported = [call.prompt.exact for call in session.agent.ledger.calls]
    assert reported == [True, False, True]


def test_the_footer_shows_it_and_a_notice_says_why_once() -> None:
    session, _ = session_with(REFUSED, *["Final Answer: yes"] * 4, tools=None)
    assert "(text ReAct)" not in footer(session.agent, 120)
    ask(session)
    assert footer(session.agent, 120).startswith("turns 2 (text ReAct) · from memory · ctx ")
    ask(session, "And now?")
    assert session.notices == ["scripted cannot call tools: it is told of them in text (text ReAct)"]


def test_after_native_turns_the_history_is_told_in_text() -> None:
    session, inner = session_with(
        [Text("I look."), tool_call("list_articles")], REFUSED, "Final Answer: yes", tools=None
    )
    assert ask(session)[-1] == Answered("yes", "answered")
    assert inner.requests[-1].messages[2].content == "Thought: I look.\nAction: list_articles\nAction Input: {}"
    ends_well(session)


@pytest.mark.parametrize("tools", [True, False])
def test_a_malformed_call_goes_back_once_with_what_was_wrong(tools: bool) -> None:
    broken = '<tool_call>{"name": oops}</tool_call>'
    session, inner = session_with(broken, broken, tools=tools)
    events = ask(session)
    (told_of,) = results(events)
    assert told_of.message.content.startswith("Error: that call cannot be read: write a tool's name")
    assert events[-1] == Answered(broken, "answered")
    inner.assert_done()
    ends_well(session)


def test_ctrl_c_closes_the_stream_and_the_session_goes_on() -> None:
    reply = [Text("Thought: I look.\n"), Text("And look.\n"), Text(LOOP[0])]
    session, inner = session_with(reply, *["Final Answer: yes"] * 2)
    with closing(session.ask("What is it?")) as events:
        next(event for event in events if isinstance(event, ReplyPiece))
        assert inner.open == 1
    assert inner.open == 0
    ends_well(session)
    assert ask(session)[-1] == Answered("yes", "answered")


def test_the_budget_holds_in_text() -> None:
    reads = [f'Action: read_article\nAction Input: {{"slug": "observation-masking", "page": {n}}}' for n in range(1, 9)]
    session, inner = session_with(*reads, LOOP[2], budget=1_500)
    ask(session)
    for request in inner.requests:
        assert inner.counter.overhead(()) + sum(map(inner.counter.count, request.messages)) <= 1_500
    inner.assert_done()


# ---- to a server with tools, later ----


def test_a_call_without_a_name_is_sent_under_one() -> None:
    caller = Message("a", "assistant", "", calls=(ToolCall("c1", "", "oops"),))
    result = Message("t", "tool", "Error: no", call_id="c1")
    assert write(caller)["tool_calls"][0]["function"] == {"name": UNREADABLE, "arguments": "oops"}
    assert wire.sent(caller)["tool_calls"][0]["function"] == {"name": UNREADABLE, "arguments": {"_raw": "oops"}}
    assert wire.sent(result)["tool_name"] == UNREADABLE
