"""delegate: what a task is handed to is not the tool's business; what comes back is held to a size."""

from __future__ import annotations

import pytest

from thimble.agent.errors import ToolError
from thimble.tools import on_demand
from thimble.tools.delegate import delegate_tools
from thimble.tools.schema import RESULT_CHARACTERS


def test_the_task_goes_out_and_the_brief_comes_back() -> None:
    asked: list[str] = []
    (tool,) = delegate_tools(lambda task: asked.append(task) or "the brief")  # type: ignore[func-returns-value]
    assert tool.run({"task": " Read it. \n"}) == "the brief"
    assert asked == ["Read it."]


def test_an_empty_task_is_refused_and_nobody_asked() -> None:
    (tool,) = delegate_tools(lambda task: pytest.fail("asked"))
    with pytest.raises(ToolError, match="empty"):
        tool.run({"task": " \n"})


def test_whatever_comes_back_has_a_limit() -> None:
    (tool,) = delegate_tools(lambda task: "word " * 10_000)
    assert len(tool.run({"task": "x"})) <= RESULT_CHARACTERS


def test_the_tools_on_demand() -> None:
    tools = on_demand(list, str)
    assert list(tools) == ["recall", "delegate", "todo"]
    for name, tool in tools.items():
        function = tool.schema["function"]
        assert function["name"] == tool.name == name
        assert all("description" in property for property in function["parameters"]["properties"].values())
