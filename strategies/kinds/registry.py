"""The kinds, in the order in which a text is tried: the first that cuts it wins."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from strategies.kinds import numbered
from strategies.kinds.aligned_table import TABLE
from strategies.kinds.diff import DIFF
from strategies.kinds.html_page import HTML_PAGE
from strategies.kinds.json_records import JSON, JSON_LINES
from strategies.kinds.kind import Kind, Unit, line_unit, lines_of
from strategies.kinds.lines import LINES
from strategies.kinds.listing import LISTING
from strategies.kinds.log import LOG
from strategies.kinds.markdown import MARKDOWN
from strategies.kinds.paths import PATHS
from strategies.kinds.prose import PROSE
from strategies.kinds.search_hits import SEARCH_HITS
from strategies.kinds.separated import SEPARATED
from strategies.kinds.source_code import SOURCE_CODE
from strategies.kinds.stack_trace import STACK_TRACE
from strategies.kinds.test_report import TEST_REPORT
from strategies.kinds.tidied_json import TIDIED

BY_FORM = (
    HTML_PAGE,
    TIDIED,
    JSON,
    DIFF,
    TEST_REPORT,
    LOG,
    STACK_TRACE,
    JSON_LINES,
    MARKDOWN,
    TABLE,
    SEPARATED,
    SEARCH_HITS,
    PATHS,
)
KINDS: tuple[Kind, ...] = (*BY_FORM, SOURCE_CODE, LISTING, PROSE, LINES)
"""The last one cuts every text."""


WRAPPED = re.compile(
    r"(?P<before>(?:<(\w+)>[^<\n]*+</\2>\n)*<(\w+)>\n)(?P<inside>(?!\s*<).*\n)(?P<after></\3>\s*)", re.DOTALL
)
"""A text between tags that some agents write around what a tool prints."""


@lru_cache(maxsize=64)
def recognised(text: str) -> tuple[Kind, Sequence[Unit]]:
    """The kind of a text, and its units; the tags around it, and what stands around numbered lines, are units too.

    Neither these nor the numbers say anything about the kind.
    """
    if wrapped := WRAPPED.fullmatch(text):
        kind, inside = recognised(wrapped["inside"])
        return kind, [*map(line_unit, lines_of(wrapped["before"])), *inside, line_unit(wrapped["after"])]
    if (parts := numbered.cut(text)) and not (TIDIED.units(text) or TABLE.units(text)):  # with such a column
        before, lines, behind = parts
        kind, inside = recognised("".join(line for _, line in lines))
        units = numbered.with_numbers(inside, (number for number, _ in lines))
        return kind, [*map(line_unit, before), *units, *map(line_unit, behind)]
    return next((kind, found) for kind in KINDS if (found := kind.units(text)) is not None)
