"""The frame of every experiment: flags, a store, worker processes, progress and output.

An experiment lists its cases, measures one, and makes tables of the rows.
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
from thimble.lab.cluster import LOCAL_CLUSTER, run_cluster_jobs
from thimble.lab.experiment_flags import add_output, whole_number
from thimble.lab.findings import Findings, ResultTable, publish, svg_of_lines, svg_of_points
from thimble.lab.job_progress import progress
from thimble.lab.pool import run_jobs
from thimble.lab.store import Store
from thimble.session.parser import Parser
from thimble.strategies.spec import Kind, parse_spec

RAW_AGENT = "none"
"""The baseline strategy."""
Row = dict[str, Any]
"""A flat record of a case and its measurements. `error`: why the case failed; `spent`: its cost."""
Rows = Sequence[Row]
ROOT = Path(__file__).parents[1]
MEASURED_CODE = ("**/*.py", "corpus/articles/*.md", "corpus/files/**/*.*")
"""The files that a row depends on, besides its case."""


class Case(Protocol):
    """The unit of work of an experiment, measured in one of many processes."""

    @property
    def key(self) -> str:
        """A hash (`hash_of`) of everything that can change the rows, the same in every process and version."""

    @property
    def size(self) -> int:
        """The amount of work, in a unit that all cases share."""


CaseT = TypeVar("CaseT", bound=Case)


class Experiment(ABC, Generic[CaseT]):
    """The interface of an experiment. It has no state: `measure` is called in other processes.

    Attributes:
        title: The title of the page.
        epilog: The end of `--help`; its first paragraph is the docstring of the class.
        verb: A participle for progress: "replayed 3 of 20". Experiments with the same verb share the cases of a store.
        drawn: The caption of the page's lines, if it has some.
        pointed: The caption of the page's points, if it has some.
    """

    title: str
    epilog: str | None = None
    verb: str = "measured"
    drawn: str = ""
    pointed: str = ""

    def add_flags(self, parser: argparse.ArgumentParser) -> None:
        """Add the flags of this experiment; the frame adds `--store`, `--jobs`, `--on`, and those of the output."""

    @abstractmethod
    def cases(self, options: argparse.Namespace) -> Sequence[CaseT]:
        """All cases, in the order of their rows; if empty, the rows in the store are shown. Raises UsageError."""

    def check(self, cases: Sequence[CaseT]) -> None:
        """Raise ThimbleError if one of these cases, which are about to be measured, is impossible."""

    @abstractmethod
    def measure(self, case: CaseT) -> Rows:
        """Measure a case. A ThimbleError ends the experiment."""

    def derive(self, rows: Rows, options: argparse.Namespace) -> Rows:
        """Add the columns that depend on all rows, such as the difference from a baseline."""
        return rows

    def headline(self, rows: Rows, options: argparse.Namespace) -> Iterable[str]:
        """The lines above the tables."""
        return ()

    @abstractmethod
    def tables(self, rows: Rows, options: argparse.Namespace) -> Iterable[ResultTable]:
        """The tables; one without rows is left out."""

    def notes(self, rows: Rows, options: argparse.Namespace) -> Iterable[str]:
        """The lines below the tables."""
        return ()

    def lines(self, rows: Rows, options: argparse.Namespace) -> Mapping[str, Sequence[float]]:
        """The lines of the page's chart by name, each from left to right."""
        return {}

    def points(self, rows: Rows, options: argparse.Namespace) -> Mapping[str, tuple[float, float]]:
        """The points of the page by name, each from the left and from below."""
        return {}

    def pictures(self, rows: Rows, options: argparse.Namespace) -> Mapping[str, str]:
        """The pictures of the page, as SVG, by their captions."""
        points = {"": self.points(rows, options)}
        return {self.drawn: svg_of_lines(self.lines(rows, options)), self.pointed: svg_of_points(points)}


def run_experiment(experiment: Experiment[Any], arguments: Sequence[str], prog: str) -> None:
    """Parse the flags, measure the cases, and publish the rows in the form that the flags name.

    Raises:
        ThimbleError: a flag or the store is invalid, or a case cannot be measured.
        Stopped: Ctrl-C. With a store, finished cases are kept.
    """
    parser = Parser(prog, description=type(experiment).__doc__, epilog=experiment.epilog, allow_abbrev=False)
    experiment.add_flags(parser)
    _add_flags(parser)
    options = parser.parse_args(arguments)
    rows = experiment.derive(_measured(experiment, options), options)
    told = [*experiment.headline(rows, options)]
    tables = [table for table in experiment.tables(rows, options) if table.rows]
    notes, pictures = [*experiment.notes(rows, options)], experiment.pictures(rows, options)
    publish(Findings(experiment.title, told, tables, rows, notes, pictures), options, prog, arguments)


def _add_flags(parser: Parser) -> None:
    told = "a file that keeps the rows of every finished case; the same command continues where it stopped"
    parser.add_argument("--store", type=Path, metavar="FILE.jsonl", help=told)
    told = "cases measured at once; default: one for each core"
    parser.add_argument("--jobs", type=whole_number("--jobs", 1, 256), metavar="N", help=told)
    told = f"the Ray cluster to measure on; {LOCAL_CLUSTER}: one on this machine, to try it out"
    parser.add_argument("--on", metavar="ray://HOST:PORT", help=told)
    add_output(parser)


def _measured(experiment: Experiment[CaseT], options: argparse.Namespace) -> list[Row]:
    """The rows of all cases, from the store or measured now."""
    cases = {_key(experiment, case): case for case in experiment.cases(options)}
    with closing(Store(options.store, write=bool(cases))) as store:
        own = cases.__contains__ if cases else methodcaller("startswith", experiment.verb)
        before = {record["key"]: record for record in store.records() if own(record["key"])}
        left = [case for key, case in cases.items() if key not in before or has_failed(before[key])]
        experiment.check(left)
        try:
            _measure(experiment, left, before, store, options)
        except KeyboardInterrupt:
            done = sum(not has_failed(record) for record in before.values())
            how = "the same command" if options.store else f"--store {_keep(experiment, before)}" if done else ""
            kept = f" are kept; {how} continues" * bool(how)
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
    """Measure these cases and add their records, up to the ceiling, which includes the cost of earlier tries."""
    ceiling: float = getattr(options, "ceiling", math.inf)
    spent = sum(record["spent"] for record in records.values())

    def affordable() -> Iterator[CaseT]:
        for at, case in enumerate(left):
            if spent >= ceiling:
                told = f"{len(left) - at:,} cases are left: run the same command with a higher --ceiling to continue"
                print(told, file=sys.stderr)
                return
            yield case

    if options.on:
        done = run_cluster_jobs(experiment.measure, affordable(), options.jobs, options.on)
    else:
        processes = max(1, min(options.jobs or os.cpu_count() or 1, len(left)))
        done = run_jobs(experiment.measure, affordable(), processes)
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
    """The key of a case in the store, which several experiments may share."""
    return f"{experiment.verb} {case.key}"


def group_rows(rows: Rows, *names: str) -> dict[tuple[Any, ...], list[Row]]:
    """Group the rows by their values in these columns, in the order of their first row."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in names), []).append(row)
    return found


def has_failed(record: Row) -> bool:
    """Whether a case failed. The next run measures it again."""
    return any(row.get("error") for row in record["rows"])


@cache
def made_by() -> str:
    """The fingerprint of the current code and articles."""
    return fingerprint(*MEASURED_CODE)


def fingerprint(*patterns: str) -> str:
    """The first twelve digits of a hash of the names and contents of the package's matching files."""
    found = sha256()
    for path in sorted(path for pattern in patterns for path in ROOT.glob(pattern)):
        found.update(f"{path.relative_to(ROOT).as_posix()}\n".encode() + path.read_bytes())
    return found.hexdigest()[:12]


def hash_of(value: object) -> str:
    """A hash of a JSON value, for the key of a case."""
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]


def code_of(spec: str) -> str:
    """A hash of the files that a SPEC names, for the key of a case; "" if it names none. Raises UsageError."""
    files = [part.name for part in parse_spec(spec) if part.kind is Kind.FILE]
    try:
        return hash_of([Path(name).expanduser().read_text() for name in files]) if files else ""
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the strategy {spec} cannot be read", "give the path of a Python file") from error
