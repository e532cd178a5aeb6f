"""Summaries by a model that calls by schema: asked for as free text behind the agent's prompt, and checked."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import pytest

from tests.support.histories import TinyCounter, budget, calls_of, react_history
from tests.support.schemas import SCHEMAS
from tests.support.scripted import Scripted, Step
from tests.support.scripted_loop import Script
from tests.support.specs import SUMMARISING, named_summary, parts_of
from thimble.agent.messages import Message, Schema, ToolCall
from thimble.agent.protocols import Delta
from thimble.agent.side import SideModel
from thimble.models.server import ToolsRefused
from thimble.models.tool_calls.caller import ToolCaller
from thimble.models.tool_calls.prompt import plain_conversation
from thimble.session.step_worker import StepWorker
from thimble.strategies.spec import make_strategy
from thimble.strategies.summary import find_names, is_founded
from thimble.tools.examples import examples

EXAMPLES = tuple(examples())
HISTORY = [*react_history(70)[:2], *react_history(70)[20:]]
"""Each of its turns has a name: c10, c11 and so on."""


class BySchema(Scripted):
    """A model whose server enforces schemas and takes no tools; `asked` are those that it was asked for."""

    tools = False
    shapes = True

    def __init__(self, step: Step) -> None:
        super().__init__([step] * 99, TinyCounter())
        self.asked: list[Schema | None] = []

    def stream(
        self, messages: Sequence[Message], tools: Sequence[Schema], *, shape: Schema | None = None, **asked: Any
    ) -> Generator[Delta, None, None]:
        """The next step. Raises ToolsRefused."""
        if tools:
            raise ToolsRefused("it takes no tools")
        self.asked.append(shape)
        yield from super().stream(messages, tools, **asked)


def told(spec: str, step: Step) -> tuple[BySchema, Any]:
    """A long session with this model: what it was asked, and the strategy."""
    model = BySchema(step)
    backend = ToolCaller(model)
    assert backend.calls == "schema"
    side = SideModel(backend, worker=StepWorker())
    side.remember_tools(SCHEMAS, EXAMPLES, backend)
    (strategy,) = parts_of(make_strategy(spec, side))
    for messages in calls_of(HISTORY):
        strategy.prepare(messages, budget())
    return model, strategy


ASKING = pytest.mark.parametrize("spec", [*SUMMARISING, "thrifty", "comem"])


@ASKING
@pytest.mark.parametrize("form", ["{}", '{{"answer": "{}"}}'])
def test_free_text_is_asked_for_behind_the_agent_s_prompt_and_taken(spec: str, form: str) -> None:
    """In whichever form it comes: nothing is enforced, but the examples show objects."""
    model, strategy = told(spec, lambda messages, tools: form.format(f"Read: {named_summary(messages)}"))
    assert model.requests
    assert not any(model.asked)
    assert strategy.memory.summary.startswith("Read: ")
    before = () if spec == "comem" else EXAMPLES  # a memory model has a prompt of its own
    agents = plain_conversation([HISTORY[0], *before, *HISTORY[1:]], SCHEMAS if before else [])
    sent = model.requests[0].messages
    assert len(sent) > len(before)
    pairs = list(zip(sent[:-1], agents, strict=False))
    assert all(one == other for one, other in pairs if not one.content.startswith("[masked: "))  # as the agent saw it
    start, _, instruction = sent[-1].content.rpartition("\n\nStop here. ")
    assert start == agents[len(sent) - 1].content
    assert instruction.startswith("Write down")


@ASKING
@pytest.mark.parametrize(
    "said",
    ["It takes about ten minutes.", '{"answer": "It is cheap."}', '{"cannot_answer": "c12 does not exist"}', ""],
)
def test_an_answer_in_place_of_a_summary_is_refused(spec: str, said: str) -> None:
    model, strategy = told(spec, said)
    assert model.requests
    assert not strategy.memory.summary


def test_a_model_that_calls_a_tool_in_place_of_text_is_asked_again_without_any() -> None:
    call = ToolCall("c1", "read_article", "{}")
    model = Script([[call], "Read: c12"])
    model.renders_tools = True
    side = SideModel(model)
    side.remember_tools(SCHEMAS, EXAMPLES, model)
    asked = [Message("s", "system", "Be brief."), Message("u", "user", "Sum it up.")]
    assert side.ask(asked, "summary", 50, behind=True) == "Read: c12"
    first, again = model.requests
    assert (first.messages, first.tools) == ((asked[0], *EXAMPLES, asked[1]), tuple(SCHEMAS))
    assert (again.messages, again.tools) == (tuple(asked), ())


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("See [attention] and context-windows, page 12.", {"attention", "context-windows", "12"}),
        ("It costs 2,485 of 2,687 tokens, or 0.9.", {"2,485", "2,687", "0.9"}),
        ("Yesterday Ada ran /etc/hosts.conf:7 in snake_case.", {"Ada", "etc/hosts.conf:7", "snake_case"}),
        ("The first of 3 steps. Then nothing.", set()),
    ],
)
def test_names_are_numbers_paths_identifiers_sources_and_capitalised_words(text: str, found: set[str]) -> None:
    assert find_names(text) == found


def test_a_summary_is_founded_on_one_name_unless_there_is_none_to_hold() -> None:
    assert is_founded("Done: 84 % [observation-masking]", ["It saves much, see [observation-masking]."])
    assert not is_founded("Done: it was read", ["It saves much, see [observation-masking]."])
    assert is_founded("Done: it was read", ["nothing with a name"])
    assert is_founded("Done: all of [glossary]", ["slug: glossary, page 12"])
    assert not is_founded("Done: all 12", ["512 and 1-2"])
    assert not is_founded("It cannot be answered from here: no [x]", ["[x]"])
    assert is_founded("Asked: what x is. Done: it cannot be answered from here [x]", ["[x]"])
