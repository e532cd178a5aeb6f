"""A checkout whose links are text files, as git makes it on Windows, works, and builds a wheel that does."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from benchmarks.dependencies import brought, declared, installed
from tests.support.paths import ROOT

ASKED = ("-m", "thimble", "--backend", "reader", "-p", "Read the article about context windows", "-p", "/context")
TESTS = ("tests/agent/test_view.py", "tests/corpus/test_score.py", "tests/tools/test_schema.py")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("without links") / "thimble"
    git = ("git", "clone", "--quiet", "--depth", "1", "--config", "core.symlinks=false", ROOT.as_uri(), str(folder))
    subprocess.run(git, check=True)
    assert (folder / "repl").is_file()
    return folder


@pytest.fixture(scope="module")
def wheel(checkout: Path) -> Path:
    python(checkout, "-m", "pip", "wheel", ".", "--no-deps", "--no-build-isolation", "--quiet", "--wheel-dir", "wheel")
    (built,) = (checkout / "wheel").iterdir()
    return built


def python(checkout: Path, *arguments: str, **environment: str) -> str:
    environ = {**os.environ, "PYTHONPATH": str(checkout), **environment}
    run = subprocess.run([sys.executable, *arguments], cwd=checkout, env=environ, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.mark.nightly
def test_the_wheel_holds_every_file_of_the_package_and_of_the_manual(checkout: Path, wheel: Path) -> None:
    built = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("thimble/")}
    project = tomllib.loads((checkout / "pyproject.toml").read_text())
    pages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    tracked = subprocess.run(["git", "ls-files", "-z", "thimble", *pages], cwd=checkout, capture_output=True, text=True)
    named = {f"thimble/{name}" if name.startswith("docs/") else name for name in tracked.stdout.split("\0") if name}
    assert built == named
    assert len(named) > 500


def test_an_installed_copy_counts_as_the_clone(wheel: Path, tmp_path: Path) -> None:
    """The wheel and what it requires without extras, all else of this environment out of sight (-S)."""
    copy, home = tmp_path / "copy", {"HOME": str(tmp_path)}
    zipfile.ZipFile(wheel).extractall(copy)
    required = {name for extra, needed in declared(dev=False) if not extra for name in brought(needed.name)}
    for there in filter(None, map(installed, required)):
        for name in {file.parts[0] for file in there.files or ()} - {"..", "__pycache__"}:
            (copy / name).symlink_to(Path(str(there.locate_file(name))))
    told = python(copy, "-S", *ASKED, **home)
    assert "free 496" in told
    assert told == python(ROOT, *ASKED, **home)


@pytest.mark.nightly
def test_it_is_imported_and_tested_there(checkout: Path) -> None:
    where = python(checkout, "-c", "import thimble.agent, thimble.repl; print(*thimble.repl.__path__)")
    assert Path(where.strip()) == checkout / "thimble" / "repl"
    python(checkout, "-m", "pytest", "-p", "no:cacheprovider", *TESTS)
