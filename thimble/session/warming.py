"""Warming: have a model's server compute the fixed prefix of every prompt before the first question."""

from __future__ import annotations

from contextlib import closing

from thimble.agent.agent import Agent
from thimble.agent.background import BackgroundCall, Thread, raise_if_halted
from thimble.agent.messages import Message
from thimble.agent.reply import Reply
from thimble.agent.side import TEMPERATURE, SideModel

HELLO = Message("hello", "user", "Hello.")
"""Many chat templates require a user message."""


def start_warming(agent: Agent) -> BackgroundCall:
    """Ask for one token after the system message, the tools and the worked examples of the first prompt.

    This loads the model. `then` enters the call into the agent as a side call, unless it was stopped or failed.
    """
    backend, tools, side = agent.backend, agent.schemas(), SideModel(agent.backend)
    messages = [Message("system", "system", agent.state.system), *agent.examples, HELLO]

    def ask(reply: Reply) -> None:
        for _ in backend.loading():
            raise_if_halted()
        asks = side.with_reports(backend, "warming")
        with closing(asks.stream(messages, tools, max_tokens=1, temperature=TEMPERATURE, expects="text")) as stream:
            for delta in stream:
                reply.add_delta(delta)
                raise_if_halted()
                if reply.thinking:  # thinking has its own limit, and the prompt is computed
                    break
        agent.prefixes.read(backend.id, tools, messages, backend.counter)

    def account() -> None:
        if not (errand.error or errand.stopped):
            for event in side.drain_events():
                agent.enter(event)

    errand = BackgroundCall(ask, Thread(), then=account)
    return errand
