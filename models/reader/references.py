"""References: the lines of a result that stand above in the view, in place of the mark that names them (`dedup`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from agent.marks import ABOVE, REPEATED, refers
from agent.messages import Message
from agent.references import Leads, arguments, parted

Lines = list[str | None]
"""The lines of a text; None stands for a mark whose lines are not in view."""
Places = dict[str, tuple[Lines, int]]
"""The newest text with a line that begins so, and the first place there."""


def read_back(messages: Sequence[Message]) -> Sequence[Message]:
    """The messages, results with the lines that their references name; a mark stays where these are not in view."""
    if not any(ABOVE in message.content for message in messages):
        return messages
    above, found = Places(), []
    for message in messages:
        content, own = _read(message.content, above, marked=refers(message))
        found.append(replace(message, content=content) if content != message.content else message)
        above |= own
        for text in arguments(message):
            above |= _read(text, above, marked=False)[1]
    return found


def _read(text: str, above: Places, marked: bool) -> tuple[str, Places]:
    """The text with the lines that its marks name, and the places of its lines."""
    lines, own, whole = Lines(), Places(), list[str]()
    for line in text.split("\n"):
        mark = REPEATED.fullmatch(line) if marked else None
        more = _named(mark, own, above) if mark else [line]
        for each in more or Lines([None]):
            if each is not None:
                own.setdefault(parted(each)[1], (lines, len(lines)))
            lines.append(each)
        whole += more or [line]
    return "\n".join(whole), own


def _named(mark: re.Match[str], own: Places, above: Places) -> list[str] | None:
    """The first line that begins so, in the newest text that has one, and those after it; None if one is missing."""
    count, (lead, head) = int(mark["lines"].replace(",", "")), parted(mark["first"])
    lines, at = own.get(head) or above.get(head) or (Lines(), 0)
    found = [line for line in lines[at : at + count] if line is not None]
    if len(found) < count:
        return None
    leads = Leads.of(lead, parted(found[0])[0])
    return [leads.after(number).moved(line) for number, line in enumerate(found)]
