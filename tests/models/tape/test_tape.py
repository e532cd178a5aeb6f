"""What was said into a recording is said again by its tape: laws over replies, and tapes that are damaged."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.errors import ModelError, NotOnTape, ThimbleError, ToolError, UsageError
from agent.messages import Message, Schema, ToolCall
from agent.protocols import Delta, Sent, Text, Thinking, Usage, Waiting
from models.counting.estimate import EstimateCounter
from models.scripted import Scripted, Step
from models.server import ServedBackend
from models.tape.player import Playback, Player, TapeTool
from models.tape.recorder import Recording, ToolRecorder, recorded
from models.tape.tape import VERSION, Header, Tape, packed, read, unpacked, written
from tests.support.histories import TinyCounter

TEXTS = st.text(st.characters(), max_size=20)
COUNTS = st.none() | st.integers(0, 10**6)
DELTAS: st.SearchStrategy[Delta] = st.one_of(
    st.builds(Text, TEXTS),
    st.builds(Thinking, TEXTS),
    st.builds(ToolCall, TEXTS, TEXTS, TEXTS),
    st.builds(Waiting, TEXTS, st.floats(0, 1e6)),
    st.builds(Sent, TEXTS, TEXTS),
    st.builds(Usage, COUNTS, COUNTS, COUNTS, load_seconds=st.none() | st.floats(0, 1e6)),
)
HEADER = Header(VERSION, {"strategy": "none", "budget": 8000})
ASK = [Message("m1", "user", "What?")]


def at_once(seconds: float, text: str) -> float:
    """No pause."""
    return 0.0


def taped(path: Path) -> Recording:
    """A recording that has begun."""
    tape = Recording(path)
    tape.write(HEADER)
    return tape


def played(path: Path) -> Player:
    """Its first voice."""
    tape = read(path.read_bytes(), "it")
    assert not tape.damaged
    return Player(Playback(tape, at_once), tape.voices[0], EstimateCounter)


def heard(backend: Any, messages: Sequence[Message] = ASK, stop: int = 1000) -> tuple[list[Delta], str]:
    """What a reply holds, and how it ended; stopped behind so many deltas."""
    deltas: list[Delta] = []
    stream = backend.stream(messages, (), max_tokens=9)
    try:
        for delta in stream:
            deltas.append(delta)
            if len(deltas) == stop:
                stream.close()
                return deltas, "stopped"
    except ModelError as error:
        return deltas, f"{error.what}|{error.fix}"
    except KeyboardInterrupt:
        return deltas, "stopped"
    return deltas, ""


@given(st.lists(st.tuples(st.integers(0, 10**6), DELTAS)))
def test_deltas_come_back_as_they_were(deltas: list[tuple[int, Delta]]) -> None:
    assert unpacked(packed(deltas)) == deltas


@settings(max_examples=50)
@given(st.lists(st.lists(DELTAS, max_size=6), min_size=1, max_size=4), st.integers(1, 8), TEXTS)
def test_the_same_request_is_answered_in_recorded_order_and_then_by_the_last(
    replies: list[list[Delta]], stop: int, what: str
) -> None:
    steps: list[Step] = [*replies[:-1], [*replies[-1], ModelError(what, "mend")]]
    with TemporaryDirectory() as folder:
        path = Path(folder, "one.jsonl")
        live = recorded(Scripted(steps, TinyCounter()), "agent", taped(path))
        then = [heard(live, stop=stop) for _ in steps]
        again = played(path)
        assert [heard(again) for _ in steps] == then
        assert heard(again) == then[-1]
        with pytest.raises(NotOnTape):
            list(again.stream([*ASK, Message("m2", "user", "Another?")], ()))
        with pytest.raises(NotOnTape):
            list(again.stream(ASK, (), max_tokens=10))


@given(st.lists(st.tuples(TEXTS, st.integers(5, 40)), min_size=1, max_size=8))
def test_what_was_counted_is_counted_again_through_all_that_was_learnt(texts: list[tuple[str, int]]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "one.jsonl")
        live = recorded(Scripted(["x"] * len(texts), EstimateCounter()), "agent", taped(path))
        then = [_counted(live, *each) for each in texts]
        list(live.stream(ASK, ()))
        again = played(path)
        assert [_counted(again, *each) for each in texts] == then
        assert list(again.counter.learnt) == list(live.counter.learnt)  # type: ignore[attr-defined]


def _counted(backend: Any, text: str, reported: int) -> tuple[int, int, bool, bool]:
    counter = backend.counter
    size = counter.count(Message("m", "user", text)), counter.overhead(())
    return *size, counter.exact, counter.calibrate(20, reported)


def test_what_was_not_counted_then_is_an_estimate_and_says_so(tmp_path: Path) -> None:
    live = recorded(Scripted(["x"], TinyCounter()), "agent", taped(tmp_path / "one"))
    live.counter.count(ASK[0])
    heard(live)
    counter = played(tmp_path / "one").counter
    assert counter.exact
    assert counter.count(ASK[0]) == live.counter.count(ASK[0])
    assert counter.exact
    new = Message("m", "user", "This is new.")
    assert counter.count(new) == EstimateCounter().count(new)
    assert not counter.exact


class Behind(Scripted):
    """A scripted model with a server behind it, which learns on the way that tools are told in text."""

    room = 100
    renders_tools = True

    @property
    def protocol(self) -> str:
        """As text ReAct says it."""
        return "text ReAct" if self.requests else ""

    def with_room(self, tokens: int) -> Behind:
        """Another with this much room."""
        roomy = Behind(self._steps, self.counter)
        roomy.room = tokens
        return roomy

    def check(self) -> str:
        """A warning."""
        return "it is slow"


def test_nothing_of_a_served_backend_is_lost(tmp_path: Path) -> None:
    live = recorded(Behind(["x"], TinyCounter()), "agent", taped(tmp_path / "one"))
    assert isinstance(live, ServedBackend)
    assert (live.room, live.renders_tools, live.protocol) == (100, True, "")  # type: ignore[attr-defined]
    live = live.with_room(300)
    assert isinstance(live, ServedBackend)
    assert live.room == 300
    heard(live)
    assert live.protocol == "text ReAct"  # type: ignore[attr-defined]
    assert live.check() == "it is slow"
    again = played(tmp_path / "one")
    assert isinstance(again, ServedBackend)
    assert (again.renders_tools, again.protocol) == (True, "")
    heard(again)
    assert (again.protocol, again.check()) == ("text ReAct", "it is slow")
    assert not isinstance(recorded(Scripted(["x"]), "agent", taped(tmp_path / "two")), ServedBackend)


class Weather:
    """A tool whose answer is never the same twice, but once."""

    name = "weather"
    schema: Schema = {"type": "function", "function": {"name": "weather"}}  # noqa: RUF012

    def __init__(self) -> None:
        self.said = iter(["sun", "sun", ToolError("no wire"), "rain"])

    def run(self, arguments: object) -> str:
        """The next."""
        said = next(self.said)
        if isinstance(said, ToolError):
            raise said
        return said


def test_tools_say_again_what_they_said(tmp_path: Path) -> None:
    def run(tool: Any) -> Generator[str, None, None]:
        for _ in range(4):
            try:
                yield tool.run({"where": "here"})
            except ToolError as error:
                yield f"Error: {error.what}"

    then = [*run(ToolRecorder(Weather(), taped(tmp_path / "one")))]
    again = TapeTool(Weather.schema, Playback(read((tmp_path / "one").read_bytes(), "it"), at_once))
    assert [*run(again)] == then == ["sun", "sun", "Error: no wire", "rain"]
    with pytest.raises(NotOnTape, match="weather"):
        again.run({"where": "there"})


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("tape") / "one"
    live = recorded(Scripted([[Text("a"), ToolCall("c", "t")], "b"], TinyCounter()), "agent", taped(path))
    for number in range(2):
        heard(live, [Message("m1", "user", f"question {number}")])
        live.counter.calibrate(10, 12)
    return path.read_bytes()


@given(st.data())
def test_a_damaged_tape_is_read_as_far_as_it_can_be(whole: bytes, data: st.DataObject) -> None:
    spoilt = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(spoilt) - 1))
        spoilt[at : at + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=9))
    with suppress(UsageError):
        tape = read(bytes(spoilt[: data.draw(st.integers(0, len(spoilt)))]), "it")
        assert len(tape.entries) + len(tape.damaged) <= spoilt.count(b"\n")
        for voice in tape.voices:
            player = Player(Playback(tape, at_once), voice, EstimateCounter)
            with suppress(ThimbleError):
                list(player.stream([Message("m1", "user", "question 1")], (), max_tokens=9))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(st.tuples(st.integers(1, 20), st.text(max_size=8), JSON), max_size=4), st.data())
def test_a_tape_that_somebody_wrote_is_no_danger(
    whole: bytes, changes: list[tuple[int, str, Any]], data: st.DataObject
) -> None:
    import json

    from agent.checked import checked

    lines = whole.splitlines()
    for number, _, value in changes:
        fields = json.loads(lines[number % len(lines)])
        del fields["crc"]
        fields[data.draw(st.sampled_from(sorted(fields)))] = value
        lines[number % len(lines)] = checked(json.loads(json.dumps(fields))).encode().rstrip(b"\n")
    with suppress(UsageError):
        tape = read(b"\n".join(lines) + b"\n", "it")
        for voice in tape.voices:
            player = Player(Playback(tape, at_once), voice, EstimateCounter)
            player.counter.count(ASK[0])
            player.counter.calibrate(10, 12)
            with suppress(ThimbleError, KeyboardInterrupt):
                heard(player, [Message("m1", "user", "question 1")])


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "no cassette"),
        (b"# A page\n", "no cassette"),
        (b'{"type":"cassette","version":1}\n', "no cassette"),
        (written(Header(VERSION + 1, {})).encode(), "newer"),
    ],
)
def test_what_is_no_cassette_is_told(data: bytes, what: str) -> None:
    with pytest.raises(UsageError, match=what):
        read(data, "it")


def test_a_tape_without_its_end_is_told(whole: bytes) -> None:
    tape = read(whole[:-5], "it")
    assert tape.cut_off
    assert not tape.damaged
    assert read(whole, "it") == Tape(HEADER, [*tape.entries, read(whole, "it").entries[-1]])


def test_a_disk_that_is_full_ends_the_recording_and_not_the_session(tmp_path: Path) -> None:
    tape = taped(tmp_path / "one")
    import os

    os.close(tape._file)
    live = recorded(Scripted(["x"], TinyCounter()), "agent", tape)
    assert heard(live)[0][0] == Text("x")
    assert tape.error
