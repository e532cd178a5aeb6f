"""The meter below the prompt: what the next prompt will hold, the words that are being typed included."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from rich.cells import cell_len

from agent.errors import ThimbleError
from agent.messages import Message
from repl import figures
from repl.footer import Level, level
from repl.forecast import DRAFT, Forecast, forecast
from repl.sanitise import line

if TYPE_CHECKING:
    from repl.session import Session

BAR = 8

Piece = tuple[str, str]
"""A style class of the prompt and its text."""


class Meter:
    """Shows `…` until the session is warm. What a prompt holds is found once for each, so that typing never waits."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._warm = False
        self._next: Forecast | None = None
        self.error: ThimbleError | None = None

    def warm(self) -> None:
        """Load what counting needs; may be called from another thread than the one that draws."""
        self._session.warm()
        try:
            self._session.agent.schemas()
        except ThimbleError as error:
            self.error = error
            return
        self._warm = True
        self.refresh()

    def refresh(self) -> None:
        """Find anew what the next prompt will hold, once the session is warm. A meter never ends a session."""
        self._next = None
        if self._warm:
            with suppress(Exception):
                self._next = forecast(self._session)

    def pieces(self, text: str, width: int) -> list[Piece]:
        """`ctx ▓▓▓▓▓░░░ ~5,012/8,000 63% + 14 · observation-masking · reader · 3 exchanges`, cut to `width` columns."""
        spec = line(self._session.spec)
        if self._next is None:
            return [("class:rest", _fitting(["ctx …", spec], width))]
        agent = self._session.agent
        context = self._context(self._next, text, agent.backend.counter.exact)
        exchanges = [figures.several(agent.ledger.exchanges, "exchange")] * bool(agent.ledger.exchanges)
        rest = _fitting(
            ["", spec, line(figures.model(agent.backend)), *exchanges], width - cell_len("".join(t for _, t in context))
        )
        return [*context, ("class:rest", rest)]

    def _context(self, next_: Forecast, text: str, exact: bool) -> list[Piece]:
        added = typed(self._session, text) if text.strip() and not text.startswith("/") else 0
        tokens = next_.tokens + added
        how: Level = level(tokens, next_.limit)
        filled = min(BAR, round(BAR * tokens / next_.limit))
        figure = f"{figures.tokens(next_.tokens, exact)}/{next_.limit:,} {figures.share(tokens, next_.limit)}"
        plus = f" + {added:,}" if added else ""
        over = " OVER" if how == "over" else ""
        bar = "▓" * filled + "░" * (BAR - filled)
        return [("class:rest", "ctx "), (f"class:{how}", f"{bar} {figure}{plus}{over}")]


def _fitting(fields: list[str], width: int) -> str:
    """Fields with dots between them, dropped from the right until they fit."""
    while len(fields) > 1 and cell_len(" · ".join(fields)) > width:
        fields = fields[:-1]
    return " · ".join(fields)


def typed(session: Session, text: str) -> int:
    """Tokens that a question of these words adds; the end of a very long one is taken to be like its beginning."""
    counter = session.agent.backend.counter
    looked_at = text[:8_000]
    tokens = counter.count(Message(DRAFT, "user", looked_at)) - counter.count(Message(DRAFT, "user"))
    return tokens if text == looked_at else tokens * len(text) // len(looked_at)
