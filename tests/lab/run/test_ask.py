"""Jobs have keys that last; their answers are those of a session by itself."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.histories import TinyCounter
from tests.support.ollama_server import served
from tests.support.scripted import Scripted
from tests.support.sessions import tool_call
from tests.support.studies import job, question
from thimble.agent.budget import Budget
from thimble.agent.messages import Message
from thimble.agent.view import measure_view
from thimble.corpus.questions import Fact, Proof
from thimble.lab.experiment import Row, made_by
from thimble.lab.run.ask import NO_ROOM, Job, ask_in_session, fact_depth, run_job
from thimble.lab.run.command import Study
from thimble.models import READER
from thimble.session.parser import Parser
from thimble.session.session import Session

SPECS = ("none", "observation-masking", "hybrid")


def jobs(*flags: str) -> list[Job]:
    """The jobs of these flags."""
    parser = Parser("x")
    Study().add_flags(parser)
    parser.set_defaults(store=None, jobs=None)
    return Study().cases(parser.parse_args(flags))


@settings(max_examples=15)  # each reads the file of all questions
@given(
    st.lists(st.sampled_from(SPECS), min_size=1, max_size=4),
    st.lists(st.integers(500, 9000), min_size=1, max_size=3),
    st.lists(st.integers(0, 9), min_size=1, max_size=3),
)
def test_each_question_is_asked_under_each_combination(specs: list[str], budgets: list[int], seeds: list[int]) -> None:
    numbers = ["--budget", *map(str, budgets), "--seed", *map(str, seeds)]
    found = jobs("--kind", "summary", "--strategy", *specs, "--model", "reader", "ollama:m", *numbers)
    every = {*product({one.question.id for one in found}, {*specs}, {*budgets}, {*seeds})}
    assert {(one.question.id, one.strategy, one.budget, one.seed) for one in found if one.model != READER} == every
    assert len({one.key for one in found}) == len(every) + len(every) // len({*seeds})
    assert [*dict.fromkeys(one.question.id for one in found)] == [
        key for key, _ in groupby(one.question.id for one in found)
    ]


def test_a_key_changes_with_all_that_changes_the_answer(tmp_path: Path) -> None:
    assert job(3).key == "8923f478b0f3a6bc90a77b9e79bdfdbe"  # a store of today must be gone on with tomorrow
    mine, files = tmp_path / "mine.py", []
    for body in ("messages", "messages[:]"):
        mine.write_text(f"def prepare(messages, budget):\n    return {body}\n")
        files += jobs("--kind", "summary", "--strategy", str(mine))[:1]
    one = job(model="openai:m@http://a")
    changes: list[dict[str, Any]] = [
        {"seed": 1}, {"temperature": 0.5}, {"summariser": "s"}, {"memory": "s"}, {"price": "cached=0.5"},
        {"budget": 500}, {"strategy": "hybrid"}, {"model": "openai:n@http://a"}, {"question": question("q0", 2)},
    ]  # fmt: skip
    others = [*(replace(one, **change) for change in changes), *files]
    assert len({one.key, *(other.key for other in others)}) == 1 + len(others)
    assert replace(one, model="openai:m@http://b").key == one.key


def test_a_row_names_all_that_is_not_usual() -> None:
    one = Job(
        question("q"), "./mine.py", model="ollama:m@http://a", temperature=0.8, summariser="small", code="abcdefgh"
    )
    assert one.columns["model"] == "ollama:m, temperature 0.8, summariser small"
    assert (one.columns["strategy"], job().columns["model"]) == ("./mine.py (abcdef)", "reader")


# --- answers ----------------------------------------------------------------------------------------------------------


def test_a_dialogue_has_a_session_of_its_own_and_is_answered_always_the_same() -> None:
    one = Job(question("q", 2), "llm-summary:every=1", 3000)
    first, second = rows = run_job(one)
    assert run_job(one) == rows
    assert (first["right"], first["why"], second["right"]) == (True, "", True)
    assert (first["exchange"], second["exchange"], second["kind"], second["made_by"]) == (1, 2, "dialogue", made_by())
    assert first["turns"] > 1
    assert [bool(calls) for _, calls in first["actions"]] == [True] * (first["turns"] - 1) + [False]
    assert first["actions"][-1][0] == first["text"]
    assert first["prompt"] > 1000 * first["turns"]
    assert sum(row["spent"] for row in rows) == pytest.approx(sum(row["cost"] for row in rows))


def test_the_calls_of_a_strategy_count_in_the_cost_and_not_as_turns() -> None:
    _, second = run_job(Job(question("q", 2), "llm-summary:every=1", 1500))
    assert (second["side_calls"] > 0, second["turns"]) == (True, len(second["actions"]))
    assert 0 < second["side_cost"] < second["cost"] == pytest.approx(second["spent"])


def test_a_question_without_room_is_a_wrong_answer_and_no_failure() -> None:
    (only,) = run_job(job(strategy="observation-masking", budget=300))
    assert (only["error"], only["right"], only["why"], only["ending"]) == ("", False, "no answer", NO_ROOM)
    assert (only["turns"], only["places"]) == (0, [None])


def scripted(one: Job, read: str) -> Row:
    """The row of a job whose model reads something and then answers by its seed."""
    session = Session(one.settings)
    said = f"It is {84 if one.seed else 85} % [observation-masking]."
    session.agent.use(Scripted([["Look.", tool_call("read_article", slug=read)][1], said], TinyCounter()))
    (row,) = ask_in_session(session, one)
    return row


def test_a_scripted_model_is_scored_and_its_passages_are_found() -> None:
    wrong, right = (scripted(job(seed=seed), "observation-masking") for seed in (0, 1))
    assert (wrong["right"], right["right"], wrong["seed"], right["seed"]) == (False, True, 0, 1)
    assert all(0.2 < found["places"][0] < 1 for found in (wrong, right))
    assert scripted(job(seed=1), "sampling")["places"] == [None], "it was not read"


def test_a_server_gets_seed_and_temperature_and_one_that_is_gone_is_a_failure() -> None:
    with served() as (ollama, url):
        asked = [job(model=f"ollama:qwen2.5:7b@{url}", seed=seed, temperature=0.8) for seed in (3, 4)]
        rows = [row for one in asked for row in run_job(one)]
        options = [body["options"] for body in ollama.sent()]
    sent = {(option["seed"], option["temperature"]) for option in options}
    assert sent - {(3, 0)} == {(3, 0.8), (4, 0.8)}, "but for the trial of tool calls, at temperature 0"
    assert [(row["model"], row["error"]) for row in rows] == [("ollama:qwen2.5:7b, temperature 0.8", "")] * 2
    (gone,) = run_job(asked[0])
    assert "nothing answers" in gone["error"]
    assert (gone["right"], gone["ending"], gone["spent"], gone.keys()) == (None, "", 0, rows[0].keys())


# --- places in a prompt -----------------------------------------------------------------------------------------------

SENTENCE = "A thimble holds two [millilitres](volumes)."


@given(st.integers(0, 40), st.integers(0, 40), st.booleans())
def test_a_place_is_the_share_of_the_prompt_before_the_passage(before: int, behind: int, with_link: bool) -> None:
    counter = TinyCounter()
    said = SENTENCE if with_link else "A thimble  holds\ntwo millilitres."
    texts = [*["Some words."] * before, said, *["Other words."] * behind]
    messages = [Message(f"m{at}", "user", text) for at, text in enumerate(texts)]
    view = measure_view(messages, messages, Budget(10**6, counter, 7))
    fact = Fact(("two",), (Proof("A thimble is empty.", article="x"), Proof(SENTENCE, article="x")))
    wanted = (7 + sum(map(counter.count, messages[:before]))) / view.tokens
    assert fact_depth(fact, view, counter) == pytest.approx(wanted, abs=0.0001)
    assert fact_depth(Fact(("two",), (Proof("A thimble is full.", article="x"),)), view, counter) is None
