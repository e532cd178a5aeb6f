"""Use thimble from Python: a session, its events, and its figures as rows of a table.

    import thimble

    session = thimble.open_session(strategy="hybrid", budget=4000)
    print(thimble.answer(session, "What is observation masking?"))

A session is a `thimble.Session`, with the methods `ask`, `use_strategy`, `use_budget`, `use_model`, `plant`, `fork`,
`branch`, `switch` and `reset`. This module does not import the terminal, and imports each name when it is first used.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # type checkers treat this name like typing.TYPE_CHECKING, and importing typing is slow
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
"""The module of each re-exported name; names that are not here are events."""
LEDGER = (
    "exchange purpose strategy model limit prompt=prompt.tokens cached=cached.tokens prefill=prefill.tokens "
    "output=output.tokens raw_prompt raw_prefill seconds waited exact=prompt.exact cached_exact=cached.exact"
)
"""The columns of the ledger, as `session.jsonl.select_fields` takes them."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'thimble' has no attribute {name!r}")
    return getattr(import_module(HOMES.get(name, "thimble.agent.events")), name)


def __dir__() -> list[str]:
    return __all__


def open_session(journal: str | PathLike[str] | None = None, **settings: object) -> Session:
    """Open a session as the terminal does; keywords are its flags, such as `strategy="hybrid"`, `budget=4000`.

    Other settings come from the environment, ./thimble.toml and the user's config, as in the terminal. The session is
    kept in memory, or written to the file `journal` as it happens. If that file exists, its session is resumed with its
    own settings, which the keywords override. `session.journal.close()` releases the file for other processes.

    Raises:
        UsageError: a setting does not exist or has an invalid value, or another process has the file open.
    """
    import os
    from pathlib import Path

    from thimble.session.journal.folder import reopen_session
    from thimble.session.journal.journal import Journal
    from thimble.session.session import Session
    from thimble.session.settings import resolve_settings

    asked = resolve_settings(_known(settings))
    path = None if journal is None else Path(journal).expanduser()
    if path is None or not os.path.lexists(path):
        return Session(asked, Journal(path))
    return Session(*reopen_session(asked, path))


def answer(session: Session, question: str) -> str:
    """Ask a question, and return the text of the answer. `session.ask(question)` yields the events as they happen.

    Raises:
        ModelError: the model server cannot be used.
        BudgetError: the question does not fit the budget; it is not added to the history.
    """
    *_, last = session.ask(question)
    return str(getattr(last, "text", ""))


def ledger(session: Session) -> list[Row]:
    """A row for each model call, oldest first, in tokens and seconds; None: unknown.

    `purpose` is "answer" for a turn of the agent. `raw_prompt` and `raw_prefill`: the tokens if the whole history had
    been sent. `waited`: seconds in which the server was busy or loaded the model, not included in `seconds`. `exact` is
    False if the prompt is our estimate, `cached_exact` if its cached part is.
    """
    from thimble.session.jsonl import select_fields

    return [select_fields(call, LEDGER) for call in session.agent.ledger.calls]


def view(session: Session) -> list[Row]:
    """The prompt of the last call, or of the next one if there was none: a row for each message of the history.

    `message` is its number in the history; rows +1, +2, … at the end are inserted messages. `tokens` counts the whole
    message, `sent` the part in the prompt, 0 if it was left out. `why` is the rule behind its `fate`.

    Raises:
        UsageError: there was no call yet, and the next one does not fit the budget.
    """
    from thimble.commands.why import NO_REASON, why

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
        rows.append({**row, "why": message.why or NO_REASON, "text": message.content, "exact": exact})
    return rows


def _last_view(session: Session) -> tuple[View, str, bool]:
    """The view of the last or the next call, its strategy, and whether the model's own tokenizer counted it."""
    from thimble.agent.errors import UsageError
    from thimble.commands.forecast import forecast_prompt

    if (last := session.agent.ledger.prepared) is not None:
        return last.view, last.strategy, last.exact
    found = forecast_prompt(session, "", foreign=True)
    if found.view is None:
        what = f"the next prompt needs {found.tokens:,} tokens and the budget holds {found.limit:,}"
        raise UsageError(what, "raise it with session.use_budget(N)")
    return found.view, session.spec, session.agent.backend.counter.exact


def _known(settings: Mapping[str, object]) -> dict[str, object]:
    """The settings as the command line would give them. Raises UsageError for an unknown name."""
    from pathlib import Path

    from thimble.session.settings import unknown_setting_error
    from thimble.session.settings_table import SETTINGS

    for name in settings:
        if name not in SETTINGS:
            raise unknown_setting_error(name, f"there is no setting {name!r}")
    return {name: str(value) if isinstance(value, Path) else value for name, value in settings.items()}
