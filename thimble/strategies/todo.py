"""todo: recite the model's own list of steps at the end of the context, where models read best."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from thimble.agent.budget import Budget
from thimble.agent.messages import Message, pending_turn
from thimble.agent.protocols import Strategy
from thimble.strategies.notes import FAILED
from thimble.strategies.parameter import parameter
from thimble.strategies.recital import make_recital

DONE_STEP = "[x]"
STEPS_HEADER = "Your list of steps as you wrote it last. Write it again with todo when one is done:"


@dataclass
class Todo(Strategy):
    """Recite the model's to-do list at the end of every prompt. Keeps a long task in sight, costs the list each time.

    It adds the tool `todo`, with which the model writes its steps. While one of them is open, the newest list follows
    the newest turn, as Manus recites its todo.md. The list is not part of the history, so the prefix stays. It
    hides nothing: put it before a strategy that does (todo+observation-masking), which then leaves room for the list.
    """

    share: float = parameter(0.1, "share of the budget that the list may take; a longer one is not recited", 0.01, 0.5)

    @property
    def tools(self) -> Sequence[str]:
        """The tool `todo`."""
        return ("todo",)

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """The history, followed by the list; see the class."""
        steps = _newest_list(messages)
        if not steps or pending_turn(messages) or all(DONE_STEP in line.lower() for line in steps.splitlines()):
            return [*messages]
        said = make_recital(
            f"todo-after-{messages[-1].id}", f"{STEPS_HEADER}\n{steps}", "the list of steps, of which one is open"
        )
        return [*messages, said] if budget.count(said) <= self.share * budget.limit else [*messages]


def _newest_list(messages: Sequence[Message]) -> str:
    """The newest list that the tool accepted; "" if there is none."""
    taken: set[str] = set()
    for message in reversed(messages):
        if message.role == "tool" and message.name == "todo" and not message.content.startswith(FAILED):
            taken.add(message.call_id)
        for call in reversed(message.calls):
            if call.id in taken and call.name == "todo" and (steps := _list_steps(call.arguments)):
                return steps
    return ""


@lru_cache(maxsize=512)
def _list_steps(arguments: str) -> str:
    """The lines of a list, without blank ones; "" for arguments without a list."""
    try:
        steps = json.loads(arguments)["steps"]
    except (ValueError, RecursionError, TypeError, KeyError):
        return ""
    return "\n".join(filter(None, map(str.rstrip, steps.splitlines()))) if isinstance(steps, str) else ""
