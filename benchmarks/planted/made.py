"""Make the planted set: for a seed, one output of each kind, with each fact on a line of its own."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from benchmarks.planted.logs import access_log, application_log, cluster, journal
from benchmarks.planted.output import Output, alone
from benchmarks.planted.pages import manual, minutes, readme, web_page
from benchmarks.planted.services import issues, order, settings, terraform_plan
from benchmarks.planted.sources import diff, hits, python_module, typescript_module
from benchmarks.planted.tables import csv_export, listing, measurements, psql_table
from benchmarks.planted.tests_and_builds import build, go_tests, installation, pytest_run

DRAWS = 99
MAKERS: tuple[Callable[[Random], Output], ...] = (
    application_log,
    access_log,
    journal,
    cluster,
    pytest_run,
    go_tests,
    build,
    installation,
    psql_table,
    csv_export,
    listing,
    measurements,
    issues,
    order,
    terraform_plan,
    settings,
    manual,
    readme,
    web_page,
    minutes,
    python_module,
    typescript_module,
    diff,
    hits,
)


def outputs(seed: int) -> list[Output]:
    """One output of each kind, in random order; each seed has other names, numbers, places and lengths."""
    return [_sound(make, seed) for make in Random(seed).sample(MAKERS, len(MAKERS))]


def _sound(make: Callable[[Random], Output], seed: int) -> Output:
    """The first draw in which no ordinary line happens to have the number or name of a fact."""
    draws = (make(Random(f"{make.__name__} {seed} {draw}")) for draw in range(DRAWS))
    return next(output for output in draws if all(alone(fact, output.text) for fact in output.facts))
