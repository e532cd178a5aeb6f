"""`thimble lab questions`: which questions are asked under which strategy, and what is shown of the answers."""

from __future__ import annotations

import csv
import json
from argparse import Namespace

import pytest

from thimble.corpus.questions import load
from thimble.lab.questions.command import QUESTION_BUDGET, ROOM_ENOUGH, main, question_jobs
from thimble.strategies import STRATEGIES


def test_by_default_dialogues_are_asked_under_all_strategies_and_every_question_with_room_enough() -> None:
    questions = load().questions
    jobs = question_jobs(questions, Namespace(strategy=None, budget=QUESTION_BUDGET, model="reader"))
    assert {job.strategy for job in jobs} == {*STRATEGIES}
    with_room = [job.question for job in jobs if (job.strategy, job.budget) == ("none", ROOM_ENOUGH)]
    assert with_room == list(questions)
    assert {job.question.kind for job in jobs if job.strategy != "none"} == {"dialogue"}
    named = question_jobs(questions, Namespace(strategy=["hybrid"], budget=500, model="reader"))
    assert [(job.question, job.strategy, job.budget) for job in named] == [(one, "hybrid", 500) for one in questions]


def test_every_form_has_the_answers(capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--kind", "listing", "--strategy", "none", "truncate", "--budget", "4000"]
    main(flags, "lab questions")
    text = capsys.readouterr().out
    main([*flags, "--json"], "lab questions")
    answers = json.loads(capsys.readouterr().out)
    asked = sum(question.kind == "listing" for question in load().questions)
    assert [answer["strategy"] for answer in answers] == ["none", "truncate"] * asked
    right = sum(answer["right"] for answer in answers if answer["strategy"] == "none")
    assert f"{right / asked:.0%}".replace("%", " %") in text
    assert "Right answers by kind of question, %: reader" in text
    assert "Differences from none" in text
    main([*flags, "--csv"], "lab questions")
    lines = [*csv.DictReader(capsys.readouterr().out.splitlines())]
    assert [line["question"] for line in lines] == [answer["question"] for answer in answers]


def test_wrong_answers_are_shown_with_their_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--kind", "neartopic", "--strategy", "none", "--wrong", "--markdown"], "lab questions")
    text = capsys.readouterr().out
    main(["--kind", "neartopic", "--strategy", "none", "--json"], "lab questions")
    wrong = [one for one in json.loads(capsys.readouterr().out) if not one["right"]]
    assert text.count("| none @8,000 |") == len(wrong)
    assert all(f"{one['question']}.{one['exchange']} | {one['why']}" in text for one in wrong)
