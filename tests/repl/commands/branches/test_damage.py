"""Whatever line of a journal is lost, there is a tree, and one can go on from it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.branched_sessions import run, session_in
from thimble.agent.errors import ThimbleError
from thimble.session.journal.lines import read
from thimble.session.journal.records import Branched

LINES = (
    "What is masking?",
    "And what else?",
    "/fork 1 none",
    "Who says so?",
    "/undo",
    "/retry",
    "/plant It is 7.",
    "/tree 1",
)


def test_any_line_may_be_lost(tmp_path: Path) -> None:
    path = tmp_path / "whole.jsonl"
    session = session_in(path, budget=2500)
    for line in LINES:
        with suppress(ThimbleError):
            run(session, line)
    session.journal.close()
    whole = path.read_bytes().splitlines(keepends=True)
    for number in range(0, len(whole), 3):
        damaged = tmp_path / f"{number}.jsonl"
        data = b"".join([*whole[:number], b"#" + whole[number][1:], *whole[number + 1 :]])
        damaged.write_bytes(data)
        again = session_in(damaged, budget=2500)
        assert "together" in run(again, "/tree")
        for line in ("/fork 0", "And now?", "/undo", "/tree 1", "/retry none", "/tree"):
            with suppress(ThimbleError):
                run(again, line)
        assert damaged.read_bytes().startswith(data)
        assert len(read(damaged.read_bytes())[1]) <= 1
        again.journal.close()


@pytest.mark.parametrize("number", [3, 2**31, 2**53 - 1])
def test_whatever_number_a_branch_was_given_one_can_go_on_from_it(number: int, tmp_path: Path) -> None:
    path = tmp_path / "numbered.jsonl"
    session = session_in(path)
    run(session, "What is masking?")
    session.record(Branched(number, 1))
    session.journal.close()
    again = session_in(path)
    for line, branch in (("/fork 0", 2), ("And now?", 2), ("/undo", 4 if number == 3 else 3)):
        run(again, line)
        assert again.journal.tree.current == branch
    again.journal.close()
    assert not read(path.read_bytes())[1]
