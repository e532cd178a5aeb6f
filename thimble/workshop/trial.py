"""A trial: an invented history, call by call, and the views that a strategy makes of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

from thimble.agent.background import BackgroundCall, current_stop_event
from thimble.agent.budget import Budget, Counter, Prices
from thimble.agent.errors import ModelError, UsageError
from thimble.agent.messages import Message, Schema, ToolCall
from thimble.agent.protocols import Backend, Delta, Strategy, Text, Usage
from thimble.agent.side import SideModel
from thimble.agent.view import measure_view
from thimble.session.step_worker import StepWorker
from thimble.strategies.spec import make_strategy

TRIAL_PRICES = Prices()
TRIAL_WORDS = (
    "cache",
    "token",
    "window",
    "prompt",
    "turn",
    "model",
    "result",
    "tool",
    "budget",
    "prefix",
    "page",
    "server",
)
PLANTED_VALUE = re.compile(r"\b\d{4}\b")
"""A fact that a history plants in each result: a number of four digits."""
CUT_AFTER = 12
"""Words of each line that the small model of a trial repeats."""


@lru_cache(maxsize=65_536)
def _words(text: str) -> int:
    return len(re.findall(r"\w+|[^\w\s]", text))


@dataclass(frozen=True)
class WordCounter(Counter):
    """A word or a symbol is a token; each message and each call costs `more`, and a prompt `around` on top.

    Both differ from trial to trial, so that a strategy has to ask the budget.
    """

    more: int = 4
    around: int = 30
    exact = True

    def count(self, message: Message) -> int:
        """Tokens of one message."""
        texts = [message.content + message.thinking, *(call.arguments for call in message.calls)]
        return self.more * len(texts) + sum(map(_words, texts))

    def overhead(self, tools: Sequence[Schema]) -> int:
        """The tokens around the messages, whatever the tools."""
        return self.around

    def calibrate(self, counted: int, reported: int) -> bool:
        """Nothing to learn: there is no server."""
        return True


@dataclass
class SmallModel(Backend):
    """A model that summarises badly: it repeats the start of each line. `fails`: its server is gone."""

    fails: bool = False
    asked: int = 0
    waited_for: int = 0
    name: str = "workshop"
    model: str = "small"
    counter: WordCounter = field(default_factory=WordCounter)

    def stream(self, messages: Sequence[Message], tools: Sequence[Schema], **_: Any) -> Generator[Delta, None, None]:
        """The first words of each line, at most ten lines, without the values."""
        self.asked += 1
        self.waited_for += current_stop_event() is None
        if self.fails:
            raise ModelError("the server of the summary is gone", "continue without it")
        lines = messages[-1].content.splitlines()[1:]  # below the instruction
        yield Text(
            " … ".join(PLANTED_VALUE.sub("some", " ".join(line.split()[:CUT_AFTER])) for line in lines[:10])
            or "Nothing."
        )
        yield Usage()


class CountedWaits(StepWorker):
    """A worker that counts how often its calls are waited for."""

    waits = 0

    def wait(self, errand: BackgroundCall) -> None:
        """Wait for the call, and count the wait."""
        self.waits += 1
        super().wait(errand)


@dataclass(frozen=True)
class TrialCall:
    """One model call: its history and its view, and how often the small model was asked and waited for.

    `untouched`: the previous view, of `before` messages, followed by the new messages. `tools`: those that the strategy
    adds.
    """

    history: Sequence[Message]
    view: Sequence[Message]
    untouched: Sequence[Message]
    before: int
    asks: int
    waits: int
    tools: Sequence[str]
    budget: Budget


@dataclass(frozen=True)
class WorkshopTrial:
    """The input of a run. `spec`: the strategy; `solution`: that of the model solution; `lag`: calls until a reply.

    As in a loop, the model is called after a question, and when every call of a turn has its result.
    """

    spec: str
    solution: str
    history: Sequence[Message]
    limit: int
    prices: Prices = TRIAL_PRICES
    lag: int = 0
    fails: bool = False
    counter: WordCounter = WordCounter()

    @property
    def budget(self) -> Budget:
        """The budget of each call."""
        return Budget(self.limit, self.counter, self.counter.around, self.prices)

    def strategy(self, model: SmallModel, worker: StepWorker) -> Strategy:
        """The strategy with fresh state."""
        return make_strategy(self.spec, SideModel(model, worker=worker))

    def run(self, each: Callable[[Strategy, TrialCall], None] = lambda strategy, call: None) -> list[TrialCall]:
        """Run the strategy at every call and return the calls; `each` is called with the strategy after each of them.

        Raises:
            ThimbleError: the strategy failed, or changed the history.
        """
        model, worker, calls = SmallModel(self.fails), CountedWaits(self.lag), list[TrialCall]()
        strategy = self.strategy(model, worker)
        before: Sequence[Message] = ()
        known = 0
        for history in split_histories(self.history):
            model.asked = model.waited_for = worker.waits = 0
            untouched = [*before, *history[known:]]
            given = [*history]
            view = strategy.prepare(given, self.budget)
            if given != history:
                raise UsageError("prepare() changed the list that it was given", "make a new one: view = [*messages]")
            waits = model.waited_for + worker.waits
            calls.append(
                TrialCall(history, view, untouched, len(before), model.asked, waits, strategy.tools, self.budget)
            )
            each(strategy, calls[-1])
            before, known = view, len(history)
        return calls

    def resumed(self, state: Any, history: Sequence[Message]) -> Sequence[Message]:
        """The view that a fresh strategy with this state makes."""
        strategy = self.strategy(SmallModel(self.fails), CountedWaits(self.lag))
        strategy.state = state
        return strategy.prepare([*history], self.budget)

    def cost(self, calls: Sequence[TrialCall]) -> float:
        """The price of all prompts, if the server caches the last one."""
        total, before = 0.0, None
        for call in calls:
            before = measure_view(call.history, call.view, self.budget, before)
            total += self.prices.prompt(before.tokens, before.cached)
        return total


def split_histories(messages: Sequence[Message]) -> list[list[Message]]:
    """The history at each model call."""
    found, waiting = [], 0
    for at, message in enumerate(messages):
        waiting = waiting - 1 if message.role == "tool" else len(message.calls)
        if message.role == "user" or (message.role == "tool" and not waiting):
            found.append([*messages[: at + 1]])
    return found


def invent_history(random: Random, turns: int, words: Sequence[int], tools: bool) -> list[Message]:
    """A history of `turns` turns, with results of twice `words` (least, most); each result has one value."""
    values = random.sample(range(1_000, 10_000), 400)
    told = [Message("m1", "system", "You are a careful assistant.")]

    def prose(least: int, most: int) -> str:
        return " ".join(random.choices(TRIAL_WORDS, k=random.randint(least, most)))

    def add(role: Any, content: str, **rest: Any) -> None:
        told.append(Message(f"m{len(told) + 1}", role, content, **rest))

    add("user", f"Find the {prose(2, 6)}?")
    for turn in range(turns):
        if turn and (not tools or random.random() < 0.15):
            add("assistant", f"It is the {prose(5, 30)}.")
            add("user", f"And the {prose(2, 6)}?")
        if tools:
            called = [
                ToolCall(f"c{turn}.{number}", "read", f'{{"page": {turn}}}')
                for number in range(random.choice((1, 1, 2)))
            ]
            add("assistant", f"I look at the {prose(3, 12)}.", calls=tuple(called))
            for call in called:
                fact = f"The {random.choice(TRIAL_WORDS)} takes {values.pop()} tokens."
                add("tool", f"{prose(*words)}. {fact} {prose(*words)}.", call_id=call.id, name=call.name)
    return told


def a_limit(random: Random, history: Sequence[Message], counter: WordCounter) -> int:
    """A budget at the edge for some call of this history: just enough, one token short, or without the overhead."""
    size = Budget(0, counter, counter.around).size(random.choice(split_histories(history)))
    return random.choice((size, size - 1, size - counter.around))


def spec_of(file: Path, member: str) -> str:
    """The SPEC of a strategy in a file."""
    return f"{file}:{member}" if member else str(file)
