"""The examination: one check after the other, each with a time limit where it asks a server."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from threading import Thread

from rich.console import Console

from thimble.agent.errors import ModelError, ThimbleError, UsageError
from thimble.agent.protocols import Backend
from thimble.models import SERVERS, built_in, checks
from thimble.models.server import Check
from thimble.repl.commands.doctor import machine
from thimble.repl.commands.doctor.warm import warm
from thimble.session.backends import SIDE_MODELS, Backends, SideName
from thimble.session.embeddings import INSTALL, folder, unkept
from thimble.session.settings import Settings
from thimble.session.settings_table import BACKENDS, NONE, served_embeddings

WAIT_SECONDS = 5.0
"""The longest that a check waits for a server."""
DONE, USAGE, MODEL = 0, 2, 3
"""Exit codes, as everywhere."""
LATE_FIX = "see whether it is still starting, and its log; another address: --base-url; none: --backend reader"


class Report:
    """What was found, and what follows for a session that starts now: the first failure decides, usage errors first.

    Attributes:
        findings: Each finding with its group, in order.
        used: The name of the backend that the session uses, or would use if it worked.
        backend: The session's backend; None if no session can start.
        text: Which model the session uses, or why none can start, in a sentence.
        fix: What mends the failure, or "".
        code: The exit code that the session would end with.
    """

    def __init__(self, used: str = "", seconds: float = WAIT_SECONDS) -> None:
        self.used, self.seconds = used, seconds
        self.findings: list[tuple[str, Check]] = []
        self.backend: Backend | None = None
        self.text = self.fix = ""
        self.code = DONE

    def look(
        self,
        group: str,
        name: str,
        find: Callable[..., Iterable[Check]],
        *given: object,
        waits: str = "",
        needed: bool = True,
    ) -> None:
        """Run a check. Raises nothing.

        Args:
            group: The title of its findings.
            name: What it looks at, for an error that it raises.
            find: The check. A ThimbleError that it raises is its last finding.
            given: Its arguments.
            waits: What it waits for, at most `seconds`; "" for a check of this machine, which takes its time.
            needed: Whether the session needs it; else its failures are warnings.
        """
        found: list[tuple[Check, int]] = []

        def collect() -> None:
            try:
                for check in find(*given):
                    found.append((check, MODEL))
            except ThimbleError as error:
                code = USAGE if isinstance(error, UsageError) else MODEL
                found.append((Check(name, "fail", error.what, error.fix), code))
            except Exception as error:  # a bug in one check must not hide the others
                bug = f"this check has a bug: {type(error).__name__}: {error}"
                found.append((Check(name, "warn", bug, "report it; the other findings stand"), MODEL))

        # A thread that nobody waits for: nothing else puts an end to a name server that does not answer.
        thread = Thread(target=collect, daemon=True)
        thread.start()
        thread.join(self.seconds if waits else None)
        if thread.is_alive():  # what is slow does not stop a session that has a model
            late = f"{waits} gave no answer within {self.seconds:g} seconds"
            found.append((Check("time", "warn" if found or self.backend else "fail", late, LATE_FIX), MODEL))
        for check, code in [*found]:
            self.add(group, check if needed or check.state == "ok" else replace(check, state="warn"), code)

    def add(self, group: str, check: Check, code: int = MODEL) -> None:
        """Enter a finding; a failure stops the session with this exit code."""
        self.findings.append((group, check))
        if check.state != "fail" or 0 < self.code <= code:
            return
        start = "No session can start"
        if self.backend and group == self.used:
            start = f"A session would take {self.backend.id} and fail"
        else:
            self.backend = None
        self.text, self.fix, self.code = f"{start}: {check.found}.", check.fix, code


def examine(settings: Settings, console: Console, warms: bool = False, seconds: float = WAIT_SECONDS) -> Report:
    """Check all that a session with these settings needs. Changes nothing and raises nothing.

    Args:
        settings: What the session would be opened with.
        console: Where it would be shown.
        warms: Whether to make the model ready, if a session can start.
        seconds: The longest that a check waits for a server.
    """
    notices: list[str] = []
    backends = Backends(settings, notices.append)
    report = Report(settings.backend, seconds)
    look = report.look
    look("session", "backend", _backend, backends, report, waits="the model server")
    if report.backend:
        report.text = notices[-1] if notices else f"A session uses {report.backend.id}."
    for side in SIDE_MODELS:
        if getattr(settings, side):
            look("session", side, _side_model, backends, side, waits="its server")
    served = served_embeddings(settings.embeddings)
    look("session", "embeddings", _embeddings, settings, waits="the server of the embeddings" if served else "")
    look("session", "strategy", _strategy, settings)
    for kind in [*SERVERS, *{settings.backend}.difference(BACKENDS)]:  # the last is of an installed package
        needed = kind == report.used
        try:
            server = backends.server_of(kind)
        except UsageError as error:  # where it is in the way, the session has said so
            report.add(kind, Check("address", "fail" if needed else "warn", error.what, error.fix))
        else:
            model = settings.model if needed else ""
            look(kind, "server", checks, server, model, waits=server.url, needed=needed)
    look("corpus", "articles", machine.articles, settings.corpus)
    look("corpus", "files", machine.files, settings.files)
    look("tokens", "vocabulary", machine.vocabulary)
    look("terminal", "terminal", machine.terminal, console)
    look("folders", "folders", machine.folders, settings.session_dir)
    look("environment", "environment", machine.environment)
    look("versions", "versions", machine.versions)
    if warms and report.code == DONE:
        look("warm", "model", warm, settings)
    return report


def _backend(backends: Backends, report: Report) -> Iterator[Check]:
    if server := backends.look_for_server():
        report.used = server.name
    report.backend = backend = backends.first()
    report.used = backend.name
    yield Check("backend", "ok", f"{backend.id}")
    exact = "exact" if backend.counter.exact else "estimates, shown with ~, until the server has told"
    yield Check("token counts", "ok", exact)


def _side_model(backends: Backends, name: SideName) -> Iterator[Check]:
    if backend := backends.side_model(name):
        yield Check(name, "ok", f"{backend.id}")


def _embeddings(settings: Settings) -> Iterator[Check]:
    """What the setting leads to; the files are read, or the server is asked, for one text."""
    embedder = unkept(settings)
    if embedder is None:
        found = "none: the search goes by words alone"
        missing = f"{found}, wordllama is not installed"
        yield Check.of("embeddings", settings.embeddings == NONE, found, missing, INSTALL)
        return
    try:
        numbers = len(embedder.embed(["Is anybody there?"])[0])
        yield Check("embeddings", "ok", f"{embedder.name}, vectors of {numbers} numbers, kept in {folder()}")
    except ModelError as error:  # a session starts all the same
        yield Check("embeddings", "warn", error.what, error.fix)


def _strategy(settings: Settings) -> Iterator[Check]:
    from thimble.agent.side import SideModel
    from thimble.strategies.spec import parse

    parse(settings.strategy, SideModel(built_in(), unkept(settings)))
    yield Check("strategy", "ok", f"{settings.strategy.strip()} in {settings.budget:,} tokens")
