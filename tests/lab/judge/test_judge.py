"""A contest: the formula by hand, laws, hostile files, a row a file, and the same table for the same seed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.docs.test_pages import blocks, page
from tests.support.family import family
from thimble.agent.budget import Prices
from thimble.agent.errors import UsageError
from thimble.agent.messages import Message, ToolCall
from thimble.lab.judge.command import FORMULA, JUDGED_BESIDE, judged, main, row
from thimble.lab.judge.dialogues import FACT_WORDS, FACTS, generated, planted
from thimble.lab.judge.measure import WEIGHTS, Measured, asked_again, measured
from thimble.lab.replay.recorded_replay import ReplaySetting, replay
from thimble.lab.replay.trajectories import Trajectory
from thimble.strategies.table import STRATEGIES
from thimble.workshop.exercise_set import OURS

MODEL = ""
LIMIT = 2_000
PRICES = [Prices(1.0), Prices(0.5)]
HIDES = "def prepare(messages, budget):\n    return [m for m in messages if m.role != 'tool' and not m.calls]\n"
"""Hides every result at once, with its call."""


def run(name: str, *reads: str) -> Trajectory:
    """A question, a turn for each file that is read, and an answer."""
    messages = [Message("s", "system", "You help."), Message("q", "user", "What is in the files?")]
    for at, path in enumerate(reads):
        call = ToolCall(f"c{at}", "read_file", json.dumps({"path": path}))
        messages.append(Message(f"a{at}", "assistant", "", calls=(call,)))
        text = " ".join(f"{path}{word}" for word in Random(path).choices(range(1_000), k=40))
        messages.append(Message(f"r{at}", "tool", text, call_id=call.id, name=call.name))
    return Trajectory(name, [*messages, Message("end", "assistant", "That is in them.")])


RUNS = [run("one", "a", "b", "a"), run("two", "a", "a", "b", "b", "a")]


def settings(spec: str, limit: int = LIMIT) -> list[ReplaySetting]:
    return [ReplaySetting(spec, limit, price, MODEL, 20) for price in PRICES]


def verdict(folder: Path, text: str, seconds: int = 60, limit: int = LIMIT) -> Measured | str:
    (folder / "mine.py").write_text(text)
    dialogues = [planted(one, 7) for one in RUNS]
    return judged("mine.py", folder, dialogues, settings("mine.py", limit), seconds)


def figures(found: Measured | str) -> Measured:
    assert isinstance(found, Measured), found
    return found


# --- the formula ------------------------------------------------------------------------------------------------------


def test_the_score_by_hand() -> None:
    everything = Measured([1000.0, 400.0], 9, kept=10, planted=10, faults=0, again=4)
    found = Measured([500.0, 300.0], 9, kept=4, planted=10, faults=1, again=4)
    told = row("mine.py", found, everything)
    assert told["cost"] == [0.5, 0.75]
    assert told["score"] == pytest.approx(30 * (1 - 0.625) + 40 * 0.4 + 30 * 0.75)
    assert row("none", everything, everything)["score"] == pytest.approx(70)
    nothing_planted = Measured([500.0, 200.0], 9, kept=0, planted=0, faults=0, again=0)
    assert row("mine.py", nothing_planted, everything)["score"] == pytest.approx(15 + 40 + 30)


def test_a_call_without_a_view_is_no_saving(tmp_path: Path) -> None:
    everything = measured([planted(one, 7) for one in RUNS], settings("none"), lawful=False)
    assert everything.calls == 4 + 6
    fewer = Measured([1.0, 1.0], 8, kept=8, planted=8, faults=0, again=4)
    told = row("mine.py", fewer, everything)
    assert (told["score"], told["reason"]) == (None, "no view fits the budget at 2 calls")


def test_two_runs_by_hand(tmp_path: Path) -> None:
    dialogues = [planted(one, 7) for one in RUNS]
    assert [len(facts) for _, facts in dialogues] == [3, 5]
    everything = measured(dialogues, settings("none"), lawful=False)
    kept = (2 + 3) + (3 + 3 + 5 + 5)  # of a, and of a and b, at each call from the third on
    assert (everything.kept, everything.planted, everything.faults, everything.again) == (kept, kept, 0, 1 + 3)
    hidden = figures(verdict(tmp_path, HIDES))
    assert (hidden.kept, hidden.planted, hidden.faults, hidden.again) == (0, kept, 4, 4)
    prompts = [call.view for one, _ in dialogues for call in replay(one, settings("none")[0])]
    sent = sum(view.tokens for view in prompts if view)
    cached = sum(view.cached for view in prompts if view)
    assert everything.costs == [sent, sent - cached / 2]


def test_a_repeated_call_is_a_fault_where_its_newest_result_is_not_shown() -> None:
    one = RUNS[1]
    assert [*asked_again(one, [*replay(one, settings("sliding-window:window=1")[0])])] == [True, True, False]
    assert [*asked_again(one, [*replay(one, settings("none")[0])])] == [True] * 3


def test_a_fact_is_words_in_a_row_of_a_result_and_the_seed_says_which() -> None:
    run_, facts = planted(RUNS[1], 7)
    assert run_ == RUNS[1]
    assert len(facts) == min(FACTS, 5)
    for fact in facts:
        assert len(fact.split(" ")) == FACT_WORDS
        assert all(one.role == "tool" for one in run_.messages if fact in one.content)
    assert planted(RUNS[1], 7) == (run_, facts)
    assert {*planted(RUNS[1], 8)[1]} != {*facts}


@pytest.mark.parametrize("results", [1, 5])
def test_a_run_that_ends_with_a_result_has_no_fact_in_it_that_no_view_can_show(results: int) -> None:
    run_, facts = planted(Trajectory("one", run("", *"abcde").messages[: 2 + 2 * results]), 7)
    assert run_.messages[-1].role == "tool"
    assert len(facts) == results - 1
    assert not any(fact in run_.messages[-1].content for fact in facts)
    found = measured([(run_, facts)], settings("none"))
    assert found.kept == found.planted == sum(range(results - 1))  # at each call, those of all turns but the last


def test_made_dialogues_go_by_the_seed_and_read_some_articles_again() -> None:
    assert generated(3) == generated(3)
    assert generated(3) != generated(4)
    runs = [planted(one, 3)[0] for one in generated(3)]
    for one in runs:
        assert (one.messages[0].role, one.messages[-1].role) == ("system", "assistant")
    again = [shown for one in runs for shown in asked_again(one, [*replay(one, settings("none", 10**9)[0])])]
    assert again
    assert all(again)


# --- laws -------------------------------------------------------------------------------------------------------------

BROKEN = {
    "not sound": ("return [m for m in messages if m.role != 'tool']", "the view had to be mended"),
    "without the system message": ("return messages[1:]", "put back the system message"),
    "without the question": ("return messages[:1] + messages[2:]", "put back the question or task"),
    "doubled": ("return messages + messages[-1:]", "into the order of the history"),
    "no messages": ("return None", "prepare must return a list of messages, not None"),
    "raises": ("return messages[99]", "IndexError"),
    "another view each time": (
        "import random; return [m.rewritten(str(random.random()), 'why') if m.call_id else m for m in messages]",
        "played twice from the start, it makes two different views",
    ),
}


@pytest.mark.parametrize(("body", "told"), BROKEN.values(), ids=BROKEN)
def test_a_broken_law_is_told_with_its_place(tmp_path: Path, body: str, told: str) -> None:
    found = verdict(tmp_path, f"def prepare(messages, budget):\n    {body}\n")
    assert isinstance(found, str)
    assert told in found
    assert found.startswith("one, turn ")


def test_over_the_budget_is_a_broken_law_where_nothing_makes_it_fit(tmp_path: Path) -> None:
    text = (
        "class Everything:\n    fitted = False\n    def prepare(self, messages, budget):\n        return messages[:]\n"
    )
    found = verdict(tmp_path, f"{text}fitted = False\nprepare = Everything().prepare\n", limit=150)
    assert isinstance(found, str)
    assert "and the budget is 150" in found


SOLUTIONS = sorted(OURS.glob("*/solution.py"))


@pytest.mark.parametrize("solution", family(SOLUTIONS), ids=[solution.parent.name for solution in SOLUTIONS])
def test_each_solution_of_the_workshop_is_lawful(tmp_path: Path, solution: Path) -> None:
    (tmp_path / "mine.py").write_text(solution.read_text())
    dialogues = [planted(one, 7) for one in generated(7)[:1]]
    figures(judged("mine.py", tmp_path, dialogues, settings("mine.py", 8_000), 60))


def test_what_a_strategy_asks_of_a_model_costs_once(tmp_path: Path) -> None:
    text = """
from dataclasses import dataclass
from thimble.agent.messages import Message


@dataclass
class Asks:
    model: object

    def prepare(self, messages, budget):
        self.model.ask([Message("request", "user", "Sum it up.")], "summary", max_tokens=20)
        return messages
"""
    found = figures(verdict(tmp_path, text))
    dialogues = [planted(one, 7) for one in RUNS]
    assert found == measured(dialogues, settings(str(tmp_path / "mine.py")), lawful=False)
    assert found.costs[0] > measured(dialogues, settings("none"), lawful=False).costs[0]


@pytest.mark.parametrize("name", family([*STRATEGIES], "comem", "summary-buffer"))
def test_a_strategy_that_ships_comes_to_the_same_in_the_jail(name: str, tmp_path: Path) -> None:
    kind = STRATEGIES[name]
    text = f"from {kind.__module__} import {kind.__name__}\nclass Mine({kind.__name__}):\n    pass\n"
    (tmp_path / "mine.py").write_text(text)
    dialogues = [planted(one, 7) for one in generated(7)[:1]]
    try:
        found: Measured | str = measured(dialogues, settings(name, 8_000))
    except UsageError as error:
        found = error.what
    assert judged("mine.py", tmp_path, dialogues, settings("mine.py", 8_000), 60) == found


# --- hostile files ----------------------------------------------------------------------------------------------------

HOSTILE: dict[str, tuple[str, str]] = {
    "an endless loop": ("    while True: pass\n", "no end within 1 seconds of computing: stopped "),
    "an endless loop at import": ("    pass\nwhile True: pass\n", "no end within 1 seconds of computing: stopped "),
    "too much memory": ("    return 'x' * 10**11\n", "MemoryError"),
    "one word of print": ("    print('FLOOD')\n    return messages[:]\n", "it prints"),
    "print at import": ("    return messages[:]\nprint('FLOOD')\n", "it prints"),
    "print by the system": ("    import os; os.write(1, b'FLOOD')\n    return messages[:]\n", "it prints"),
    "its process ends": ("    import os; os._exit(3)\n", "its process ended before its time (exit code 3)"),
    "it kills its process": ("    import os; os.kill(os.getpid(), 9)\n", "PermissionError: os.kill is not allowed"),
    "raises at import": ("    pass\nraise ValueError('no')\n", "mine.py cannot be loaded: ValueError: no"),
    "leaves": ("    raise SystemExit('no')\n", "SystemExit"),
    "a warning of Python": ("    '\\d'\n    raise ValueError\n", "ValueError"),
    "Ctrl-C": ("    raise KeyboardInterrupt\n", "stopped in mine.py"),
    "escapes": ("    raise ValueError('\\x1b[2J')\n", "ValueError"),
    "no syntax": ("    return (\n", "SyntaxError"),
}


@pytest.mark.parametrize(("body", "told"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_file_is_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str], body: str, told: str) -> None:
    found = verdict(tmp_path, f"def prepare(messages, budget):\n{body}", seconds=1 if "within 1" in told else 60)
    assert isinstance(found, str)
    assert told in found
    assert found.isprintable()
    assert "FLOOD" not in found
    assert capfd.readouterr() == ("", "")


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "contest").mkdir()
    (tmp_path / "contest" / "hides.py").write_text(HIDES)
    (tmp_path / "contest" / "broken.py").write_text("raise ValueError\n")
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Read."}]
    for at in range(3):
        call = {"id": f"c{at}", "type": "function", "function": {"name": "read", "arguments": "{}"}}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{at}", "content": "word " * 50})
    messages.append({"role": "assistant", "content": "Done."})
    (tmp_path / "runs.jsonl").write_text(f"{json.dumps(messages)}\n{json.dumps(messages)}\n")
    return tmp_path


@pytest.fixture
def says(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def said(*flags: str) -> str:
        main([str(folder / "contest"), "--runs", str(folder / "runs.jsonl"), *flags], "thimble lab judge")
        return capsys.readouterr().out

    return said


def test_a_row_a_file_the_best_first_those_without_a_score_last(says: Callable[..., str]) -> None:
    rows = json.loads(says("--seed", "5", "--json"))
    assert sorted(one["strategy"] for one in rows) == sorted(["hides.py", "broken.py", *JUDGED_BESIDE])
    scores = [one["score"] for one in rows if one["score"] is not None]
    assert scores == sorted(scores, reverse=True)
    assert rows[-1]["strategy"] == "broken.py"
    assert "cannot be loaded" in rows[-1]["reason"]


def test_a_file_whose_name_would_join_two_strategies_is_to_be_renamed(says: Callable[..., str], folder: Path) -> None:
    (folder / "contest" / "anna+hides.py").write_text(HIDES)
    (told,) = (one for one in json.loads(says("--json")) if one["strategy"] == "anna+hides.py")
    assert (told["score"], told["reason"]) == (None, "a + in a name joins two strategies: rename the file")


def test_the_same_seed_gives_the_same_table_and_page(says: Callable[..., str], folder: Path) -> None:
    report = folder / "page.html"
    first = says("--seed", "5", "--report", str(report))
    drawn = report.read_bytes()
    report.unlink()
    assert says("--seed", "5", "--report", str(report)) == first
    assert report.read_bytes() == drawn
    assert "Score = 30 · saved + 40 · facts + 30 · found" in first
    assert "seed 5" in first


def test_without_a_seed_one_is_made_and_told(says: Callable[..., str]) -> None:
    first = says("--csv")
    assert len(first.splitlines()) == 1 + 2 + len(JUDGED_BESIDE)
    assert "| strategy |" in says("--markdown")
    assert ", seed " in says()


def test_a_budget_that_holds_no_call(says: Callable[..., str]) -> None:
    with pytest.raises(UsageError, match="no call of the dialogues fits the budget"):
        says("--budget", "5")


def test_a_folder_without_strategies(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"has no file that ends in \.py"):
        main([str(tmp_path)], "thimble lab judge")


def test_the_page_has_the_formula_and_its_example() -> None:
    text = page("run-a-contest")
    formula = " + ".join(f"{points} · {part}" for part, points in WEIGHTS.items())
    assert f"Score = {formula}" in text
    assert FORMULA.startswith(f"Score = {formula}. ")
    told = row("mine.py", Measured([500, 300], 9, 4, 10, 1, 4), Measured([1000, 400], 9, 10, 10, 0, 4))
    assert f"{told['score']:.2f}" in text
    assert all(f"| {name} |" in text for name in JUDGED_BESIDE)


@pytest.mark.nightly
def test_the_table_on_the_page_is_what_comes_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for body in blocks("python", "2-your-own-strategy"):
        (named,) = re.findall(r"^class (\w+):", body, re.MULTILINE) or ["mine"]
        (tmp_path / f"{named.lower()}.py").write_text(body)
    main([str(tmp_path), "--seed", "7", "--markdown"], "thimble lab judge")
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert "\n".join(rows) in page("run-a-contest")
