"""The tool that gives a reading task to a sub-agent: delegate."""

from __future__ import annotations

from collections.abc import Callable

from thimble.agent.errors import ToolError
from thimble.agent.protocols import Tool
from thimble.tools.schema import tool


def delegate_tools(brief: Callable[[str], str]) -> list[Tool]:
    """The tool bound to `brief`, which does a task and reports on it, or raises ToolError."""

    def delegate(task: str) -> str:
        """Give a reading task to an assistant of your own: it reads for itself, and you get a brief, not the texts.

        Args:
            task: What to read and what to find out, in full sentences; the assistant knows nothing else.
        """
        if not task.strip():
            raise ToolError("the task is empty")
        return brief(task.strip())

    return [tool(delegate)]
