"""comem under any timing: its memory model ends early, late, never, fails, is stopped, or has a bug."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import (
    LIMITS,
    budget,
    calls_of,
    is_faithful,
    is_sound,
    pending_calls,
    react_history,
    sound_histories,
)
from tests.support.specs import SUMMARISERS, Summariser, build
from tests.support.timing import Timed
from thimble.agent.budget import Budget
from thimble.agent.errors import BudgetError
from thimble.agent.events import SideBegan, SideCalled
from thimble.agent.fit import fit
from thimble.agent.messages import Message, turns
from thimble.agent.prompts import SUMMARY_TAG
from thimble.agent.repair import repair
from thimble.agent.side import SideModel
from thimble.session.step_worker import StepWorker
from thimble.strategies.comem import Comem

ENDS = st.sampled_from(["under way", "under way", "ends", "ends and is heard of", "stopped", "left"])
"""What happens to the errand under way between two calls of the agent."""
ANSWERS = st.sampled_from([*["short"] * 4, "fails", "empty", "larger", "as large", "bug"])


@dataclass
class Memory(Summariser):
    """A memory model whose every summary has a number, so that a test knows what its writer has read."""

    say: str = "short"
    read: dict[str, set[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.answer = self._answer

    def _answer(self, messages: Sequence[Message]) -> str:
        """A summary of these messages; `read` says what it is based on, through earlier summaries too."""
        if self.say == "bug":
            raise ZeroDivisionError("a bug")
        name = f"S{len(self.prompts)}."
        known = {id_ for message in messages if message.covers for id_ in self.read[named(message)]}
        self.read[name] = known.union(message.id for message in messages)
        return f"{name} {SUMMARISERS[self.say](messages)}" if self.say != "empty" else ""


def named(summary: Message) -> str:
    """The number of a summary."""
    return next(word for word in summary.content.split() if word.startswith("S") and word.endswith("."))


def covered(view: Sequence[Message]) -> set[str]:
    """The ids that the summary of a view stands for."""
    return {id_ for message in view for id_ in message.covers}


def as_shown(strategy: Comem, messages: Sequence[Message], view: Sequence[Message], allowed: Budget) -> None:
    """What holds at every call, whatever the memory model does."""
    memory = strategy.model.backend
    assert isinstance(memory, Memory)
    covers, shown = covered(view), {message.id for message in view}
    assert is_sound(view) == []
    assert is_faithful(view, messages) == []
    assert pending_calls(view) == pending_calls(messages)
    assert covers.isdisjoint(shown)
    assert all(message.id in shown or message.id in covers for message in messages)  # nothing is in neither
    newest = turns(messages)[-strategy.k :]
    assert all(messages[index] in view for turn in newest for index in turn)
    summaries = [message for message in view if message.covers]
    assert len(summaries) <= 1
    for summary in summaries:
        assert covers <= memory.read[named(summary)]
        assert allowed.count(summary) < sum(allowed.count(one) for one in messages if one.id in covers)


class Told:
    """A session under comem whose errands end as Hypothesis says. It holds each wait and each edit to their rules."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data
        self.k = data.draw(st.sampled_from([1, 2, 3, 5]), label="k")
        self.allowed = budget(data.draw(LIMITS, label="limit"), overhead=20)
        self.worker, self.backend = Timed(self._held_up), Memory()
        self.events: list[SideBegan | SideCalled] = []
        self.view: list[Message] = []
        self.messages: list[Message] = []
        self._begin({})

    def _begin(self, state: Any) -> None:
        strategy = build(f"comem:k={self.k}", self.backend, self.worker)
        assert isinstance(strategy, Comem)
        strategy.state = state
        self.strategy = strategy

    def between(self) -> None:
        """What happens between two calls of the agent."""
        self.backend.say = self.data.draw(ANSWERS, label="says")
        match self.data.draw(ENDS, label="errand"):
            case "ends":
                self.worker.end()
            case "ends and is heard of":
                self.worker.end()
                self.hear()
            case "stopped":
                self.strategy.model.stop()
            case "left":
                self.strategy.model.stop()
                self.hear()
                self._begin(self.strategy.state)

    def hear(self) -> None:
        """What the loop does while a reply streams."""
        self.events += self.strategy.model.drain_events()

    def call(self, messages: list[Message]) -> None:
        """A call of the agent. A bug of the memory model is raised once; then the session goes on."""
        was, prompts, before = set(self.strategy.memory.covers), self.strategy.memory.prompts, self.view
        self.messages = messages
        try:
            self.view = self.strategy.prepare(messages, self.allowed)
        except ZeroDivisionError:
            self.backend.say = "short"
            self.view = self.strategy.prepare(messages, self.allowed)
        as_shown(self.strategy, messages, self.view, self.allowed)
        if covered(self.view) == was:
            assert self.view[: len(before)] == before  # the prefix stays
        else:
            assert was < covered(self.view)
            assert prompts >= self.k or not was or self._needed(before, was) > self.allowed.limit

    def _needed(self, before: Sequence[Message], covers: set[str]) -> int:
        """The tokens of this prompt with the summary of the view before."""
        summary = [message for message in before if message.covers]
        return self.allowed.size([*summary, *(message for message in self.messages if message.id not in covers)])

    def _held_up(self) -> None:
        """The agent waits only where what it would send now is over the budget."""
        memory = self.strategy.memory
        summary = Message("s", "user", f"{SUMMARY_TAG}\n{memory.summary}", covers=tuple(memory.covers))
        rest = [message for message in self.messages if message.id not in memory.covers]
        assert self.allowed.size([*rest, *([summary] if memory.covers else [])]) > self.allowed.limit


@given(st.data())
def test_whatever_its_memory_model_does_nothing_is_lost_and_the_agent_goes_on(data: st.DataObject) -> None:
    told = Told(data)
    for messages in calls_of(repair(data.draw(sound_histories(most_turns=40), label="history")).messages):
        told.between()
        told.call(messages)
        if data.draw(st.booleans(), label="heard of"):
            told.hear()
    told.strategy.model.stop()
    told.hear()
    assert told.worker.under_way is None
    assert [type(event) for event in told.events] == [SideBegan, SideCalled] * len(told.worker.errands)


# --- Algorithm 1 ------------------------------------------------------------------------------------------------------


BY_HAND = {
    1: (
        [0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
        {2: 1, 3: 2, 4: 3, 5: 4, 6: 5, 7: 6, 8: 7, 9: 8, 10: 9, 11: 10, 12: 11},
    ),
    2: ([0, 0, 0, 0, 0, 2, 2, 4, 4, 6, 6, 8, 8], {4: 2, 6: 4, 8: 6, 10: 8, 12: 10}),
    4: ([0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 4, 4, 4], {8: 4, 12: 8}),
}
"""By k: the turns that the summary covers in the prompt after 0, 1, … 12 turns, and by turns the summary that begins.

k=1 is Algorithm 1, line by line: at step t the summary of the turns up to t - 1 - k is used (line 5), and that of the
turns up to t - k begins (line 8). With a larger k each summary is in k prompts (Figure 4).
"""


@pytest.mark.parametrize("k", BY_HAND)
def test_algorithm_1_step_by_step(k: int) -> None:
    uses, begins = BY_HAND[k]
    worker, backend = Timed(), Memory()
    strategy = build(f"comem:k={k}", backend, worker)
    used, began = [], {}
    for step, messages in enumerate(calls_of(react_history(12))):
        worker.end()
        errands = len(worker.errands)
        view = strategy.prepare(messages, budget(100_000))
        used.append(len(covered(view)) // 2)  # a turn is a call and its result
        if len(worker.errands) > errands:
            began[step] = strategy._asked.piece.covers  # type: ignore[attr-defined]
    assert used == uses
    assert {step: len(covers) // 2 for step, covers in began.items()} == begins
    assert len(worker.errands) == len(begins)


def test_a_history_too_long_for_one_call_is_read_as_the_last_summary_and_what_came_after() -> None:
    backend = Memory(longest=8_000)
    strategy = build("comem", backend)
    for messages in calls_of(react_history(40)):
        view = strategy.prepare(messages, budget(8_000))
        assert budget(8_000).size(view) <= 8_000
    assert any(message.covers for prompt in backend.prompts for message in prompt)
    assert len(covered(view)) > 2 * 30


@pytest.mark.parametrize("lag", [0, 1, 3])
def test_a_slow_memory_model_makes_a_prompt_longer_and_holds_nobody_up(lag: int) -> None:
    allowed, worker = budget(100_000), StepWorker(lag)
    strategy = build("comem", Memory(), worker)
    views = [strategy.prepare(messages, allowed) for messages in calls_of(react_history(12, 50))]
    assert isinstance(strategy, Comem)
    calls = [event for event in strategy.model.drain_events() if isinstance(event, SideCalled)]
    assert {call.lag for call in calls} == {lag}
    assert {call.held_seconds for call in calls} == {0.0}
    assert max(map(len, views)) <= 2 + 1 + 2 * (strategy.k + max(strategy.k, 2 * lag + 1))


@given(sound_histories(most_turns=40), LIMITS, st.integers(1, 5))
def test_the_next_summary_reads_the_turns_that_fit_leaves_out(history: list[Message], limit: int, refused: int) -> None:
    """While summaries fail, fit shortens the view; nothing of it is gone for the memory model."""
    backend, allowed = Memory(), budget(limit)
    strategy = build("comem", backend)
    for messages in calls_of(repair(history).messages):
        backend.say = "fails" if len(backend.prompts) < refused else "short"
        try:
            view = strategy.prepare(messages, allowed)
            fit(view, allowed)
        except BudgetError:
            continue
        assert isinstance(strategy, Comem)
        as_shown(strategy, messages, view, allowed)


@pytest.mark.parametrize(
    ("spec", "limit", "reply", "asks_what_is_to_do"),
    [("comem", 100_000, 1_200, True), ("comem:paper", 100_000, 2_048, False), ("comem:paper", 8_000, 1_998, False)],
)
def test_the_memory_model_is_asked_for_a_summary_of_a_length(
    spec: str, limit: int, reply: int, asks_what_is_to_do: bool
) -> None:
    backend = Memory()
    strategy = build(spec, backend)
    for messages in calls_of(react_history(6)):
        strategy.prepare(messages, budget(limit))
    assert set(backend.limits) == {reply}
    for prompt in backend.prompts:
        assert ("to do" in prompt[-1].content) == asks_what_is_to_do
        assert ("no suggestion" in prompt[-1].content) != asks_what_is_to_do


# --- waited and none --------------------------------------------------------------------------------------------------


def test_with_waited_each_summary_is_in_the_very_next_prompt() -> None:
    worker = Timed()
    strategy = build("comem:summary=waited", Memory(), worker)
    used = [len(covered(strategy.prepare(messages, budget(100_000)))) // 2 for messages in calls_of(react_history(9))]
    assert used == [0, 0, 0, 0, 2, 2, 4, 4, 6, 6]
    assert all(errand.ended for errand in worker.errands)


# --- interruptions and copies -----------------------------------------------------------------------------------------


def test_ctrl_c_while_the_agent_waits_loses_nothing() -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    worker = Timed(interrupt)
    strategy, history = build("comem", Memory(), worker), react_history(20)
    assert isinstance(strategy, Comem)
    with pytest.raises(KeyboardInterrupt):
        strategy.prepare(history, budget(4_000))
    strategy.model.stop()
    (began, called) = strategy.model.drain_events()
    assert isinstance(began, SideBegan)
    assert isinstance(called, SideCalled)
    assert called.error == "stopped"
    worker.on_wait = lambda: None
    as_shown(strategy, history, strategy.prepare(history, budget(4_000)), budget(4_000))


@pytest.mark.parametrize("ended", [False, True])
def test_a_copy_has_the_summary_that_has_come_and_leaves_the_one_under_way_alone(ended: bool) -> None:
    worker = Timed()
    strategy = build("comem:k=1", Memory(), worker)
    for messages in calls_of(react_history(3)[:-2]):
        strategy.prepare(messages, budget())
    if ended:
        worker.end()
    assert isinstance(strategy, Comem)
    copy = deepcopy(strategy, {id(strategy.model): SideModel(Memory(), worker=Timed())})
    assert bool(covered(copy.prepare(react_history(3), budget()))) == ended
    assert (strategy._asked is None, worker.errands[0].ended) == (False, ended)
