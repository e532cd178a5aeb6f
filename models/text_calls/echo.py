"""Replies of weak models that only repeat what they were told."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing

from agent.protocols import Delta, Text, Usage
from models.text_calls.prompt import TOLD

LINES = frozenset(filter(None, map(str.strip, TOLD.splitlines())))


def without_echo(stream: Generator[Delta, None, None]) -> Generator[Delta, None, None]:
    """A reply without the lines that are lines of the instructions: they are neither an answer nor a call.

    A line is held back while it may become one of them, and dropped where the reply is cut off in an echo. Closing it
    closes the stream.
    """
    line, begun, echoed = "", False, False
    with closing(stream):
        for delta in stream:
            said = ""
            for piece in delta.text.splitlines(keepends=True) if isinstance(delta, Text) else ():
                line, ends = line + piece, piece.endswith("\n")
                if ends and not begun and line.strip() in LINES:
                    line, echoed = "", True
                elif ends or begun or not any(told.startswith(line.strip()) for told in LINES):
                    said, line, begun = said + line, "", not ends
            if isinstance(delta, Usage) and not echoed and line.strip() not in LINES:
                said = line
            if said:
                yield Text(said)
            if not isinstance(delta, Text):
                yield delta
