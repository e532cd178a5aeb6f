"""`thimble lab questions`: the answers are shown in every form, and nothing is kept."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from thimble.corpus.questions import load
from thimble.lab.questions.command import main


def test_every_form_has_the_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    flags = ["--kind", "listing", "--strategy", "none", "truncate", "--budget", "4000"]
    main(flags, "lab questions")
    text = capsys.readouterr().out
    main([*flags, "--json"], "lab questions")
    answers = json.loads(capsys.readouterr().out)
    asked = sum(question.kind == "listing" for question in load().questions)
    assert {strategy: sum(one["strategy"] == strategy for one in answers) for strategy in ("none", "truncate")} == {
        "none": asked,
        "truncate": asked,
    }
    right = sum(answer["right"] for answer in answers if answer["strategy"] == "none")
    assert f"{right / asked:.0%}".replace("%", " %") in text
    assert "Right answers by kind of question, %: reader" in text
    assert "Differences from none: reader" in text
    main([*flags, "--csv"], "lab questions")
    lines = [*csv.DictReader(capsys.readouterr().out.splitlines())]
    assert [line["question"] for line in lines] == [answer["question"] for answer in answers]
    assert [*tmp_path.iterdir()] == []


def test_wrong_answers_are_shown_with_their_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--kind", "neartopic", "--wrong", "--markdown"], "lab questions")
    text = capsys.readouterr().out
    main(["--kind", "neartopic", "--strategy", "none", "--json"], "lab questions")
    wrong = [one for one in json.loads(capsys.readouterr().out) if not one["right"]]
    assert text.count("| none @8,000 |") == len(wrong)
    assert all(f"{one['question']}.{one['exchange']} | {one['why']}" in text for one in wrong)
