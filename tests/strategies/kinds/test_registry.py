"""registry: what everyday commands print here is recognised, also where an agent wraps it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from strategies.kinds.registry import recognised

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems print other tables")
ROOT = Path(__file__).parents[3]
PYTHON = sys.executable
COMMIT = "git -c user.name=Ann -c user.email=ann@example.org commit -qm"
FOLDER = f"""
mkdir -p part/inner && cp {ROOT}/strategies/kinds/*.py part
cp {ROOT}/agent/messages.py {ROOT}/agent/loop.py part/inner
cp {ROOT}/README.md . && git init -q . && git add . && {COMMIT} "The first files"
sed -i 's/the/every/; s/Kind/Sort/' part/*.py && {COMMIT} "Every sort" -a && cp part/lines.py .
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
XML = "print('<jobs>'); [print(f'<job><id>{n}</id>The job {n} ends.</job>') for n in range(30)]; print('</jobs>')"
RAISES = (
    "def f(n): return 1 / n if n < 1 else f(n - 1)\ntry: f(3)\nexcept ArithmeticError as e: raise ValueError(3) from e"
)
COMMANDS = {
    "ls -l part": "table",
    "ls -laR .": "table",
    "wc -l part/*.py": "table",
    "wc part/*.py": "table",
    "df -a": "table",
    "ps aux": "table",
    "find part -name '*.py' -ls": "table",
    "tar -cf - part | tar -tvf -": "table",
    "git ls-tree -l HEAD part/": "table",
    "cat /proc/meminfo": "table",
    "du -a part": "fields",
    f'{PYTHON} -c "{CSV}"': "fields",
    "git diff HEAD~1 --numstat": "fields",
    "git diff HEAD~1": "diff",
    "git log -p": "diff",
    "diff -u lines.py part/log.py": "diff",
    "diff lines.py part/log.py": "diff",
    "grep -rn 'import' part": "search hits",
    "grep -r 'import' part": "search hits",
    "grep -n 'import' part/log.py": "search hits",
    "grep -rc 'import' part": "search hits",
    "find .": "paths",
    "git ls-files": "paths",
    "ls -R .": "paths",
    "grep -rl 'import' part": "paths",
    f"{PYTHON} -c '{RAISES}'": "stack trace",
    f"{PYTHON} -m unittest -v": "test report",
    f"{PYTHON} -m pytest -q -p no:cacheprovider test_many.py": "test report",
    f'{PYTHON} -c "{LOG}"': "log",
    f'{PYTHON} -c "{JSON}"': "JSON",
    f'{PYTHON} -c "{XML}"': "HTML page",
    "cat README.md": "Markdown",
    "cat part/excerpt.py": "source code",
    "cat -n part/excerpt.py": "source code",
    "sed -n 40,80p part/inner/loop.py": "source code",
    "cat -n part/inner/messages.py | sed -n 30,70p": "source code",
    "grep -n '' part/excerpt.py | tail -40": "source code",
    "git config -l": "lines",
    f"{PYTHON} -m json.tool --help": "lines",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with files, changes and two commits."""
    path = tmp_path_factory.mktemp("folder")
    subprocess.run(FOLDER, shell=True, cwd=path, check=True, env=os.environ | {"HOME": str(path)})
    return path


@pytest.mark.parametrize(("command", "kind"), COMMANDS.items(), ids=COMMANDS)
def test_what_a_command_prints_is_recognised(folder: Path, command: str, kind: str) -> None:
    env = os.environ | {"LC_ALL": "C", "HOME": str(folder), "COLUMNS": "100"}
    done = subprocess.run(f"{command} 2>&1", shell=True, cwd=folder, env=env, stdout=subprocess.PIPE, check=False)
    text = done.stdout.decode()
    assert text.count("\n") > 2
    assert recognised(text)[0].name == kind
    wrapped = f"<returncode>{done.returncode}</returncode>\n<output>\n{text}</output>\n"
    found, units = recognised(wrapped)
    assert found.name == kind
    assert "".join(unit.text for unit in units) == wrapped
