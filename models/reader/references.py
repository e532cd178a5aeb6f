"""References: the lines of a result that stand above in the view, in place of the mark that names them (`dedup`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from agent.messages import Message

SIGN = " as above, from `"
MARK = re.compile(r"\[(?P<lines>[\d,]{1,11}) lines?" + SIGN + r"(?P<first>[^\n]*?)` to `[^\n]*`[^\n]*\]")
HEAD = 32
"""Characters of its first line that a reference shows, at most."""

Lines = list[str | None]
"""The lines of a text; None stands for a mark."""


def read_back(messages: Sequence[Message]) -> Sequence[Message]:
    """The messages, results with the lines that their references name; a mark stays where these are not in view."""
    above: list[Lines] = []
    if not any(SIGN in message.content for message in messages):
        return messages
    found = []
    for message in messages:
        whole, own = list[str](), Lines()
        for line in message.content.split("\n"):
            mark = MARK.fullmatch(line) if message.role == "tool" else None
            whole += (_named(mark, [own, *reversed(above)]) if mark else None) or [line]
            own.append(None if mark else line)
        found.append(replace(message, content="\n".join(whole)) if None in own else message)
        above.append(own)
    return found


def _named(mark: re.Match[str], above: Sequence[Lines]) -> list[str] | None:
    """The first line that begins so, in the newest text that has one, and those after it; None if a line is missing."""
    count, first = int(mark["lines"].replace(",", "")), mark["first"]
    for lines in above:
        for at, line in enumerate(lines):
            if line is not None and line.strip()[:HEAD].split("` to ")[0] == first:
                found = [one for one in lines[at : at + count] if one is not None]
                return found if len(found) == count else None
    return None
