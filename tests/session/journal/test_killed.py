"""Killed at any byte, a session is the one that was stopped behind the last whole event, and goes on from there."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.family import family
from tests.support.histories import is_sound
from tests.support.journal_scenes import QUESTIONS, ask, keep, state, whole
from thimble.agent.messages import CANCELLED
from thimble.session.journal.lines import Writer, read_lines
from thimble.session.journal.records import Resumed

SPECS = ["hybrid:window=1", "notes+progressive-summary", "delegate", "thrifty"]
SETTINGS: dict[str, Any] = {"budget": 6000}


def resumed(number: int) -> bytes:
    """The line of this number that says that the session was resumed."""
    return Writer().line(number, Resumed(), 0)[1].encode()


RESUMED = resumed(1)


class Scene:
    """A session as its file tells of it, and as it really stood behind each line of that."""

    def __init__(self, spec: str, folder: Path) -> None:
        live = keep(folder / "live.jsonl", strategy=spec, **SETTINGS)
        agent = live.agent
        write, self.stood = agent.record, dict[int, dict[str, Any]]()
        assert write

        def record(event: Any) -> None:
            write(event)
            self.stood[live.journal.count] = state(live)

        agent.record = record
        for number, question in enumerate(QUESTIONS):
            ask(live, question, 12 if "stop" in question else 10_000)
            if number == 0:
                live.plant("The code is 4711.")
                self.stood[live.journal.count] = state(live)
        live.journal.close()
        self.data = (folder / "live.jsonl").read_bytes()
        self.ends = [at + 1 for at, byte in enumerate(self.data) if byte == 10]


@cache
def scene(spec: str) -> Scene:
    """Made once."""
    with TemporaryDirectory() as folder:
        return Scene(spec, Path(folder))


def closed(stood: dict[str, Any]) -> dict[str, Any]:
    """The same session when its open calls are closed."""
    history = [*stood["history"]]
    turn = max((at for at, (message, *_) in enumerate(history) if message.role != "tool"), default=0)
    for call in history[turn][0].calls[len(history) - turn - 1 :] if history else ():
        taken = {message.id for message, *_ in history}
        fresh = next(f"m{n}" for n in range(len(history) + 1, 10**6) if f"m{n}" not in taken)
        like = history[0][0]
        history.append(whole(type(like)(fresh, "tool", CANCELLED, call_id=call.id, name=call.name)))
    return {**stood, "history": history}


def killed(spec: str, at: int, go_on: bool) -> None:
    """Killed behind so many bytes."""
    told = scene(spec)
    lines = sum(end <= at for end in told.ends)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "killed.jsonl"
        path.write_bytes(told.data[:at])
        again = keep(path, strategy=spec, **SETTINGS)
        now = state(again)
        behind = lines + (at + 1 in told.ends)  # all but the end of the line is there
        if behind in told.stood:
            assert now == closed(told.stood[behind])
        assert is_sound([message for message, *_ in now["history"]]) == []
        assert again.journal.read()[1] == []
        assert path.read_bytes().startswith(told.data[:at])
        if go_on:
            ask(again, "And on? both")
            then = state(again)
            again.journal.close()
            assert state(keep(path, strategy=spec, **SETTINGS)) == then
        again.journal.close()


def test_a_session_killed_behind_every_line_goes_on() -> None:
    for number, end in enumerate(scene(SPECS[0]).ends):
        killed(SPECS[0], end, go_on=number % 5 == 0)


@pytest.mark.parametrize("step", family([13, 1]))
def test_every_byte_of_a_line_that_was_cut_off_is_no_line_and_no_damage(step: int) -> None:
    told = scene(SPECS[0])
    for line in told.data.splitlines(keepends=True):
        for cut in range(0, min(len(line) - 1, 3_000), step):
            assert read_lines(line[:cut]) == ([], [])
            (line_,), damage = read_lines(line[:cut] + b"\n" * (cut > 0) + resumed(1 + (cut > 0)))
            assert (line_.record, damage) == (Resumed(), [])


@settings(max_examples=20)
@given(st.sampled_from(SPECS), st.data())
def test_behind_any_byte(spec: str, data: st.DataObject) -> None:
    told = scene(spec)
    end = data.draw(st.sampled_from(told.ends))
    killed(spec, max(0, end - data.draw(st.integers(0, 40))), go_on=data.draw(st.booleans()))


def twice(first: Callable[[bytes], bytes]) -> bytes:
    """What is there when the process that resumed was killed in its first line, too."""
    told = scene(SPECS[0])
    return told.data[: told.ends[20] - 9] + b"\n" + first(RESUMED) + b"\n" + resumed(23)


def test_killed_again_while_it_resumes_is_no_damage() -> None:
    for cut in range(1, len(RESUMED) - 1):
        lines, damage = read_lines(twice(lambda line, cut=cut: line[:cut]))  # type: ignore[misc]
        assert (len(lines), damage) == (21, [])


def test_a_last_line_that_is_damaged_is_told_though_the_session_was_resumed() -> None:
    told = scene(SPECS[0])
    data = bytearray(told.data[: told.ends[20]])
    data[told.ends[20] - 30] ^= 1
    _, (damage,) = read_lines(bytes(data) + resumed(22))
    assert damage.number == 21
