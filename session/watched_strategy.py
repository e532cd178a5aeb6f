"""A strategy of the user's own whose file is read anew when it has changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from thimble.agent.errors import UsageError
from thimble.agent.protocols import Strategy
from thimble.strategies.spec import Kind, parse_spec


class WatchedStrategy:
    """A SPEC, and when its files were saved last. Raises UsageError for a SPEC without a file."""

    def __init__(self, spec: str) -> None:
        self.spec = spec
        self._files = [Path(part.name).expanduser() for part in parse_spec(spec) if part.kind is Kind.FILE]
        if not self._files:
            raise UsageError(f"{spec!r} is no file", "only a file can be watched: /strategy ./mine.py watch")
        self._saved = self._times()

    def has_changed(self) -> bool:
        """Whether a file was saved, or has gone or come back, since the last look."""
        before, self._saved = self._saved, self._times()
        return before != self._saved

    def _times(self) -> list[int]:
        return [file.stat().st_mtime_ns if file.exists() else 0 for file in self._files]


def carried(state: Any, strategy: Strategy) -> bool:
    """Give a strategy the state of another; whether there is one and it fits, so that nothing of it is lost."""
    try:
        strategy.state = state
    except UsageError:
        return False
    return state is not None and bool(strategy.state == state)
