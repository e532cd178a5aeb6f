"""The request of the last call: as it went over the wire, and as its model reads it."""

from __future__ import annotations

import json
import re
from typing import Any

from rich.console import Console
from rich.segment import Segment, Segments
from rich.text import Text

from thimble.agent.errors import UsageError
from thimble.agent.events import Prepared
from thimble.models.chat import write
from thimble.repl.commands.context.rows import last_call
from thimble.repl.screen.sanitise import STEERS, clean, line
from thimble.repl.screen.theme import say
from thimble.session.session import Session

SPECIAL_TOKEN = (
    r"<[|｜][^<>\n]{1,40}[|｜]>|</?s>|<(?:bos|eos|pad|unk)>|<(?:start|end)_of_turn>"
    r"|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT)\]"
)
"""How the special tokens of the families in use are written: ChatML, Llama, Gemma, Mistral, DeepSeek and others."""


def show_raw(session: Session, console: Console) -> None:
    """Print where the last call was sent to, and its body; what the model was given where nothing was sent.

    Raises:
        UsageError: there was no call yet.
    """
    last, sent = _last(session), session.agent.ledger.sent
    if sent is None:
        words = f"No request went over a wire to {line(str(last.model))}. It was given these messages and tools:"
        body: Any = {"messages": [write(message) for message in last.view.messages], "tools": list(last.tools)}
    else:
        size = len(sent.body.encode("utf-8", "replace"))
        words, body = f"{line(sent.to)} was sent {size:,} bytes, laid out here for reading:", json.loads(sent.body)
    text = json.dumps(body, ensure_ascii=False, indent=2, default=dict)
    whole = Segments([Segment(f"{words}\n{escaped(text)}\n")])  # as it is: to lay out megabytes takes long
    console.print(whole, soft_wrap=True)


def show_prompt(session: Session, console: Console) -> None:
    """Print the prompt of the last call as the model reads it, with its special tokens marked.

    Raises:
        UsageError: there was no call yet, another model has it, or nothing tells how the model reads it.
        ModelError: the server cannot be used.
    """
    last, backend = _last(session), session.agent.backend
    model = line(str(last.model))
    if last.model != backend.id:
        what = f"the last call went to {model}, which is not the model now"
        raise UsageError(what, f"/model {line(last.model.name)}, or ask something")
    prompt = backend.rendered(last.view.messages, last.tools)
    if prompt is None:
        what = f"nothing tells how {model} reads a prompt"
        raise UsageError(what, "/context raw shows the messages and tools that it was given")
    xray, shown = last_call(session), Text(escaped(prompt), tab_size=4)
    shown.highlight_regex(SPECIAL_TOKEN, "name")
    say(console, f"{xray.call}, as {model} reads it: {xray.tokens(xray.view.tokens)} tokens", "bold")
    console.print(shown)


def escaped(text: str) -> str:
    """A text in which every character that could steer a terminal is an escape; JSON is equal when it is read again."""
    return clean(re.sub(STEERS, lambda found: f"\\u{ord(found[0]):04x}", text))


def _last(session: Session) -> Prepared:
    last = session.agent.ledger.prepared
    if last is None:
        raise UsageError("nothing was sent yet", "ask something; /context next shows what it would be sent with")
    return last
