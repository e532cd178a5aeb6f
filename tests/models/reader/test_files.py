"""The reader with files: it reads on, searches the file that is meant, and quotes whole lines of it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.reader_library import Session, make_tools, masked, write

FILES = {
    "web.log": "".join(
        f"10:{n // 60:02}:{n % 60:02} {'ERROR disk is full' if n == 150 else f'INFO page {n}'} [12/Feb/2026:10:00:01]\n"
        for n in range(1, 201)
    ),
    "checks.txt": "".join(
        f"check_{n:03} {'FAILED' if n in (5, 130) else 'PASSED'} [{n / 2:.0f}%]\n" for n in range(200)
    ),
    "colours.log": "fine\n" * 30 + "\x1b[31merror: no room\x1b[0m\n",
    "run.json": json.dumps(
        [{"name": f"job {n}", "steps": [{"n": 1, "state": "ok"}, {"n": n, "state": "late"}]} for n in range(9)]
    ),
}


@pytest.fixture
def session(tmp_path: Path) -> Session:
    tools = make_tools(tmp_path)
    for path, text in FILES.items():
        write(tmp_path / "files" / path, text)
    return Session(tools)


def told(said: str) -> tuple[int, int]:
    found = re.search(r"^(?:Those were lines (\d+) to (\d+)|That was line (\d+)) of 200 of web.log", said, re.MULTILINE)
    assert found
    return int(found[1] or found[3]), int(found[2] or found[3])


@pytest.mark.parametrize("keep", [0, 1, 9])
def test_reading_on_shows_every_line_once_and_says_which(session: Session, keep: int) -> None:
    session.view = masked(keep) if keep else session.view
    said, shown = session.ask("Read the file web.log"), list[str]()
    at = 0
    while True:
        first, last = told(said)
        assert first == at + 1
        shown += re.findall(r"\[web.log:(\d+)\]", said)
        at = last
        if at == 200:
            break
        said = session.ask("Read on")
    assert shown == [str(number) for number in range(1, 201)]
    assert session.ask("Read on") == "I cannot read web.log here: there is no line 201: web.log has 200 lines."


@pytest.mark.parametrize(
    ("request_", "first", "last"),
    [
        ("Read lines 140 to 145 of web.log", 140, 145),
        ("line 150 of web.log", 150, 150),
    ],
)
def test_the_lines_that_are_meant_are_read(session: Session, request_: str, first: int, last: int) -> None:
    assert told(session.ask(request_)) == (first, last)


def test_a_question_is_searched_in_the_file_that_it_names_or_that_was_read(session: Session) -> None:
    assert (
        session.ask("Which line of web.log is an error?")
        == "10:02:30 ERROR disk is full [12/Feb/2026:10:00:01] [web.log:150]"
    )
    assert session.ask("What error is in colours.log?") == "error: no room [colours.log:31]"
    assert session.ask("Who painted web.log?").startswith("I cannot answer that from web.log")
    assert "search_articles" not in {name for name, _ in session.calls()}
    assert session.ask("What is in web.log?") == session.ask("Read the file web.log")
    session.ask("Read the file checks.txt")
    assert re.findall(r"check_\d+ FAILED", session.ask("Which checks failed?")) == [
        "check_005 FAILED",
        "check_130 FAILED",
    ]


def test_what_was_found_is_not_lost_when_its_result_is_masked(session: Session) -> None:
    session.view = masked(1)
    said = session.ask("Which line of web.log is an error, and which checks of checks.txt failed?")
    assert "ERROR disk is full" in said
    assert "check_005 FAILED" in said


def test_a_report_keeps_its_lines(session: Session) -> None:
    said = session.ask("Read the file checks.txt").split("\n")
    assert said[:2] == ["check_000 PASSED [0%] [checks.txt:1]", "check_001 PASSED [0%] [checks.txt:2]"]


def test_an_entry_of_json_is_cited_by_its_number(session: Session) -> None:
    assert session.ask("Read entry 4 of run.json").split("\n")[0] == (
        '[{"name": "job 3", "steps": [{"n": 1, "state": "ok"}, {"n": 3, "state": "late"}]}] [run.json:4]'
    )
