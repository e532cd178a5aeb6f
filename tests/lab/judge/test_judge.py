"""A contest: the formula by hand, laws, hostile files, a row a file, and the same table for the same seed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.docs.test_pages import page
from tests.support.family import family
from thimble.agent.budget import Prices
from thimble.agent.errors import UsageError
from thimble.agent.messages import Message, ToolCall
from thimble.commands.trajectories import Trajectory
from thimble.lab.experiment import Row
from thimble.lab.judge.command import FORMULA, REFERENCE_STRATEGIES, JudgeCase, add_score, judge_case, main
from thimble.lab.judge.dialogues import FACT_WORDS, FACTS, generate_runs, plant_facts
from thimble.lab.judge.measure import WEIGHTS, measure_strategy
from thimble.lab.replay.recorded_replay import ReplaySetting, replay_run
from thimble.strategies.table import STRATEGIES
from thimble.workshop.exercise_set import BUILT_IN_EXERCISES

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


RUNS = [plant_facts(one, 7) for one in (run("one", "a", "b", "a"), run("two", "a", "a", "b", "b", "a"))]
MADE = [plant_facts(one, 7) for one in generate_runs(7)[:1]]


def settings(spec: str, limit: int = 2_000) -> list[ReplaySetting]:
    return [ReplaySetting(spec, limit, price, "", 20) for price in (Prices(1.0), Prices(0.5))]


def verdict(folder: Path, text: str, seconds: int = 60, limit: int = 2_000, dialogues: Any = RUNS) -> Any:
    (folder / "mine.py").write_text(text)
    return judge_case(JudgeCase("mine.py", dialogues, settings("mine.py", limit), folder, text, seconds))


def sums(costs: list[float], calls: int, kept: int, planted: int, repeats: int, again: int) -> Row:
    return {"strategy": "mine.py", "reason": "", "costs": costs, "calls": calls, "kept": kept, "planted": planted,
            "repeats": repeats, "again": again}  # fmt: skip


# --- the formula ------------------------------------------------------------------------------------------------------


def test_the_score_by_hand_and_on_the_page() -> None:
    everything = sums([1000, 400], 9, 10, 10, 0, 4)
    told = add_score(sums([500, 300], 9, 4, 10, 1, 4), everything)
    assert (told["cost"], told["score"]) == ([0.5, 0.75], pytest.approx(30 * (1 - 0.625) + 40 * 0.4 + 30 * 0.75))
    assert add_score(everything, everything)["score"] == pytest.approx(70)
    assert add_score(sums([500, 200], 9, 0, 0, 0, 0), everything)["score"] == pytest.approx(15 + 40 + 30)
    fewer = add_score(sums([1, 1], 7, 8, 8, 0, 4), everything)
    assert (fewer["score"], fewer["reason"]) == (None, "no view fits the budget at 2 calls")
    text = page("run-a-contest")
    formula = " + ".join(f"{points} · {part}" for part, points in WEIGHTS.items())
    assert f"Score = {formula}" in text
    assert FORMULA.startswith(f"Score = {formula}. ")
    assert f"{told['score']:.2f}" in text
    assert all(f"\n{name} " in text for name in REFERENCE_STRATEGIES)


def test_two_runs_by_hand(tmp_path: Path) -> None:
    assert [len(facts) for _, facts in RUNS] == [3, 5]
    everything = measure_strategy(RUNS, settings("none"), lawful=False)
    kept = (2 + 3) + (3 + 3 + 5 + 5)  # of a, and of a and b, at each call from the third on
    views = [call.view for one, _ in RUNS for call in replay_run(one, settings("none")[0]) if call.view]
    sent, cached = sum(view.tokens for view in views), sum(view.cached for view in views)
    counts = {"calls": 4 + 6, "planted": kept, "again": 1 + 3, "quoted": 0, "quoted_lost": 0}
    assert everything == {"costs": [sent, sent - cached / 2], **counts, "kept": kept, "repeats": 0}
    most = max(view.tokens for view in views)
    assert measure_strategy(RUNS, settings("none", most)) == everything
    with pytest.raises(UsageError, match=f"{most:,} tokens, and the budget is {most - 1:,}"):
        measure_strategy(RUNS, settings("none", most - 1))
    hidden = verdict(tmp_path, HIDES)
    assert hidden == {"costs": hidden["costs"], **counts, "kept": 0, "repeats": 4}
    two = measure_strategy(RUNS[1:], settings("sliding-window:window=1"))  # of a a b b a only the last is far behind
    assert (two["again"], two["repeats"]) == (3, 1)


def test_a_fact_is_words_in_a_row_of_a_result_and_the_seed_says_which() -> None:
    made = run("two", "a", "a", "b", "b", "a")
    same, facts = plant_facts(made, 7)
    assert (same, len(facts)) == (made, min(FACTS, 5))
    for fact in facts:
        assert len(fact.split(" ")) == FACT_WORDS
        assert all(one.role == "tool" for one in made.messages if fact in one.content)
    assert plant_facts(made, 7)[1] == facts
    assert {*plant_facts(made, 8)[1]} != {*facts}


@pytest.mark.parametrize("results", [1, 5])
def test_a_run_that_ends_with_a_result_has_no_fact_in_it_that_no_view_can_show(results: int) -> None:
    cut, facts = plant_facts(Trajectory("one", run("", *"abcde").messages[: 2 + 2 * results]), 7)
    assert len(facts) == results - 1
    assert not any(fact in cut.messages[-1].content for fact in facts)
    found = measure_strategy([(cut, facts)], settings("none"))
    assert found["kept"] == found["planted"] == sum(range(results - 1))  # at each call, those of all turns but the last


def test_made_dialogues_go_by_the_seed_and_read_some_articles_again() -> None:
    assert generate_runs(3) == generate_runs(3) != generate_runs(4)
    runs = [plant_facts(one, 3)[0] for one in generate_runs(3)]
    assert {(one.messages[0].role, one.messages[-1].role) for one in runs} == {("system", "assistant")}
    found = measure_strategy([(one, ()) for one in runs], settings("none", 10**9))
    assert found["again"] > found["repeats"] == 0


# --- what is refused, in one line -------------------------------------------------------------------------------------

UNFITTED = "class Mine:\n    fitted = False\n    def prepare(self, messages, budget): return messages[:]\n"
TURN, STOPPED = r"^one, turn \d+: .*", "no result within 1 seconds: stopped "
REFUSED = {
    "return [m for m in messages if m.role != 'tool']": TURN + "the view had to be repaired",
    "return messages[:1] + messages[2:]": TURN + "put back the question or task",
    "return messages + messages[-1:]": TURN + "into the order of the history",
    "return None": TURN + "prepare must return a list of messages, not None",
    "return messages[99]": TURN + "IndexError",
    "import random; return [m.rewritten(str(random.random()), 'why') if m.call_id else m for m in messages]": TURN
    + "played twice from the start, it makes two different views",
    UNFITTED: TURN + "and the budget is 150",
    "while True: pass": STOPPED,
    "pass\nwhile True: pass": STOPPED,
    "return 'x' * 10**11": "MemoryError",
    "print('FLOOD'); return messages[:]": "it prints",
    "return messages[:]\nprint('FLOOD')": "it prints",
    "import os; os.write(1, b'FLOOD'); return messages[:]": "it prints",
    "import os; os._exit(3)": r"its process ended unexpectedly \(exit code 3\)",
    "import os; os.kill(os.getpid(), 9)": "PermissionError: os.kill is not allowed",
    "pass\nraise ValueError('no')": r"mine.py cannot be loaded: ValueError: no",
    "'\\d'; raise ValueError": "ValueError",  # a warning of Python
    "raise KeyboardInterrupt": "stopped in mine.py",
    "raise ValueError('\\x1b[2J')": "ValueError",
    "return (": "SyntaxError",
}


@pytest.mark.parametrize("body", REFUSED)
def test_what_is_broken_or_hostile_is_refused_in_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], body: str
) -> None:
    told, over = REFUSED[body], body == UNFITTED
    text = body if over else f"def prepare(messages, budget):\n    {body}\n"
    found = verdict(tmp_path, text, seconds=1 if told is STOPPED else 60, limit=150 if over else 2_000)
    assert re.search(told, found)
    assert found.isprintable()
    assert "FLOOD" not in found
    assert capfd.readouterr() == ("", "")


# --- what is lawful ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", family(sorted(one.parent.name for one in BUILT_IN_EXERCISES.glob("*/solution.py"))))
def test_each_solution_of_the_workshop_is_lawful(tmp_path: Path, name: str) -> None:
    text = (BUILT_IN_EXERCISES / name / "solution.py").read_text()
    assert not isinstance(verdict(tmp_path, text, limit=8_000, dialogues=MADE), str)


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
    found = verdict(tmp_path, text)
    assert found == measure_strategy(RUNS, settings(str(tmp_path / "mine.py")), lawful=False)
    assert found["costs"][0] > measure_strategy(RUNS, settings("none"), lawful=False)["costs"][0]


@pytest.mark.parametrize("name", family([*STRATEGIES], "comem", "summary-buffer"))
def test_a_strategy_that_ships_comes_to_the_same_in_the_jail(name: str, tmp_path: Path) -> None:
    kind = STRATEGIES[name]
    text = f"from {kind.__module__} import {kind.__name__}\nclass Mine({kind.__name__}):\n    pass\n"
    try:
        found: Row | str = measure_strategy(MADE, settings(name, 8_000))
    except UsageError as error:
        found = error.what
    assert verdict(tmp_path, text, limit=8_000, dialogues=MADE) == found


# --- the command ------------------------------------------------------------------------------------------------------


def test_a_row_a_file_the_best_first_and_the_same_seed_gives_the_same_table_and_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, runs, report = tmp_path / "contest", tmp_path / "runs.jsonl", tmp_path / "page.html"
    folder.mkdir()
    flags = [str(folder), "--runs", str(runs)]

    def said(*more: str) -> str:
        main([*flags, *more], "thimble lab judge")
        return capsys.readouterr().out

    with pytest.raises(UsageError, match=r"has no file that ends in \.py"):
        said()
    for name, text in {"hides": HIDES, "anna+hides": HIDES, "broken": "raise ValueError\n"}.items():
        (folder / f"{name}.py").write_text(text)
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Read."}]
    for at in range(3):
        call = {"id": f"c{at}", "type": "function", "function": {"name": "read", "arguments": "{}"}}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{at}", "content": "word " * 50})
    runs.write_text(f"{json.dumps([*messages, {'role': 'assistant', 'content': 'Done.'}])}\n" * 2)
    rows = json.loads(said("--json"))
    scores = [row["score"] for row in rows if row["score"] is not None]
    assert scores == sorted(scores, reverse=True)
    reasons = {row["strategy"]: row["reason"] for row in rows}
    assert reasons.keys() == {"hides.py", "anna+hides.py", "broken.py", *REFERENCE_STRATEGIES}
    assert {*reasons} - {row["strategy"] for row in rows[: len(scores)]} == {"anna+hides.py", "broken.py"}
    assert "cannot be loaded" in reasons["broken.py"]
    assert reasons["anna+hides.py"] == "a + in a name joins two strategies: rename the file"
    assert len(said("--csv").splitlines()) == 1 + len(rows)
    first = said("--seed", "5", "--report", str(report))
    drawn = report.read_bytes()
    report.unlink()
    assert said("--seed", "5", "--report", str(report)) == first
    assert report.read_bytes() == drawn
    assert first.startswith("2 dialogues, 8 calls, seed 5.\nScore = 30 · saved + 40 · facts + 30 · found")
    with pytest.raises(UsageError, match="no call of the dialogues fits the budget"):
        said("--budget", "5")
