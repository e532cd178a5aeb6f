"""The law of all that only looks: the next request is the one that it would have been without it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.estimate import EstimateCounter
from tests.support.scripted import Scripted
from tests.support.sessions import Paper, ask, tool_call
from thimble.agent.errors import ModelError, ThimbleError
from thimble.agent.messages import Message, Schema
from thimble.agent.protocols import Backend, Delta, Text, Thinking, Usage
from thimble.commands.forecast import forecast_prompt
from thimble.repl.commands.table import run_command
from thimble.session.session import Session
from thimble.session.settings import Settings

LOOKS = (
    "/context",
    "/context next",
    "/context raw",
    "/context 3",
    "/context +1",
    "/why 4",
    "/compare",
    "/compare none hybrid",
    "/compare run What is the code?",
    "/compare delegate notes run What is the code?",
    "/probe",
    "/probe What is the launch code?",
    "/predict",
    "/stats",
    "forecast",
)
FAILURES = ("", "", "model", "half", "cut", "bug")
SPECS = ("observation-masking:window=0,target=0.2", "hybrid", "summary-buffer", "notes+offload", "delegate+thrifty")


class Server(Backend):
    """A model that reads, notes, delegates and answers; its server reads a third more tokens than we count."""

    def __init__(self) -> None:
        self.counter = EstimateCounter()
        self.fails = ""

    def __call__(self, messages: Sequence[Message], tools: Sequence[Schema]) -> Any:
        failure = {
            "model": [ModelError("gone")],
            "half": [Thinking("Hm."), Text("The code"), KeyboardInterrupt()],
            "cut": [Text("Cut."), Usage(prompt_tokens=1)],
            "bug": [ZeroDivisionError("of mine")],
        }.get(self.fails)
        if failure:
            return failure
        fresh = EstimateCounter()
        read = round(1.3 * (fresh.overhead(tools) + sum(map(fresh.count, messages))))
        return [*self.said(messages, tools), Usage(prompt_tokens=read, output_tokens=9)]

    def said(self, messages: Sequence[Message], tools: Sequence[Schema]) -> list[Delta]:
        names = [tool["function"]["name"] for tool in tools]
        done = sum(message.role == "tool" for message in messages[-5:])
        if done > 2 or not names:
            return [Text("It is 4711-Zebra, as I have read.")]
        if done == 1 and "delegate" in names:
            return [tool_call("delegate", len(messages), task="Read about masking.")]
        if done == 1:
            return [tool_call("save_note", len(messages), title=f"n{len(messages)}", text="a note")]
        return [tool_call("read_article", len(messages), slug="observation-masking", page=1 + len(messages) % 3)]


def opened(spec: str) -> tuple[Session, Server, Scripted]:
    """A session with some exchanges, a planted fact, and a counter that learns."""
    session, server = Session(Settings(backend="reader", strategy=spec, budget=3_500)), Server()
    model = Scripted([server] * 400, server.counter)
    session.agent.use(model)
    ask(session)
    run_command(session, "/plant The launch code of Heron is 4711-Zebra.", Paper().console)
    run_command(session, "/predict 1-4", Paper().console)
    return session, server, model


def kept(session: Session) -> str:
    """Everything of a session that a look could touch."""
    agent = session.agent
    state = getattr(agent.strategy, "state", None)
    counter: Any = agent.backend.counter
    parts = (agent.history, agent.ledger, state, agent.side._calls, agent.side.offered, session.notes.state)
    more = (session.planted, sorted(session.watchers), session.notices, agent.price_card(), sorted(agent.tools))
    learnt = counter._ratio, counter._calibrated
    return repr((*parts, *more, learnt, session.spec, agent.strategy_name, agent.limit))


def look(session: Session, command: str) -> None:
    """Look, whatever comes of it."""
    try:
        if command == "forecast":
            forecast_prompt(session, "And what of it?", foreign=True)
        else:
            run_command(session, command, Paper().console)
    except (ThimbleError, KeyboardInterrupt, ZeroDivisionError):
        return


@pytest.mark.parametrize(("spec", "failure"), [*zip(SPECS, FAILURES[1:], strict=True)])
def test_a_look_leaves_everything_as_it_was(spec: str, failure: str) -> None:
    session, server, _ = opened(spec)
    before = kept(session)
    for command in LOOKS:
        server.fails = failure
        look(session, command)
        assert kept(session) == before, command


@settings(max_examples=5)
@given(st.sampled_from(SPECS), st.lists(st.tuples(st.sampled_from(LOOKS), st.sampled_from(FAILURES)), max_size=2))
def test_the_next_requests_are_those_without_the_looks(spec: str, looks: Sequence[tuple[str, str]]) -> None:
    one, _, model = opened(spec)
    other, server, watched = opened(spec)
    for command, server.fails in looks:
        look(other, command)
    server.fails = ""
    model.requests.clear()
    watched.requests.clear()
    for question in ("And what is a prefix cache?", "And then?"):
        ask(one, question)
        ask(other, question)
    assert watched.requests == model.requests
