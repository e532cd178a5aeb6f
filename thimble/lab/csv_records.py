"""The records of a CSV file, each with its line; a wrong file, column or value is an error that names the line."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from thimble.agent.errors import UsageError
from thimble.session.bounded import MOST_INPUT_BYTES
from thimble.session.file_text import file_text

CSV_FORM = "give CSV: UTF-8, commas, the names of the columns in the first line; gzipped or not"
MOST_NUMBER = 1e12
TRUTH: Mapping[str, bool] = {"1": True, "true": True, "0": False, "false": False}


@dataclass(frozen=True, slots=True)
class Record:
    """One record. `place` is its file and line, for errors."""

    place: str
    fields: Mapping[str, str]

    def name(self, column: str) -> str:
        """A text that is fit to be shown."""
        name = self.fields[column].strip()
        if not name or not name.isprintable():
            raise UsageError(f"{self.place}: {column} {_short(name)} is no name", f"give each record its {column}")
        return name

    def number(self, column: str) -> float:
        """A number."""
        try:
            number = float(self.fields[column])
        except ValueError:
            number = float("nan")
        if not abs(number) <= MOST_NUMBER:
            what = f"{self.place}: {column} {_short(self.fields[column])} is no number"
            raise UsageError(what, "write it like 0.25, without a unit")
        return number

    def truth(self, column: str) -> bool:
        """A yes or no."""
        text = self.fields[column].strip().lower()
        if text not in TRUTH:
            raise UsageError(f"{self.place}: {column} {_short(text)} is neither 1 nor 0", "write 1 or 0")
        return TRUTH[text]


def _short(text: str) -> str:
    """A value for an error, on one line."""
    return repr(text[:60])


def read(path: Path, needed: Sequence[str]) -> list[Record]:
    """The records of a file, which must have the columns that are `needed`.

    Raises:
        UsageError: it cannot be read, is no CSV, is too large, or has not these columns.
    """
    reader = csv.DictReader(io.StringIO(file_text(path, MOST_INPUT_BYTES, CSV_FORM), newline=""), strict=True)
    try:
        columns = [name.strip() for name in reader.fieldnames or ()]
        if len({*columns}) < len(columns) or not columns:
            raise UsageError(f"{path}, line 1: {'two columns have one name' if columns else 'it is empty'}", CSV_FORM)
        reader.fieldnames = columns
        missing = [name for name in needed if name not in columns]
        if missing:
            separate = "separate the columns by commas"
            fix = separate if ";" in columns[0] else f"the first line must name {', '.join(needed)}"
            raise UsageError(f"{path}, line 1: there is no column {', '.join(missing)}", fix)
        records = []
        for fields in reader:
            place = f"{path}, line {reader.line_num}"
            if None in fields or None in fields.values():
                raise UsageError(f"{place}: not {len(columns)} fields, as there are columns", CSV_FORM)
            records.append(Record(place, fields))
    except csv.Error as error:
        raise UsageError(f"{path}, line {reader.reader.line_num}: this is no CSV ({error})", CSV_FORM) from error
    return records
