"""Stage: an exchange for a room. Each step is shown whole, with its reasons, and waits for Enter."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.text import Text

from thimble.agent.events import Event, Prepared, ToolCalled, ToolReturned
from thimble.agent.view import View
from thimble.commands.why import NO_REASON, why
from thimble.repl.screen import trace
from thimble.repl.screen.exchange import Screen
from thimble.repl.screen.keys import drop_typed_keys
from thimble.repl.screen.sanitise import clean, one_line
from thimble.session import figures
from thimble.tools.wording import count_noun

WAITING_MARK = "Enter ▸"
SHOWN_LINES = 10
"""The most lines of an observation that are shown: as many as a room can read."""
Wait = Callable[[], bool]
"""Waits for the presenter; False to stop waiting for this question. Raises KeyboardInterrupt at Ctrl-C."""


class Stage(Screen):
    """A screen that stops after each step of thought, action, observation and edit."""

    def __init__(self, console: Console, wait: Wait) -> None:
        super().__init__(console)
        self._wait_for_presenter = wait
        self._stopping = True
        self._unseen = False
        self._stopped = False

    def show(self, event: Event) -> None:
        """Show one event, and wait if it was a step."""
        super().show(event)
        if isinstance(event, ToolCalled):
            self._step("action", one_line(f"{event.call.name} {trace.format_arguments(event.call)}"))
        if self._unseen:
            self._unseen = False
            self._stop()

    def _act(self, event: Prepared) -> None:
        self._step("edit", *describe_acts(event), style="act")

    def _think(self, thought: str) -> None:
        self._step("thought", clean(thought), style="thought")

    def _end_reply_text(self, called: bool) -> None:
        blocks = [block.strip() for block in self._blocks.flush()] if called else []
        if blocks:
            self._step("thought", *blocks)
        super()._end_reply_text(called)

    def _on_tool_returned(self, event: ToolReturned) -> None:
        head = trace.tool_line(event, self._width() - 2).strip()
        lines = clean(event.message.content).strip().split("\n")
        more = len(lines) - SHOWN_LINES
        rest = [f"… {count_noun(more, 'more line')}"] if more > 0 else []
        shown = [trace.cut_line(text, 2 * self._width()) for text in lines[:SHOWN_LINES]]
        self._step("observation", head, *shown, *rest, style="" if event.ok else "error")

    def _step(self, name: str, *lines: str, style: str = "") -> None:
        self._unseen = True
        self.console.print()
        self._print(Text(f" {name.upper()} ", style="step"), "trace")
        for text in lines:
            self._print(Padding(Text(text, style=style), (0, 0, 0, 2), expand=False), "trace")

    def _stop(self) -> None:
        if self._stopping:
            drop_typed_keys()
            self._stopped = True
            try:
                self._stopping = self._wait_for_presenter()
            finally:
                self._stopped = False

    def _tail(self) -> RenderableType:
        return Text(WAITING_MARK, style="mark", justify="right") if self._stopped else super()._tail()


def describe_acts(event: Prepared) -> list[str]:
    """The strategy's acts, their reasons, their cost in prefill and the tokens saved; or that it did nothing."""
    view, exact = event.view, event.exact

    def tokens(count: int) -> str:
        return figures.format_tokens(count, exact)

    done = trace.describe_edits(event)
    cached = f"{tokens(view.cached)} of them cached" if view.cached else "none of them cached yet"
    if not done:
        return [f"nothing was changed: {tokens(view.tokens)} of {view.limit:,} tokens; {cached}"]
    anew = f"the server must compute {tokens(view.prefill)} tokens; {tokens(view.cached)} are cached"
    new = f"nothing that was cached changed; {tokens(view.prefill)} tokens are new, {tokens(view.cached)} cached"
    saved = f"{tokens(view.saved)} tokens" if view.saved > 0 else "nothing"
    return [
        f"{one_line(event.strategy)} {', '.join(done)}",
        *describe_reasons(view, event.before, event.strategy),
        f"Cost: {anew if event.before and (view.edited or not view.warm) else new}",
        f"Saved: {saved}, {tokens(view.without)} → {tokens(view.tokens)} of {view.limit:,}",
    ]


def describe_reasons(view: View, before: View | None, strategy: str) -> list[str]:
    """The reasons, a line for each kind of act: the rule of its first message.

    An act is a fate that is new in this view; if no fate is new, the inserted messages.
    """
    earlier = before.fates if before else ()
    first: dict[str, str] = {}
    for place, fate in enumerate(view.fates):
        if fate != "kept" and (place >= len(earlier) or earlier[place] != fate):
            first.setdefault(fate, why(view, place, strategy))
    if not first:
        first["inserted"] = next((view.messages[at].why for at in view.inserted), "")
    named = len(first) > 1
    return [f"Why{f' {fate}' if named else ''}: {one_line(said) or NO_REASON}" for fate, said in first.items()]
