"""A few live lines below the printed text. They survive that the terminal changes its width."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.live import Live
from rich.segment import Segment

from repl.screen.pinned import anchored

LINES = 6
FRAMES_PER_SECOND = 12


def live_lines(console: Console, renderable: Callable[[], RenderableType], auto_refresh: bool = True) -> Live:
    """Live lines with the end of `renderable()`, drawn FRAMES_PER_SECOND times a second and erased when they stop."""
    live = Live(
        get_renderable=lambda: LastLines(renderable),
        console=console,
        transient=True,
        auto_refresh=auto_refresh,
        redirect_stdout=auto_refresh,
        redirect_stderr=auto_refresh,
        refresh_per_second=FRAMES_PER_SECOND,
        vertical_overflow="crop",
    )
    return anchored(live)


class LastLines:
    """The last lines of something that may be longer than there is room for."""

    def __init__(self, renderable: Callable[[], RenderableType]) -> None:
        self._renderable = renderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """As many lines as there is room for."""
        room = max(1, min(LINES, console.height - 2))
        lines = console.render_lines(self._renderable(), options.update(height=None), pad=False)
        for number, shown in enumerate(lines[-room:]):
            if number:
                yield Segment.line()
            yield from shown
