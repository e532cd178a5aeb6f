"""Views of any history under any strategy, and the X-ray of one."""

from __future__ import annotations

from collections.abc import Sequence

from tests.support.histories import TinyCounter, budget
from tests.support.scripted import Scripted
from thimble.agent.errors import BudgetError
from thimble.agent.messages import Message
from thimble.agent.side import SideModel
from thimble.agent.view import View, prepare
from thimble.repl.commands.context.rows import Xray, estimate_cached, rows_of
from thimble.strategies.spec import make_strategy
from thimble.strategies.table import STRATEGIES

SPECS = [
    *STRATEGIES,
    "observation-masking:when=always,window=1",
    "sliding-window:window=2",
    "observation-masking+sliding-window:window=3",
]
SUMMARY = "A summary of what was said."


def viewed(history: Sequence[Message], spec: str, limit: int) -> View | None:
    """The second of two views under a strategy, so that something can be cached; None where the budget holds none."""
    model = Scripted([SUMMARY] * 2_000, TinyCounter())
    strategy, allowed = make_strategy(spec, SideModel(model)), budget(limit, overhead=40)
    try:
        before = prepare(history[: len(history) // 2], strategy, allowed) if len(history) > 3 else None
        return prepare(history, strategy, allowed, before)
    except BudgetError:
        return None


def xray_of(view: View) -> Xray:
    """Its X-ray, as counted by the tiny counter."""
    return Xray(view, rows_of(view, TinyCounter().count), "last call", "any", True, *estimate_cached(view))
