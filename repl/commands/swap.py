"""/strategy, /budget and /model: what the next prompt is made under."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from agent import figures
from agent.errors import UsageError
from models.ollama.errors import DEFAULT_MODEL
from repl.screen.sanitise import line
from repl.screen.tables import Table
from repl.screen.theme import is_drawn, say
from session.forecast import forecast

if TYPE_CHECKING:
    from session.session import Session


def strategy(session: Session, spec: str, console: Console) -> None:
    """Swap to a strategy; without a SPEC list them. Raises UsageError for one that there is not."""
    if not spec:
        from repl.commands.strategies import show_all

        show_all(session.spec, console)
        return
    session.use_strategy(spec)
    say(console, f"The strategy is now {line(session.spec)}. Its memory is empty: it sees the whole history afresh.")
    _next_prompt(session, console)


def budget(session: Session, text: str, console: Console) -> None:
    """Set the budget, or say what it is. Raises UsageError for one that cannot be."""
    if text:
        session.use_budget(_tokens(text))
        say(console, f"The budget is {session.agent.limit:,} tokens from the next prompt on.")
    else:
        say(console, f"The budget is {session.agent.limit:,} tokens of prompt for each call. Change it: /budget 4000")
    _next_prompt(session, console)


def model(session: Session, name: str, console: Console) -> None:
    """Change to a model; without a name list them. Raises ModelError where it cannot be used."""
    if name:
        session.use_model(name)
        backend = session.agent.backend
        say(console, f"The model is now {line(figures.model(backend))} ({line(backend.name)}). The history stays.")
        _next_prompt(session, console)
        return
    used, names = figures.model(session.agent.backend), session.backends.names()
    alone = len(names) < 2 and not session.playback
    if alone and (server := session.backends.look_for_server()):
        names += server.models()  # asked without haste: it answers, or says what is wrong
    rows = [(_marked(known, known == used, console),) for known in names]
    Table("Models to choose from: /model NAME", ("  model",), rows).show(console)
    if alone and len(names) < 2:
        say(console, f"Only the built-in reader is here. For a model: start Ollama, then /pull {DEFAULT_MODEL}.")


def _tokens(text: str) -> int:
    found = re.fullmatch(r"(\d[\d,_ ]{0,30})(k?)", text.lower())
    if not found:
        raise UsageError(f"{text[:40]!r} is not a number of tokens", "write /budget 4000 or /budget 4k")
    return int(re.sub(r"\D", "", found[1])) * (1000 if found[2] else 1)


def _next_prompt(session: Session, console: Console) -> None:
    """What the next prompt will cost, as far as that can be known without asking a model."""
    next_ = forecast(session)
    tokens = figures.tokens(next_.tokens, session.agent.backend.counter.exact)
    share = figures.share(next_.tokens, next_.limit)
    unless = "" if next_.settled else ", before the strategy has done its work"
    over = " It is over the budget." if next_.tokens > next_.limit else ""
    words = f"The next prompt will hold {tokens} of {next_.limit:,} tokens ({share}){unless}, and your question.{over}"
    say(console, words, "over" if over and next_.settled else "")


def _marked(name: str, used: bool, console: Console) -> str | Text:
    """A name of several, and whether it is the one in use."""
    if is_drawn(console):
        return Text(f"{'›' if used else ' '} {line(name)}")
    return f"{name} (in use)" if used else name
