"""Show the cost of each dependency: licence, size on disk, its own dependencies, and the time of its import.

python benchmarks/dependencies.py          # those of thimble and its extras
python benchmarks/dependencies.py --dev    # those of its development

Sizes are those of the installed files without bytecode, in MB; "with all" includes the dependencies of a dependency.
Import times are ms of CPU time, so a busy machine does not change them. Cold: without bytecode, as in the first import
after an installation. Warm: the minimum of 5. `python -X importtime` shows their parts. A package that is not installed
has a ?.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = Path(__file__).resolve().parent.parent
MODULES = {"pydantic": "pydantic.type_adapter", "pyyaml": "yaml", "rich": "rich.console"}
"""The module to import for a package, if it is not the package's name."""
TIMED = "from time import process_time as now; began = now(); import {}; print(now() - began)"
WARM = 5


def declared(dev: bool) -> Iterator[tuple[str, Requirement]]:
    """The requirements in pyproject.toml, each with its extra, "" for none."""
    told = tomllib.loads((PROJECT / "pyproject.toml").read_text())
    groups = {"": told["project"]["dependencies"], **told["project"]["optional-dependencies"]}
    for extra, texts in {"": told["dependency-groups"]["dev"]}.items() if dev else groups.items():
        yield from ((extra, Requirement(text)) for text in texts)


def installed(name: str) -> Distribution | None:
    """The installed package; None if it is not installed."""
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def brought(name: str, extras: AbstractSet[str] = frozenset()) -> AbstractSet[str]:
    """A package and all its dependencies."""
    found, open_ = {str(canonicalize_name(name))}, [(name, extras)]
    while open_:
        package, wanted = open_.pop()
        there = installed(package)
        for text in (there.requires if there else None) or ():
            needed = Requirement(text)
            asked = not needed.marker or any(needed.marker.evaluate({"extra": extra}) for extra in (wanted or {""}))
            package = canonicalize_name(needed.name)
            if asked and package not in found:
                found.add(package)
                open_.append((package, needed.extras))
    return found


def megabytes(name: str) -> float:
    """Size of the installed files, without bytecode."""
    there = installed(name)
    files = [Path(str(there.locate_file(file))) for file in there.files or ()] if there else []
    return sum(file.stat().st_size for file in files if file.suffix != ".pyc" and file.is_file()) / 1e6


def licence(of: Distribution) -> str:
    """The licence as the package names it."""
    told = of.metadata
    named = [each.rpartition(" :: ")[2] for each in told.get_all("Classifier") or () if each.startswith("License ::")]
    return told.get("License-Expression") or next(iter(named), "") or (told.get("License") or "?").splitlines()[0]


def milliseconds(module: str, bytecode: str) -> float:
    """The time to import a module, with bytecode in the given folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environ = {**kept, "PYTHONPYCACHEPREFIX": bytecode}
    command = [sys.executable, "-c", TIMED.format(module)]
    return float(subprocess.run(command, env=environ, cwd=bytecode, capture_output=True, check=True).stdout) * 1000


def imported(name: str) -> str:
    """`cold / warm`."""
    module = MODULES.get(name.lower(), name.replace("-", "_"))
    with tempfile.TemporaryDirectory() as bytecode:
        cold, *warm = (milliseconds(module, bytecode) for _ in range(1 + WARM))
    return f"{cold:.0f} / {min(warm):.0f}"


def row(extra: str, needed: Requirement, dev: bool) -> str:
    """A row of the table."""
    name, there = needed.name, installed(needed.name)
    called = f"{name} (extra `{extra}`)" if extra else name
    if not there:
        return f"| {called} | ? | ? | ? | ? | ? | ? |"
    others = brought(name, needed.extras) - {canonicalize_name(name)}
    missing = sorted(other for other in others if not installed(other))
    along = f"{len(others)}" + (f", {len(missing)} of them not installed" if missing else "")
    whole = sum(map(megabytes, [name, *others]))
    took = "" if dev or missing else imported(name)
    return f"| {called} | {there.version} | {licence(there)} | {megabytes(name):.1f} | {along} | {whole:.1f} | {took} |"


def main() -> int:
    dev = "--dev" in sys.argv[1:]
    print("| package | version | licence | MB | brings | MB with all | import, ms |\n|---|---|---|--:|--:|--:|--:|")
    for extra, needed in declared(dev):
        print(row(extra, needed, dev))
    if not dev:
        everything = {name for extra, needed in declared(dev) if not extra for name in brought(needed.name)}
        print(f"\n{len(everything)} packages, {sum(map(megabytes, everything)):.0f} MB, without the extras.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
