"""Every form of a recorded session, and the reader that knows a file by its content."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from typing import Any

from thimble.agent.errors import UsageError
from thimble.logs.log import ODD, Log
from thimble.logs.parts import listed
from thimble.logs.secrets import masked
from thimble.logs.values import values

OPENING = 50
"""The values that a reader sees before it says whether they are of its form."""
FORMS: Mapping[str, tuple[str, str]] = {
    "claude_code": ("Claude Code (~/.claude/projects/*/*.jsonl)", "uuid parentUuid sessionId"),
    "codex": ("Codex (~/.codex/sessions/**/rollout-*.jsonl)", "timestamp type payload"),
    "pi": ("pi (~/.pi/agent/sessions/**/*.jsonl)", "type id timestamp cwd"),
    "gemini": ("Gemini CLI (~/.gemini/tmp/*/chats/*)", "sessionId projectHash"),
    "opencode": ("opencode (opencode export)", "messageID|sessionID role|info parts"),
    "openhands": (
        "OpenHands (events of both generations)",
        "action args|observation content|source kind|history metrics|history instance_id",
    ),
    "swe_agent": ("SWE-agent (.traj)", "history"),
    "inspect_ai": ("Inspect (.json, .eval)", "version eval"),
    "atif": ("ATIF (Harbor)", "schema_version steps"),
    "requests": (
        "requests and responses of OpenAI or Anthropic",
        "request response|request_body|messages response|input response|model input",
    ),
    "chat_messages": ("lists of messages (OpenAI, Anthropic, tau-bench, mini-swe-agent)", "role content|traj"),
    "aider": ("aider (refused: it cannot be replayed)", "# aider chat started"),
}
"""The module of each form, what people call it, and the keys that tell it: those of one of its objects.

The first form in a file's first values reads it.
"""
KNOWN = f"known forms: {'; '.join(title for title, _ in FORMS.values())}"


def form_of(path: Path) -> str:
    """The module of the form of a file; "" if it has no known form. Raises UsageError if it cannot be read."""
    with closing(values(path, [])) as found:
        return _form_of([*islice(found, OPENING)])


def _form_of(opening: Sequence[Any]) -> str:
    """By the keys of the values, of those in lists, and of messages in them; a text has its words."""
    found = [one for value in opening for given in listed(value) for one in (given, *listed(given, "messages"))]
    keys = [{*(one.split()[:9] if isinstance(one, str) else one)} for one in found if isinstance(one, Mapping | str)]
    marks = ((module, {*mark.split()}) for module, (_, marks) in FORMS.items() for mark in marks.split("|"))
    return next((module for module, mark in marks if any(mark <= one for one in keys)), "")


def read(path: Path, *, keep_secrets: bool = False) -> list[Log]:
    """The logs in a file. Keys and tokens in their texts are masked and counted, unless `keep_secrets`.

    Raises:
        UsageError: it cannot be read, or has no known form; the error says what it looks like.
    """
    torn: list[str] = []
    with closing(values(path, torn)) as found:
        opening = [*islice(found, OPENING)]
        if not (module := _form_of(opening)):
            raise UsageError(f"{path} is not a recorded session of a known form: {_looks(opening)}", KNOWN)
        reader, looks = import_module(f"thimble.logs.{module}"), f"{path} looks like {FORMS[module][0]}"
        try:
            every: list[Log] = reader.read(chain(opening, found), path.name)
        except ODD as error:
            raise UsageError(f"{looks}, but something in it is not as that form has it: {error}", KNOWN) from error
    logs = [log for log in every if log.entries]
    if not logs:
        raise UsageError(f"{looks}, but no message is in it", KNOWN)
    for log in every:
        if not log.entries:  # lines that are of no session, or of that whose sub-agent alone is in the file
            logs[0].left_out += log.left_out
            logs[0].bytes_left_out += log.bytes_left_out
    for log in logs:
        if not log.tools and all(entry["role"] != "system" for entry in log.entries):
            log.notes.append("The system prompt and the tools are not in the file.")
    for log in logs if not keep_secrets else ():
        masks: Counter[str] = Counter()
        log.entries, log.tools = masked(log.entries, masks), masked([*log.tools], masks)
        log.left_out.update({f"masked: {kind}": count for kind, count in masks.items()})
    if torn:
        logs[0].left_out["line that is not JSON"] += len(torn)
    return logs


def _looks(opening: Sequence[Any]) -> str:
    """What values look like, in words."""
    first = opening[0] if opening else None
    if first is None:
        return "it is empty"
    if isinstance(first, str):
        return f"it is {'JSON that breaks off' if first[:1] in '{[' else 'text'}, and begins {first.strip()[:40]!r}"
    if isinstance(first, Mapping):
        return f"its first value has {', '.join([*map(str, first)][:8])}"
    return f"its first value is a {type(first).__name__}"
