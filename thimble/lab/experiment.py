"""The frame of every experiment: flags, a store, worker processes, progress and output.

An experiment lists its cases, measures one, and reports the findings in their rows.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cache, partial
from hashlib import sha256
from operator import methodcaller
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from thimble.agent.errors import Stopped, UsageError
from thimble.lab.cluster import LOCAL_CLUSTER, run_cluster_jobs
from thimble.lab.experiment_flags import add_output, whole_number
from thimble.lab.findings import Findings, publish_findings
from thimble.lab.job_progress import progress
from thimble.lab.pool import run_jobs
from thimble.lab.store import Store
from thimble.session.parser import Parser
from thimble.strategies.spec import PartSource, parse_spec

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
        epilog: The end of `--help`; its first paragraph is the docstring of the class.
        verb: A participle for progress: "replayed 3 of 20". Experiments with the same verb share the cases of a store.
    """

    epilog: str | None = None
    verb: str = "measured"

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

    @abstractmethod
    def report(self, rows: Rows, options: argparse.Namespace) -> Findings:
        """The findings in the rows of all cases. A table without rows is left out."""


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
    found = experiment.report(_load_or_measure(experiment, options), options)
    tables = [table for table in found.tables if table.rows]
    publish_findings(replace(found, tables=tables), options, prog, arguments)


def _add_flags(parser: Parser) -> None:
    told = "a file that keeps the rows of every finished case; the same command continues where it stopped"
    parser.add_argument("--store", type=Path, metavar="FILE.jsonl", help=told)
    told = "cases measured at once; default: one for each core"
    parser.add_argument("--jobs", type=whole_number("--jobs", 1, 256), metavar="N", help=told)
    told = f"the Ray cluster to measure on; {LOCAL_CLUSTER}: one on this machine, to try it out"
    parser.add_argument("--on", metavar="ray://HOST:PORT", help=told)
    add_output(parser)


def _load_or_measure(experiment: Experiment[CaseT], options: argparse.Namespace) -> list[Row]:
    """The rows of all cases, from the store or measured now."""
    cases = {_store_key(experiment, case): case for case in experiment.cases(options)}
    with closing(Store(options.store, write=bool(cases))) as store:
        own = cases.__contains__ if cases else methodcaller("startswith", experiment.verb)
        before = {record["key"]: record for record in store.records() if own(record["key"])}
        left = [case for key, case in cases.items() if key not in before or has_failed(before[key])]
        experiment.check(left)
        try:
            _measure_cases(experiment, left, before, store, options)
        except KeyboardInterrupt:
            done = sum(not has_failed(record) for record in before.values())
            how = (
                "the same command" if options.store else f"--store {_create_store(experiment, before)}" if done else ""
            )
            kept = f" are kept; {how} continues" * bool(how)
            raise Stopped(f"stopped: {done:,} of {len(cases):,} cases{kept}") from None
    return [row for key in cases or before if key in before for row in before[key]["rows"]]


def _create_store(experiment: Experiment[CaseT], records: Mapping[str, Row]) -> Path:
    """A new store with these records, in the current folder. Raises UsageError if it cannot be written."""
    path = Path(f"{experiment.verb}-{time.strftime('%Y-%m-%d-%H%M%S')}.jsonl")
    with closing(Store(path, write=True)) as store:
        for record in records.values():
            store.add(record)
    return path


def _measure_cases(
    experiment: Experiment[CaseT],
    left: Sequence[CaseT],
    records: dict[str, Row],
    store: Store,
    options: argparse.Namespace,
) -> None:
    """Measure these cases and add their records, up to the ceiling, which includes the cost of earlier tries."""
    ceiling: float = getattr(options, "ceiling", math.inf)
    spent = sum(record["spent"] for record in records.values())

    def affordable() -> Iterator[int]:
        for at in range(len(left)):
            if spent >= ceiling:
                told = f"{len(left) - at:,} cases are left: run the same command with a higher --ceiling to continue"
                print(told, file=sys.stderr)
                return
            yield at

    measure = partial(_measure_one, experiment, left)
    if options.on:
        done = run_cluster_jobs(measure, affordable(), options.jobs, options.on)
    else:
        processes = max(1, min(options.jobs or os.cpu_count() or 1, len(left)))
        done = run_jobs(measure, affordable(), processes)
    total = sum(case.size for case in left)
    with progress(experiment.verb, len(left), total) as advance, closing(done) as results:
        for at, rows in results:
            case = left[at]
            cost = sum(row.get("spent") or 0 for row in rows)
            key = _store_key(experiment, case)
            earlier = records[key]["spent"] if key in records else 0
            records[key] = {"key": key, "spent": earlier + cost, "rows": [*rows]}
            store.add(records[key])
            spent += cost
            advance(case.size)


def _measure_one(experiment: Experiment[CaseT], cases: Sequence[CaseT], at: int) -> Rows:
    """Measure one of the cases, which a worker gets once, all together: they share their recorded runs."""
    return experiment.measure(cases[at])


def _store_key(experiment: Experiment[CaseT], case: CaseT) -> str:
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
    files = [part.name for part in parse_spec(spec) if part.kind is PartSource.FILE]
    try:
        return hash_of([Path(name).expanduser().read_text() for name in files]) if files else ""
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the strategy {spec} cannot be read", "give the path of a Python file") from error
