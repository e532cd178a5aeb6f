"""`thimble lab run`: its flags, what it refuses, what it keeps, and what it prints from a store alone."""

from __future__ import annotations

import csv
import json
import re
from io import StringIO
from pathlib import Path

import pytest

from tests.support.studies import UNANSWERED
from thimble.lab.__main__ import main
from thimble.lab.run.command import Study
from thimble.session.parser import Parser

ASKED = ("run", "--questions", "asked.yaml")
FLAGS = (*ASKED, "--strategy", "none", "observation-masking", "--budget", "4000", "--jobs", "1")
GONE = "ollama:m@http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("asked.yaml").write_text(UNANSWERED)


def test_a_study_stops_at_its_ceiling_goes_on_and_is_printed_from_its_store(capfd: pytest.CaptureFixture[str]) -> None:
    assert main([*FLAGS, "--store", "s.jsonl", "--ceiling", "5", "--price", "dollars=1000"]) == 0
    part, told = capfd.readouterr()
    done = int(re.match(r"\d+", part)[0])  # type: ignore[index]
    assert 2 <= done < 8
    assert f"{8 - done} cases are left: run the same command with a higher --ceiling to continue\n" in told
    assert main([*FLAGS, "--store", "s.jsonl"]) == 0
    whole, _ = capfd.readouterr()
    assert whole.startswith("8 finished jobs, 0 of them failed")
    assert main(["run", "--store", "s.jsonl", "--report", "page.html"]) == 0
    assert ">Answers and cost: reader<" in Path("page.html").read_text()
    assert capfd.readouterr() == (whole, "")
    for title in ("Answers and cost: reader", "Right answers by kind of question", "Differences from none: reader"):
        assert title in whole


def test_without_a_store_the_answers_are_shown_in_every_form_and_nothing_is_kept(
    capfd: pytest.CaptureFixture[str],
) -> None:
    said = {}
    for form in ("--json", "--csv", "--wrong"):
        assert main([*ASKED, form, "--markdown"] if form == "--wrong" else [*ASKED, form]) == 0
        said[form] = capfd.readouterr().out
    rows, lines = json.loads(said["--json"]), [*csv.DictReader(StringIO(said["--csv"]))]
    assert [(row["strategy"], row["question"]) for row in rows] == [("none", f"q{number}") for number in range(4)]
    assert [line["text"] for line in lines] == [row["text"] for row in rows]
    wrong = [row for row in rows if not row["right"]]
    assert said["--wrong"].count("| none @8,000 |") == len(wrong) > 0
    assert all(f"{row['question']}.1 | {row['why']}" in said["--wrong"] for row in wrong)
    assert [each.name for each in Path().iterdir()] == ["asked.yaml"]


def test_a_ceiling_in_dollars_is_that_of_the_card_and_a_server_gets_one_job_at_once() -> None:
    parser = Parser("x")
    Study().add_flags(parser)
    parser.set_defaults(store=None, jobs=None)
    options = parser.parse_args(
        ["--questions", "asked.yaml", "--ceiling", "0.5", "--price", "dollars=2,output=4", "--model", "ollama:m"]
    )
    assert {job.price for job in Study().cases(options)} == {"cached=0.1,output=4"}
    assert (options.ceiling, options.jobs) == (250_000, 1)


@pytest.mark.parametrize(
    ("flags", "what"),
    [
        ("--store s", "there is no store s"),
        ("--strategy nothing", "there is no strategy"),
        ("--strategy ./none.py", "cannot be read"),
        ("--budget 3", "--budget cannot be '3'"),
        ("--seed x", "--seed cannot be 'x'"),
        ("--model qwen", "'qwen' is not a model"),
        (f"--store s.jsonl --strategy none --model {GONE}", "127.0.0.1:9"),
        ("--ceiling 0", "--ceiling cannot be '0'"),
        ("--price gold=1", "--price cannot be 'gold=1'"),
        ("--questions no.yaml", "cannot read no.yaml"),
        ("--kind talk", "of this kind"),
        ("--summariser m@", "the summariser cannot be"),
    ],
)
def test_a_mistake_is_one_line_and_how_to_mend_it(flags: str, what: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main([*ASKED, *flags.split()]) == 2
    told = capfd.readouterr().err.splitlines()
    assert len(told) == 2
    assert what in told[0]
    assert told[1].startswith("fix: ")
    assert not Path("s.jsonl").exists() or Path("s.jsonl").read_text() == ""
