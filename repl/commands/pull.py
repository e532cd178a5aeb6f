"""/pull: a model comes to an Ollama server, with a bar that shows how far it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from rich import filesize
from rich.console import Console

from agent.errors import Stopped, UsageError
from models.ollama.errors import DEFAULT_MODEL
from repl.screen.sanitise import line
from repl.screen.theme import is_drawn
from session.session import Session

if TYPE_CHECKING:
    from models.ollama.download import Progress
    from models.ollama.server import OllamaServer

STATUS_CHARACTERS = 24
Show = Callable[["Progress"], None]


def pull(session: Session, name: str, console: Console) -> None:
    """/pull NAME: download a model to the Ollama server.

    Ctrl-C stops it; the server keeps its part until it restarts, and the same command goes on from there.
    """
    if len(name.split()) != 1:
        fix = f"such as /pull {DEFAULT_MODEL}; ollama.com/library has more"
        raise UsageError("/pull takes the name of one model", fix)
    server, done, total = _ollama(session), 0, 0
    with _shown(console) as show, closing(server.pull(name)) as steps:
        try:
            for step in steps:
                done, total = step.done_bytes, step.total_bytes
                show(step)
        except KeyboardInterrupt:
            raise Stopped(_kept(name, done, total)) from None
    console.print(f"{line(name)} is here. To go on with it: /model {line(name)}")


def _ollama(session: Session) -> OllamaServer:
    from models.ollama.server import OllamaServer

    server = session.backends.server
    if not isinstance(server, OllamaServer):
        other = "this session has no server" if server.name == "gguf" else f"the server at {server.url} is not one"
        what = f"/pull is for Ollama, and {other}"
        raise UsageError(what, "it has the models that it was started with: /model lists them")
    return server


def _kept(name: str, done: int, total: int) -> str:
    if not done:
        return f"stopped before anything was loaded; again: /pull {name}"
    have = f"{filesize.decimal(done)} of {filesize.decimal(total)}"
    return f"stopped at {have}, kept on the server; /pull {name} goes on"


@contextmanager
def _shown(console: Console) -> Iterator[Show]:
    """Shows each step: as a bar that moves, or in lines."""
    if not is_drawn(console):
        yield _in_lines(console)
        return
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
    from rich.progress import Progress as Bar

    status = TextColumn("{task.description}", markup=False)
    columns = BarColumn(20), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn(compact=True)
    with Bar(status, *columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)

        def show(step: Progress) -> None:
            said = line(step.status)[:STATUS_CHARACTERS]
            bar.update(task, description=said, total=step.total_bytes or None, completed=step.done_bytes)

        yield show


def _in_lines(console: Console) -> Show:
    """Prints a line for each thing that the server does, and for each tenth of what there is to load."""
    status, tenths = "", 0

    def show(step: Progress) -> None:
        nonlocal status, tenths
        if step.status != status:
            status = step.status
            console.print(line(status[:STATUS_CHARACTERS]))
        done = 10 * step.done_bytes // step.total_bytes if step.total_bytes else 0
        if done > tenths:
            tenths = done
            console.print(f"{tenths}0% of {filesize.decimal(step.total_bytes)}")

    return show
