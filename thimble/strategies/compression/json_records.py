"""JSON records: a JSON value in a text as units: a record of a list, or a value with its path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from thimble.strategies.compression.json_table import compact_json, find_json
from thimble.strategies.compression.unit import Unit, line_unit, lines_of, split_variables

SHORT = 80
"""Characters: a list or object as short as this is one value."""
RECORD = 2_000
"""Characters: a list of longer records is split inside them."""


def record_units(text: str) -> Sequence[Unit] | None:
    """The records and values of a JSON value that is at least half of the text, and the lines around it.

    They show the JSON without blanks, a record or a value per line.
    """
    json = find_json(text)
    if not json or not json.value or len(json.json) < len(text) / 2:
        return None
    before, after = ([line_unit(line) for line in lines_of(part)] for part in (json.before, json.after.lstrip()))
    return [*before, *_units(json.value, ""), *after]


def _units(value: Any, path: str) -> Iterator[Unit]:
    """The records of a list, under its path; else each value with its path."""
    if isinstance(value, list) and len(compact_json(value)) <= RECORD * len(value):
        if path:
            yield Unit(f"{path}:\n", f"{path}:")
        columns = dict.fromkeys(name for record in value for name, _ in _iter_leaves(record))
        for record in value:
            leaves = dict(_iter_leaves(record))
            yield Unit(f"{compact_json(record)}\n", f"{path}[]", tuple(leaves.get(name, "") for name in columns))
        return
    named = value.items() if isinstance(value, dict) else enumerate(value)
    for name, inner in named:
        here = f"{path}.{name}" if path else f"{name}"
        written = compact_json(inner)
        if isinstance(inner, dict | list) and len(written) > SHORT:
            yield from _units(inner, here)
        else:
            yield Unit(f"{here}: {written}\n", split_variables(here)[0], (written,))


def _iter_leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """The values in a record that are not objects, by path."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _iter_leaves(inner, f"{path}.{name}")
    else:
        yield path, value if isinstance(value, str) else compact_json(value)
