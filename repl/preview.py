"""Preview: what the next prompt will cost, found by asking a copy of the strategy. No model is called for it."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent import view as views
from agent.errors import BudgetError, ModelError
from agent.messages import Message
from agent.side import SideModel

if TYPE_CHECKING:
    from repl.session import Session

DRAFT = "draft"


@dataclass(frozen=True, slots=True)
class Preview:
    """Tokens of the next prompt without the words of the question.

    `settled` is False where the strategy decides only when it is asked: it would call a model first, or it is not one
    of thimble's own and is not run for a mere preview. `tokens` is then what stands before it decides.
    """

    tokens: int
    limit: int
    settled: bool = True


class _Unasked(SideModel):
    """Stands in for the model that a strategy may ask; the laws make a strategy go on without an answer."""

    asked = False

    def ask(self, messages: Sequence[Message], purpose: str, max_tokens: int, *, behind: bool = False) -> str:
        self.asked = True
        raise ModelError("a preview asks no model")


def preview(session: Session) -> Preview:
    """What the next prompt of this session will cost, in tokens, as things stand."""
    from strategies.table import STRATEGIES, parse

    agent = session.agent
    budget = agent.budget(agent.schemas())
    history = [*(agent.history or [Message("m1", "system", agent.system)]), Message(DRAFT, "user")]
    if not all(part.partition(":")[0].strip() in STRATEGIES for part in session.spec.split("+")):
        return Preview(budget.size(_as_it_stands(session, history)), budget.limit, settled=False)
    side = _Unasked(agent.backend)
    copy: Any = parse(session.spec, side)
    if hasattr(copy, "state"):
        copy.state = deepcopy(getattr(agent.strategy, "state", {}))
    try:
        tokens = views.prepare(history, copy, budget).tokens
    except BudgetError as error:
        tokens = error.needed_tokens
    return Preview(tokens, budget.limit, not side.asked)


def typed(session: Session, text: str) -> int:
    """Tokens that a question of these words adds; the end of a very long one is taken to be like its beginning."""
    counter = session.agent.backend.counter
    looked_at = text[:8_000]
    tokens = counter.count(Message(DRAFT, "user", looked_at)) - counter.count(Message(DRAFT, "user"))
    return tokens if text == looked_at else tokens * len(text) // len(looked_at)


def _as_it_stands(session: Session, history: Sequence[Message]) -> Sequence[Message]:
    """The newest view and what came after it; the history where there is no view."""
    view = session.agent.ledger.view
    return [*view.messages, *history[len(view.fates) :]] if view else history
