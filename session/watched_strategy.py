"""A strategy of the user's own whose file is read anew when it has changed."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thimble.agent.errors import UsageError
from thimble.agent.protocols import Strategy
from thimble.strategies.spec import Kind, parse_spec


@dataclass
class WatchedStrategy:
    """The SPEC, and the state of its files when they were read last. Raises UsageError for a SPEC without a file."""

    spec: str
    stamps: list[tuple[int, int]] = field(init=False)

    def __post_init__(self) -> None:
        self._files = [Path(part.name).expanduser() for part in parse_spec(self.spec) if part.kind is Kind.FILE]
        if not self._files:
            raise UsageError(f"{self.spec!r} is no file", "only a file can be watched: /strategy ./mine.py watch")
        self.has_changed()

    def has_changed(self) -> bool:
        """Whether a file is another one than at the last look. One that is away for a moment counts when it is back."""
        try:
            found = [(stat.st_mtime_ns, stat.st_size) for stat in (file.stat() for file in self._files)]
        except OSError:
            return False
        before, self.stamps = getattr(self, "stamps", found), found
        return before != found


def carried(state: Any, strategy: Strategy) -> bool:
    """Give a strategy the state of another; whether there is one and it fits, so that nothing of it is lost."""
    if state is None:
        return False
    try:
        strategy.state = deepcopy(state)
    except (LookupError, UsageError):
        return False
    return bool(strategy.state == state)
