"""The steps of recorded runs at which a memory model would be asked, and the view that its summary leads to.

The strategy `comem` itself makes both, so training sees the same prompts and views as a session.
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
from thimble.models.text_observations import write_as_text
from thimble.models.wire.calls import arguments
from thimble.session.step_worker import StepWorker
from thimble.strategies.comem import Comem, Summaries

HELD_OUT = 4
"""One run in HELD_OUT is held out, chosen by the checksum of its id, so that runs with the same id stay together."""


@dataclass(frozen=True, slots=True)
class MemoryStep:
    """A call of a recorded run before which the memory model has something to summarise.

    Attributes:
        run: The name of the run.
        at: The index of the call among the messages.
        history: The messages before it.
        tools: The tools of the agent; if the run lists none, those that it called.
        taken: The recorded action.
    """

    run: str
    at: int
    history: Sequence[Message]
    tools: Sequence[Schema]
    taken: Action

    @property
    def key(self) -> str:
        """The name of the step, for the store."""
        return f"{self.run}:{self.at}"

    @property
    def held_out(self) -> bool:
        """Whether its run is not trained on."""
        return int(sha256(self.run.partition("~")[0].encode()).hexdigest(), 16) % HELD_OUT == 0


@dataclass
class GivenSummary(Backend):
    """A memory model that replies with a given summary and keeps its last prompt in `asked`."""

    summary: str
    counter: Counter
    asked: Sequence[Message] = ()
    name: str = "given"
    model: str = "given"

    def stream(self, messages: Sequence[Message], tools: Sequence[Schema], **_: Any) -> Generator[Delta, None, None]:
        """Stream the given summary."""
        self.asked = messages
        yield Text(self.summary)
        yield Usage()


@dataclass(frozen=True, slots=True)
class MemoryTask:
    """The strategy that asks the memory model, with its parameters, and the token counter."""

    strategy: Comem
    counter: Counter

    @property
    def most_tokens(self) -> int:
        """The maximum tokens of a summary: three for each word."""
        return 3 * self.strategy.words

    def steps(self, runs: Sequence[Trajectory]) -> Iterator[MemoryStep]:
        """All steps of the runs, in order."""
        for run in runs:
            tools = run.tools or tool_signatures(run.messages)
            for at in run.calls:
                step = MemoryStep(run.name, at, run.messages[:at], tools, Action.of(run.messages[at]))
                if self.prompt(step):
                    yield step

    def prompt(self, step: MemoryStep) -> Sequence[Message]:
        """The prompt of the memory model; () if there is nothing to summarise."""
        model = GivenSummary("", self.counter)
        self._prepared(step, model)
        return model.asked

    def view(self, step: MemoryStep, summary: str) -> Sequence[Message] | None:
        """The agent's view with this summary and the k newest turns (CoMem, Eq. 5).

        None if the strategy refuses the summary because it is empty or longer than its turns; all turns then stay.
        """
        view = self._prepared(step, GivenSummary(summary, self.counter))
        return view if any(message.covers for message in view) else None

    def newest_turns(self, step: MemoryStep) -> Sequence[Message]:
        """The agent's view without a summary."""
        return replace(self.strategy, summary="none").prepare(step.history, self.budget(step))

    def _prepared(self, step: MemoryStep, model: GivenSummary) -> Sequence[Message]:
        asked = SideModel(model, worker=StepWorker())
        strategy = replace(self.strategy, model=asked, summary="waited", memory=Summaries())
        return strategy.prepare(step.history, self.budget(step))

    def budget(self, step: MemoryStep) -> Budget:
        """A budget without a limit, so that one summary covers the whole history."""
        return Budget(UNLIMITED, self.counter, self.counter.overhead(step.tools))


def tool_signatures(messages: Sequence[Message]) -> Sequence[Schema]:
    """Schemas of the tools that a run called, with the names of the arguments it used."""
    given: dict[str, dict[str, Schema]] = {}
    for call in (call for message in messages for call in write_as_text(message).calls):
        given.setdefault(call.name, {}).update({key: {} for key in arguments(call)})
    return [
        {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": properties}}}
        for name, properties in given.items()
    ]
