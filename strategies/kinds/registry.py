"""The kinds, in the order in which a text is tried: the first that cuts it wins."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from strategies.kinds.aligned_table import TABLE
from strategies.kinds.diff import DIFF
from strategies.kinds.json_records import JSON
from strategies.kinds.kind import Kind, Unit
from strategies.kinds.lines import LINES
from strategies.kinds.separated import SEPARATED
from strategies.kinds.tidied_json import TIDIED

KINDS: tuple[Kind, ...] = (TIDIED, JSON, DIFF, TABLE, SEPARATED, LINES)
"""The last one cuts every text."""


@lru_cache(maxsize=256)
def recognised(text: str) -> tuple[Kind, Sequence[Unit]]:
    """The kind of a text and its units."""
    return next((kind, units) for kind in KINDS if (units := kind.units(text)) is not None)
