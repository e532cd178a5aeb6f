"""source_code: a file of code in any language; its outline weighs more than its bodies.

The outline is read from the indentation: a line opens a block if the next one is deeper. So it needs no grammar, only
the words with which control flow begins in most languages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from thimble.strategies.kinds.unit import Unit, lines_of

CODE_WORD = re.compile(r"(\w+(?:[.-]\w+)*+)")
CLOSES = re.compile(r"[\s{}\])>;,]*+(?:end\b)?[\s)};,]*+")
COMMENT = re.compile(r"\s*+(?:#(?!include|define|if|el|end)|//|/\*|\*\s|--\s|\"\"\"|''')")
CONTROL_FLOW = re.compile(
    r"[\s})]*+(?:if|else|elif|unless|for|foreach|while|until|loop|do|switch|match|select|case|when|default|try"
    r"|except|catch|rescue|finally|with|using|return)\b"
)
KEYWORD = re.compile(
    r"\s*+(?:import|from|package|use|using|require|def|class|func|fun|fn|function|const|let|var|val|public|private"
    r"|protected|static|export|type|struct|interface|enum|return|if|else|for|while|switch|case|pub|impl|async|await"
    r"|void|int|module|namespace|raise|throw|typedef|try|except|end)\b|#(?:include|define|if|el|end)"
)
STATEMENT_ENDS = ("{", "}", ";", ")")
OPENS = ("{", ":", "(", "[", ")", "=>", "->", "=", " do", " then")
"""What may stand at the end of a statement, and of a line that opens a block."""
KEYWORDS, CODE = 0.05, 0.45
"""Shares of the lines of code that begin with a keyword, at least, and that look like code in any way."""
SIGNATURE, MEMBER, DEEPER = 7.0, 3.0, 1.0
"""Bits of a line that opens a block, of another line outside of blocks, and of each level around a line."""


def units(text: str) -> Sequence[Unit] | None:
    """The lines of a file of code, each with those after it that only close blocks."""
    if not is_code([line for line in map(str.rstrip, text[:8_000].split("\n")) if line]):
        return None
    found = list[str]()
    for line in lines_of(text):
        if found and CLOSES.fullmatch(line):
            found[-1] += line
        else:
            found.append(line)
    parts = [CODE_WORD.split(code.strip()) for code in found]
    return [
        Unit(code, "w".join(part[::2]), tuple(part[1::2]), weight)
        for code, part, weight in zip(found, parts, weights(found), strict=True)
    ]


def is_code(lines: Sequence[str]) -> bool:
    """Whether two lines open blocks, and enough begin with a keyword or end as statements do."""
    lines = [line for line in lines if not COMMENT.match(line)]
    opening = sum(line.endswith(OPENS) and indent(after) > indent(line) for line, after in pairwise([*lines, ""]))
    keyed = sum(bool(KEYWORD.match(line)) for line in lines)
    stated = sum(line.endswith(STATEMENT_ENDS) or bool(KEYWORD.match(line)) for line in lines)
    return opening > 1 and keyed >= KEYWORDS * len(lines) and stated + opening >= CODE * len(lines)


def weights(codes: Sequence[str]) -> Iterator[float]:
    """The weight of each line: more if it opens a block or stands in none, the less the deeper it is."""
    around: list[int] = []
    for code, after in pairwise([*codes, ""]):
        here = indent(code)
        while around and around[-1] >= here:
            around.pop()
        depth, opens = len(around), indent(after) > here
        signature = opens and not CONTROL_FLOW.match(code) and not COMMENT.match(code)
        yield (SIGNATURE if signature else 0.0 if depth else MEMBER) - DEEPER * depth
        if opens:
            around.append(here)


def indent(line: str) -> int:
    """The columns before its first character."""
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())
