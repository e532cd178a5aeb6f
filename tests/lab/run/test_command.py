"""`thimble lab run`: its flags, what it refuses, and what it prints from a store alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.studies import UNANSWERED
from thimble.lab.__main__ import main
from thimble.lab.run.command import _jobs, _parser
from thimble.lab.store import Store

FLAGS = ("run", "--strategy", "none", "observation-masking", "--budget", "4000", "--jobs", "1")
GONE = "ollama:m@http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("asked.yaml").write_text(UNANSWERED)


def test_a_study_stops_at_its_ceiling_goes_on_and_is_printed_from_its_store(capfd: pytest.CaptureFixture[str]) -> None:
    flags = (*FLAGS, "--questions", "asked.yaml", "--store", "s.jsonl")
    assert main([*flags, "--ceiling", "5", "--price", "dollars=1000"]) == 0
    part, told = capfd.readouterr()
    done = int(re.match(r"\d+", part)[0])  # type: ignore[index]
    assert 2 <= done < 8
    left = f"{8 - done} of 8 jobs are left: the same command with a higher --ceiling goes on\n"
    assert told.endswith(left)  # a slow machine tells how far it is, too
    assert main([*flags]) == 0
    whole, told = capfd.readouterr()
    assert whole.startswith("8 finished jobs, 0 of them failed")
    assert main(["run", "--store", "s.jsonl", "--report", "page.html"]) == 0
    assert ">Answers and cost: reader<" in Path("page.html").read_text()
    assert capfd.readouterr() == (whole, "")
    for title in ("Answers and cost: reader", "Right answers by kind of question", "Differences from none: reader"):
        assert title in whole


def test_a_ceiling_in_dollars_is_that_of_the_card() -> None:
    flags = "--store s --strategy none --questions asked.yaml --kind offtopic --ceiling 0.5 --price dollars=2,output=4"
    options = _parser("x").parse_args(flags.split())
    assert {job.question.kind for job in _jobs(options)} == {"offtopic"}
    assert options.ceiling == 250_000


@pytest.mark.parametrize(
    ("flags", "what"),
    [
        ((), "the following arguments are required: --store"),
        (("--store", "s.jsonl"), "there is no store s.jsonl"),
        (("--store", "s.jsonl", "--strategy", "nothing"), "there is no strategy"),
        (("--store", "s.jsonl", "--strategy", "./none.py"), "cannot be read"),
        (("--store", "s.jsonl", "--strategy", "none", "--budget", "3"), "--budget cannot be '3'"),
        (("--store", "s.jsonl", "--strategy", "none", "--seed", "x"), "--seed cannot be 'x'"),
        (("--store", "s.jsonl", "--strategy", "none", "--model", "qwen"), "'qwen' names no model"),
        (("--store", "s.jsonl", "--strategy", "none", "--model", GONE), "127.0.0.1:9"),
        (("--store", "s.jsonl", "--strategy", "none", "--ceiling", "0"), "--ceiling cannot be '0'"),
        (("--store", "s.jsonl", "--strategy", "none", "--price", "gold=1"), "--price cannot be 'gold=1'"),
        (("--store", "s.jsonl", "--strategy", "none", "--questions", "no.yaml"), "cannot read no.yaml"),
        (("--store", "s.jsonl", "--strategy", "none", "--kind", "talk"), "of this kind"),
        (("--store", "s.jsonl", "--strategy", "none", "--summariser", "m@"), "the summariser cannot be"),
    ],
)
def test_a_mistake_is_one_line_and_how_to_mend_it(
    flags: tuple[str, ...], what: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "--questions", "asked.yaml", *flags]) == 2
    told = capfd.readouterr().err.splitlines()
    assert len(told) == 2
    assert what in told[0]
    assert told[1].startswith("fix: ")


def test_nothing_is_kept_of_a_study_that_cannot_begin() -> None:
    assert main([*FLAGS, "--questions", "asked.yaml", "--store", "s.jsonl", "--model", GONE]) == 2
    store = Store(Path("s.jsonl"))
    assert store.records() == []
    store.close()
