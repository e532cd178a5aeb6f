from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.family import family
from tests.support.paths import ROOT
from tests.support.pty_terminal import Terminal
from thimble.commands.tour import TOURS, Tour
from thimble.repl.conversation import NEW_HERE

OFF_THE_SCRIPT = (
    "/nonsense",
    "/why 999",
    "What is a summary buffer?",
    "/help",
    "/tour no-such",
    "/budget",
    "\x03",
    "/tour",
)


@pytest.fixture
def here(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Terminal]:
    opened = Terminal("repl", "tour", request.param, "--backend", "reader", state=tmp_path, rows=24)
    yield opened
    opened.close()


def reached(here: Terminal) -> int:
    """The newest step on the screen; one more than there are at the end."""
    everything = "\n".join([*here.screen.gone, here.text])
    over = "That was the tour" in everything
    return 999 if over else max(map(int, re.findall(r" TOUR (\d+) of", everything)), default=0)


def wait(here: Terminal, *texts: str, after: int = -1) -> None:
    """Until these texts have come, and an empty prompt below a later step."""

    def asks() -> bool:
        return here.screen.cursor.x == 2 and here.lines[here.screen.cursor.y].startswith("›")

    here.see(*texts, until=lambda _: asks() and reached(here) > after)


@pytest.mark.parametrize("here", family(TOURS), indirect=True)
def test_enter_leads_through_a_tour_whatever_is_typed_between(here: Terminal) -> None:
    off, at = [*OFF_THE_SCRIPT], 0
    while at < 999:
        wait(here, after=at)
        at = reached(here)
        if at == 1:
            assert here.text.index("56 articles") < here.text.index("TOUR 1 of"), "its words belong to the prompt below"
        if off and at % 2:
            line = off.pop()
            here.type(line if line < " " else f"{line}\r")
            wait(here, "Ctrl-D" if line < " " else f"› {line}")
            assert reached(here) == at or not line.startswith("/"), "a question of one's own may get there, too"
            at = reached(here)
        here.type("\r")
    assert not [line for line in here.screen.gone if len(line) > 80]
    here.type("/quit\r")
    assert here.end() == 0


@pytest.mark.parametrize("name", family(TOURS))
def test_through_a_pipe_an_empty_line_sends_the_one_that_is_told(name: str, tmp_path: Path, forked: Path) -> None:
    steps = Tour(name).steps
    lines = "\n" * 2 + "/stats\n" + "\n" * len(steps)
    ran = subprocess.run(
        [forked, "tour", name, "--plain", "--backend", "reader", "--session-dir", str(tmp_path)],
        input=lines, capture_output=True, text=True, cwd=ROOT, check=True,
    )  # fmt: skip
    told = ran.stderr
    assert "That was the tour of" in told
    assert ran.stdout.startswith("The tour of")
    assert "\x1b" not in told + ran.stdout
    shown = [int(number) for number in re.findall(r"^TOUR (\d+) of", told, re.MULTILINE)]
    assert shown == sorted(shown)
    assert set(range(1, len(steps) + 1)) - {*shown} <= {2}, "only what is so already is passed over"


@pytest.mark.nightly
def test_only_the_first_session_begins_with_a_tour_and_questions(tmp_path: Path) -> None:
    first = Terminal("repl", "--backend", "reader", state=tmp_path, rows=24)
    try:
        first.see(NEW_HERE, " tools")
        first.type("/tour\r")
        first.see(" TOUR 1 of", "› /budget 5000")
        first.type("\t")
        first.type("\x7f\x7f00\r")
        first.see("The budget is 5,000 tokens", "› /context")
        for question in re.findall(r"\w[^:.?]+\?", NEW_HERE.partition("ask:")[2]):
            first.type(f"{question}\r")
            first.see(
                f"› {question}", "The tour waits for the table of /context", until=lambda _: "turns " in first.text
            )
            assert "the closest passages are" not in first.text
        first.type("/quit\r")
        assert first.end() == 0
    finally:
        first.close()
    second = Terminal("repl", "--backend", "reader", state=tmp_path, rows=24)
    try:
        second.see("thimble ·", " tools", "next ")
        assert NEW_HERE not in second.text
    finally:
        second.close()
