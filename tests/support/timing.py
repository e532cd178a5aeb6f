"""Workers for tests: an errand ends at once, or when the test says so or the agent waits for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from thimble.agent.background import BackgroundCall


class AtOnce:
    """An errand has ended as soon as it has begun."""

    def start(self, errand: BackgroundCall) -> None:
        """Run it."""
        errand.run()

    def look(self, errand: BackgroundCall) -> None:
        """Nothing."""

    def wait(self, errand: BackgroundCall) -> None:
        """Nothing."""


@dataclass
class Timed:
    """Keeps each errand until `end`, and holds them to the rule that there is one at a time.

    `on_wait` is called when the agent waits; it may raise what a user or a bug would.
    """

    on_wait: Callable[[], object] = lambda: None
    errands: list[BackgroundCall] = field(default_factory=list)

    @property
    def under_way(self) -> BackgroundCall | None:
        """The errand that has not ended yet."""
        return next((errand for errand in self.errands if not errand.ended), None)

    def end(self) -> None:
        """Let the errand end that is under way."""
        if errand := self.under_way:
            errand.run()

    def start(self, errand: BackgroundCall) -> None:
        """Take it; one at a time."""
        assert self.under_way is None
        self.errands.append(errand)

    def look(self, errand: BackgroundCall) -> None:
        """Nothing: only the test ends it."""

    def wait(self, errand: BackgroundCall) -> None:
        """The agent is held up."""
        self.on_wait()
        errand.run()
