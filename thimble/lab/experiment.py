"""The frame of every experiment: flags, a store, all cores, progress, and the one way to show rows.

An experiment says which cases there are, how one is measured, and how its rows are shown. All else is here, once.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cache
from hashlib import sha256
from operator import methodcaller
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from thimble.agent.errors import Stopped, UsageError
from thimble.lab.cluster import LOCAL_CLUSTER, clustered
from thimble.lab.experiment_flags import add_output, whole
from thimble.lab.findings import Findings, ResultTable, publish, svg_of_lines, svg_of_points
from thimble.lab.job_progress import progress
from thimble.lab.pool import pooled
from thimble.lab.store import Store
from thimble.session.parser import Parser
from thimble.strategies.spec import Kind, parse_spec

RAW_AGENT = "none"
"""The strategy that the others are compared with."""
Row = dict[str, Any]
"""A flat record: a case, and what was measured of it. `error` says that the case failed, `spent` what it cost."""
Rows = Sequence[Row]
ROOT = Path(__file__).parents[1]
MEASURED_CODE = ("**/*.py", "corpus/articles/*.md", "corpus/files/**/*.*")
"""All that a row comes from, besides its case."""


class Case(Protocol):
    """What is measured by itself, in one of many processes."""

    @property
    def key(self) -> str:
        """The same in every process and version. It holds all that can change the rows of the case (`hash_of`)."""

    @property
    def size(self) -> int:
        """How much work it is, in a unit that all cases share."""


CaseT = TypeVar("CaseT", bound=Case)


class Experiment(ABC, Generic[CaseT]):
    """What an experiment must say. It has no state: `measure` is called in other processes.

    Attributes:
        title: Of its page.
        epilog: The end of its `--help`; the docstring of the class is the beginning.
        verb: What happens to a case, as in "replayed 3 of 20". Experiments with one verb share the cases of a store.
        drawn: What the lines of its page are, if it has some.
        pointed: What its points are, if it has some.
    """

    title: str
    epilog: str | None = None
    verb: str = "measured"
    drawn: str = ""
    pointed: str = ""

    def add_flags(self, parser: argparse.ArgumentParser) -> None:
        """Add its own flags. Those of the frame are `--store`, `--jobs`, `--on`, and the forms of output."""

    @abstractmethod
    def cases(self, options: argparse.Namespace) -> Sequence[CaseT]:
        """All cases, in the order of their rows; none: the rows of the store are shown. Raises UsageError."""

    def check(self, cases: Sequence[CaseT]) -> None:
        """Raise ThimbleError if these cases, which are about to be measured, cannot be."""

    @abstractmethod
    def measure(self, case: CaseT) -> Rows:
        """The rows of a case. Raises ThimbleError, which ends the experiment."""

    def derive(self, rows: Rows, options: argparse.Namespace) -> Rows:
        """The rows with what needs all of them, such as the difference from a baseline."""
        return rows

    def headline(self, rows: Rows, options: argparse.Namespace) -> Iterable[str]:
        """What is said before the tables, a line each."""
        return ()

    @abstractmethod
    def tables(self, rows: Rows, options: argparse.Namespace) -> Iterable[ResultTable]:
        """The tables of the rows; one without a row is not shown."""

    def notes(self, rows: Rows, options: argparse.Namespace) -> Iterable[str]:
        """What is said behind the tables."""
        return ()

    def lines(self, rows: Rows, options: argparse.Namespace) -> Mapping[str, Sequence[float]]:
        """The lines that its page draws, each from left to right, by their names."""
        return {}

    def points(self, rows: Rows, options: argparse.Namespace) -> Mapping[str, tuple[float, float]]:
        """The points that its page draws, each from the left and from below, by their names."""
        return {}


def run_experiment(experiment: Experiment[Any], arguments: Sequence[str], prog: str) -> None:
    """Measure the cases of the flags, and publish their rows in the form that the flags name.

    Raises:
        ThimbleError: a flag, the store, or a case that cannot be measured.
        Stopped: Ctrl-C. With a store, finished cases are kept.
    """
    parser = Parser(prog, description=type(experiment).__doc__, epilog=experiment.epilog, allow_abbrev=False)
    experiment.add_flags(parser)
    _add_flags(parser)
    options = parser.parse_args(arguments)
    rows = experiment.derive(_measured(experiment, options), options)
    told = [*experiment.headline(rows, options)]
    tables = [table for table in experiment.tables(rows, options) if table.rows]
    notes, lines = [*experiment.notes(rows, options)], experiment.lines(rows, options)
    pictures = {
        experiment.drawn: svg_of_lines(lines),
        experiment.pointed: svg_of_points(experiment.points(rows, options)),
    }
    publish(Findings(experiment.title, told, tables, rows, notes, pictures), options, prog, arguments)


def _add_flags(parser: Parser) -> None:
    told = "a file that keeps the rows of every finished case; the same command goes on where it stopped"
    parser.add_argument("--store", type=Path, metavar="FILE.jsonl", help=told)
    told = "cases at once; default: one for each core"
    parser.add_argument("--jobs", type=whole("--jobs", 1, 256), metavar="N", help=told)
    told = f"the Ray cluster that measures; {LOCAL_CLUSTER}: one of this machine, to try it"
    parser.add_argument("--on", metavar="ray://HOST:PORT", help=told)
    add_output(parser)


def _measured(experiment: Experiment[CaseT], options: argparse.Namespace) -> list[Row]:
    """The rows of all cases: those in the store, and those that are measured now."""
    cases = {_key(experiment, case): case for case in experiment.cases(options)}
    with closing(Store(options.store, write=bool(cases))) as store:
        own = cases.__contains__ if cases else methodcaller("startswith", experiment.verb)
        before = {record["key"]: record for record in store.records() if own(record["key"])}
        left = [case for key, case in cases.items() if key not in before or failed(before[key])]
        experiment.check(left)
        try:
            _measure(experiment, left, before, store, options)
        except KeyboardInterrupt:
            done = sum(not failed(record) for record in before.values())
            how = "the same command" if options.store else f"--store {_keep(experiment, before)}" if done else ""
            kept = f" are kept; {how} goes on" * bool(how)
            raise Stopped(f"stopped: {done:,} of {len(cases):,} cases{kept}") from None
    return [row for key in cases or before if key in before for row in before[key]["rows"]]


def _keep(experiment: Experiment[CaseT], records: Mapping[str, Row]) -> Path:
    """A new store with these records, in the current folder. Raises UsageError if it cannot be written."""
    path = Path(f"{experiment.verb}-{time.strftime('%Y-%m-%d-%H%M%S')}.jsonl")
    with closing(Store(path, write=True)) as store:
        for record in records.values():
            store.add(record)
    return path


def _measure(
    experiment: Experiment[CaseT],
    left: Sequence[CaseT],
    records: dict[str, Row],
    store: Store,
    options: argparse.Namespace,
) -> None:
    """Measure these cases and add their records, up to the ceiling; what earlier tries of all cases cost counts."""
    ceiling: float = getattr(options, "ceiling", math.inf)
    spent = sum(record["spent"] for record in records.values())

    def affordable() -> Iterator[CaseT]:
        for at, case in enumerate(left):
            if spent >= ceiling:
                told = f"{len(left) - at:,} cases are left: the same command with a higher --ceiling goes on"
                print(told, file=sys.stderr)
                return
            yield case

    if options.on:
        done = clustered(experiment.measure, affordable(), options.jobs, options.on)
    else:
        processes = max(1, min(options.jobs or os.cpu_count() or 1, len(left)))
        done = pooled(experiment.measure, affordable(), processes)
    total = sum(case.size for case in left)
    with progress(experiment.verb, len(left), total) as advance, closing(done) as results:
        for case, rows in results:
            cost = sum(row.get("spent") or 0 for row in rows)
            key = _key(experiment, case)
            earlier = records.get(key, {"spent": 0})
            record = {"key": key, "made_by": made_by(), "finished": time.time(), "spent": earlier["spent"] + cost}
            records[key] = record | {"rows": [*rows]}
            store.add(records[key])
            spent += cost
            advance(case.size)


def _key(experiment: Experiment[CaseT], case: CaseT) -> str:
    """The key of a case in the store, which may be that of other experiments, too."""
    return f"{experiment.verb} {case.key}"


def by(rows: Rows, *names: str) -> dict[tuple[Any, ...], list[Row]]:
    """The rows that agree in these columns, by their values, in the order of their first row."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in names), []).append(row)
    return found


def failed(record: Row) -> bool:
    """Whether a case has failed. The next command measures it again."""
    return any(row.get("error") for row in record["rows"])


@cache
def made_by() -> str:
    """The fingerprint of the code and the articles that are measured now."""
    return fingerprint(*MEASURED_CODE)


def fingerprint(*patterns: str) -> str:
    """The first twelve digits of a hash over the names and contents of the package's matching files."""
    found = sha256()
    for path in sorted(path for pattern in patterns for path in ROOT.glob(pattern)):
        found.update(f"{path.relative_to(ROOT).as_posix()}\n".encode() + path.read_bytes())
    return found.hexdigest()[:12]


def hash_of(value: object) -> str:
    """A hash of a value of JSON, for the key of a case."""
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]


def code_of(spec: str) -> str:
    """A hash of the files that a SPEC names, for the key of a case; "" without any. Raises UsageError."""
    files = [part.name for part in parse_spec(spec) if part.kind is Kind.FILE]
    try:
        return hash_of([Path(name).expanduser().read_text() for name in files]) if files else ""
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the strategy {spec} cannot be read", "give the path of a Python file") from error
