"""Raw: the exact request of the last call, as JSON that is laid out for reading."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console
from rich.segment import Segment, Segments

from agent.errors import UsageError
from agent.events import Prepared
from models.chat import write
from repl.screen.sanitise import STEERS, clean, line
from session.session import Session


def show_raw(session: Session, console: Console) -> None:
    """Print where the last call was sent to, and its body; what the model was given where nothing was sent.

    Raises:
        UsageError: there was no call yet.
    """
    ledger = session.agent.ledger
    if ledger.prepared is None:
        raise UsageError("nothing was sent yet", "ask something; /context next shows what it would be sent with")
    if ledger.sent is None:
        model = line(str(ledger.prepared.model))
        words = f"No request went over a wire to {model}. It was given these messages and tools:"
        body: Any = given(ledger.prepared)
    else:
        size = len(ledger.sent.body.encode("utf-8", "replace"))
        words = f"{line(ledger.sent.to)} was sent {size:,} bytes, laid out here for reading:"
        body = json.loads(ledger.sent.body)
    whole = Segments([Segment(f"{words}\n{clean(escaped(body))}\n")])  # as it is: to lay out megabytes takes long
    console.print(whole, soft_wrap=True)


def escaped(value: object) -> str:
    """JSON in which every character that could steer a terminal is an escape; read again it is equal."""
    text = json.dumps(value, ensure_ascii=False, indent=2, default=dict)
    return STEERS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def given(prepared: Prepared) -> dict[str, Any]:
    """The messages of a call in chat-completions form, and its tools."""
    return {"messages": [write(message) for message in prepared.view.messages], "tools": list(prepared.tools)}
