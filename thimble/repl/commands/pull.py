"""/pull: download a model to an Ollama server, with progress."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from rich import filesize
from rich.console import Console

from thimble.agent.errors import Stopped, UsageError
from thimble.models.server import DEFAULT_MODEL
from thimble.repl.commands.command import command
from thimble.repl.screen.sanitise import one_line
from thimble.repl.screen.theme import is_drawn, show_progress
from thimble.session.session import Session

if TYPE_CHECKING:
    from thimble.models.ollama.server import OllamaServer, PullProgress


@command("pull NAME", "Models and articles")
def pull(session: Session, name: str, console: Console) -> None:
    """Download a model to the Ollama server.

    Ctrl-C stops the download; the server keeps the finished part until it restarts, and the same command resumes it.
    """
    if len(name.split()) != 1:
        fix = f"write /pull {DEFAULT_MODEL}; ollama.com/library has more models"
        raise UsageError("/pull takes the name of one model", fix)
    server, told, done, total = _ollama(session), "", 0, 0
    with show_progress(console, "asking the server") as tell, closing(server.pull(name)) as steps:
        try:
            for step in steps:
                done, total = step.done_bytes, step.total_bytes
                tell(describe_progress(step))
                if describe_progress(step) != told and not is_drawn(console):
                    told = describe_progress(step)
                    console.print(told)
        except KeyboardInterrupt:
            raise Stopped(_kept(name, done, total)) from None
    console.print(f"{one_line(name)} is ready. To use it: /model {one_line(name)}")


def describe_progress(step: PullProgress) -> str:
    """`pulling 2bada8a74506, 30% of 4.7 GB`: the server's status and progress, in tenths. Safe to print."""
    size, tenths = step.total_bytes, 10 * step.done_bytes // step.total_bytes if step.total_bytes else 0
    return one_line(step.status)[:24] + (f", {tenths}0% of {filesize.decimal(size)}" if tenths else "")


def _ollama(session: Session) -> OllamaServer:
    from thimble.models.ollama.server import OllamaServer

    server = session.backends.server
    if not isinstance(server, OllamaServer):
        other = "this session has no server" if server.name == "gguf" else f"{server.url} is another server"
        what = f"/pull only works with Ollama: {other}"
        raise UsageError(what, "choose one of its models: /model lists them")
    return server


def _kept(name: str, done: int, total: int) -> str:
    if not done:
        return f"stopped before anything was downloaded; to start again: /pull {name}"
    have = f"{filesize.decimal(done)} of {filesize.decimal(total)}"
    return f"stopped at {have}, kept on the server; to resume: /pull {name}"
