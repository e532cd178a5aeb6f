"""Entries that try to win without managing a context: refused in one line, or no better than `truncate`."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from thimble.agent.budget import Prices
from thimble.lab.experiment import Row
from thimble.lab.judge.command import JudgeCase, judge_case
from thimble.lab.judge.dialogues import Dialogue, generate_runs, plant_facts
from thimble.lab.judge.measure import contest_score, measure_strategy
from thimble.lab.replay.recorded_replay import ReplaySetting

SEED, LIMIT = 7, 8_000
MASKED = 'm.rewritten("[masked]", "old") if m.role == "tool" else m for m in messages'
PREPARE = "def prepare(messages, budget):\n    "

SCORED: dict[str, str] = {
    "says that a mask tells all": PREPARE + f"return [{MASKED}]".replace('"old"', '"old", ref="here"'),
    "hides all texts where no server looks": "from dataclasses import replace\n"
    + PREPARE
    + f"return [{MASKED}]".replace(
        'm.rewritten("[masked]", "old")', 'replace(m, content="[masked]", thinking=m.content)'
    ),
    "raises its budget": PREPARE
    + 'object.__setattr__(budget, "limit", 10**9)\n    type(budget.counter).tokens = lambda *_: 0\n    return messages',
    "changes the history": PREPARE + 'for m in messages: object.__setattr__(m, "content", "")\n    return messages',
    "changes what measures": """
import thimble.agent.budget, thimble.agent.fates, thimble.agent.view, thimble.lab.judge.measure
thimble.lab.judge.measure.contest_score = lambda *_: 100
thimble.agent.budget.Budget.size = lambda *_: 0
thimble.agent.fates.fate = lambda *_: "kept"
thimble.agent.view.keep_laws = thimble.agent.view.fit = lambda view, *_: view
def prepare(messages, budget):
    return [m for m in messages if m.role != "tool" and not m.calls]
""",
    "looks for what was planted": "import re\n"
    + PREPARE
    + f"return [{MASKED}]".replace('"[masked]"', r'" ".join(re.findall(r"\w*\d{4,}\w*|[^.]*\bkey\b[^.]*", m.content))'),
    "looks for the answers in its callers": f"""
import sys
def prepare(messages, budget):
    frame, found = sys._getframe(), []
    while frame := frame.f_back:
        found += [one for value in frame.f_locals.values() if type(value) is list for one in value]
    facts = [one for one in found if type(one) is str]
    return [{MASKED.replace('"[masked]"', '" ".join(one for one in facts if one in m.content)')}]
""",
    "returns what lies": f"""
class Text(str):
    __eq__ = __contains__ = lambda *_: True
    __len__ = lambda *_: 0
    __hash__ = str.__hash__
def prepare(messages, budget):
    view = [{MASKED}]
    for m in view: object.__setattr__(m, "content", Text(m.content))
    return view
""",
    "plays well at one price alone": f"""
class Mine:
    priced = True
    def prepare(self, messages, budget):
        return messages if budget.prices.cached == 1 else [{MASKED}]
""",
    "leaves a thread": "import threading, time\nthreading.Thread(target=time.sleep, args=(600,)).start()\n"
    + f"{PREPARE}return [{MASKED}]",
}
REFUSED: dict[str, tuple[str, str]] = {
    "writes to every pipe": (
        "import os\nfor fd in range(3, 64):\n    try: os.write(fd, b'+[[],[],[]]\\n' * 99)\n    except OSError: pass\n"
        + PREPARE
        + "return messages",
        "something other than a view",
    ),
    "sends a pickle": (
        "import os, pickle\nclass Evil:\n    def __reduce__(self): return os.mkdir, ('unpickled',)\n"
        "for fd in range(3, 64):\n    try: os.write(fd, pickle.dumps(Evil()))\n    except OSError: pass\n"
        + PREPARE
        + "return [Evil()]",
        "something other than a",
    ),
    "reads the seed": ("text = open(f'/proc/{__import__(\"os\").getppid()}/cmdline').read()", "open is not allowed"),
    "reads the articles": (
        PREPARE + "import thimble.corpus.library as library; return library.load_library()",
        "open is not allowed",
    ),
    "gives a file another name": (
        "import os\nos.symlink('/proc/self/cmdline', 'mine2.py')\n" + PREPARE + "return messages",
        "os.symlink is not allowed",
    ),
    "looks for the answers": (PREPARE + "import gc; return gc.get_objects()", "gc.get_objects is not allowed"),
    "asks a model of its own": (PREPARE + "import socket; socket.socket()", "socket.__new__ is not allowed"),
    "forks": (PREPARE + "import os; os.fork(); return messages[:]", "os.fork is not allowed"),
    "starts a process": (
        PREPARE + 'import subprocess; subprocess.run("true"); return messages[:]',
        "subprocess.Popen is not allowed",
    ),
    "ends": (PREPARE + "import sys; sys.exit(0)", "SystemExit: 0"),
    "ends at once": (PREPARE + "import os; os._exit(0)", "its process ended unexpectedly (exit code 0)"),
    "says much": (PREPARE + "print('x' * 10**7); return messages[:]", "it prints"),
    "sends much": (
        PREPARE + 'return [*messages, type(messages[0])("z", "user", "x " * 10**7)]',
        "something other than a reply",
    ),
    "sends many": (
        PREPARE + 'return [*messages, *(type(messages[0])(f"z{at}", "user") for at in range(10**5))]',
        "something other than a",
    ),
    "lifts its limit": (
        "import signal\nsignal.setitimer(signal.ITIMER_REAL, 0)\nwhile True: pass\n" + PREPARE + "return messages",
        "its process ended unexpectedly",
    ),
}


@cache
def dialogues() -> list[Dialogue]:
    return [plant_facts(one, SEED) for one in generate_runs(SEED)[:2]]


def settings(spec: str) -> list[ReplaySetting]:
    return [ReplaySetting(spec, LIMIT, Prices(price), "", 20) for price in (1.0, 0.1)]


@cache
def everything() -> Row:
    return measure_strategy(dialogues(), settings("none"), lawful=False)


def verdict(folder: Path, code: str, seconds: int = 60) -> Row | str:
    (folder / "mine.py").write_text(code)
    found = judge_case(JudgeCase("mine.py", dialogues(), settings("mine.py"), folder, code, seconds))
    assert [*folder.iterdir()] == [folder / "mine.py"]
    return found


@pytest.mark.parametrize("name", SCORED)
def test_a_cheat_scores_at_most_as_truncate_does(name: str, tmp_path: Path) -> None:
    found = verdict(tmp_path, SCORED[name])
    assert not isinstance(found, str), found
    bar = measure_strategy(dialogues(), settings("truncate"))
    assert contest_score(found, everything()) <= contest_score(bar, everything())


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.nightly] * (at % 3 > 0)) for at, name in enumerate(REFUSED)]
)
def test_a_cheat_is_refused_with_its_reason(name: str, tmp_path: Path) -> None:
    code, told = REFUSED[name]
    found = verdict(tmp_path, code, 1 if name == "lifts its limit" else 60)
    assert isinstance(found, str)
    assert told in found
