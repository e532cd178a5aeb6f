"""The user's own strategy, reloaded when its file has changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from thimble.agent.errors import UsageError
from thimble.agent.protocols import Strategy
from thimble.strategies.spec import PartSource, parse_spec


def file_stamp(file: Path) -> tuple[int, int, int] | None:
    """Values that change when a file is saved, even if an editor renames a new one into place; None without a file."""
    try:
        found = file.stat()
    except OSError:  # between the two steps of a save
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


class WatchedStrategy:
    """A SPEC, and the state of its files when last saved. Raises UsageError for a SPEC without a file."""

    def __init__(self, spec: str) -> None:
        self.spec = spec
        self._files = [Path(part.name).expanduser() for part in parse_spec(spec) if part.kind is PartSource.FILE]
        if not self._files:
            raise UsageError(f"{spec!r} is not a file", "only a file can be watched: /strategy ./mine.py watch")
        self._saved = [*map(file_stamp, self._files)]

    def has_changed(self) -> bool:
        """Whether a file was saved, deleted or restored since the last call."""
        before, self._saved = self._saved, [*map(file_stamp, self._files)]
        return before != self._saved


def carry_state(state: Any, strategy: Strategy) -> bool:
    """Give a strategy the state of another; whether the state exists and was taken over completely."""
    try:
        strategy.state = state
    except UsageError:
        return False
    return state is not None and bool(strategy.state == state)
