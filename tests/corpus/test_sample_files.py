"""The sample files tell one story: their numbers agree."""

from __future__ import annotations

import csv
import doctest
import importlib.util
import re
import sys
from types import ModuleType

import pytest

from tests.support.paths import ROOT

FILES = ROOT / "thimble" / "corpus" / "files"
LOG = (FILES / "experiments" / "log.md").read_text()
README = (FILES / "README.md").read_text()
FACTS = re.compile(
    r"^(r\d+)-(r\d+), (\S+): (\d+) of (\d+) right, ([\d.]+) turns, ([\d,]+) prompt tokens, ([\d.]+) % cached"
    r"(?:, ([\d,]+) paid units)?\.$",
    re.MULTILINE,
)
Row = dict[str, str]


def module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"sample_{name}", FILES / "src" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = loaded
    exec(compile((FILES / "src" / f"{name}.py").read_bytes(), name, "exec"), loaded.__dict__)  # leaves no file there
    return loaded


@pytest.fixture(scope="module")
def scoring() -> ModuleType:
    return module("scoring")


@pytest.fixture(scope="module")
def masking() -> ModuleType:
    return module("masking")


@pytest.fixture(scope="module")
def rows() -> dict[str, Row]:
    with (FILES / "experiments" / "results.csv").open(newline="") as file:
        return {row["run"]: row for row in csv.DictReader(file)}


def between(first: str, last: str) -> list[str]:
    return [f"r{number:02}" for number in range(int(first[1:]), int(last[1:]) + 1)]


def total(rows: list[Row], column: str) -> int:
    return sum(int(row[column]) for row in rows)


def units(rows: list[Row]) -> float:
    return total(rows, "prompt_tokens") - 0.9 * total(rows, "cached_tokens") + total(rows, "summary_tokens")


def test_the_tables_in_the_readme_are_what_the_scoring_gives(scoring: ModuleType) -> None:
    runs = scoring.read(FILES / "experiments" / "results.csv")
    tables = scoring.tables(runs)
    assert re.findall(r"^### (.+)$", README, re.MULTILINE) == list(tables)
    for heading, lines in tables.items():
        assert f"### {heading}\n\n" + "\n".join(lines) + "\n\n" in README
    assert all(re.search(rf"^- .*\b{run.strategy}\b.*:", README, re.MULTILINE) for run in runs)
    assert f"{len(runs)} runs of 10 questions each, {sum(not run.valid for run in runs)} of them invalid" in README
    with pytest.raises(ValueError, match="no valid run"):
        scoring.score(run for run in runs if not run.valid)


def test_every_file_stands_in_the_readme() -> None:
    named = {
        name for cell in re.findall(r"^\| (`.+?`) \|", README, re.MULTILINE) for name in re.findall(r"`(.+?)`", cell)
    }
    files = {path.relative_to(FILES).as_posix() for path in FILES.rglob("*.*") if "__pycache__" not in path.parts}
    folders = {"meetings/", "records/"}
    assert {"README.md", *named} == {next((one for one in folders if name.startswith(one)), name) for name in files}
    assert all((FILES / name).stat().st_size < 200_000 for name in files)


def test_the_experiment_log_agrees_with_the_results(rows: dict[str, Row]) -> None:
    entries = re.split(r"^## (\S+), .*$", LOG, flags=re.MULTILINE)[1:]
    days, texts = entries[::2], entries[1::2]
    assert days == sorted(days)
    assert 12 <= len(days) <= 16
    told: list[str] = []
    for day, text in zip(days, texts, strict=True):
        for first, last, strategy, right, of, turns, prompt, cached, paid in FACTS.findall(text):
            named = between(first, last)
            told += named
            batch = [rows[run] for run in named if rows[run]["stop"] != "aborted"]
            count = len(batch)
            assert {row["strategy"] for row in batch} == {strategy}
            assert max(row["date"] for row in batch) <= day
            assert (total(batch, "correct"), 10 * count) == (int(right), int(of))
            assert f"{total(batch, 'turns') / count:.1f}" == turns
            assert abs(total(batch, "prompt_tokens") / count - int(prompt.replace(",", ""))) <= 0.5
            share = 100 * total(batch, "cached_tokens") / total(batch, "prompt_tokens")
            assert f"{share:.{len(cached.partition('.')[2])}f}" == cached
            assert not paid or abs(units(batch) / count - int(paid.replace(",", ""))) <= 0.5
    assert told == list(rows)
    assert len(re.findall(r"^r\d+-r\d+, ", LOG, re.MULTILINE)) == len(FACTS.findall(LOG))


def test_the_masking_rule_does_what_it_says(masking: ModuleType) -> None:
    tested = doctest.testmod(masking)
    assert tested.attempted
    assert not tested.failed
    for keep, step in ((10, 1), (10, 5), (10, 10), (0, 3)):
        for observations in range(80):
            hidden = masking.masked(observations, keep, step)
            assert hidden % step == 0
            assert observations <= keep or keep <= observations - hidden <= keep + step - 1
            assert hidden >= masking.masked(max(0, observations - 1), keep, step)
    texts = [f"observation {number} " * 20 for number in range(17)]
    shown = masking.mask(texts, keep=10, step=5)
    assert shown[5:] == texts[5:]
    assert shown[:5] == [masking.placeholder(turn) for turn in range(1, 6)]
    with pytest.raises(ValueError, match="step"):
        masking.masked(12, step=0)
