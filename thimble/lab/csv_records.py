"""Read the records of a CSV file; an error about the file, a column or a value names the line."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from thimble.agent.errors import UsageError
from thimble.session.bounded import MOST_INPUT_BYTES
from thimble.session.file_text import file_text

CSV_FORM = "use CSV: UTF-8, commas, the column names in the first line; gzipped or not"
MOST_NUMBER = 1e12
TRUTH: Mapping[str, bool] = {"1": True, "true": True, "0": False, "false": False}


@dataclass(frozen=True, slots=True)
class Record:
    """One record. `place` is its file and line, for errors."""

    place: str
    fields: Mapping[str, str]

    def name(self, column: str) -> str:
        """The value of this column: printable, not empty."""
        name = self.fields[column].strip()
        if not name or not name.isprintable():
            raise UsageError(f"{self.place}: {_quote_value(name)} is not a valid {column}", "give each record one")
        return name

    def number(self, column: str) -> float:
        """The number in this column."""
        try:
            number = float(self.fields[column])
        except ValueError:
            number = float("nan")
        if not abs(number) <= MOST_NUMBER:
            what = f"{self.place}: {column} {_quote_value(self.fields[column])} is not a number"
            raise UsageError(what, "write it like 0.25, without a unit")
        return number

    def truth(self, column: str) -> bool:
        """The yes or no in this column."""
        text = self.fields[column].strip().lower()
        if text not in TRUTH:
            raise UsageError(f"{self.place}: {column} {_quote_value(text)} is neither 1 nor 0", "write 1 or 0")
        return TRUTH[text]


def _quote_value(text: str) -> str:
    """A value as an error quotes it, on one line."""
    return repr(text[:60])


def read_csv(path: Path, needed: Sequence[str]) -> list[Record]:
    """The records of a file with the columns `needed`.

    Raises:
        UsageError: the file cannot be read, is not CSV, is too large, or lacks one of these columns.
    """
    reader = csv.DictReader(io.StringIO(file_text(path, MOST_INPUT_BYTES, CSV_FORM), newline=""), strict=True)
    try:
        columns = [name.strip() for name in reader.fieldnames or ()]
        if len({*columns}) < len(columns) or not columns:
            raise UsageError(f"{path}, line 1: {'two columns share a name' if columns else 'it is empty'}", CSV_FORM)
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
                raise UsageError(f"{place}: a record needs {len(columns)} fields, one for each column", CSV_FORM)
            records.append(Record(place, fields))
    except csv.Error as error:
        raise UsageError(f"{path}, line {reader.reader.line_num}: this is not CSV ({error})", CSV_FORM) from error
    return records
