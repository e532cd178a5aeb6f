"""What an experiment found: tables for people, records for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

FlatRecord = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ResultTable:
    """A table; `told` says how to read it. Its first columns, `texts` of them, are text, the others are figures."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    told: str = ""
    texts: int = 1


@dataclass(frozen=True, slots=True)
class Findings:
    """What an experiment found, for people and for programs.

    Attributes:
        title: Of its page.
        told: What is said before the tables, a line each.
        tables: For people.
        records: The objects of `--json`.
        lines: The flat records of `--csv`; the same objects if there are none.
        after: What is said behind the tables.
        markdown: What stands in Markdown instead of the tables, if there is anything.
    """

    title: str
    told: Sequence[str]
    tables: Sequence[ResultTable]
    records: Sequence[FlatRecord]
    lines: Sequence[FlatRecord] = ()
    after: Sequence[str] = ()
    markdown: Sequence[ResultTable] = ()
