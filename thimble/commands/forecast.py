"""Forecast: the next prompt, made by a copy of the strategy without calling a model."""

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

DRAFT_ID = "draft"


@dataclass(frozen=True, slots=True)
class Forecast:
    """The effect of Enter: the size of the prompt and the budget, in tokens, and the view that would be sent.

    `asks`: the strategy would ask a model first; the view is then its fallback without an answer. `view` is None if the
    budget cannot hold the question, or if the strategy is the user's own code, which is not run for a mere forecast.
    `tools` is the number of tools offered with it. `tidy_saves` is the number of tokens that the prompt would lose if
    `tidy` came first in the SPEC; 0 if that is less than a tenth of it.
    """

    tokens: int
    limit: int
    view: View | None
    asks: bool = False
    tools: int = 0
    tidy_saves: int = 0

    @property
    def settled(self) -> bool:
        """Whether the forecast is certain, as far as it can be without a model."""
        return not self.asks and (self.view is not None or self.tokens > self.limit)


class _SilentSideModel(SideModel):
    """Replaces the model that a strategy may ask; the laws require a strategy to continue without an answer."""

    asked = False

    def ask(self, messages: Sequence[Message], purpose: str, max_tokens: int, *, behind: bool = False) -> str:
        self.asked = True
        raise ModelError("a forecast asks no model")

    def begin(self, messages: Sequence[Message], purpose: str, max_tokens: int) -> BackgroundCall:
        return BackgroundCall(lambda reply: None, self)

    def start(self, errand: BackgroundCall) -> None:
        """Nothing."""

    def look(self, errand: BackgroundCall) -> None:
        """Do nothing: the call never ends by itself."""

    def wait(self, errand: BackgroundCall) -> None:
        """Note that the strategy would wait for a model, and stop the call."""
        self.asked = True
        errand.stop()


def forecast_prompt(session: Session, question: str = "", *, foreign: bool = False) -> Forecast:
    """The next prompt of this session if this question is asked.

    Args:
        session: The session, which is not changed.
        question: The words of the question.
        foreign: Run the user's own strategies too, although they may do more than make a view.
    """
    from thimble.strategies.spec import is_code

    agent = session.agent
    state = agent.state.copy()
    state.apply(Asked(Message(DRAFT_ID, "user", question)))
    if is_code(state.strategy) and not foreign:
        return Forecast(agent.budget(agent.schemas()).size(_newest_prompt(state)), agent.limit, None)
    side = _SilentSideModel(agent.backend)
    asking = replace(agent, state=state, strategy=session.copied_strategy(side), side=side)
    call = asking.next_call()
    try:
        view = prepare(asking, call)
    except BudgetError as error:
        return Forecast(error.needed_tokens, agent.limit, None, side.asked)
    return Forecast(view.tokens, agent.limit, view, side.asked, len(call.tools), _tidy_saves(view, agent.budget([])))


def _tidy_saves(view: View, budget: Budget) -> int:
    """The tokens that `tidy` would save on the results that this view shows whole; 0 if less than a tenth of it."""
    from thimble.strategies.tidy import Tidy  # late, as all strategies

    saved = budget.size(view.messages) - budget.size(Tidy().prepare(view.messages, budget))
    return saved if saved >= view.tokens / 10 else 0


def _newest_prompt(state: State) -> Sequence[Message]:
    """The newest view and the messages after it; the history if there is no view."""
    view = state.ledger.view
    return [*view.messages, *state.history[len(view.fates) :]] if view else state.history
