"""A checkout whose links are text files, as git makes it on Windows, works and builds the whole wheel."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.support.paths import ROOT

TESTS = ("tests/agent/test_view.py", "tests/corpus/test_score.py", "tests/tools/test_schema.py")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("without links") / "thimble"
    git = ("git", "clone", "--quiet", "--depth", "1", "--config", "core.symlinks=false", ROOT.as_uri(), str(folder))
    subprocess.run(git, check=True)
    assert (folder / "repl").is_file()
    return folder


def python(checkout: Path, *arguments: str) -> str:
    environ = {**os.environ, "PYTHONPATH": str(checkout)}
    run = subprocess.run([sys.executable, *arguments], cwd=checkout, env=environ, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.mark.nightly
def test_the_wheel_holds_every_file_of_the_package_and_of_the_manual(checkout: Path) -> None:
    python(checkout, "-m", "pip", "wheel", ".", "--no-deps", "--no-build-isolation", "--quiet", "--wheel-dir", "wheel")
    (wheel,) = (checkout / "wheel").iterdir()
    built = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("thimble/")}
    project = tomllib.loads((checkout / "pyproject.toml").read_text())
    pages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    tracked = subprocess.run(["git", "ls-files", "-z", "thimble", *pages], cwd=checkout, capture_output=True, text=True)
    named = {f"thimble/{name}" if name.startswith("docs/") else name for name in tracked.stdout.split("\0") if name}
    assert built == named
    assert len(named) > 500


@pytest.mark.nightly
def test_it_is_imported_and_tested_there(checkout: Path) -> None:
    where = python(checkout, "-c", "import thimble.agent, thimble.repl; print(*thimble.repl.__path__)")
    assert Path(where.strip()) == checkout / "thimble" / "repl"
    python(checkout, "-m", "pytest", "-p", "no:cacheprovider", *TESTS)
