"""The examination: all is looked at side by side, and what hangs or fails hides nothing of the rest."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import Thread
from typing import NamedTuple

from thimble.agent.errors import ModelError, ThimbleError, UsageError
from thimble.agent.protocols import Backend
from thimble.models import READER, SERVERS, built_in, checks
from thimble.models.server import Check, Server
from thimble.session.backends import SIDE_MODELS, Backends, SideName
from thimble.session.embeddings import INSTALL, folder, unkept
from thimble.session.settings import Settings
from thimble.session.settings_table import BACKENDS, NONE, served_embeddings

MOST_WAIT_SECONDS = 5.0
"""The longest that anything is waited for."""
DONE, USAGE, MODEL = 0, 2, 3
"""Exit codes, as everywhere."""


@dataclass(frozen=True, slots=True)
class Look:
    """One thing to look at. A ThimbleError that `find` raises is its last finding.

    `late` is the finding of a check that takes too long; None for checks of this machine.
    """

    group: str
    name: str
    find: Callable[[], Iterable[Check]]
    late: Check | None = None


class Finding(NamedTuple):
    """A check, its group, and the error that caused the finding, if there is one."""

    group: str
    check: Check
    error: ThimbleError | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a session that would start now, and its exit code. `backend` and `model` may be "" for none."""

    text: str
    fix: str = ""
    code: int = DONE
    backend: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """All findings, in the order of what was looked at, and what follows from them."""

    findings: Sequence[Finding]
    verdict: Verdict


def examine(
    settings: Settings, others: Iterable[Look] = (), seconds: float = MOST_WAIT_SECONDS, last: Look | None = None
) -> Report:
    """Run every check for a session with these settings. Changes nothing and raises nothing.

    Args:
        settings: What the session would be opened with.
        others: What else to look at.
        seconds: The longest that servers are waited for.
        last: What to look at when all else is done, if a session can start.
    """
    notices: list[str] = []
    backends = Backends(settings, notices.append)
    started: list[Backend] = []
    servers = _servers(backends)
    chosen = _chosen(backends)
    looks = [Look("session", "backend", partial(_backend, backends, started), _late("the model server", seconds))]
    for side in SIDE_MODELS:
        if getattr(settings, side):
            looks.append(Look("session", side, partial(_side_model, backends, side), _late("its server", seconds)))
    late = _late("the server of the embeddings", seconds) if served_embeddings(settings.embeddings) else None
    looks.append(Look("session", "embeddings", partial(_embeddings, settings), late))
    looks.append(Look("session", "strategy", partial(_strategy, settings)))
    for name, server in servers.items():
        find = partial(_server, server, settings.model if name == chosen else "")
        where = server.what if isinstance(server, UsageError) else server.url
        looks.append(Look(name, "server", find, _late(where, seconds)))
    findings = side_by_side([*looks, *others], seconds)
    elsewhere = servers.keys() - {chosen}
    findings = [_tolerable(finding) if finding.group in elsewhere else finding for finding in findings]
    verdict = _verdict(notices, findings, started, chosen)
    if last and verdict.code == DONE:
        findings += side_by_side([last], seconds)
        verdict = _verdict(notices, findings, started, chosen)
    return Report(findings, verdict)


def side_by_side(looks: Sequence[Look], seconds: float) -> list[Finding]:
    """The findings of each check, in order. All run in parallel; one that takes longer than so many seconds is late."""
    found: list[list[Finding]] = [[] for _ in looks]
    # Threads that nobody waits for: nothing else puts an end to a name server that does not answer.
    threads = [Thread(target=_look, args=both, daemon=True) for both in zip(looks, found, strict=True)]
    for thread in threads:
        thread.start()
    end, findings = time.monotonic() + seconds, list[Finding]()
    for look, its, thread in zip(looks, found, threads, strict=True):
        thread.join(max(0.0, end - time.monotonic()) if look.late else None)
        findings += its
        if look.late and thread.is_alive():  # whoever has said something is slow, not gone
            findings.append(Finding(look.group, replace(look.late, state="warn" if its else look.late.state)))
    return findings


def _look(look: Look, found: list[Finding]) -> None:
    try:
        for check in look.find():
            found.append(Finding(look.group, check))
    except ThimbleError as error:
        found.append(Finding(look.group, Check(look.name, "fail", error.what, error.fix), error))
    except Exception as error:  # a bug in one check must not hide the others, nor be taken for what they look for
        what = f"this check has a bug: {type(error).__name__}: {error}"
        found.append(Finding(look.group, Check(look.name, "warn", what, "report it; the other findings stand")))


def _late(what: str, seconds: float) -> Check:
    fix = "see whether it is still starting, and its log; another address: --base-url"
    return Check("time", "fail", f"{what} gave no answer within {seconds:g} seconds", fix)


def _tolerable(finding: Finding) -> Finding:
    """Downgrade failures of servers this session does not use to warnings."""
    check = finding.check
    return finding._replace(check=replace(check, state="warn")) if check.state == "fail" else finding


def _servers(backends: Backends) -> dict[str, Server | UsageError]:
    """Every server, or why its address is none, by the backend that it is."""
    found: dict[str, Server | UsageError] = {}
    asked = backends.settings.backend
    for name in [*SERVERS, *([] if asked in BACKENDS else [asked])]:  # the last is of an installed package
        try:
            found[name] = backends.server_of(name)
        except UsageError as error:
            found[name] = error
    return found


def _chosen(backends: Backends) -> str:
    """Which of the servers the session would use, "" for none."""
    try:
        used = backends.look_for_server()
    except UsageError:  # its address is none
        return backends.settings.backend
    return used.name if used else ""


def _server(server: Server | UsageError, model: str) -> Iterable[Check]:
    if isinstance(server, UsageError):  # told by the session where it is in the way
        return [Check("address", "fail", server.what, server.fix)]
    return checks(server, model)


def _backend(backends: Backends, started: list[Backend]) -> Iterator[Check]:
    backend = backends.first()
    started.append(backend)
    yield Check("backend", "ok", f"{backend.name}/{backend.model}")
    exact = "exact" if backend.counter.exact else "estimates, shown with ~, until the server has told"
    yield Check("token counts", "ok", exact)


def _side_model(backends: Backends, name: SideName) -> Iterator[Check]:
    backend = backends.side_model(name)
    if backend:
        yield Check(name, "ok", f"{backend.name}/{backend.model}")


def _embeddings(settings: Settings) -> Iterator[Check]:
    """What the setting leads to; the files are read, or the server is asked, for one text."""
    embedder = unkept(settings)
    if embedder is None:
        found = "none: the search goes by words alone"
        yield Check.of(
            "embeddings", settings.embeddings == NONE, found, f"{found}, wordllama is not installed", INSTALL
        )
        return
    try:
        numbers = len(embedder.embed(["Is anybody there?"])[0])
        yield Check("embeddings", "ok", f"{embedder.name}, vectors of {numbers} numbers, kept in {folder()}")
    except ModelError as error:  # a session starts all the same
        yield Check("embeddings", "fail", error.what, error.fix)


def _strategy(settings: Settings) -> Iterator[Check]:
    from thimble.agent.side import SideModel
    from thimble.strategies.spec import parse

    parse(settings.strategy, SideModel(built_in(), unkept(settings)))
    yield Check("strategy", "ok", f"{settings.strategy.strip()} in {settings.budget:,} tokens")


def _verdict(notices: Sequence[str], findings: Sequence[Finding], started: Sequence[Backend], chosen: str) -> Verdict:
    errors = sorted((f.error for f in findings if f.error), key=lambda error: not isinstance(error, UsageError))
    if errors:
        code = USAGE if isinstance(errors[0], UsageError) else MODEL
        return Verdict(f"No session can start: {errors[0].what}.", errors[0].fix, code)
    if not started:
        return Verdict("No session can start: the model server does not answer in time.", "--backend reader", MODEL)
    backend = started[0]
    broken = next((f.check for f in findings if f.group == chosen and f.check.state == "fail"), None)
    if broken and backend.name != READER:
        what = f"A session would take {backend.name}/{backend.model} and fail: {broken.found}."
        return Verdict(what, broken.fix, MODEL, backend.name, backend.model)
    text = notices[-1] if notices else f"A session uses {backend.name}/{backend.model}."
    return Verdict(text, "", DONE, backend.name, backend.model)
