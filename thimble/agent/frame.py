"""The frame: what the loop puts around a strategy's view for one call, beside it and never into the history."""

from __future__ import annotations

from thimble.agent.agent import Agent, NextCall
from thimble.agent.messages import Message
from thimble.agent.prompts import AGAIN, CLOSING, NUDGE

LONG_TOKENS = 100
"""A result of more tokens than these has the question again behind it, where the model has worked examples."""
CLOSING_MESSAGE = Message("closing", "user", CLOSING, why="the last turn: a call would not be run any more")
NUDGE_MESSAGE = Message("nudge", "user", NUDGE, why="asked once more: nothing was looked up")
SAID_ALOUD = (CLOSING_MESSAGE.id, NUDGE_MESSAGE.id)
"""The ids of those that the user is told of, each time."""


def behind(agent: Agent, call: NextCall) -> list[Message]:
    """What stands behind the view of a call: a nudge, the question again, and the word on the last turn."""
    after = [*call.nudge]
    results = [message for message in agent.history[-1:] if message.role == "tool"]
    if agent.examples and sum(map(agent.backend.counter.count, results)) > LONG_TOKENS:
        asked = next(message for message in reversed(agent.history) if message.role == "user")
        again = AGAIN.format(asked.content)
        after.append(Message("again", "user", again, why="the question again, behind a long result"))
    return [*after, CLOSING_MESSAGE] if call.closing else after


def is_framing(message: Message) -> bool:
    """Whether the loop put this message around a view."""
    return message.id in (*SAID_ALOUD, "again", "unfounded") or message.id.startswith("example")
