"""Act under one strategy after another, with progress; Ctrl-C stops between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Console

from thimble.agent.errors import Stopped
from thimble.repl.screen.sanitise import one_line
from thimble.repl.screen.theme import show_progress


def under_each(specs: Sequence[str], act: Callable[[str], object], console: Console, doing: str) -> None:
    """Call `act` with each SPEC, and show the progress. Raises Stopped at Ctrl-C."""
    done = 0
    try:
        with show_progress(console, doing) as tell:
            for done, spec in enumerate(specs):
                tell(f"{doing} {one_line(spec)}, {done + 1} of {len(specs)}")
                act(spec)
    except KeyboardInterrupt:
        raise Stopped(f"stopped: {done} of {len(specs)} strategies") from None
