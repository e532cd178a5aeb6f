"""The frame: what the loop puts around a strategy's view for one call, beside it and never into the history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from thimble.agent import view as views
from thimble.agent.agent import Agent, NextCall
from thimble.agent.messages import Message
from thimble.agent.prompts import AGAIN, CLOSING, NUDGE

LONG_TOKENS = 100
"""A result of more tokens than these has the question again behind it, where the model has worked examples."""
CLOSING_MESSAGE = Message("closing", "user", CLOSING, why="the last turn: a call would not be run any more")
NUDGE_MESSAGE = Message("nudge", "user", NUDGE, why="asked once more: nothing was looked up")
SAID_ALOUD = (CLOSING_MESSAGE.id, NUDGE_MESSAGE.id)
"""The ids of those that the user is told of, each time."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The messages around a view: `before` stand behind the system message, `after` at the end."""

    before: Sequence[Message] = ()
    after: Sequence[Message] = ()

    @classmethod
    def of(cls, agent: Agent, call: NextCall) -> Frame:
        """The worked examples; behind the view a nudge, the question again, and the word on the last turn."""
        after = [*call.nudge]
        results = [message for message in agent.history[-1:] if message.role == "tool"]
        if agent.examples and sum(map(agent.backend.counter.count, results)) > LONG_TOKENS:
            asked = next(message for message in reversed(agent.history) if message.role == "user")
            after.append(
                Message("again", "user", AGAIN.format(asked.content), why="the question again, behind a long result")
            )
        if call.closing:
            after.append(CLOSING_MESSAGE)
        return cls(agent.examples, after)

    def prepare(self, agent: Agent, call: NextCall) -> views.View:
        """The view of this call, in this frame and within the budget. Raises BudgetError."""
        budget, before, warm, held = call.budget, call.before, call.warm, call.held
        if not (self.before or self.after):
            return views.prepare(agent.history, agent.strategy, budget, before, warm, held)
        tight = replace(budget, limit=budget.limit - sum(map(budget.count, [*self.before, *self.after])))
        view = views.prepare(agent.history, agent.strategy, tight, before, warm)
        messages = [*views.beside(view.messages, self.before), *self.after]
        framed = views.measure(view.history, messages, budget, before, warm, view.notes, held, self.before)
        return replace(framed, left_out=view.left_out, steps=view.steps, sizes=view.sizes)


def is_framing(message: Message) -> bool:
    """Whether the loop put this message around a view."""
    return message.id in (*SAID_ALOUD, "again", "unfounded") or message.id.startswith("example")
