"""stack_trace: the frames of a trace of Python, Java, JavaScript, Go, Rust or C#, and what was raised."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby

from strategies.kinds.kind import Kind, Unit, line_unit

SOURCE = r"(?:[ |]{0,40} {4}(?![|+]|File \")[^\n]{0,400}\n){0,4}"
UP = (
    rf'[ |]{{2,40}}+File "[^\n]{{1,300}}, line \d+[^\n]*\n?{SOURCE}'  # Python
    rf"|[^\s:]{{1,200}}+:\d+: in [^\n]{{1,100}}\n{SOURCE}"  # pytest
)
DOWN = (
    r"[ \t]{1,20}(?:at (?=[^\n]{0,400}(?:\(|:\d))|\.\.\. \d+ (?:more|common))[^\n]*\n?"  # Java, JavaScript, C#
    r"| {2,4}\d+: [^\n]{1,300}+\n {6,20}+at [^\n]*+\n?"  # Rust
    r"|\S[^\n]{0,300}+\n\t[^\n\t]{1,300}\.(?:go|s):\d+[^\n]*\n?"  # Go
)
PIECE = re.compile(
    rf"(?P<up>{UP})|(?P<down>{DOWN})"
    r"|(?P<raised>(?:thread '[^\n]{0,200} panicked at [^\n]*\n|panic: |fatal error: |Caused by: )[^\n]*\n?)"
    r"|[^\n]*+\n(?:[ \t]*+\n)*+|[^\n]++"
)
"""What was raised stands above the frames that go down, and below those that go up."""
LIBRARY = re.compile(
    r"(?:site|dist)-packages|/lib/python\d|<frozen |node_modules|\bnode:|/rustc/|/\.cargo/|/usr/local/go/|/pkg/mod/"
    r"|\bat (?:async )?(?:[\w.]+/)?(?:java|javax|jakarta|jdk|sun|com\.sun|kotlin|scala|System|Microsoft|Xunit|NUnit"
    r"|org\.(?:junit|springframework|apache|hibernate|eclipse|gradle))\.|\.\.\. \d+ "
)
HEAD = re.compile(
    r"[ |+]{0,40}(?:\w+ ){0,2}Traceback \(most |goroutine \d+ \[|thread '|Exception in |Unhandled exception"
)
FRAME = {"up", "down"}
MARKS = (", line ", ": in ", " at ", "\tat ", "... ", ".go:", ".s:")
"""Each frame has one of these."""
END = 4_000
"""Characters of an end of a text, in which a trace is looked for."""
RAISED, NEAREST, OWN, OTHERS = 8.0, 6.0, 3.0, -3.0
"""Bits of what was raised, of the user's frame nearest to it, of the user's other frames, of frames of libraries."""


def units(text: str) -> Sequence[Unit] | None:
    """Each frame and each other line is a unit, if a trace stands in the first or the last lines."""
    return list(pieces(text)) if any(map(traced, ends_of(text))) else None


@lru_cache(maxsize=1)
def ends_of(text: str) -> Sequence[str]:
    """The first lines of a text and the last, which are whole; a short text is one end."""
    return [text[:END], text[-END:].partition("\n")[2]] if len(text) > 2 * END else [text]


def traced(text: str) -> bool:
    """Whether these lines hold a trace, and are no page that shows one."""
    if not any(mark in text for mark in MARKS):
        return False
    found = [piece for piece in PIECE.finditer(text) if piece.lastgroup in FRAME or HEAD.match(piece[0])]
    return "```" not in text and len(found) > 1 and any(piece.lastgroup in FRAME for piece in found)


def pieces(text: str) -> Iterator[Unit]:
    """The frames and the other lines of a text. A line next to a frame says what was raised."""
    found = list(PIECE.finditer(text))
    sides = [piece.lastgroup for piece in found]
    foreign = [
        side in FRAME and bool(LIBRARY.search(piece[0][:2_000])) for side, piece in zip(sides, found, strict=True)
    ]
    nearest = set()
    for side, run in groupby(range(len(found)), sides.__getitem__):
        if side not in FRAME:
            continue
        own = [place for place in run if not foreign[place]]
        nearest |= set(own[-1:] if side == "up" else own[:1])
    for place, piece in enumerate(found):
        line = piece[0]
        if sides[place] in FRAME:
            bits = NEAREST if place in nearest else OTHERS if foreign[place] else OWN
            yield Unit(line, "frame", (line.strip(),), bits)
        else:
            beside = not FRAME.isdisjoint(sides[max(0, place - 1) : place + 2])
            raised = sides[place] == "raised" or (beside and line.strip()[-1:] not in ("", ":"))
            yield line_unit(line, RAISED if raised else 0.0)


STACK_TRACE = Kind("stack trace", "frames and lines", units)
