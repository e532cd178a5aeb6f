"""What the terminal does, from Python: a session, its events, and its figures as rows of a table.

    import thimble

    session = thimble.open_session(strategy="hybrid", budget=4000)
    print(thimble.answer(session, "What is observation masking?"))

A session is `thimble.Session`: `ask`, `use_strategy`, `use_budget`, `use_model`, `plant`, `fork`, `branch`, `switch`
and `reset` are its own. Nothing here imports the terminal, and a name is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as in typing, whose import is not needed for anything else
if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike
    from typing import Any

    from thimble.agent.errors import BudgetError, ModelError, ThimbleError, ToolError, UsageError
    from thimble.agent.events import (
        Answered,
        Asked,
        Planted,
        Prepared,
        Preparing,
        PromptCut,
        Replied,
        ReplyPiece,
        SideBegan,
        SideCalled,
        ToolCalled,
        ToolReturned,
    )
    from thimble.agent.loop import run
    from thimble.agent.messages import Message
    from thimble.agent.protocols import Sent, Waiting
    from thimble.agent.view import View
    from thimble.session.session import Session

    Row = dict[str, Any]

__all__ = [
    "Answered",
    "Asked",
    "BudgetError",
    "Message",
    "ModelError",
    "Planted",
    "Prepared",
    "Preparing",
    "PromptCut",
    "Replied",
    "ReplyPiece",
    "Sent",
    "Session",
    "SideBegan",
    "SideCalled",
    "ThimbleError",
    "ToolCalled",
    "ToolError",
    "ToolReturned",
    "UsageError",
    "Waiting",
    "answer",
    "ledger",
    "open_session",
    "run",
    "view",
]
HOMES = {
    **dict.fromkeys(("BudgetError", "ModelError", "ThimbleError", "ToolError", "UsageError"), "thimble.agent.errors"),
    **dict.fromkeys(("Sent", "Waiting"), "thimble.agent.protocols"),
    "Message": "thimble.agent.messages",
    "Session": "thimble.session.session",
    "run": "thimble.agent.loop",
}
"""The room and file of each name that is only passed on, if it is not an event."""
LEDGER = (
    "exchange purpose strategy model limit prompt=prompt.tokens cached=cached.tokens prefill=prefill.tokens "
    "output=output.tokens raw_prompt raw_prefill seconds waited exact=prompt.exact cached_exact=cached.exact"
)
"""The columns of the ledger, as `session.jsonl.selected` takes them."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'thimble' has no attribute {name!r}")
    return getattr(import_module(HOMES.get(name, "thimble.agent.events")), name)


def __dir__() -> list[str]:
    return __all__


def open_session(journal: str | PathLike[str] | None = None, **settings: object) -> Session:
    """A session, as the terminal opens it: keywords are the flags, such as `strategy="hybrid"`, `budget=4000`.

    What no keyword says comes from where the terminal takes it: environment, ./thimble.toml, the user's config. It is
    kept in memory, or in the file `journal` as it happens; a file that is there is gone on with, as it was left but
    for the keywords. `session.journal.close()` gives the file free for another process.

    Raises:
        UsageError: there is no such setting, it cannot be that, or another process has the file.
    """
    import os
    from pathlib import Path

    from thimble.session.journal.folder import reopened
    from thimble.session.journal.journal import Journal
    from thimble.session.session import Session
    from thimble.session.settings import resolve

    asked = resolve(_known(settings))
    path = None if journal is None else Path(journal).expanduser()
    if path is None or not os.path.lexists(path):
        return Session(asked, Journal(path))
    return Session(*reopened(asked, path))


def answer(session: Session, question: str) -> str:
    """Ask, and wait for the answer. `session.ask(question)` gives each event as it happens.

    Raises:
        ModelError: the model server cannot be used.
        BudgetError: the budget cannot hold the question, which is not taken into the history.
    """
    *_, last = session.ask(question)
    return str(getattr(last, "text", ""))


def ledger(session: Session) -> list[Row]:
    """A row for each model call, oldest first. Tokens and seconds; None is what nobody knows.

    `purpose` is "answer" for a turn. `raw_prompt` and `raw_prefill` are what the whole history would have cost;
    `waited` are seconds in which the server was busy or loaded the model, which `seconds` leaves out. `exact` is False
    where the prompt was estimated by us, `cached_exact` where its cached part was.
    """
    from thimble.session.jsonl import selected

    return [selected(call, LEDGER) for call in session.agent.ledger.calls]


def view(session: Session) -> list[Row]:
    """What the last call was sent, or before any the next one will be: a row for each message of the history.

    `message` is its number in the history; rows +1, +2, … at the end are what was inserted. `tokens` are those of the
    message and `sent` those of what was sent of it, 0 where it was left out. `why` is the rule behind its `fate`.

    Raises:
        UsageError: nothing was sent, and the budget cannot hold the next call.
    """
    from thimble.commands.why import UNSAID, why

    of, strategy, exact = _last_view(session)
    count = session.agent.backend.counter.count
    copies = {message.id: message for message in of.messages}
    rows = []
    for place, message in enumerate(of.history):
        copy = copies.pop(message.id, None)
        row = {"message": str(place + 1), "role": message.role, "tokens": count(message)}
        row |= {"sent": count(copy) if copy else 0, "fate": of.fates[place], "why": why(of, place, strategy)}
        rows.append({**row, "text": (copy or message).content, "exact": exact})
    for number, message in enumerate(copies.values(), 1):
        row = {"message": f"+{number}", "role": message.role, "tokens": 0, "sent": count(message), "fate": "inserted"}
        rows.append({**row, "why": message.why or UNSAID, "text": message.content, "exact": exact})
    return rows


def _last_view(session: Session) -> tuple[View, str, bool]:
    """The view of the last call or of the next, its strategy, and whether its tokens are the model's own."""
    from thimble.agent.errors import UsageError
    from thimble.commands.forecast import forecast

    if (last := session.agent.ledger.prepared) is not None:
        return last.view, last.strategy, last.exact
    found = forecast(session, "", foreign=True)
    if found.view is None:
        what = f"the next prompt needs {found.tokens:,} tokens and the budget holds {found.limit:,}"
        raise UsageError(what, "raise it with session.use_budget(N)")
    return found.view, session.spec, session.agent.backend.counter.exact


def _known(settings: Mapping[str, object]) -> dict[str, object]:
    """The settings as the command line would give them. Raises UsageError for one that there is not."""
    from pathlib import Path

    from thimble.session.settings import unknown
    from thimble.session.settings_table import SETTINGS

    for name in settings:
        if name not in SETTINGS:
            raise unknown(name, f"there is no setting {name!r}")
    return {name: str(value) if isinstance(value, Path) else value for name, value in settings.items()}
