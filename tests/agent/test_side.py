"""The side model: what a strategy asks is answered outside the conversation, and reported whatever comes of it."""

from __future__ import annotations

import pytest

from tests.support.histories import TinyCounter
from tests.support.scripted import ScriptedRequest
from tests.support.scripted_loop import Script, Step, call
from thimble.agent.errors import ModelError
from thimble.agent.messages import Message
from thimble.agent.protocols import Text, Thinking, Usage
from thimble.agent.side import SideModel

ASKED = [Message("a", "user", "Sum it up.")]


def side(*steps: Step) -> tuple[SideModel, Script]:
    script = Script(list(steps))
    return SideModel(script), script


def test_only_the_text_of_a_reply_is_the_answer() -> None:
    model, script = side([Thinking("hm"), Text("short"), call(1), Text("er"), Usage(prompt_tokens=9, output_tokens=2)])
    assert model.ask(ASKED, "summary", 50) == "shorter"
    assert script.requests == [ScriptedRequest(tuple(ASKED), (), 50, temperature=0, expects="text")]
    (made,) = model.drain_events()
    assert (made.purpose, made.error) == ("summary", "")
    assert made.usage == Usage(prompt_tokens=9, output_tokens=2)
    assert made.prompt_tokens == TinyCounter().overhead(()) + TinyCounter().count(ASKED[0])
    assert made.exact
    assert made.seconds > 0


@pytest.mark.parametrize("error", [ModelError("the server is gone"), KeyboardInterrupt(), RuntimeError("a bug")])
def test_a_call_that_fails_is_reported_all_the_same(error: BaseException) -> None:
    model, script = side([Text("sh"), error])
    with pytest.raises(type(error)):
        model.ask(ASKED, "summary", 50)
    (made,) = model.drain_events()
    assert made.error == ("the server is gone" if isinstance(error, ModelError) else "")
    assert script.open_streams == 0


@pytest.mark.parametrize("renders", [True, False])
@pytest.mark.parametrize("behind", [True, False])
def test_behind_the_agent_s_prompt_its_tools_go_along_where_a_server_renders_them(renders: bool, behind: bool) -> None:
    model, script = side([Text("short")])
    script.renders_tools = renders
    model.offered = [{"type": "function", "function": {"name": "read_article"}}]
    model.ask(ASKED, "summary", 50, behind=behind)
    assert script.requests[0].tools == (tuple(model.offered) if renders and behind else ())


def test_each_call_is_reported_once() -> None:
    model, _ = side([Text("a")], [Text("b")])
    model.ask(ASKED, "one", 50)
    model.ask(ASKED, "two", 50)
    assert [made.purpose for made in model.drain_events()] == ["one", "two"]
    assert list(model.drain_events()) == []


def test_another_backend_may_report_here_too() -> None:
    model, script = side([Text("mine")])
    other = Script([[call(1), Usage(prompt_tokens=7)], [ModelError("gone")]])
    other.name, other.model = "elsewhere", "large"
    reporting = model.with_reports(other, "delegate")
    assert (reporting.name, reporting.model, reporting.counter) == ("elsewhere", "large", other.counter)
    assert list(reporting.stream(ASKED, [{"name": "x"}], max_tokens=9)) == [call(1), Usage(prompt_tokens=7)]
    with pytest.raises(ModelError):
        list(reporting.stream(ASKED, ()))
    model.ask(ASKED, "summary", 50)
    made = list(model.drain_events())
    assert [one.purpose for one in made] == ["delegate", "delegate", "summary"]
    assert [str(one.model) for one in made] == ["elsewhere/large", "elsewhere/large", "scripted/scripted"]
    assert [one.error for one in made] == ["", "gone", ""]
    assert made[0].prompt_tokens == made[1].prompt_tokens + 20
    assert other.requests[0] == ScriptedRequest(tuple(ASKED), ({"name": "x"},), 9)
    assert script.requests == [ScriptedRequest(tuple(ASKED), (), 50, temperature=0, expects="text")]
