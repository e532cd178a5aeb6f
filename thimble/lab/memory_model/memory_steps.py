"""Steps of recorded runs at which a memory model would be asked, and the view that a summary of it leads to.

The strategy `comem` itself makes both: what is learnt is what a session asks, and what its agent then sees.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from thimble.agent.budget import UNLIMITED, Budget, Counter
from thimble.agent.messages import Message, Schema
from thimble.agent.protocols import Backend, Delta, Text, Usage
from thimble.agent.side import SideModel
from thimble.commands.trajectories import Trajectory
from thimble.lab.action_similarity import Action
from thimble.models.text_observations import as_written
from thimble.models.wire.calls import arguments
from thimble.session.step_worker import StepWorker
from thimble.strategies.comem import Comem, Summaries

HELD_OUT = 4
"""One run in so many is held out, chosen by the checksum of its id: runs of one id stay together."""


@dataclass(frozen=True, slots=True)
class MemoryStep:
    """A call of a recorded run before which the memory model has something to summarise.

    Attributes:
        run: The name of the run.
        at: The place of the call among the messages.
        history: The messages before it.
        tools: What the agent could call; of a run without `tools`, what it called.
        taken: What it did.
    """

    run: str
    at: int
    history: Sequence[Message]
    tools: Sequence[Schema]
    taken: Action

    @property
    def key(self) -> str:
        """Names the step."""
        return f"{self.run}:{self.at}"

    @property
    def held_out(self) -> bool:
        """Whether no step of its run is trained on."""
        return int(sha256(self.run.partition("~")[0].encode()).hexdigest(), 16) % HELD_OUT == 0


@dataclass
class GivenSummary(Backend):
    """A memory model that writes a given summary, and knows what it was asked."""

    summary: str
    counter: Counter
    asked: Sequence[Message] = ()
    name: str = "given"
    model: str = "given"

    def stream(self, messages: Sequence[Message], tools: Sequence[Schema], **_: Any) -> Generator[Delta, None, None]:
        """The summary."""
        self.asked = messages
        yield Text(self.summary)
        yield Usage()


@dataclass(frozen=True, slots=True)
class MemoryTask:
    """How a memory model is asked: the strategy with its parameters, and what counts tokens."""

    strategy: Comem
    counter: Counter

    @property
    def most_tokens(self) -> int:
        """Tokens that a summary may have: three are reckoned for a word."""
        return 3 * self.strategy.words

    def steps(self, runs: Sequence[Trajectory]) -> Iterator[MemoryStep]:
        """All steps of the runs, in their order."""
        for run in runs:
            tools = run.tools or called(run.messages)
            for at in run.calls:
                step = MemoryStep(run.name, at, run.messages[:at], tools, Action.of(run.messages[at]))
                if self.prompt(step):
                    yield step

    def prompt(self, step: MemoryStep, wish: str = "") -> Sequence[Message]:
        """What the memory model is asked; () where nothing is to be summarised. `wish` is that of /compact."""
        model = GivenSummary("", self.counter)
        self._prepared(step, model, wish)
        return model.asked

    def view(self, step: MemoryStep, summary: str) -> Sequence[Message] | None:
        """What the agent sees with this summary and the k newest turns (CoMem, Eq. 5).

        None where the strategy refuses the summary: empty, or longer than its turns, which then all stay in view.
        """
        view = self._prepared(step, GivenSummary(summary, self.counter))
        return view if any(message.covers for message in view) else None

    def newest_turns(self, step: MemoryStep) -> Sequence[Message]:
        """What the agent sees without a summary."""
        return replace(self.strategy, summary="none").prepare(step.history, self.budget(step))

    def _prepared(self, step: MemoryStep, model: GivenSummary, wish: str = "") -> Sequence[Message]:
        asked = SideModel(model, worker=StepWorker())
        strategy = replace(self.strategy, model=asked, summary="waited", memory=Summaries(wish=wish))
        return strategy.prepare(step.history, self.budget(step))

    def budget(self, step: MemoryStep) -> Budget:
        """No limit: a summary is made of the whole history at once."""
        return Budget(UNLIMITED, self.counter, self.counter.overhead(step.tools))


def called(messages: Sequence[Message]) -> Sequence[Schema]:
    """The tools that a run called, with the names of the arguments that it gave."""
    given: dict[str, dict[str, Schema]] = {}
    for call in (call for message in messages for call in as_written(message).calls):
        given.setdefault(call.name, {}).update({key: {} for key in arguments(call)})
    return [
        {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": properties}}}
        for name, properties in given.items()
    ]
