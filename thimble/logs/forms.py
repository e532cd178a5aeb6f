"""The formats of recorded sessions, and the reader, which recognises a file's format by its content."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from typing import Any

from thimble.agent.errors import UsageError
from thimble.logs.log import MALFORMED_ERRORS, Log
from thimble.logs.parts import as_list
from thimble.logs.secrets import mask_secrets
from thimble.logs.values import read_values

OPENING = 50
"""Values read to recognise the format."""
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
    "aider": ("aider (refused: it cannot be replayed)", "# aider chat started"),
}
"""By module: the name of a format, and the keys of one of its objects that identify it; `|` separates alternatives.

The first format found in a file's first values reads it.
"""
KNOWN = f"known formats: {'; '.join(title for title, _ in FORMS.values())}"


def _form_of(opening: Sequence[Any]) -> str:
    """The module that reads a file with these first values; "" for an unknown format.

    Compares the keys of the values, of items of lists, and of messages in them; of a text, its first words.
    """
    found = [one for value in opening for given in as_list(value) for one in (given, *as_list(given, "messages"))]
    keys = [{*(one.split()[:9] if isinstance(one, str) else one)} for one in found if isinstance(one, Mapping | str)]
    marks = ((module, {*mark.split()}) for module, (_, marks) in FORMS.items() for mark in marks.split("|"))
    return next((module for module, mark in marks if any(mark <= one for one in keys)), "")


def read_logs(path: Path, *, keep_secrets: bool = False) -> list[Log]:
    """The logs in a file; none if its format is unknown. Secrets in them are masked and counted, unless `keep_secrets`.

    Raises:
        UsageError: it cannot be read, or not all of it has its format.
    """
    torn: list[str] = []
    with closing(read_values(path, torn)) as found:
        opening = [*islice(found, OPENING)]
        if not (module := _form_of(opening)):
            return []
        reader, looks = import_module(f"thimble.logs.{module}"), f"{path} looks like {FORMS[module][0]}"
        try:
            every: list[Log] = reader.read(chain(opening, found), path.name)
        except MALFORMED_ERRORS as error:
            raise UsageError(f"{looks}, but part of it does not have that format: {error}", KNOWN) from error
    logs = [log for log in every if log.entries]
    if not logs:
        raise UsageError(f"{looks}, but it has no messages", KNOWN)
    for log in every:
        if not log.entries:  # lines outside any session, or of one whose sub-agent alone is in the file
            logs[0].left_out += log.left_out
    for log in logs:
        if not log.tools and all(entry["role"] != "system" for entry in log.entries):
            log.notes.append("The system prompt and the tools are not in the file.")
    for log in logs if not keep_secrets else ():
        masks: Counter[str] = Counter()
        log.entries, log.tools = mask_secrets(log.entries, masks), mask_secrets([*log.tools], masks)
        log.left_out.update({f"masked: {kind}": count for kind, count in masks.items()})
    if torn:
        logs[0].left_out["line that is not JSON"] += len(torn)
    return logs
