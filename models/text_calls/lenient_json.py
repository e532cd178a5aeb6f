"""JSON as models write it: valid JSON unchanged, other text repaired if it can be read in only one way.

A library that repairs everything (json-repair) finds a value in any prose. Here doubtful text stays an error, and the
model gets that error.
"""

from __future__ import annotations

import json
import re
from typing import Any

TOKEN = re.compile(
    r"""(?P<blank>\s+)
    | (?P<string>"(?:[^"\\]|\\.)*")
    | (?P<quoted>'(?:[^'\\]|\\.)*')
    | (?P<call>[A-Za-z_][\w.]*)\s*\(
    | (?P<key>[A-Za-z_]\w*)\s*[:=]
    | (?P<mark>[{}\[\](),:])
    | (?P<word>[^\s"'{}\[\](),:=]+)""",
    re.DOTALL | re.VERBOSE,
)
ESCAPED = re.compile(r'\\x[0-9a-fA-F]{2}|\\.|"', re.DOTALL)
CLOSING = {"{": "}", "[": "]", "(": ")"}
WORDS = {"True": "true", "False": "false", "None": "null"}

_decoder = json.JSONDecoder(strict=False)


def read(text: str, at: int = 0, *, cut: bool = False) -> tuple[Any, int]:
    """The value that begins at a place in a text, and the place where it ends. Later text is ignored.

    These are repaired: line breaks in strings, commas before a closing bracket, single quotes, keys without quotes,
    Python's constants, Python's calls (`name(key=value)` is {"name": ..., "arguments": {...}}), and missing
    brackets at the end of the text, unless it was `cut` off there.

    Raises:
        ValueError: The text is not a value, even repaired.
    """
    try:
        try:
            return _decoder.raw_decode(text, at)
        except ValueError as error:
            mended, end = _mended(text, at, cut)
            try:
                return _decoder.decode(mended), end
            except ValueError:
                raise error from None  # it says where in the text that the model knows
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _mended(text: str, at: int, cut: bool) -> tuple[str, int]:
    """The value in JSON's own spelling, and its end; the text stays invalid if it cannot be repaired."""
    written: list[str] = []
    missing: list[str] = []
    while token := TOKEN.match(text, at):
        at = token.end()
        kind = token.lastgroup or ""
        found = token[kind]
        if kind == "blank":
            continue
        if kind == "call":
            written.append(f'{{"name": "{found}", "arguments": {{')
            missing.append(")")
        elif kind == "mark" and found in CLOSING:
            written.append(found)
            missing.append(CLOSING[found])
        elif kind == "mark" and missing and found == missing[-1]:
            if written[-1] == ",":
                written.pop()
            written.append("}}" if missing.pop() == ")" else found)
        else:
            written.append(_respelt(kind, found))
        if not missing:
            return "".join(written), at
    if cut or at < len(text):
        return "", at
    return "".join([*written, *("}}" if mark == ")" else mark for mark in reversed(missing))]), at


def _respelt(kind: str, found: str) -> str:
    if kind == "key":
        return f'"{found}":'
    if kind == "quoted":
        return f'"{re.sub(ESCAPED, _escaped, found[1:-1])}"'
    return WORDS.get(found, found)


def _escaped(found: re.Match[str]) -> str:
    if len(found[0]) > 2:
        return rf"\u00{found[0][2:]}"
    return {"\\'": "'", '"': '\\"'}.get(found[0], found[0])
