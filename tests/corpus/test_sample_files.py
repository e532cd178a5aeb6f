"""The sample files tell one story: their numbers agree."""

from __future__ import annotations

import doctest
import importlib.util
import re
import sys
from types import ModuleType

import pytest

from tests.support.paths import ROOT

FILES = ROOT / "thimble" / "corpus" / "files"
README = (FILES / "README.md").read_text()


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
