"""The private parts of libraries are as `repl/screen/live.py` expects them: this fails first after an upgrade."""

from __future__ import annotations

import inspect

from rich.control import Control
from rich.live import Live
from rich.live_render import LiveRender

from tests.support.sessions import Paper


def test_rich_draws_live_lines_with_what_is_put_in_its_place() -> None:
    live = Live("words", console=Paper().console)
    assert type(live._live_render) is LiveRender
    assert live._live_render._shape is None
    for private in ("_live_render.position_cursor()", "_live_render.restore_cursor()"):
        assert private in inspect.getsource(Live)
    assert "self._shape = " in inspect.getsource(LiveRender.__rich_console__)
    assert isinstance(LiveRender.last_render_height, property)
    assert Control.bell().segment.control is not None
