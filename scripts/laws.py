"""Try the laws (docs/reference/laws.md) on a strategy of one's own, and show the smallest history that breaks one.

    python -m scripts.laws ./mine.py

Of each broken law it shows, as /context does, the smallest history that breaks it, and what the strategy made of that.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.scripted import Scripted
from thimble.agent.budget import Budget
from thimble.agent.errors import ThimbleError
from thimble.agent.messages import Message
from thimble.agent.protocols import Strategy
from thimble.agent.side import SideModel
from thimble.strategies.own_code import limited
from thimble.strategies.spec import parse

ROOT = Path(__file__).resolve().parents[1]
LAWS = ("tests/strategies/test_laws.py", "tests/strategies/test_laws_nasty.py")
OPTIONS = ["-o", "addopts=", "--import-mode=importlib", "--capture=sys", "-p", "no:terminal", "-p", "no:xdist"]
LONGEST_SECONDS = 5.0
"""Of one call of the strategy; the histories are small."""


class Laws:
    """A plugin of pytest: it remembers the last call of the strategy, and tells of each law whether it holds."""

    def __init__(self, spec: str) -> None:
        self.spec = spec
        self.broken: dict[str, str] = {}
        self._before: Sequence[Message] = ()
        self._last: tuple[Sequence[Message], Sequence[Message], Budget] | None = None

    def watched(self, spec: str, side: SideModel) -> Strategy:
        """The strategy; each of its calls is remembered."""
        strategy = parse(spec, side)
        prepare = strategy.prepare

        def remembered(messages: Sequence[Message], budget: Budget) -> Sequence[Message]:
            self._before, self._last = self._last[1] if self._last else (), (messages, (), budget)
            try:
                view = prepare(messages, budget)
            except ThimbleError as error:
                if "TimedOut" in error.what:
                    tell(error)
                    os._exit(1)  # it may catch any exception, and to shrink its history would take an hour
                raise
            self._last = messages, view, budget
            return view

        strategy.prepare = remembered  # type: ignore[method-assign]
        return strategy

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Only the laws of this strategy; each shows one way in which it is broken."""
        from hypothesis import settings

        from tests.support import specs

        specs.parse = self.watched
        settings.register_profile("laws", settings.get_profile("quick"), report_multiple_bugs=False)
        settings.load_profile("laws")
        items[:] = [item for item in items if f"[{self.spec}" in item.name]

    def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
        """Tell of a law, once it was tried; of the ways to break a law of one number the first is shown."""
        if call.when != "call":
            return
        name = item.function.__name__.removeprefix("test_").replace("_", " ")
        number = " ".join(name.split()[:2])
        if call.excinfo is None:
            out(f"holds   {name}")
        elif number in self.broken:
            out(f"BROKEN  {name}: see above")
        else:
            self.broken[number] = name
            out(f"BROKEN  {name}: in this history, the smallest that was found", "over")
            self._show(call.excinfo.value)

    def _show(self, error: BaseException) -> None:
        from tests.support.histories import is_faithful, is_sound
        from thimble.agent.repair import repair
        from thimble.agent.view import measure
        from thimble.repl.commands.context.context import show_call
        from thimble.repl.commands.context.rows import Xray, estimated, rows_of

        if self._last is None:
            return
        messages, view, budget = self._last
        if isinstance(error, ThimbleError):
            tell(error)
        history = repair(messages).messages
        for wrong in [] if isinstance(error, ThimbleError) else [*is_sound(view), *is_faithful(view, history)]:
            out(f"        {wrong}")
        of = measure(history, view, budget)
        cached, prefill = estimated(of)
        xray = Xray(of, rows_of(of, budget.count), "the call", self.spec, True, cached, prefill, tools=False)
        show_call(xray, console())
        out("")


def console() -> Any:
    """Past what pytest catches."""
    from thimble.repl.screen.theme import console_for

    return console_for(plain=False, file=sys.__stdout__)


def out(text: str, style: str = "") -> None:
    """A line to standard output."""
    from thimble.repl.screen.theme import say

    say(console(), text, style)


def tell(error: ThimbleError) -> None:
    """What is wrong, and how to mend it."""
    out(f"{error.what}\nfix: {error.fix}", "error")


def main(spec: str) -> int:
    """Try every law; 0 where all hold, 1 where one is broken, 2 where there is no such strategy."""
    with limited(LONGEST_SECONDS):
        try:
            parse(spec, SideModel(Scripted([])))
        except ThimbleError as error:
            tell(error)
            return 2
        os.environ["STRATEGY"] = spec
        import pytest

        files = [str(ROOT / law) for law in LAWS]
        return int(pytest.main([*OPTIONS, "--rootdir", str(ROOT), *files], plugins=[Laws(spec)]))


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main(" ".join(sys.argv[1:])))
