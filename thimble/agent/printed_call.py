"""Tool calls that a model writes as text: the server did not recognise them as calls, and they are not run."""

from __future__ import annotations

import json
import re
from collections.abc import Container

PRINTED_CALL = re.compile(
    r"^[ \t]*(?P<mark><[^\n<>]{1,40}>|\[TOOL_CALLS\]|```\w*)?\s{0,9}"
    r'(?:<function=(?P<tag>[\w.-]+)|(?P<json>\[?\s{0,9}\{[^{}]{0,60}?"name"\s{0,9}:\s{0,9}"(?P<name>[\w.-]+)"))',
    re.MULTILINE,
)
"""The beginning of a call that is written as text: XML or JSON, after a tag or a fence, or at the start of a line."""
WORDS_AFTER_TAG = re.compile(r"</\w+>[\s`]*[^\s`<]")
NO_WORDS = re.compile(r"(?:\s|```|</?\w{1,40}>)*")
_decoder = json.JSONDecoder(strict=False)


def ends_with_call(reply: str, tools: Container[str]) -> bool:
    """Whether a reply ends with a call of one of these tools that is written as text.

    A call that is followed by words is an example.
    """
    for found in PRINTED_CALL.finditer(reply):
        if (found["tag"] or found["name"]) not in tools:
            continue
        if found["tag"] or (found["mark"] or "").startswith("<"):
            if not WORDS_AFTER_TAG.search(reply, found.end()):
                return True
            continue
        try:
            _, end = _decoder.raw_decode(reply, found.start("json"))
        except (ValueError, RecursionError):
            continue
        if NO_WORDS.fullmatch(reply, end):
            return True
    return False
