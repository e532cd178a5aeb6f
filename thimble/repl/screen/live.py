"""A few live lines below the printed text, which survive a change of the terminal's width.

It relies on private parts of rich; a test fails if an upgrade changes one.
"""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.control import Control
from rich.live import Live
from rich.live_render import LiveRender
from rich.segment import ControlType, Segment

LIVE_LINES = 6
FRAMES_PER_SECOND = 12
NO_WRAP, WRAP = "\x1b[?7l", "\x1b[?7h"
"""DECAWM: text past the right margin is cut, or wrapped to the next row."""


def live_lines(console: Console, renderable: Callable[[], RenderableType], auto_refresh: bool = True) -> Live:
    """Live lines with the end of `renderable()`, drawn FRAMES_PER_SECOND times a second, erased when they stop."""
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
    live._live_render = _Anchored(live.get_renderable())
    return live


class LastLines:
    """The last lines of a renderable that may not fit on the screen."""

    def __init__(self, renderable: Callable[[], RenderableType]) -> None:
        self._renderable = renderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield as many of the last lines as fit."""
        room = max(1, min(LIVE_LINES, console.height - 2))
        lines = console.render_lines(self._renderable(), options.update(height=None), pad=False)
        for number, shown in enumerate(lines[-room:]):
            if number:
                yield Segment.line()
            yield from shown


class _Anchored(LiveRender):
    """Leaves the cursor before its first line, and erases everything below.

    rich leaves the cursor after the last line, and later moves up as many lines as it drew. If the terminal has become
    narrower since, it has wrapped them to more lines, and old text would stay on the screen. Wrapping is off for the
    same reason: the terminal may already be narrower than the layout.
    """

    def position_cursor(self) -> Control:
        return _erase() if self._shape else Control()

    def restore_cursor(self) -> Control:
        return _erase((ControlType.CURSOR_UP, 1)) if self._shape else Control()  # Live moves one line down as it stops

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield _raw(NO_WRAP)
        yield from super().__rich_console__(console, options)
        up = self.last_render_height - 1
        yield Control(ControlType.CARRIAGE_RETURN, *[(ControlType.CURSOR_UP, up)] * (up > 0))
        yield _raw(WRAP)


def _erase(*moves: tuple[ControlType, int]) -> Control:
    """Move, return to the margin, and erase from there to the end of the screen."""
    return _raw(f"{Control(ControlType.CARRIAGE_RETURN, *moves)}\x1b[J")


def _raw(sequence: str) -> Control:
    """A control sequence that rich has no name for."""
    control = Control(ControlType.CARRIAGE_RETURN)
    control.segment = Segment(sequence, None, control.segment.control)
    return control
