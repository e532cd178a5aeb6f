"""The request of the last call: as it was sent, and as its model reads it."""

from __future__ import annotations

import json
import re
from typing import Any

from rich.console import Console
from rich.segment import Segment, Segments
from rich.text import Text

from thimble.agent.errors import UsageError
from thimble.agent.events import Prepared
from thimble.models.chat import write_message
from thimble.repl.commands.context.rows import last_call
from thimble.repl.screen.sanitise import CONTROL_CHARACTER, clean, one_line
from thimble.repl.screen.theme import say
from thimble.session.session import Session

SPECIAL_TOKEN = (
    r"<[|｜][^<>\n]{1,40}[|｜]>|</?s>|<(?:bos|eos|pad|unk)>|<(?:start|end)_of_turn>"
    r"|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT)\]"
)
"""The special tokens of common model families: ChatML, Llama, Gemma, Mistral, DeepSeek and others."""


def show_raw(session: Session, console: Console) -> None:
    """Print the address and the body of the last call, or the messages and tools of a model without a server.

    Raises:
        UsageError: there was no call yet.
    """
    last, sent = _last(session), session.agent.ledger.sent
    if sent is None:
        words = f"{one_line(str(last.model))} runs without a server. It was given these messages and tools:"
        body: Any = {"messages": [write_message(message) for message in last.view.messages], "tools": list(last.tools)}
    else:
        size = len(sent.body.encode("utf-8", "replace"))
        words, body = f"{one_line(sent.to)} was sent {size:,} bytes, laid out here for reading:", json.loads(sent.body)
    text = json.dumps(body, ensure_ascii=False, indent=2, default=dict)
    whole = Segments(
        [Segment(f"{words}\n{escape_controls(text)}\n")]
    )  # past rich's layout, which is slow for megabytes
    console.print(whole, soft_wrap=True)


def show_prompt(session: Session, console: Console) -> None:
    """Print the prompt of the last call as the model reads it, with its special tokens marked.

    Raises:
        UsageError: there was no call yet, the model was swapped since, or the backend cannot render a prompt.
        ModelError: the server cannot be used.
    """
    last, backend = _last(session), session.agent.backend
    model = one_line(str(last.model))
    if last.model != backend.id:
        what = f"the last call went to {model}, which is not the current model"
        raise UsageError(what, f"go back with /model {one_line(last.model.name)}, or ask a question")
    prompt = backend.rendered(last.view.messages, last.tools)
    if prompt is None:
        what = f"{model} cannot show its prompt with the template"
        raise UsageError(what, "/context raw shows the messages and tools that it was given")
    xray, shown = last_call(session), Text(escape_controls(prompt), tab_size=4)
    shown.highlight_regex(SPECIAL_TOKEN, "name")
    say(console, f"{xray.call}, as {model} reads it: {xray.tokens(xray.view.tokens)} tokens", "bold")
    console.print(shown)


def escape_controls(text: str) -> str:
    """Escape every character that could steer a terminal as in JSON, whose meaning stays."""
    return clean(re.sub(CONTROL_CHARACTER, lambda found: f"\\u{ord(found[0]):04x}", text))


def _last(session: Session) -> Prepared:
    last = session.agent.ledger.prepared
    if last is None:
        raise UsageError("nothing was sent yet", "ask a question first; /context next shows the next prompt")
    return last
