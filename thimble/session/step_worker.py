"""A worker for replays: background calls end after a number of the agent's calls, not of seconds."""

from __future__ import annotations

from thimble.agent.background import BackgroundCall


class StepWorker:
    """A worker without a thread: a background call ends when the agent has prepared `steps` calls without it.

    So a replay is deterministic. With 0 the agent's next call has the reply, as in Algorithm 1.
    """

    def __init__(self, steps: int = 0) -> None:
        self.steps = steps

    def start(self, errand: BackgroundCall) -> None:
        """Do nothing yet."""

    def look(self, errand: BackgroundCall) -> None:
        """Run the call if it is due."""
        if errand.steps >= self.steps:
            errand.run()

    def wait(self, errand: BackgroundCall) -> None:
        """Run the call."""
        errand.run()
