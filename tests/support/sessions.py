"""Real sessions with a scripted model, and consoles to look at."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.theme import Theme

from tests.support.histories import TinyCounter
from tests.support.scripted import Scripted, Step
from thimble.agent.budget import Counter
from thimble.agent.errors import ThimbleError
from thimble.agent.events import Event
from thimble.agent.ledger import Amount, Call
from thimble.agent.messages import ToolCall
from thimble.repl.commands.table import run_command, show_error
from thimble.repl.screen.theme import STYLES
from thimble.session.session import Session
from thimble.session.settings import Settings


def scripted(*steps: Step, counter: Counter | None = None, pace: float = 0, **settings: Any) -> Session:
    """A session whose model says these things; counted exactly, four characters a token, unless told otherwise."""
    session = Session(Settings(backend="reader", **settings))
    session.agent.use(Scripted(steps, counter or TinyCounter(), pace=pace))
    return session


def tool_call(name: str, number: int = 1, **arguments: Any) -> ToolCall:
    """A call with these arguments."""
    return ToolCall(f"c{number}", name, json.dumps(arguments, ensure_ascii=False))


def ask(session: Session, question: str = "What is observation masking?") -> list[Event]:
    """The events of an exchange."""
    return list(session.ask(question))


def type_command(session: Session, text: str, console: Console) -> str | None:
    """Run a command as the conversation does: what is wrong with it is printed."""
    try:
        return run_command(session, text, console)
    except ThimbleError as error:
        show_error(console, error)
        return ""


def answer_call(exchange: int = 1, prompt: int | None = 100, limit: int = 8000, **rest: Any) -> Call:
    """A call of the ledger in which everything else is unknown."""
    values: dict[str, Any] = {
        "purpose": "answer",
        "strategy": "observation-masking",
        "cached": Amount(None),
        "output": Amount(None),
        "seconds": 1.0,
    }
    return Call(exchange=exchange, prompt=Amount(prompt), limit=limit, **{**values, **rest})


class Paper:
    """What a console has printed."""

    def __init__(self, width: int = 80, drawn: bool = True, color: bool = False, height: int = 60) -> None:
        self.file = io.StringIO()
        self.console = Console(
            file=self.file,
            theme=Theme(STYLES),
            width=width,
            height=height,
            force_terminal=drawn,
            color_system="truecolor" if color else None,
            soft_wrap=not drawn,
            highlight=False,
            emoji=False,
            markup=False,
        )

    @property
    def text(self) -> str:
        """All of it."""
        return self.file.getvalue()

    @property
    def lines(self) -> Sequence[str]:
        """Its lines."""
        return self.text.splitlines()
