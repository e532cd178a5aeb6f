"""The beginnings of calls written as text, and how a model is told to write them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

TOLD = """\
You have tools. To use one, write nothing but this, then stop:
Thought: in one short sentence, why
Action: the name of the tool
Action Input: its arguments, a JSON object
The user then sends you the result as an Observation. When you can answer, write:
Final Answer: the answer

The tools, with their arguments ("?" may be left out):
"""
"""What a model without tools is told of them, before their list; some models echo it."""
BACKTICKS = "```"
CALL_KEYS = ("name", "arguments", "parameters", "type", "function")
"""What an object that is a call may have."""

_LINE = r"^[ \t*#_]{0,8}"
_BLANK = r"\s{0,40}"
_COLON = (r"[ \d]{0,4}", r"\*{0,2}", ":", r"[ \t*]{0,8}")


def label(*names: str) -> str:
    """A pattern of labels at the beginning of a line: `Action:`, `**Action:**` and, as in the paper, `Action 2:`."""
    return rf"(?im:{_LINE}(?:{'|'.join(names)}){''.join(_COLON)})"


@lru_cache
def openings(labelled: bool) -> re.Pattern[str]:
    """A pattern of what begins something in a reply, or may begin it with what is still to come.

    The name of its last group says what: a call as a "tag", "xml", "json" or "action", a fence of "code", the label of
    a "thought" or of an "answer", an "echo" of the instructions. There is none where the text ends too early to know.
    Labels and echoes are only in replies that are `labelled`.
    """
    fence = _so_far([*BACKTICKS, r"[\w+-]{0,20}", _BLANK])
    line = (_LINE, f"(?:{fence})?")
    forms = [
        _form("tag", "(?<!`)<", *"tool_call>", _BLANK, r"[{\[<]", "[^/]"),
        _form("xml", "(?<!`)<", *"function=", r"\w"),
        _form("json", *line, rf"(?:\[{_BLANK})?", r"\{", _BLANK, '"', _one_of(CALL_KEYS), '"', _BLANK, ":"),
    ]
    if labelled:
        forms.append(_form("echo", _LINE, _one_of(filter(None, TOLD.splitlines())), r"[ \t]*\n"))
        forms.append(_form("thought", _LINE, *"Thought", *_COLON, r"(?=[^ \t*])"))
        forms.append(_form("answer", _LINE, *"Final Answer", *_COLON, r"(?=[^ \t*])"))
        forms.append(_form("action", *line, *"Action", *_COLON))
    return re.compile("|".join([*forms, CODE_FENCE.pattern]), CODE_FENCE.flags)


def _one_of(words: Iterable[str]) -> str:
    return f"(?:{'|'.join(_so_far(map(re.escape, word)) for word in words)})"


def _form(name: str, *atoms: str) -> str:
    """The atoms in a row, then the name as an empty group. The last atom must take or see a character."""
    return _so_far([*atoms, f"(?P<{name}>)"])


def _so_far(atoms: Iterable[str]) -> str:
    """A pattern of the atoms in a row, or of as many of them as the text has before it ends."""
    *before, pattern = atoms
    for atom in reversed(before):
        pattern = rf"{atom}(?:{pattern}|\Z)"
    return pattern


CODE_FENCE = re.compile(_form("code", r"^[ \t]{0,3}`", *BACKTICKS[1:]), re.MULTILINE | re.IGNORECASE)
"""A code fence, or what may become one."""
