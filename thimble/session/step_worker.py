"""A worker for replays: what is asked in the background ends after so many calls of the agent, not seconds."""

from __future__ import annotations

from thimble.agent.background import BackgroundCall


class StepWorker:
    """A worker without a thread: an errand ends when the agent has prepared `steps` calls without it.

    So a replay decides the same each time. With 0 the next call has it, as in Algorithm 1.
    """

    def __init__(self, steps: int = 0) -> None:
        self.steps = steps

    def start(self, errand: BackgroundCall) -> None:
        """Nothing yet."""

    def look(self, errand: BackgroundCall) -> None:
        """Run it where it is due."""
        if errand.steps >= self.steps:
            errand.run()

    def wait(self, errand: BackgroundCall) -> None:
        """Run it."""
        errand.run()
