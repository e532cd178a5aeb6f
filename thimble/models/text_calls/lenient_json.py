"""JSON as models write it: valid JSON unchanged, other text repaired if it can be read in only one way.

A library that repairs everything (json-repair) finds a value in any prose. Here doubtful text stays an error, and the
model gets that error.
"""

from __future__ import annotations

import json
import re
from typing import Any

JSON_TOKEN = re.compile(
    r"""(,)(?=\s*[}\]])|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[{}\[\]]|[^"'{}\[\]\s,:<`]+|[\s,:]""", re.DOTALL
)
CALL_ENDS = re.compile(r"</tool_call>|```|\Z")
"""Where a call ends, even if brackets are missing."""
ESCAPED_MARK = re.compile(r'\\.|"', re.DOTALL)
CLOSING_BRACKETS = {"{": "}", "[": "]"}
RESPELT = {"True": "true", "False": "false", "None": "null", "\\'": "'", '"': '\\"'}

_decoder = json.JSONDecoder(strict=False)


def read(text: str, at: int = 0, *, cut: bool = False) -> tuple[Any, int]:
    """The value that begins at a place in a text, and the place where it ends. Later text is ignored.

    These are repaired: line breaks in strings, commas before a closing bracket, single quotes, Python's constants,
    and missing brackets at the end of the call, unless the text was `cut` off there.

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
    while token := JSON_TOKEN.match(text, at):
        at, found = token.end(), token[0]
        written.append("" if token[1] else _respelt(found))
        if found in CLOSING_BRACKETS:
            missing.append(CLOSING_BRACKETS[found])
        elif missing and found == missing[-1]:
            missing.pop()
        if not missing:
            return "".join(written), at
    ended = CALL_ENDS.match(text, at) and not (cut and at == len(text))
    return "".join([*written, *reversed(missing)]) if ended else "", at


def _respelt(found: str) -> str:
    if found[0] == "'":
        return f'"{re.sub(ESCAPED_MARK, lambda mark: RESPELT.get(mark[0], mark[0]), found[1:-1])}"'
    return RESPELT.get(found, found)
