"""json_records: a JSON value in a text, or one in each line; a unit is a record of a list, or a value with its path."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from strategies.json_table import found
from strategies.kinds.json_places import PATH, STRING, Place, place
from strategies.kinds.kind import Kind, Unit, first_lines, line_unit, lines_of, parted

SOLID = re.compile(rf"{STRING}|[^\s\"]++")
LONG, SHORT = 2_000, 80
"""Characters: a list of longer records is cut inside these; a list or object as short as this is one value."""
ALIKE = 2 / 3
"""The values of an object are records, as those of a list, if each has this share of all their fields on average."""
RARE = 0.1
"""A field that fewer of the records have is no column; the last cell of a record has all such fields."""
HEADING = 8.0


def units(text: str) -> Sequence[Unit] | None:
    """The records and values of a JSON value that is at least half of the text, and the lines around it."""
    if not text.startswith(("[", "{")) and "\n[" not in text and "\n{" not in text:
        return None
    json = found(text)
    if not json or not json.value or len(json.json) < len(text) / 2:
        return None
    after = json.after.lstrip()
    before, behind = ([line_unit(line) for line in lines_of(part)] for part in (json.before, after))
    return [*before, *_units(json.json + json.after.removesuffix(after)), *behind]


def of_lines(text: str) -> Sequence[Unit] | None:
    """The records of a text in which each line is a JSON object; they are those of the list of its lines."""
    lines = first_lines(text)
    if len(lines) < 2 or not all(line[0] == "{" and line[-1] == "}" for line in lines):
        return None
    json = found("[" + text.rstrip().replace("\n", ",") + "]")
    if not json or json.after:
        return None
    cut = list(_units(json.json))
    ends = [end - 1 for end in accumulate(len(unit.text) for unit in cut)]
    for unit, start, end in zip(cut, [0, *ends], [*ends[:-1], len(text)], strict=False):
        unit.text = text[start:end]
    return cut


def _units(json: str) -> Iterator[Unit]:
    """Each record or value, with the brackets around it. The name of a list stands before its first record."""
    parts = list(_cut(json, place(json), ""))
    shapes = [parted(one.name if path else f"{group}[]")[0] for group, path, one in parts]
    cells = _cells(shapes, [dict(one.leaves(json)) for _, _, one in parts])
    end, above = 0, ""
    for (group, path, one), shape, values in zip(parts, shapes, cells, strict=True):
        if group and group != above:
            yield Unit(json[end : one.start], f"{group}:", (), HEADING, f"{group}:\n")
            end = one.start
        bare = "".join(SOLID.findall(json, one.value if path else one.start, one.end))
        last = len(json) if one is parts[-1][-1] else one.end
        yield Unit(json[end:last], shape, values, shown=f"{path}: {bare}\n" if path else f"{bare}\n")
        end, above = one.end, group


def _cut(json: str, whole: Place, path: str) -> Iterator[tuple[str, str, Place]]:
    """The units. With a record comes the path of its list, with another value its own path."""
    records = _are_records(json, whole)
    for one in whole.inner:
        its = (path + one.name)[-PATH:]
        if records:
            yield path.removeprefix("."), "", one
        elif one.inner and one.end - one.value > SHORT:
            yield from _cut(json, one, its)
        else:
            yield "", its.removeprefix("."), one


def _are_records(json: str, whole: Place) -> bool:
    """Whether its values are records: they are in a list, or objects with mostly the same fields."""
    inner = whole.inner
    names = {each.name for one in inner for each in one.inner}
    objects = all(one.inner and json[one.value] == "{" for one in inner)
    alike = objects and ALIKE * len(names) * len(inner) <= sum(len(one.inner) for one in inner)
    short = whole.end - whole.value <= LONG * len(inner)
    return len(inner) > 1 and short and (alike or json[whole.value] == "[")


def _cells(shapes: Sequence[str], records: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, ...]]:
    """The fields of each record, in the columns of its shape."""
    many = Counter(shapes)
    held = Counter((shape, name) for shape, fields in zip(shapes, records, strict=True) for name in fields)
    columns: dict[str, dict[str, None]] = defaultdict(dict)
    for (shape, name), count in held.items():
        if count > RARE * many[shape]:
            columns[shape][name] = None
    for shape, fields in zip(shapes, records, strict=True):
        rare = (f"{name[1:]}={value}" for name, value in fields.items() if name not in columns[shape])
        yield *(fields.get(name, "") for name in columns[shape]), " ".join(rare)


JSON = Kind("JSON", "JSON records", units)
JSON_LINES = Kind("JSON", "JSON records", of_lines)
