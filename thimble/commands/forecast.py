"""Forecast: what the next prompt will be, found by asking a copy of the strategy. No model is called for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from thimble.agent.background import BackgroundCall
from thimble.agent.errors import BudgetError, ModelError
from thimble.agent.events import Asked
from thimble.agent.loop import prepare
from thimble.agent.messages import Message
from thimble.agent.side import SideModel
from thimble.agent.state import State
from thimble.agent.view import View

if TYPE_CHECKING:
    from thimble.agent.budget import Budget
    from thimble.session.session import Session

DRAFT = "draft"


@dataclass(frozen=True, slots=True)
class Forecast:
    """What Enter would do: the size of the prompt beside the budget, in tokens, and the view that is sent.

    `asks` says that the strategy would ask a model first; the view is then the one that it falls back to. `view` is
    None where there is none to show: the budget cannot hold the question, or the strategy is not one of thimble's own,
    which is not run for a mere forecast. `tools` are offered with it. `tidy_saves` is the number of
    tokens that the prompt would lose if `tidy` came first in the SPEC; 0 if that is less than a tenth of it.
    """

    tokens: int
    limit: int
    view: View | None
    asks: bool = False
    tools: int = 0
    tidy_saves: int = 0

    @property
    def settled(self) -> bool:
        """Whether it will be so, as far as can be known without a model."""
        return not self.asks and (self.view is not None or self.tokens > self.limit)


class _Unasked(SideModel):
    """Stands in for the model that a strategy may ask; the laws make a strategy go on without an answer."""

    asked = False

    def ask(self, messages: Sequence[Message], purpose: str, max_tokens: int, *, behind: bool = False) -> str:
        self.asked = True
        raise ModelError("a forecast asks no model")

    def begin(self, messages: Sequence[Message], purpose: str, max_tokens: int) -> BackgroundCall:
        return BackgroundCall(lambda reply: None, self)

    def start(self, errand: BackgroundCall) -> None:
        """Nothing."""

    def look(self, errand: BackgroundCall) -> None:
        """It never ends by itself."""

    def wait(self, errand: BackgroundCall) -> None:
        """The strategy would wait for it."""
        self.asked = True
        errand.stop()


def forecast(session: Session, question: str = "", *, foreign: bool = False) -> Forecast:
    """What the next prompt of this session will be if this is asked, as things stand.

    Args:
        session: Whose. Nothing of it changes.
        question: The words of the question.
        foreign: Run a strategy of the user's own too, whatever it does beside making a view.
    """
    from thimble.strategies.spec import is_code

    agent = session.agent
    state = agent.state.copy()
    state.take(Asked(Message(DRAFT, "user", question)))
    if is_code(state.strategy) and not foreign:
        return Forecast(agent.budget(agent.schemas()).size(_as_it_stands(state)), agent.limit, None)
    side = _Unasked(agent.backend)
    asking = replace(agent, state=state, strategy=session.copied_strategy(side), side=side)
    call = asking.next_call()
    try:
        view = prepare(asking, call)
    except BudgetError as error:
        return Forecast(error.needed_tokens, agent.limit, None, side.asked)
    return Forecast(view.tokens, agent.limit, view, side.asked, len(call.tools), _tidy_saves(view, agent.budget([])))


def _tidy_saves(view: View, budget: Budget) -> int:
    """The tokens that `tidy` would take off the results that this view shows whole."""
    from thimble.strategies.tidy import Tidy  # late, as all strategies

    saved = budget.size(view.messages) - budget.size(Tidy().prepare(view.messages, budget))
    return saved if saved >= view.tokens / 10 else 0


def _as_it_stands(state: State) -> Sequence[Message]:
    """The newest view and what came after it; the history where there is no view."""
    view = state.ledger.view
    return [*view.messages, *state.history[len(view.fates) :]] if view else state.history
