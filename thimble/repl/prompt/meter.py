"""The meter below the prompt: the next prompt's size, and the effect of Enter on the typed question."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from threading import Condition, Thread
from typing import TYPE_CHECKING

from rich.cells import cell_len

from thimble.agent.errors import ThimbleError
from thimble.agent.fates import Fate
from thimble.agent.view import View
from thimble.commands.forecast import Forecast, forecast_prompt
from thimble.repl.screen.footer import Level, budget_level, fit_fields
from thimble.repl.screen.sanitise import one_line
from thimble.session import figures
from thimble.strategies.paper_names import short_name
from thimble.tools.wording import count_noun

if TYPE_CHECKING:
    from thimble.session.session import Session

BAR = 8
PAUSE_SECONDS = 0.08
"""The pause in typing after which the meter looks again."""
FATE_WORDS: dict[Fate, str] = {
    "tidied": "tidies",
    "edited": "edits",
    "masked": "masks",
    "shortened": "shortens",
    "summarised": "summarises",
    "offloaded": "offloads",
    "dropped": "drops",
}

Piece = tuple[str, str]
"""A style class of the prompt and its text."""


class Meter:
    """Forecasts the next prompt in a separate thread, so that typing never waits. Shows `…` until it is warm.

    Args:
        session: The session to forecast; it does not change.
        redraw: Called from that thread when there is something new to show.
    """

    def __init__(self, session: Session, redraw: Callable[[], None] = lambda: None) -> None:
        self._session = session
        self._redraw = redraw
        self._warm = False
        self._known: tuple[str, Forecast] | None = None
        self._wanted = self._seen = ""
        self._round = 0
        self._changed = Condition()
        self.error: ThimbleError | None = None

    def warm(self) -> None:
        """Load what counting needs; may be called from any thread."""
        self._session.warm()
        try:
            self._session.agent.schemas()
        except ThimbleError as error:
            self.error = error
            return
        self._warm = True
        self.refresh()
        Thread(target=self._follow, daemon=True).start()

    def refresh(self) -> None:
        """Forecast the next prompt again, once the session is warm; the result of a running forecast is dropped."""
        with self._changed:
            self._round += 1
            self._known, self._wanted, self._seen = None, "", ""
        self.look("")

    def look(self, question: str) -> None:
        """Forecast the effect of Enter with this question. Errors are ignored: a meter must not end a session."""
        began = self._round
        if self._warm:
            with suppress(Exception):
                found = forecast_prompt(self._session, question)
                with self._changed:
                    if (began, question) == (self._round, self._wanted):  # else it was sent or edited meanwhile
                        self._known = (question, found)

    def pieces(self, text: str, width: int) -> list[Piece]:
        """The status line, as far as it is known, in at most `width` columns.

        `next ▓▓▓▓▓░░░ ~5,012/8,000 63% · masks 3 −2.1k · prefill ~1,204 · observation-masking · reader`; `+ ?` means
        that a user's strategy will decide only when it runs.
        """
        self._follow_to("" if text.startswith("/") else text.strip())
        spec = one_line(self._session.spec)
        if self._known is None:
            return [("class:rest", " · ".join(fit_fields([self._session.reading.words or "next …", spec], width)))]
        question, next_ = self._known
        agent = self._session.agent
        exact = agent.backend.counter.exact
        context = _context(next_, exact)
        outlook = _describe_next(next_, exact, bool(question))
        exchanges = [count_noun(agent.ledger.exchanges, "exchange")] * bool(agent.ledger.exchanges)
        outlook = ["warming"] * self._session.is_warming + outlook
        fields = ["", *outlook, spec, one_line(agent.backend.id.called), *exchanges, *_advice(next_, exact)]
        room = width - cell_len("".join(shown for _, shown in context))
        if len(fit_fields(fields, room)) < len(fields):
            fields[1 + len(outlook)] = short_name(spec)
        return [*context, ("class:rest", " · ".join(fit_fields(fields, room)))]

    def _follow_to(self, question: str) -> None:
        with self._changed:
            if question != self._wanted:
                self._wanted = question
                self._changed.notify()

    def _follow(self) -> None:
        """Forecast the newest question whenever it has changed and typing pauses."""
        while True:
            with self._changed:
                while self._wanted == self._seen:
                    self._changed.wait()
                while self._changed.wait(PAUSE_SECONDS):
                    pass
                question = self._seen = self._wanted
            self.look(question)
            self._redraw()


def _context(next_: Forecast, exact: bool) -> list[Piece]:
    how: Level = budget_level(next_.tokens, next_.limit)
    filled = min(BAR, round(BAR * next_.tokens / next_.limit))
    figure = figures.format_budget_use(next_.tokens, next_.limit, exact)
    more = " + ?" * (next_.view is None and how != "over")
    bar = "▓" * filled + "░" * (BAR - filled)
    return [("class:rest", "next "), (f"class:{how}", f"{bar} {figure}{more}")]


def _describe_next(next_: Forecast, exact: bool, asked: bool) -> list[str]:
    """The effect of Enter: a model that the strategy asks first, its acts, and the prefill."""
    view = next_.view
    if view is None:
        return ["the budget cannot hold it"] * (next_.tokens > next_.limit)
    prefill = [f"prefill {figures.format_tokens(view.prefill, exact)}"] if asked else []
    return [*["asks a model first"] * next_.asks, *_describe_acts(view, exact), *prefill]


def _advice(next_: Forecast, exact: bool) -> list[str]:
    return [f"tidy+ would save {figures.format_short(next_.tidy_saves, exact)}"] * bool(next_.tidy_saves)


def _describe_acts(view: View, exact: bool) -> list[str]:
    deeds = [f"{FATE_WORDS[fate]} {count:,}" for fate, count in view.acted.items() if count]
    saved = f" −{figures.format_short(view.saved, exact)}" if view.saved > 0 else ""
    return [", ".join(deeds) + saved] if deeds else []
