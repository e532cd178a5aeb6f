"""The sample files tell one story: their numbers agree."""

from __future__ import annotations

import csv
import importlib.util
import re
import sys
import tomllib
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

FILES = Path(__file__).parents[2] / "corpus" / "files"


@pytest.fixture(scope="module")
def scoring() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sample_scoring", FILES / "src" / "scoring.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_table_in_the_readme_is_what_the_scoring_gives(scoring: ModuleType) -> None:
    runs = scoring.read(FILES / "experiments" / "results.csv")
    table = re.findall(r"^\| ([a-z]+[-\w]*) \| (\d.*?) \|$", (FILES / "README.md").read_text(), re.MULTILINE)
    for strategy, cells in table:
        chosen = [run for run in runs if run.strategy == strategy and run.valid]
        score = scoring.score(chosen)
        turns = sum(run.turns for run in chosen) / len(chosen)
        units = f"{score.paid_units:,.0f}"
        tokens = f"{score.prompt_tokens + 1e-6:,.0f}"
        assert cells == f"{score.right:.0%} | {turns:.1f} | {tokens} | {score.cached_share:.0%} | {units}".replace(
            "%", " %"
        )
    assert {strategy for strategy, _ in table} == {run.strategy for run in runs}


def test_the_server_log_adds_up_to_the_results() -> None:
    with (FILES / "experiments" / "results.csv").open(newline="") as file:
        rows = {row["run"]: row for row in csv.DictReader(file)}
    prompt, turns = Counter[str](), Counter[str]()
    log = (FILES / "logs" / "server.log").read_text()
    for run, tokens in re.findall(r"run=(r\d+) turn=\d+ prompt=(\d+)", log):
        prompt[run] += int(tokens)
        turns[run] += 1
    assert sorted(prompt) == [run for run, row in rows.items() if row["valid"] == "no"]
    for run in prompt:
        assert (prompt[run], turns[run]) == (int(rows[run]["prompt_tokens"]), int(rows[run]["turns"]))
    assert log.count(" ERROR ") == 1


def test_the_settings_name_what_was_measured() -> None:
    settings = tomllib.loads((FILES / "config" / "agent.toml").read_text())
    results = (FILES / "experiments" / "results.csv").read_text()
    assert settings["context"]["strategy"] in results
    assert all(task in results for task in settings["runs"]["tasks"])
