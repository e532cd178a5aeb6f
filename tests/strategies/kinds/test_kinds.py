"""Kinds: units joined are the text, whatever the text; and the files of this project are not taken for outputs."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.hostile_texts import HOSTILE, TEXTS
from thimble.strategies.kinds.recognised import TEXT_KINDS, recognised

ROOT = Path(__file__).parents[3]
LONG = ["a", "(", " ", '"', "1-", "1:", "a/", "{", '="\\', "    at ", '  File "', " |", "[I", "\n", " \n", "a\n"]
BEFORE = ["", "2026-11-23 06:29:00 a\n" * 3, "def a():\n  b\n" * 3, "1: a\n2: b\n3: c\n"]


@given(TEXTS | st.sampled_from(list(HOSTILE.values())))
@example("2026-11-23T06:29:00Z INFO a\n\tat b\n" * 3)
@example("<p>a</p>\n<p>b\n")
@example("a,b,c\n1,2,3\n4,5,6\n7,8,9")
def test_units_joined_are_the_text(text: str) -> None:
    name, _, units = recognised(text)
    assert name == "JSON" or "".join(unit.text for unit in units) == text
    assert all(unit.text for unit in units)


@pytest.mark.parametrize("kind", TEXT_KINDS)
def test_long_texts_of_one_piece_are_cut(kind: str) -> None:
    """A pattern that looks at each place from each place would need hours."""
    for before, piece in product(BEFORE, LONG):
        text = before + piece * (20_000 // len(piece))
        units = TEXT_KINDS[kind][1](text)
        assert units is None or kind == "JSON" or "".join(unit.text for unit in units) == text


@pytest.mark.parametrize("number", ["{}: ", "{:6}\t"])
def test_numbers_before_lines_say_nothing_about_the_kind(number: str) -> None:
    for path in ("thimble/strategies/none.py", "README.md", "pyproject.toml"):
        lines = (ROOT / path).read_text("utf-8").splitlines(keepends=True)
        numbered = "".join(
            [f"{path} · lines 1-9 of 9\n", *(f"{number.format(n)}{line}" for n, line in enumerate(lines, 7))]
        )
        name, _, units = recognised(numbered)
        assert name == recognised("".join(lines))[0]
        assert "".join(unit.text for unit in units) == numbered


def test_pages_and_sources_are_not_outputs() -> None:
    for path in [*(ROOT / "docs").rglob("*.md"), *(ROOT / "thimble" / "strategies").glob("*.py")]:
        assert recognised(path.read_text("utf-8"))[0] not in {"log", "JSON"}, path


# --- what everyday commands print here -------------------------------------------------------------------------------

PYTHON = sys.executable
COMMIT = "git -c user.name=Ann -c user.email=ann@example.org commit -qm"
FOLDER = f"""
mkdir -p part/inner && cp {ROOT}/thimble/strategies/kinds/*.py part
cp {ROOT}/thimble/agent/messages.py {ROOT}/thimble/agent/loop.py part/inner
cp {ROOT}/README.md . && git init -q . && git add . && {COMMIT} "The first files"
sed -i 's/the/every/; s/Unit/Piece/' part/*.py && {COMMIT} "Every piece" -a && cp part/unit.py .
printf 'import unittest\\nclass T(unittest.TestCase):\\n' > test_many.py
for n in 1 2 3 4 5 6; do echo "    def test_$n(self): self.assertEqual($n % 5, $n)" >> test_many.py; done
"""
JSON = (
    "import json; print(json.dumps([{'id': n, 'name': f'row {n}', 'size': n * 37 % 11} for n in range(30)], indent=1))"
)
CSV = "print('id,name,size'); [print(f'{n},row {n},{n * 37 % 11}') for n in range(30)]"
LOG = (
    "import logging; logging.basicConfig(level=20, format='%(asctime)s %(levelname)s %(message)s');"
    "[logging.info('job %d took %d ms', n, n * 37 % 11) for n in range(30)]"
)
COMMANDS = {
    "ls -l part": "table",
    "wc -l part/*.py": "lines",
    "wc part/*.py": "table",
    "df -a": "table",
    "ps aux": "table",
    "find part -name '*.py' -ls": "table",
    "git ls-tree -l HEAD part/": "table",
    f'{PYTHON} -c "{CSV}"': "table",
    "git diff HEAD~1 --numstat": "table",
    "find .": "lines",
    f"{PYTHON} -m unittest -v": "lines",
    f'{PYTHON} -c "{LOG}"': "log",
    f'{PYTHON} -c "{JSON}"': "JSON",
    "cat README.md": "prose",
    "cat part/excerpt.py": "source code",
    "cat -n part/excerpt.py": "source code",
    "cat -n part/inner/messages.py | sed -n 30,70p": "source code",
    "git config -l": "lines",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with files, changes and two commits."""
    path = tmp_path_factory.mktemp("folder")
    subprocess.run(FOLDER, shell=True, cwd=path, check=True, env=os.environ | {"HOME": str(path)})
    return path


@pytest.mark.skipif(sys.platform != "linux", reason="other systems print other tables")
@pytest.mark.parametrize(("command", "kind"), COMMANDS.items(), ids=COMMANDS)
def test_what_a_command_prints_is_recognised(folder: Path, command: str, kind: str) -> None:
    env = os.environ | {"LC_ALL": "C", "HOME": str(folder), "COLUMNS": "100"}
    done = subprocess.run(f"{command} 2>&1", shell=True, cwd=folder, env=env, stdout=subprocess.PIPE, check=False)
    text = done.stdout.decode()
    assert text.count("\n") > 2
    assert recognised(text)[0] == kind
