"""The tool with which the model writes down its steps: todo. The list is kept in the call alone."""

from __future__ import annotations

from thimble.agent.errors import ToolError
from thimble.agent.protocols import Tool
from thimble.tools.schema import tool
from thimble.tools.wording import count_noun

MOST_STEPS, MOST_LETTERS = 30, 2_000
DONE = "[x]"


def todo_tools() -> list[Tool]:
    """The tool; it needs nothing from the session."""

    def todo(steps: str) -> str:
        """Write down your steps if a task takes several; write the whole list again whenever one is done.

        Args:
            steps: A line each: "[x] what is done" or "[ ] what is to do".
        """
        lines = [line for line in steps.splitlines() if line.strip()]
        if not lines:
            raise ToolError('there is no step: write a line each, such as "[ ] read the article on caches"')
        if len(lines) > MOST_STEPS or len(steps) > MOST_LETTERS:
            raise ToolError(f"a list has at most {MOST_STEPS} steps and {MOST_LETTERS:,} characters")
        left = sum(DONE not in line.lower() for line in lines)
        return f"Noted {count_noun(len(lines), 'step')}, {left} to do."

    return [tool(todo)]
