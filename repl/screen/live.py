"""The tail: a few live lines at the end of what is printed. They survive that the terminal changes its width."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.control import Control
from rich.live import Live
from rich.live_render import LiveRender
from rich.segment import ControlType, Segment

LINES = 6
FRAMES_PER_SECOND = 12
NO_WRAP, WRAP = "\x1b[?7l", "\x1b[?7h"
"""DECAWM: whether what goes over the right margin is cut there, or goes on in the next row."""


def tail(console: Console, renderable: Callable[[], RenderableType], by_itself: bool = True) -> Live:
    """Live lines that show the end of this, drawn anew by themselves some times a second, and wiped when they stop."""
    live = Live(
        get_renderable=lambda: Tail(renderable),
        console=console,
        transient=True,
        auto_refresh=by_itself,
        redirect_stdout=by_itself,
        redirect_stderr=by_itself,
        refresh_per_second=FRAMES_PER_SECOND,
        vertical_overflow="crop",
    )
    live._live_render = _Anchored(live.get_renderable())
    return live


class Tail:
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


class _Anchored(LiveRender):
    """Leaves the cursor before its first line, and wipes what is below.

    rich leaves it behind the last line, and later goes up as many lines as it drew. Those are not as many any more
    where the terminal has become narrower and has wrapped them: words would stay that come again. Nor may it wrap
    them while they come: it can be narrower by now than when they were laid out.
    """

    def position_cursor(self) -> Control:
        return _wipe() if self._shape else Control()

    def restore_cursor(self) -> Control:
        return _wipe((ControlType.CURSOR_UP, 1)) if self._shape else Control()  # Live has gone one down to stop

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield _written(NO_WRAP)
        yield from super().__rich_console__(console, options)
        up = self.last_render_height - 1
        yield Control(ControlType.CARRIAGE_RETURN, *[(ControlType.CURSOR_UP, up)] * (up > 0))
        yield _written(WRAP)


def _wipe(*moves: tuple[ControlType, int]) -> Control:
    """Go there, to the margin, and erase all from there to the end of the screen."""
    return _written(f"{Control(ControlType.CARRIAGE_RETURN, *moves)}\x1b[J")


def _written(sequence: str) -> Control:
    """A control sequence that rich has no name for."""
    control = Control(ControlType.CARRIAGE_RETURN)
    control.segment = Segment(sequence, None, control.segment.control)
    return control
