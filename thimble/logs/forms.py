"""Every form of a recorded session, and the reader that knows a file by its content."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from typing import Any, Protocol

from thimble.agent.errors import UsageError
from thimble.logs.log import ODD, Log
from thimble.logs.secrets import masked
from thimble.logs.values import Values

OPENING = 50
"""The values that a reader sees before it says whether they are of its form."""
FORMS: Mapping[str, str] = {
    "claude_code": "Claude Code (~/.claude/projects/*/*.jsonl)",
    "codex": "Codex (~/.codex/sessions/**/rollout-*.jsonl)",
    "pi": "pi (~/.pi/agent/sessions/**/*.jsonl)",
    "gemini": "Gemini CLI (~/.gemini/tmp/*/chats/*)",
    "opencode": "opencode (opencode export)",
    "swe_agent": "SWE-agent (.traj)",
    "openhands": "OpenHands (events of both generations)",
    "inspect_ai": "Inspect (.json, .eval)",
    "atif": "ATIF (Harbor)",
    "requests": "requests and responses of OpenAI or Anthropic",
    "chat_messages": "lists of messages (OpenAI, Anthropic, tau-bench, mini-swe-agent)",
    "aider": "aider (refused: it cannot be replayed)",
}
"""The module of each form, and what people call it. The first that recognises a file reads it."""


class Form(Protocol):
    """The module of a form."""

    def recognises(self, opening: Sequence[Any]) -> bool:
        """Whether a file that begins with these values has this form."""

    def read(self, values: Iterable[Any], name: str) -> list[Log]:
        """The logs in the values of a file; `name` is for one without an id. Raises UsageError."""


def form_of(path: Path) -> str:
    """The module of the form of a file; "" if it has no known form. Raises UsageError if it cannot be read."""
    with closing(iter(Values(path))) as values:
        opening = [*islice(values, OPENING)]
    return next((module for module in FORMS if opening and _form(module).recognises(opening)), "")


def _form(module: str) -> Form:
    found: Form = import_module(f"thimble.logs.{module}")
    return found


def read(path: Path, *, keep_secrets: bool = False) -> list[Log]:
    """The logs in a file. Keys and tokens in their texts are masked and counted, unless `keep_secrets`.

    Raises:
        UsageError: it cannot be read, or has no known form; the error says what it looks like.
    """
    found = Values(path)
    with closing(iter(found)) as values:
        logs = _read(path, values)
    for log in logs:
        if not keep_secrets:
            _mask(log)
    if found.torn and logs:
        logs[0].left_out["line that is not JSON"] += found.torn
    return logs


def _read(path: Path, values: Iterator[Any]) -> list[Log]:
    opening = [*islice(values, OPENING)]
    for module, title in FORMS.items():
        form = _form(module)
        if opening and form.recognises(opening):
            try:
                return [log for log in form.read(chain(opening, values), path.name) if log.entries]
            except ODD as error:
                what = f"{path} looks like {title}, but something in it is not as that form has it: {error}"
                raise UsageError(what, f"known forms: {'; '.join(FORMS.values())}") from error
    what = f"{path} is not a recorded session of a known form: {_looks(opening)}"
    raise UsageError(what, f"known forms: {'; '.join(FORMS.values())}")


def _mask(log: Log) -> None:
    masks: Counter[str] = Counter()
    for at, entry in enumerate(log.entries):
        log.entries[at] = masked(entry, masks)
    log.tools = masked([*log.tools], masks)
    log.left_out.update({f"masked: {kind}": count for kind, count in masks.items()})


def _looks(opening: Sequence[Any]) -> str:
    """What values look like, in words."""
    first = opening[0] if opening else None
    if not opening:
        return "it is empty"
    if isinstance(first, str):
        kind = "JSON that breaks off" if first.lstrip()[:1] in ("{", "[") else "text"
        return f"it is {kind}, and begins {first.strip()[:40]!r}"
    if isinstance(first, Mapping):
        return f"its first value has {', '.join([*map(str, first)][:8])}"
    return f"its first value is a {type(first).__name__}"
