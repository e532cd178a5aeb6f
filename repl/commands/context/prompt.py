"""The prompt: the last call as its model reads it, line by line, each with the message that it comes from."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from agent.errors import UsageError
from repl.commands.context.rows import Row, last_call
from repl.screen.pager import paged
from repl.screen.sanitise import STEERS, clean, line
from repl.screen.theme import is_drawn, say
from session.session import Session

SPECIAL = re.compile(
    r"<[|｜][^<>\n]{1,40}[|｜]>|</?s>|<(?:bos|eos|pad|unk)>|<(?:start|end)_of_turn>"
    r"|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT)\]"
)
"""How the special tokens of the families in use are written: ChatML, Llama, Gemma, Mistral, DeepSeek and others."""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the prompt, from `start` up to `end`, that comes from the message of this name."""

    name: str
    start: int
    end: int


def show_prompt(session: Session, console: Console) -> None:
    """Print the prompt of the last call as the model reads it, with its special tokens marked.

    Raises:
        UsageError: there was no call yet, another model has it, or nothing tells how the model reads it.
        ModelError: the server cannot be used.
    """
    last, backend = session.agent.ledger.prepared, session.agent.backend
    if last is None:
        raise UsageError("nothing was sent yet", "ask something; /context next shows what it would be sent with")
    model = line(str(last.model))
    if last.model != backend.id:
        what = f"the last call went to {model}, which is not the model now"
        raise UsageError(what, f"/model {line(last.model.name)}, or ask something")
    prompt = backend.rendered(last.view.messages, last.tools)
    if prompt is None:
        what = f"nothing tells how {model} reads a prompt"
        raise UsageError(what, "/context raw shows the messages and tools that it was given")
    xray = last_call(session)
    rows = [row for row in xray.rows if row.after]
    spans = linked(prompt, rows)
    found = {span.name for span in spans}
    lost = [row.name for row in rows if row.name not in found and any(_said(row))]
    with paged(console):
        say(console, f"{xray.call}, as {model} reads it: {xray.tokens(xray.view.tokens)} tokens", "bold")
        say(console, "left: the message of /context that is in the line; ⟦…⟧: a special token", "quiet")
        _show_lines(prompt, spans, console)
        if lost:
            say(console, f"not found word for word, as the template changes them: {', '.join(lost)}", "quiet")


def linked(prompt: str, rows: Sequence[Row]) -> list[Span]:
    """What comes from which message, in order: its content, or as JSON writes it, and the names of its calls.

    From the end on, each is looked for before what follows it: only markers of the template stand between.
    """
    spans: list[Span] = []
    end = len(prompt)
    for row in reversed(rows):
        for texts in reversed(_said(row)):
            found = max((_last(prompt, text, end) for text in texts), default=(-1, -1))
            if found[0] >= 0:
                spans.append(Span(row.name, *found))
                end = found[0]
    return spans[::-1]


def _said(row: Row) -> list[list[str]]:
    """The texts of a message that should be in the prompt, each in the forms that it may have there."""
    message = row.after or row.message
    content = (message.content or "").strip()
    forms = [content, json.dumps(content, ensure_ascii=False)[1:-1], json.dumps(content)[1:-1]]
    return [*([[*dict.fromkeys(forms)]] if content else []), *([call.name] for call in message.calls if call.name)]


def _last(prompt: str, text: str, end: int) -> tuple[int, int]:
    """Where a text stands last before this place, not as a part of a longer word; (-1, -1) if nowhere."""
    while (at := prompt.rfind(text, 0, end)) >= 0:
        after = at + len(text)
        if not (_in_word(prompt, at) or _in_word(prompt, after)):
            return at, after
        end = after - 1
    return -1, -1


def _in_word(prompt: str, at: int) -> bool:
    """Whether this place is inside a word."""
    return 0 < at < len(prompt) and bool(re.fullmatch(r"\w\w", prompt[at - 1 : at + 1]))


def _show_lines(prompt: str, spans: Sequence[Span], console: Console) -> None:
    lines = list(_lines(prompt, spans))
    margin = max(cell_len(name) for name, _ in lines)
    for name, words in lines:
        shown = Text(clean(_marked(words)), tab_size=4)
        shown.highlight_regex(r"⟦[^⟧]*⟧", "name")
        rows = shown.wrap(console, max(1, console.width - margin - 3)) if is_drawn(console) and shown else [shown]
        for row in rows:
            console.print(Text(f"{name:>{margin}} | ", style="quiet").append_text(row), soft_wrap=True)


def _lines(prompt: str, spans: Sequence[Span]) -> Iterator[tuple[str, str]]:
    """The lines of the prompt, each with the name of the message that is in it: `2`, `2–4`, "" for none."""
    at, rest = 0, list(spans)
    for words in prompt.split("\n"):
        while rest and rest[0].end <= at:
            del rest[0]
        here = list(dict.fromkeys(span.name for span in rest if span.start < at + max(1, len(words))))
        yield here[0] if len(here) == 1 else "–".join([*here[:1], *here[-1:]]), words
        at += len(words) + 1


def _marked(words: str) -> str:
    """A line with its special tokens in brackets; what could steer a terminal is an escape."""
    return STEERS.sub(lambda found: f"\\u{ord(found[0]):04x}", SPECIAL.sub(lambda token: f"⟦{token[0]}⟧", words))
