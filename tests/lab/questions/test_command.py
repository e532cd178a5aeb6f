"""`thimble lab questions`: the answers are shown in every form, and nothing is kept."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import pytest

from thimble.corpus.questions import QUESTIONS_FILE
from thimble.lab.questions.command import main

FEW = 4
FLAGS = ["--questions", "few.yaml", "--strategy", "none", "truncate", "--budget", "4000", "--jobs", "1"]


@pytest.fixture(autouse=True)
def _few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """We are in a folder with a file of few questions, some of which the reader answers wrongly."""
    monkeypatch.chdir(tmp_path)
    head, *questions = QUESTIONS_FILE.read_text().split("\n  - id: ")
    listing, near = ([one for one in questions if f"kind: {kind}\n" in one] for kind in ("listing", "neartopic"))
    Path("few.yaml").write_text("\n  - id: ".join([head, *listing[:FEW], *near[-FEW:]]) + "\n")


def asked(capsys: pytest.CaptureFixture[str], *flags: str) -> str:
    main([*FLAGS, *flags], "lab questions")
    return capsys.readouterr().out


@pytest.mark.nightly
def test_the_answers_are_shown_and_nothing_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = json.loads(asked(capsys, "--json"))
    assert Counter(answer["strategy"] for answer in answers) == {"none": 2 * FEW, "truncate": 2 * FEW}
    right = sum(answer["right"] for answer in answers if answer["strategy"] == "none")
    text = asked(capsys)
    assert f"{right / (2 * FEW):.0%}".replace("%", " %") in text
    assert "Right answers by kind of question, %: reader" in text
    assert "Differences from none: reader" in text
    assert [each.name for each in tmp_path.iterdir()] == ["few.yaml"]


@pytest.mark.nightly
def test_every_form_has_the_answers_and_the_wrong_ones_their_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    answers = json.loads(asked(capsys, "--json"))
    wrong = [answer for answer in answers if not answer["right"]]
    assert wrong
    told = asked(capsys, "--wrong", "--markdown")
    assert told.count("| none @4,000 |") + told.count("| truncate @4,000 |") == len(wrong)
    assert all(f"{one['question']}.{one['exchange']} | {one['why']}" in told for one in wrong)
    lines = [*csv.DictReader(asked(capsys, "--csv").splitlines())]
    assert [line["question"] for line in lines] == [answer["question"] for answer in answers]
