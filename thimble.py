"""What the terminal does, from Python: a session, its events, and its figures as rows of a table.

    import thimble

    session = thimble.session(strategy="hybrid", budget=4000)
    print(thimble.answer(session, "What is observation masking?"))

A session is `session.session.Session`: `ask`, `use_strategy`, `use_budget`, `use_model`, `plant`, `fork`, `branch`,
`switch` and `reset` are its own. Events and errors are names of this module too, each imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as in typing, whose import is not needed for anything else
if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike
    from typing import Any

    from session.session import Session

    Row = dict[str, Any]

EVENTS = (
    *(
        "Answered",
        "Asked",
        "Planted",
        "Prepared",
        "Preparing",
        "PromptCut",
        "Replied",
        "Said",
        "SideBegan",
        "SideCalled",
    ),
    *("ToolCalled", "ToolReturned"),
)
ERRORS = ("BudgetError", "ModelError", "ThimbleError", "ToolError", "UsageError")
HOMES = {
    **dict.fromkeys(EVENTS, "agent.events"),
    **dict.fromkeys(ERRORS, "agent.errors"),
    **dict.fromkeys(("Sent", "Waiting"), "agent.protocols"),
    "Message": "agent.messages",
    "Session": "session.session",
    "run": "agent.loop",
}
"""Where each name is at home that is only passed on."""
LEDGER = (
    "exchange purpose strategy model limit prompt=prompt.tokens cached=cached.tokens prefill=prefill.tokens "
    "output=output.tokens raw_prompt raw_prefill seconds waited exact=prompt.exact cached_exact=cached.exact"
)
"""The columns of the ledger, as `session.jsonl.selected` takes them."""


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'thimble' has no attribute {name!r}")
    return getattr(import_module(HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(["session", "answer", "ledger", "view", *HOMES])


def session(journal: str | PathLike[str] | None = None, **settings: object) -> Session:
    """A session, as the terminal opens it: keywords are the flags, such as `strategy="hybrid"`, `budget=4000`.

    What no keyword says comes from where the terminal takes it: environment, ./thimble.toml, the user's config. It is
    kept in memory, or in the file `journal` as it happens; a file that is there is gone on with, as it was left but
    for the keywords. `session.journal.close()` gives the file free for another process.

    Raises:
        UsageError: there is no such setting, it cannot be that, or another process has the file.
    """
    import os
    from pathlib import Path

    from session.journal.folder import reopened
    from session.journal.journal import Journal
    from session.session import open_session
    from session.settings import resolve

    asked = resolve(_known(settings))
    path = None if journal is None else Path(journal).expanduser()
    if path is None or not os.path.lexists(path):
        return open_session(asked, Journal(path))
    return open_session(*reopened(asked, path))


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
    from session.jsonl import selected

    return [selected(call, LEDGER) for call in session.agent.ledger.calls]


def view(session: Session) -> list[Row]:
    """What the last call was sent, or before any the next one will be: a row for each message, as `/context` has it.

    `message` is its number in the history, or +1, +2, … for what was inserted; `tokens` are those it takes there and
    `sent` those it took in the call, 0 where it was left out. `why` is the rule behind its `fate`.

    Raises:
        UsageError: nothing was sent, and the budget cannot hold the next call.
    """
    from repl.commands.context.message import rule
    from repl.commands.context.rows import last_call
    from session.jsonl import selected

    xray = last_call(session)
    return [
        {
            **selected(row, "message=name role=message.role tokens=tokens_before sent=tokens_after fate"),
            "why": rule(xray, place),
            "text": (row.after or row.message).content,
            "exact": xray.exact,
        }
        for place, row in enumerate(xray.rows)
    ]


def _known(settings: Mapping[str, object]) -> dict[str, object]:
    """The settings as the command line would give them. Raises UsageError for one that there is not."""
    from pathlib import Path

    from session.settings import unknown
    from session.settings_table import SETTINGS

    for name in settings:
        if name not in SETTINGS:
            raise unknown(name, f"there is no setting {name!r}")
    return {name: str(value) if isinstance(value, Path) else value for name, value in settings.items()}
