"""The examination: one check after the other. An error that a check raises is its finding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console

from thimble.agent.errors import ThimbleError, UsageError
from thimble.agent.protocols import Backend
from thimble.models import SERVERS, checks, make_reader
from thimble.models.server import Check
from thimble.models.wire.bounds import ServerTimeout
from thimble.repl.commands.doctor import machine
from thimble.repl.commands.doctor.warm import warm
from thimble.session.backends import SIDE_MODELS, Backends, SideName
from thimble.session.embeddings import INSTALL, make_uncached, vectors_folder
from thimble.session.settings import Settings
from thimble.session.settings_table import BACKENDS, NONE

WAIT_SECONDS = 5.0
"""The longest wait for a server's answer."""


class Report:
    """The findings, and whether a session can start now.

    Attributes:
        findings: A name, a state ("ok", "warn" or "fail") and a finding, in order.
        backend: The session's backend, or None.
        code: The exit code of the session, 0 if it can start. Usage errors come first, as in a session.
        end: Which model the session uses, or why none can start.
    """

    def __init__(self) -> None:
        self.findings: list[tuple[str, str, Check]] = []
        self.backend: Backend | None = None
        self.code, self.end = 0, Check("")

    def look(self, name: str, found: Iterable[Check], needed: bool = True) -> None:
        """Enter the findings of a check, up to a ThimbleError: a failure if a session needs what is checked.

        A finding with a fix is a warning.
        """
        try:
            for check in found:
                self.findings.append((name, "warn" if check.fix else "ok", check))
        except ThimbleError as error:
            check, code = Check(error.what, error.fix), 2 if isinstance(error, UsageError) else 3
            self.findings.append((name, "fail" if needed else "warn", check))
            if needed and not 0 < self.code <= code:
                self.code, self.end = code, Check(f"No session can start: {error.what}.", error.fix)


def examine(settings: Settings, console: Console, warms: bool = False) -> Report:
    """Check everything that a session with these settings needs. Changes nothing, and raises only on a bug.

    Args:
        settings: The settings of the session.
        console: The console of the session.
        warms: Whether to warm up the model, if a session can start.
    """
    soon = settings.replace(timeout=min(settings.timeout, WAIT_SECONDS), reply_timeout=WAIT_SECONDS)
    notices: list[str] = []
    backends, report = Backends(soon, notices.append), Report()
    look = report.look
    look("model", _model(backends, report))
    if report.backend:
        report.end = Check(notices[-1] if notices else f"A session uses {report.backend.id}.")
    for side in SIDE_MODELS:
        look(side, _side_model(backends, side))
    look("embeddings", _embeddings(soon), needed=False)
    look("strategy", _strategy(settings))
    look("articles", machine.articles(settings.corpus))
    used = report.backend.name if report.backend else settings.backend
    for kind in [*SERVERS, *{settings.backend}.difference(BACKENDS)]:  # the last is from an installed package
        look(kind, _server(backends, kind, settings, kind == used), needed=kind == used)
    look("folders", machine.folders(settings))
    look("terminal", machine.terminal(console))
    look("versions", machine.versions())
    if warms and not report.code:
        look("warm", warm(settings))
    return report


def _model(backends: Backends, report: Report) -> Iterator[Check]:
    report.backend = backend = backends.first_backend()
    exact = "exact" if backend.counter.exact else "estimates, shown with ~, until the server reports exact ones"
    yield Check(f"{backend.id}; token counts are {exact}")


def _side_model(backends: Backends, name: SideName) -> Iterator[Check]:
    if backend := backends.side_model(name):
        yield Check(f"{backend.id}")


def _server(backends: Backends, kind: str, settings: Settings, used: bool) -> Iterator[Check]:
    try:
        yield from checks(backends.server_of(kind), settings.model if used else "", settings.budget)
    except ServerTimeout as error:  # a session would wait longer
        yield Check(error.what, error.fix)


def _embeddings(settings: Settings) -> Iterator[Check]:
    """The embedder of the settings, tried on one text."""
    embedder = make_uncached(settings)
    if embedder is None:
        yield Check("none: the search compares words only", "" if settings.embeddings == NONE else INSTALL)
    else:
        numbers = len(embedder.embed(["Is anybody there?"])[0])
        yield Check(f"{embedder.name}, vectors of {numbers} numbers, kept in {vectors_folder()}")


def _strategy(settings: Settings) -> Iterator[Check]:
    from thimble.agent.side import SideModel
    from thimble.strategies.spec import make_strategy

    make_strategy(settings.strategy, SideModel(make_reader(), make_uncached(settings)))
    yield Check(f"{settings.strategy.strip()} in {settings.budget:,} tokens")
