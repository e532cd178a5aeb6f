"""An observation: the model's answer from a tool call, right or wrong."""

from __future__ import annotations

from collections.abc import Sequence

from thimble.agent import foreign
from thimble.agent.agent import Agent
from thimble.agent.errors import ToolError, did_you_mean
from thimble.agent.messages import Message, ToolCall, last_turn

REPEATS = 2
"""The most times that the same call runs in an exchange."""


def observe(agent: Agent, call: ToolCall, first: int) -> str:
    """The tool's result. The current exchange begins at message `first` of the history.

    Raises:
        ToolError: the tool raised it, or the call is wrong; the text is for the model.
    """
    reply, *results = agent.history[last_turn(agent.history) :]
    if any(_same(other, call) for other in reply.calls[: len(results)]):
        raise ToolError("not run: it is the same call as one above")
    tools = agent.offered()
    tool = tools.get(call.name)
    known = f"the tools are {', '.join(tools)}" if tools else "there are no tools"
    if not call.name:
        raise ToolError(f"that call cannot be read: write a tool's name, and its arguments as one JSON object; {known}")
    if tool is None:
        raise ToolError(f"there is no tool named {call.name[:80]!r}; {did_you_mean(call.name, tools) or known}")
    try:
        arguments = foreign.read(call.arguments or "{}")
    except ValueError as error:
        raise ToolError(f"the arguments are not valid JSON: {str(error)[:100]}") from error
    if not isinstance(arguments, dict):
        raise ToolError(f"the arguments must be a JSON object, not {type(arguments).__name__}")
    if _repeats(agent.history[first:], call) > REPEATS:
        raise ToolError("you have made this very call twice for this question. Use what it returned, or answer now")
    return tool.run(arguments)


def _repeats(exchange: Sequence[Message], call: ToolCall) -> int:
    """The number of calls in this exchange with the same tool and arguments, up to this one."""
    run_before = sum(message.role == "tool" for message in exchange)
    made = [other for message in exchange for other in message.calls][: run_before + 1]
    return sum(_same(other, call) for other in made)


def _same(one: ToolCall, other: ToolCall) -> bool:
    try:
        same = one.arguments == other.arguments or foreign.read(one.arguments) == foreign.read(other.arguments)
        return bool(one.name == other.name and same)
    except ValueError:
        return False
