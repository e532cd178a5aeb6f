"""The commands, as a participant and a teacher use them, with the real child."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.family import family
from tests.workshop.wrong_solutions import function
from thimble.session.jail import MAX_LINE_BYTES, MAX_PRINTED_LINES
from thimble.workshop.__main__ import main
from thimble.workshop.exercise_set import BUILT_IN_EXERCISES, SOLUTION, TOML, load_set

FIRST = "01-count-tokens"


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new workshop, and we are in it."""
    folder = tmp_path / "workshop"
    assert main(["init", str(folder)]) == 0
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def own_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new set of one's own, and we are in it."""
    folder = tmp_path / "rooms"
    assert main(["new", str(folder)]) == 0
    monkeypatch.chdir(folder)
    return folder


def test_a_participant_reads_fails_gets_hints_and_passes(workshop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["next"]) == 0
    assert "Count tokens" in capsys.readouterr().out
    assert not list(workshop.rglob(SOLUTION))
    assert main(["check"]) == 1
    shown = capsys.readouterr().out
    assert f"✗ {FIRST}: this message is kept, and must be dropped" in shown
    assert shown.count("\n  ✗ ") == 1
    assert "message: overhead" in shown
    assert "begins: → tool " in shown
    for number in ("1 of 3", "2 of 3"):
        assert main(["hint"]) == 0
        assert f"hint {number}" in capsys.readouterr().out
    assert not list(workshop.rglob(SOLUTION))
    (workshop / FIRST / "mine.py").write_text((BUILT_IN_EXERCISES / FIRST / SOLUTION).read_text())
    assert main(["check"]) == 0
    assert (workshop / FIRST / SOLUTION).read_text() == (BUILT_IN_EXERCISES / FIRST / SOLUTION).read_text()
    assert json.loads((workshop / "progress.json").read_text())["done"] == [FIRST]
    (workshop / FIRST / SOLUTION).write_text("changed = True\n")
    assert main(["check", "1"]) == 0
    assert (workshop / FIRST / SOLUTION).read_text() == "changed = True\n"
    assert main(["next"]) == 0
    assert "2. A window" in capsys.readouterr().out


def test_a_workshop_goes_on_in_another_place_and_below(
    workshop: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (workshop / FIRST / "mine.py").write_text((BUILT_IN_EXERCISES / FIRST / SOLUTION).read_text())
    assert main(["check"]) == 0
    moved = workshop.rename(workshop.with_name("another laptop"))
    monkeypatch.chdir(moved)
    assert main(["next", "7"]) == main(["next"]) == main([]) == 0
    assert capsys.readouterr().out.count("# 7. Hybrid") == 3


def test_the_folder_of_an_exercise_chooses_it(
    workshop: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Until it is done; then the next command goes on with the one chosen before."""
    assert main(["next", "7"]) == 0
    below = workshop / "03-orphan" / "notes"
    below.mkdir()
    monkeypatch.chdir(below)
    capsys.readouterr()
    assert (main(["next"]), main(["hint"]), main(["check"])) == (0, 0, 1)
    told = capsys.readouterr().out
    assert "# 3. Why an orphan breaks it" in told
    assert f"Write {workshop / '03-orphan' / 'mine.py'}, then: thimble workshop check 3" in told
    assert "03-orphan, hint 1 of 3" in told
    assert told.splitlines()[-1].startswith("✗ 03-orphan: ")
    (workshop / "03-orphan" / "mine.py").write_text((BUILT_IN_EXERCISES / "03-orphan" / SOLUTION).read_text())
    assert (main(["check"]), main(["list"]), main([])) == (0, 0, 0)
    told = capsys.readouterr().out
    assert "✓ 3. Why an orphan breaks it [03-orphan] (in use)" in told
    assert "· 7. Hybrid" in told
    assert "# 7. Hybrid" in told


def test_all_are_checked_with_a_line_for_each(workshop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for exercise in load_set(BUILT_IN_EXERCISES).exercises[1:]:
        (workshop / exercise.name / "mine.py").write_text(exercise.solution.read_text())
    assert main(["check", "all"]) == 1
    lines = capsys.readouterr().out.splitlines()[-13:]
    assert [line[0] for line in lines] == ["✗", *"✓" * 11, "T"]
    assert lines[-1].startswith("Twelve strategies: 11 of 12")


def test_what_is_noted_while_a_check_runs_stays(workshop: Path) -> None:
    noted = {"exercises_in": "", "done": [], "hints": {"03-orphan": 2}, "chosen": "03-orphan"}
    another = f"import pathlib\npathlib.Path('../progress.json').write_text({json.dumps(noted)!r})\n"
    (workshop / FIRST / "mine.py").write_text(another + (BUILT_IN_EXERCISES / FIRST / SOLUTION).read_text())
    assert main(["check"]) == 0
    assert json.loads((workshop / "progress.json").read_text()) == {**noted, "done": [FIRST]}


def test_reset_keeps_every_file_that_is_not_the_starter(workshop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = workshop / FIRST / "mine.py"
    starter = mine.read_text()
    for code, kept in (("first = 1\n", "mine.py.old"), (starter, ""), ("second = 2\n", "mine.py.old1")):
        mine.write_text(code)
        assert main(["reset"]) == 0
        assert mine.read_text() == starter
        told = capsys.readouterr().out
        assert f"; yours is {kept}\n" in told if kept else "yours" not in told
    assert sorted(file.read_text() for file in mine.parent.glob("mine.py.*")) == ["first = 1\n", "second = 2\n"]


def test_the_last_exercise_tells_the_score_and_then_all_are_done(
    workshop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    *names, last = (exercise.name for exercise in load_set(BUILT_IN_EXERCISES).exercises)
    progress = workshop / "progress.json"
    progress.write_text(json.dumps({**json.loads(progress.read_text()), "done": names}))
    mine = workshop / last / "mine.py"
    mine.write_text((BUILT_IN_EXERCISES / last / SOLUTION).read_text())
    assert main(["next"]) == 0
    assert "All are done" not in capsys.readouterr().out
    assert main(["check"]) == 0
    assert "your score is" in capsys.readouterr().out
    assert main(["next"]) == 0
    assert f"All are done. Use yours: thimble --strategy '{mine}:Mine'" in capsys.readouterr().out


BOMBS = {
    "an endless loop": (function("while True:\n    pass"), "mine.py, line 6"),
    "a memory bomb": (function("return [bytearray(10**10)] * 3"), "MemoryError"),
    "an exit": ("import os\nos._exit(7)", "exit code 7"),
    "no strategy": ("x = 1", "defines no prepare()"),
    "a slip": (function("return messages[0].words"), "line 6: AttributeError"),
    "a change": (function("messages[0].content = ''\nreturn messages"), "message.rewritten(content, why) makes a copy"),
}


@pytest.mark.parametrize("name", family(BOMBS, "an endless loop", "a slip"))
def test_a_bomb_ends_in_one_line(name: str, own_set: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, words = BOMBS[name]
    toml = own_set / TOML
    toml.write_text("seconds = 1\n" + toml.read_text())
    folder = own_set / "with a blank"
    assert main(["init", str(folder), "--set", str(own_set)]) == 0
    file = folder / "02-window" / "mine.py"
    file.write_text(f"print('hello from mine')\n{code}")
    capsys.readouterr()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(file.parent)
        patch.delenv("PYTHONUNBUFFERED", raising=False)
        assert main(["check"]) == 1
    told = capsys.readouterr()
    assert told.err == ""
    assert words.replace("line 6", f"line {7}") in told.out
    assert "Traceback" not in told.out
    assert sum(line.startswith("✗") for line in told.out.splitlines()) == 1
    assert "printed: hello from mine" in told.out


@pytest.mark.parametrize(
    ("name", "line"),
    [("10-resume", "print(messages, budget)"), ("02-window", "print('x' * 10**6, messages, budget)")],
)
def test_a_file_may_print_much(name: str, line: str, workshop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prepare = re.compile(r"(?<=budget\):)(\s+)")
    (workshop / name / "mine.py").write_text(
        prepare.sub(rf"\1{line}\1", (BUILT_IN_EXERCISES / name / SOLUTION).read_text(), count=1)
    )
    capsys.readouterr()
    assert main(["check", name]) == 0
    told = capsys.readouterr().out
    assert f"✓ {name}" in told
    assert 0 < told.count("overhead=") <= MAX_PRINTED_LINES
    assert len(told) < MAX_PRINTED_LINES * MAX_LINE_BYTES + 1_000


def test_a_check_goes_on_where_the_system_refuses_a_limit(workshop: Path) -> None:
    (workshop / FIRST / "mine.py").write_text((BUILT_IN_EXERCISES / FIRST / SOLUTION).read_text())
    check = f"ulimit -v 1900000 && exec '{sys.executable}' -m thimble.workshop check"
    told = subprocess.run(["sh", "-c", check], capture_output=True, text=True)
    assert told.returncode == 0, told.stdout
    assert f"✓ {FIRST}" in told.stdout


def test_a_new_set_checks_itself(own_set: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == 0
    assert "✓ 02-window: the solution passes; the starter fails" in capsys.readouterr().out
    solution, starter = own_set / "02-window" / SOLUTION, own_set / "02-window" / "starter.py"
    right, wrong = solution.read_text(), starter.read_text()
    starter.write_text(right)
    assert main(["check"]) == 1
    assert "the starter passes already" in capsys.readouterr().out
    starter.write_text(wrong)
    solution.write_text(wrong)
    assert main(["check"]) == 1
    assert "the model solution fails: the system message is missing" in capsys.readouterr().out


def test_a_function_that_is_done_is_named_by_its_file(
    own_set: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = own_set / "participant"
    assert main(["init", str(folder), "--set", "."]) == 0
    mine = folder / "02-window" / "mine.py"
    mine.write_text((own_set / "02-window" / SOLUTION).read_text())
    monkeypatch.chdir(folder)
    assert main(["check"]) == 0
    assert main(["next"]) == 0
    assert f"All are done. Use yours: thimble --strategy '{mine}'\n" in capsys.readouterr().out


def test_a_set_is_no_workshop(own_set: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(own_set.rglob("*"))
    assert main(["init", str(own_set), "--set", "."]) == 2
    assert f"{own_set} is the folder of a set\n" in capsys.readouterr().err
    assert sorted(own_set.rglob("*")) == before


@pytest.mark.parametrize("name", ['a"b', "a\\b", "größer 🙂"])
def test_a_new_set_has_the_name_of_its_folder(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / name
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert main(["new", "."]) == 0
    assert load_set(folder).title == name
    (folder / "02-window").rename(folder / "another")
    toml = (folder / TOML).read_text()
    assert main(["new", "."]) == 2
    assert "has a set already" in capsys.readouterr().err
    assert (folder / TOML).read_text() == toml


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"keeps-order"', '"keeps-ordre"', "did you mean keeps-order?"),
        ('rule = "', 'ruel = "', "missing a required argument: 'rule'"),
        ("tools = false", "tools = ", "Invalid value"),
        ("hints = [", "hint = [", "hint"),
        ('name = "02-window"', 'name = "03-none"', "page.md is missing"),
        ('name = "02-window"', 'name = "../02-window"', "exercises 0 name: String should match"),
        ('name = "02-window"', 'name = "\\u001b[2J"', "a text has a control character"),
        ('name = "02-window"', "name = 3", "exercises 0 name: Input should be a valid string"),
        ("turns = [0, 8]", "turns = 3", "exercises 0 turns: Input should be a valid tuple"),
        ("turns = [0, 8]", "turns = [0, 100000]", "Input should be less than or equal to 500"),
        ("tools = false", "histories = 100000000", "Input should be less than or equal to 500"),
        ("tools = false", "lag = {}", "exercises 0 lag: Input should be a valid integer"),
        ("tools = false", "surprise = 1", "exercises 0 surprise: Unexpected keyword argument"),
        ("tools = false", 'begins_as = "../../../../etc/hostname"', "is missing, or outside"),
        ("tools = false", 'member = "x; y"', "exercises 0 member: String should match"),
        ('"keeps-order"', '{ check = "frees", to = "x" }', "frees: Input should be a valid number"),
        ("[[exercise]]", f"x = {'[' * 5_000}{']' * 5_000}\n[[exercise]]", "workshop.toml: "),
        ("[[exercise]]", "exercise = 3\n#", "object is not iterable"),
        ("[[exercise]]", "#" * 2_000_000 + "\n[[exercise]]", "it is larger than 1 MB"),
    ],
)
def test_a_fault_in_a_set_is_named(
    old: str, new: str, words: str, own_set: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    toml = own_set / TOML
    assert old in toml.read_text()
    toml.write_text(toml.read_text().replace(old, new))
    assert main(["check"]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["next"], "this folder is not in a workshop"),
        (["init", "."], ""),
        (["init", ".", "--set", "nowhere"], "cannot be read"),
        (["dance"], "invalid choice"),
        (["watch"], "not in a workshop"),
    ],
)
def test_a_mistake_on_the_command_line_is_two_lines(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == (2 if words else 0)
    assert words in capsys.readouterr().err
    if not words:
        assert main(["next", "13"]) == 2
        assert main(arguments) == 2
        assert "is a workshop already" in capsys.readouterr().err


def test_each_hint_and_page_is_there_and_short() -> None:
    for number, exercise in enumerate(load_set(BUILT_IN_EXERCISES).exercises, 1):
        page = (exercise.folder / "page.md").read_text()
        assert page.startswith(f"# {number}. ")
        assert len(exercise.hints) == 3
        assert len(page.splitlines()) < 40
        for part in ("**Aim**", "**Write**", "**The check**", "**Think**"):
            assert page.count(part) == 1
