"""The frozen agent: its action with a summary in view, and the reward of the summary for that (CoMem, Eq. 9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from thimble.agent.messages import Message
from thimble.agent.protocols import Backend
from thimble.agent.reply import RepetitionGuard
from thimble.lab.action_similarity import Action, similarity
from thimble.lab.memory_model.memory_steps import MemoryStep, MemoryTask
from thimble.lab.replay.recorded_replay import proposed_action


@dataclass(frozen=True, slots=True)
class FrozenAgent:
    """A model that is not trained. Each prompt is sent once, at temperature 0."""

    backend: Backend
    task: MemoryTask
    known: dict[str, Action] = field(default_factory=dict)
    """Cached actions, by a digest of the prompt."""

    def action(self, step: MemoryStep, view: Sequence[Message]) -> Action:
        """The agent's action on this view. Raises ModelError."""
        prompt = [(message.sent, message.why) for message in view]
        digest = sha256(repr((prompt, step.tools)).encode()).hexdigest()
        if digest not in self.known:
            self.known[digest] = proposed_action(self.backend, view, step.tools)
        return self.known[digest]

    def alike(self, step: MemoryStep, view: Sequence[Message]) -> float:
        """The similarity of its action on this view to the recorded one: Eq. 9."""
        return similarity(self.action(step, view), step.taken)

    def reward(self, step: MemoryStep, summary: str) -> float:
        """Eq. 9 with this summary; 0 if a session would not use it, because it repeats itself or is refused."""
        circles = RepetitionGuard()
        circles.feed(summary)
        view = None if circles.closed else self.task.view(step, summary)
        return self.alike(step, view) if view else 0.0

    def without(self, step: MemoryStep) -> float:
        """Eq. 9 with only the k newest turns."""
        return self.alike(step, self.task.newest_turns(step))
