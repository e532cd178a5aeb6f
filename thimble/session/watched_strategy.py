"""A strategy of the user's own whose file is read anew when it has changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from thimble.agent.errors import UsageError
from thimble.agent.protocols import Strategy
from thimble.strategies.spec import Kind, parse_spec


def saved(file: Path) -> tuple[int, int, int] | None:
    """What changes whenever a file is saved, also where an editor renames a new one into place; None for no file."""
    try:
        found = file.stat()
    except OSError:  # between the two steps of a save
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


class WatchedStrategy:
    """A SPEC, and when its files were saved last. Raises UsageError for a SPEC without a file."""

    def __init__(self, spec: str) -> None:
        self.spec = spec
        self._files = [Path(part.name).expanduser() for part in parse_spec(spec) if part.kind is Kind.FILE]
        if not self._files:
            raise UsageError(f"{spec!r} is no file", "only a file can be watched: /strategy ./mine.py watch")
        self._saved = [*map(saved, self._files)]

    def has_changed(self) -> bool:
        """Whether a file was saved, or has gone or come back, since the last look."""
        before, self._saved = self._saved, [*map(saved, self._files)]
        return before != self._saved


def carried(state: Any, strategy: Strategy) -> bool:
    """Give a strategy the state of another; whether there is one and it fits, so that nothing of it is lost."""
    try:
        strategy.state = state
    except UsageError:
        return False
    return state is not None and bool(strategy.state == state)
