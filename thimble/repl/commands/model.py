"""/model: list the models, or switch to one."""

from __future__ import annotations

from rich.console import Console

from thimble.models import READER
from thimble.models.server import DEFAULT_MODEL
from thimble.repl.commands.command import PATHS, Offer, command, complete_paths
from thimble.repl.commands.next_prompt import say_next_prompt
from thimble.repl.screen.sanitise import one_line
from thimble.repl.screen.tables import Table
from thimble.repl.screen.theme import in_use, say
from thimble.session.session import Session


def models(session: Session, text: str) -> list[Offer]:
    """The models, if the server answers soon, else at the next Tab; for a path, its completions."""
    if text.startswith(PATHS):
        return [(path, "a model's file") for path in complete_paths(text, ".gguf")]
    return [(name, "") for name in session.backends.names_within_limit()]


@command("model [NAME]", "Models and articles", completer=models)
def model(session: Session, name: str, console: Console) -> None:
    """List the models, or switch to one.

    "reader" is built in; FILE.gguf, a model that Ollama has pulled and "smollm2" need no server. If the switch fails,
    the current model stays.
    """
    if name:
        session.use_model(name)
        backend = session.agent.backend
        say(console, f"The model is now {one_line(backend.id.called)} ({one_line(backend.name)}). The history stays.")
        say_next_prompt(session, console)
        return
    backend, names = session.agent.backend, session.backends.names()
    used = READER if backend.name == READER else backend.model
    alone = len(names) < 2 and not session.playback
    if alone and (server := session.backends.look_for_server()):
        names += server.models()  # with the full timeout: it answers or raises
    names += [used] if used not in names else []
    rows = [(f"{known}{in_use(console, known == used)}",) for known in names]
    Table("Models to choose from: /model NAME", ("model",), rows).show(console)
    if alone and len(names) < 2:
        start = "" if session.backends.has_server() else "start Ollama, then "
        say(console, f"Only the built-in reader is available. To get a model: {start}/pull {DEFAULT_MODEL}.")
