"""Beginnings of calls written as text, recognised even when only their first characters have arrived."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache

from models.text_calls.told import TOLD

TAGS = ("tool_call", "tool_calls", "function_call", "tools")
NAMES = ("name", "tool", "tool_name", "function", "function_name", "action")
ARGUMENTS = ("arguments", "parameters", "args", "input", "tool_input", "action_input")
BESIDE = ("type", "id", "tool_calls", "thought")
KEYS = (*NAMES, *ARGUMENTS, *BESIDE)


@dataclass(frozen=True, slots=True)
class Opening:
    """The place where something begins in a text, and the place where that beginning ends.

    `form` is that of a call ("tag", "xml", "marked", "action", "json", "python", or one of these in a code fence, such
    as "fenced_json"), the fence of other "code", the label of a "thought" or of an "answer", an "echo" of the
    instructions; "" where the text ends too early to know.
    """

    start: int
    end: int
    form: str


def opening(text: str, at: int, tools: Collection[str], labelled: bool) -> Opening | None:
    """The first place, from `at` on, where a call of these tools begins, or may begin with what is still to come.

    Where the replies are `labelled`, every `Action:` begins a call.
    """
    while found := _openings(labelled).search(text, at):
        group = found.lastgroup or ""
        form, _, asked = group.partition("__")
        if not asked and _names(found, form, tools):
            return Opening(found.start(), found.end(), form)
        if asked and any(name.startswith(found[group]) for name in tools):
            return Opening(found.start(), found.end(), "")
        if form.startswith("fenced"):
            return Opening(found.start(), text.index(FENCE, found.start()) + len(FENCE), "code")
        at = found.start() + 1
    return None


def code_end(text: str, at: int) -> Opening | None:
    """The first place, from `at` on, where a code fence ends, or may end with what is still to come."""
    found = _code_end().search(text, at)
    return found and Opening(found.start(), found.end(), found.lastgroup or "")


def label(*names: str) -> str:
    """A pattern of labels at the beginning of a line: `Action:`, `**Action:**` and, as in the paper, `Action 2:`."""
    return rf"(?im:{LINE}(?:{'|'.join(names)})[ \d]{{0,4}}\*{{0,2}}:[ \t*]{{0,8}})"


FENCE = "```"
LINE = r"^[ \t*#_]{0,8}"
_BLANK = r"\s{0,40}"
_QUOTE = "[\"']?"


def _names(found: re.Match[str], form: str, tools: Collection[str]) -> bool:
    """Whether a form that is a call only where it names a tool names one."""
    asked = f"{form}__name"
    return asked not in found.re.groupindex or found[asked] in tools


@lru_cache
def _openings(labelled: bool) -> re.Pattern[str]:
    tag = ("<", _one_of(TAGS), ">", _BLANK, r"[{\[<]", "[^/]")
    xml = ("<", _one_of(("function=", "invoke name=")), r"[\"\w]")
    fence = ("^[ \t]{0,3}`", "`", "`", r"[\w+-]{0,20}", r"[ \t]{0,4}", _BLANK)
    forms = [_form("tag", NOT_CODE, *tag), _form("xml", NOT_CODE, *xml), _form("fenced_tag", *fence, *tag)]
    forms.append(_form("marked", NOT_CODE, *map(re.escape, "[TOOL_CALLS]")))
    if labelled:
        forms.append(_form("echo", LINE, _one_of(filter(None, TOLD.splitlines())), r"[ \t]*\n"))
        forms.append(_form("thought", LINE, *_label("Thought"), BEHIND))
        forms.append(_form("answer", LINE, *_label("Final Answer"), BEHIND))
    for prefix, before in (("", (LINE,)), ("fenced_", fence)):
        known = () if labelled else ("[`\"']?", _name(f"{prefix}action"), r"(?=[^\w.:/-])")
        array = rf"(?:\[{_BLANK})?"
        forms.append(_form(f"{prefix}action", *before, *_label("Action"), *known))
        forms.append(_form(f"{prefix}json", *before, array, r"\{", _BLANK, _QUOTE, _one_of(KEYS), _QUOTE, _BLANK, ":"))
        forms.append(_form(f"{prefix}python", *before, array, _name(f"{prefix}python"), r"\("))
    forms.append(_form("code", *fence[:3]))
    return re.compile("|".join(forms), re.MULTILINE | re.DOTALL)


@lru_cache
def _code_end() -> re.Pattern[str]:
    return re.compile(_form("code", "^[ \t]{0,3}`", "`", "`"), re.MULTILINE)


NOT_CODE = "(?<!`)"
BEHIND = r"(?=[^ \t*])"


def _label(text: str) -> list[str]:
    letters = [f"[{letter}{letter.swapcase()}]" if letter.isalpha() else letter for letter in text]
    return [*letters, r"[ \d]{0,4}", r"\*{0,2}", ":", r"[ \t*]{0,8}"]


def _name(form: str) -> str:
    return rf"(?P<{form}__name>[\w.:/-]{{1,64}})"


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
