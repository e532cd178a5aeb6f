"""source_code: a file of code in any language; its outline weighs more than its bodies.

The outline is read from the indentation: a line opens a block if the next one is deeper. So it needs no grammar, only
the words with which control flow and containers of members begin in most languages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from strategies.kinds.kind import Kind, Unit, lines_of

WORD = re.compile(r"(\w+(?:[.-]\w+)*+)")
CLOSES = re.compile(r"[\s{}\])>;,]*+(?:end\b)?[\s)};,]*+")
CONTINUES = re.compile(r"(?=.*\w\()[^{};\n]*[^{};:\s]\s*+$")
COMMENT = re.compile(
    r"\s*+(?:#(?!include|define|if|el|end|undef|pragma|error|!?\[)|//|/\*|\*(?:\s|/|$)|--\s|;;|\"\"\"|''')"
)
QUOTES = ('"""', "'''")
LICENCE = re.compile(r"licen[sc]e|copyright", re.IGNORECASE)
CONTROL = re.compile(
    r"[\s})]*+(?:if|else|elif|elsif|unless|for|foreach|while|until|loop|do|switch|match|select|case|when|default|try"
    r"|except|catch|rescue|finally|ensure|with|using|synchronized|unsafe|defer|go|return|begin|then)\b"
)
CONTAINER = re.compile(
    r"\s*+(?:\w+(?:\([^()\n]*\))?\s++){0,4}?(?:class|struct|interface|enum|union|trait|impl|namespace|module|mod"
    r"|object|record|protocol|extension|typedef|extern|const|var|import|type|message|service)\b"
)
KEYWORD = re.compile(
    r"\s*+(?:import|from|package|use|using|require|def|class|func|fun|fn|function|const|let|var|val|public|private"
    r"|protected|static|export|type|struct|interface|enum|return|if|else|for|while|switch|case|pub|impl|async|await"
    r"|void|int|local|module|namespace|raise|throw|with|extern|typedef|template|unsigned|try|except|end|sub|my)\b(?!\.)"
    r"|#(?:include|define|if|el|end|undef|pragma|error)"
)
RULE = re.compile(r"[\w.$(){}%/*-]++ ?::?(?!\S)")
"""A rule of a Makefile; its recipe is indented by tabs."""
STATEMENT = re.compile(r"[^(\n]*+(?<=\w)\(.*\)|\s*+[\w.]+ :?= ")
ENDS = ("{", "}", ";")
OPENS = ("{", ":", "(", "[", ")", "=>", "->", "=", " do", " then")
"""What may stand at the end of a statement, and of a line that opens a block."""
KEYWORDS, SURE, CODE, LOOKED_AT = 0.05, 0.8, 0.45, 8_000
"""Shares of code: lines with a keyword, at least, or with statements; lines with either or that open a block, each
counted as often as it is one; and characters from which that is seen."""
SIGNATURE, MEMBER, FIRST, DEEPER, LEGAL = 7.0, 3.0, 1.0, 1.0, -8.0
"""Bits of a line that opens a block, of another line of the outline, of a comment's first line; of each level; of a
licence."""
LONGEST = 12
"""Lines of a unit, at most."""


def units(text: str) -> Sequence[Unit] | None:
    """The lines of a file of code: each with those that continue its brackets and those that only close blocks."""
    head = [stripped for line in text[:LOOKED_AT].split("\n") if (stripped := line.rstrip())]
    if not is_code(head):
        return None
    found = list(statements(text))
    parts = [WORD.split(code.strip()) for code in found]
    return [
        Unit(code, "w".join(part[::2]), tuple(part[1::2]), weight)
        for code, part, weight in zip(found, parts, weights(found), strict=True)
    ]


def is_code(lines: Sequence[str]) -> bool:
    """Whether two lines open blocks, and enough begin with a keyword or are statements. No line ends with a blank."""
    lines = [line for line, remark in zip(lines, remarks(lines), strict=True) if line and not remark]
    opening = keyed = stated = 0
    recipe = False
    for line, after in pairwise([*lines, ""]):
        rule = after.startswith("\t") and bool(RULE.match(line))
        key = rule or bool(KEYWORD.match(line))
        opens = rule or line.startswith("#if") or (line.endswith(OPENS) and indent(after) > indent(line))
        opening += opens or recipe
        keyed += key
        stated += key or line.endswith(ENDS) or bool(STATEMENT.match(line))
        recipe = rule or (recipe and after.startswith("\t"))
    sure = keyed >= KEYWORDS * len(lines) or stated >= SURE * len(lines)
    return opening > 1 and sure and stated + opening >= CODE * len(lines)


def statements(text: str) -> Iterator[str]:
    """Each statement as it stands."""
    whole, lines, open_ = "", 0, 0
    for line in lines_of(text):
        if whole and lines < LONGEST and (open_ > 0 or CLOSES.fullmatch(line)):
            whole, lines = whole + line, lines + 1
        else:
            if whole:
                yield whole
            whole, lines, open_ = line, 1, 0
        open_ = open_ + line.count("(") - line.count(")") if "(" in line and CONTINUES.match(line) else 0
    if whole:
        yield whole


def remarks(codes: Sequence[str]) -> Iterator[bool]:
    """Whether each line is one of a comment, or of a text in three quotes."""
    closes = ""
    for code in codes:
        begins = "" if closes else (found := COMMENT.match(code)) and found[0].strip()
        yield bool(closes or begins)
        if closes:
            closes = "" if closes in code else closes
        elif begins == "/*":
            closes = "" if "*/" in code else "*/"
        elif not begins or begins in QUOTES:
            closes = next((quotes for quotes in QUOTES if code.count(quotes) % 2), "")


def weights(codes: Sequence[str]) -> Iterator[float]:
    """The weight of each statement: the outline's most, the deeper the less."""
    around: list[tuple[int, bool]] = []
    depths = [*map(indent, codes), 0]
    legal = after_remark = False
    for place, (code, remark) in enumerate(zip(codes, remarks(codes), strict=True)):
        if remark:
            first = not after_remark
            legal = legal or (
                first and place < LONGEST and bool(LICENCE.search("".join(codes[place : place + LONGEST])))
            )
            yield LEGAL if legal else FIRST * first - DEEPER * len(around)
        else:
            here = depths[place]
            while around and around[-1][0] >= here and not code.startswith("#"):
                around.pop()
            inside = bool(around) and not around[-1][1]
            opens = depths[place + 1] > here
            outline = SIGNATURE if opens and not CONTROL.match(code) else MEMBER
            yield outline * (not inside) - DEEPER * len(around)
            if opens:
                around.append((here, not inside and bool(CONTAINER.match(code))))
        after_remark = remark
        legal = legal and remark


def indent(line: str) -> int:
    """The columns before its first character."""
    blanks = len(line) - len(line.lstrip())
    return len(line[:blanks].expandtabs(4)) if "\t" in line[:blanks] else blanks


SOURCE_CODE = Kind("source code", "lines of code", units)
