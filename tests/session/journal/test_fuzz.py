"""Whatever a journal holds, it is told what of it cannot be read, and the session goes on from the rest."""

from __future__ import annotations

import json
import zlib
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.session.journal.test_killed import SETTINGS, SPECS, scene
from tests.support.journal_scenes import ask, keep
from tests.support.sessions import Paper, type_command
from thimble.agent.errors import ThimbleError, UsageError
from thimble.agent.events import Planted
from thimble.agent.messages import Message
from thimble.repl.commands.branches.tree import make_accounts
from thimble.session.journal.checksum_lines import CHECK
from thimble.session.journal.lines import Damage, Writer, read_lines
from thimble.session.journal.records import Branched, Switched
from thimble.session.journal.tree import Tree

COMMANDS = (
    "/context",
    "/context next",
    "/context raw",
    "/context 1-9",
    "/why 4",
    "/why +1",
    "/stats",
    "/predict",
    "/probe",
)
NASTY: list[Any] = [
    *(None, True, 0, -1, 1, 3, 10**12, -(10**12), 2**53, 10**400, 0.5, -0.5, 1e308, float("nan"), float("inf")),
    *("", "m1", "m5", "m999", "\ud800", "\x1b[2J", "kept", "0", "x" * 5000),
    *([], [[]], {}, {"": None}, [None], ["m1"] * 3),
    *([["kept", 10**12]], [["kept", 10**12], ["kept", 4 - 10**12]], [["nothing", 1]], {"start": 10**12}, {"m1": 7}),
]


def opened(data: bytes, spec: str = SPECS[0]) -> None:
    """Open a session on these bytes, look at all of it and go on. Raises what thimble raises."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "fuzzed.jsonl"
        path.write_bytes(data)
        session = keep(path, strategy=spec, **SETTINGS)
        try:
            paper = Paper(80)
            picked = zlib.crc32(data) % len(COMMANDS)  # one before and one behind one more exchange
            for number in range(2):
                if number:
                    ask(session, "And on? both note")
                type_command(session, COMMANDS[(picked + number) % len(COMMANDS)], paper.console)
            _, damage = session.journal.read()
            assert all(0 < one.number <= session.journal.count for one in damage)
            session.branch(session.journal.count // 2)
            session.switch(1)
        finally:
            session.journal.close()
            assert path.read_bytes().startswith(data)


def survives(data: bytes, spec: str = SPECS[0]) -> None:
    """The same; an error of thimble's own is an answer."""
    with suppress(ThimbleError):
        opened(data, spec)


def sealed(fields: Any) -> bytes:
    """A line with the right checksum."""
    body = json.dumps(fields, separators=(",", ":"))
    return f'{body[:-1]},"crc":"{zlib.crc32(body.encode()):08x}"}}\n'.encode()


def fields_of(line: bytes) -> Any:
    return json.loads(line.rstrip(b"\n")[:-CHECK] + b"}")


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value in a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, one in inner for place in places(one, (*path, key)))]


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    changed = value.copy()
    changed[path[0]] = put(value[path[0]], path[1:], new)
    return changed


@st.composite
def mutated(draw: st.DrawFn, fields: Any) -> Any:
    """One value in it is another, of its record or of what is written once."""
    ways = [way for way in places(fields)[1:] if way[:2] != ("long", "memory")]  # what it holds is the strategy's own
    return put(fields, draw(st.sampled_from(ways)), draw(st.sampled_from(NASTY)))


@given(st.binary(max_size=300))
def test_any_bytes_open_or_are_refused(data: bytes) -> None:
    survives(data)


@settings(max_examples=10)
@given(st.data())
def test_lines_flipped_lost_doubled_and_swapped(data: st.DataObject) -> None:
    lines = scene(SPECS[0]).data.splitlines(keepends=True)
    for _ in range(data.draw(st.integers(1, 4))):
        at, to = (data.draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        match data.draw(st.sampled_from(["flip", "lose", "double", "swap", "move"])):
            case "flip":
                byte = data.draw(st.integers(0, max(0, len(lines[at]) - 2)))
                lines[at] = lines[at][:byte] + bytes([lines[at][byte] ^ 1]) + lines[at][byte + 1 :]
            case "lose":
                lines[at] = b"\n"
            case "double":
                lines.insert(to, lines[at])
            case "swap":
                lines[at], lines[to] = lines[to], lines[at]
            case "move":
                lines.insert(to, lines.pop(at))
    survives(b"".join(lines))


@settings(max_examples=10)
@given(st.sampled_from(SPECS), st.data())
def test_lines_that_are_sealed_but_false(spec: str, data: st.DataObject) -> None:
    lines = scene(spec).data.splitlines(keepends=True)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(lines) - 1))
        lines[at] = sealed(data.draw(mutated(fields_of(lines[at]))))
    survives(b"".join(lines), spec)


BRANCHES = st.one_of(
    st.builds(Branched, st.sampled_from([0, 1, 2, 3, 10**12]), st.sampled_from([0, 1, 5, 17, 40, 10**12])),
    st.builds(Switched, st.sampled_from([0, 1, 2, 3, 10**12])),
)


@settings(max_examples=10)
@given(st.lists(st.tuples(st.integers(0, 60), BRANCHES), max_size=8))
def test_branches_of_any_kind(inserted: list[tuple[int, Branched | Switched]]) -> None:
    lines = scene(SPECS[0]).data.splitlines(keepends=True)
    for at, record in inserted:
        lines.insert(at, Writer().line(len(lines) + 1, record, 0)[1].encode())
    survives(b"".join(lines))
    tree = Tree(read_lines(b"".join(lines))[0])
    assert sorted(one.number for one in make_accounts(tree)) == sorted(tree.branches)


def test_a_thousand_branches_one_from_the_other() -> None:
    lines = scene(SPECS[0]).data.splitlines(keepends=True)
    for number in range(2, 3_000):
        lines.append(Writer().line(len(lines) + 1, Branched(number, len(lines)), 0)[1].encode())
    opened(b"".join(lines))


def test_nothing_can_be_nested_or_doubled_without_end() -> None:
    line = scene(SPECS[0]).data.splitlines(keepends=True)
    deep = b"[" * 100_000
    assert read_lines(deep + b"\n")[1]
    body = b'{"type":"asked","at":0,"message":' + deep + b"}"
    assert read_lines(body[:-1] + b',"crc":"%08x"}\n' % zlib.crc32(body))[1]
    last, doubled = len(line), []
    for number in range(last + 1, last + 60):
        before = {"+": f"{number - 1}.0"} if doubled else "x"
        memory = {"long": {"memory": [{"+": f"{number}.0"}]}, "new": [[before, before]]}
        doubled.append(sealed({"type": "waiting", "line": number, "what": "", "seconds": 0, "at": 0, **memory}))
    survives(b"".join([*line, *doubled]))
    itself = {"long": {}, "new": [{"$": f"{last + 1}.0"}], "what": {"$": f"{last + 1}.0"}}
    assert read_lines(sealed({"type": "waiting", "line": last + 1, "seconds": 0, "at": 0, **itself}))[0] == []


def test_a_newer_form_is_told_and_nothing_is_changed() -> None:
    newer = sealed({"type": "opened", "version": 99, "something": "new", "at": 0})
    with pytest.raises(UsageError, match="newer thimble"):
        opened(newer + scene(SPECS[0]).data)


def test_what_plants_nothing_is_damage() -> None:
    alone = Planted("a fact", "planted-1.txt", (Message("m2", "tool", "a fact"),))
    assert read_lines(Writer().line(1, alone, 0)[1].encode()) == ([], [Damage(1, "it plants nothing")])


def test_a_line_that_is_missing_swapped_or_there_twice_is_told() -> None:
    lines = scene(SPECS[0]).data.splitlines(keepends=True)
    whole = [line.record for line in read_lines(b"".join(lines))[0]]
    for at in range(len(lines) - 1):  # that the last line is missing, nobody can know
        (damage,) = read_lines(b"".join([*lines[:at], *lines[at + 1 :]]))[1]
        assert damage == Damage(at + 1, "it is missing")
        read_, (damage,) = read_lines(b"".join([*lines[:at], lines[at + 1], lines[at], *lines[at + 2 :]]))
        assert damage == Damage(at + 1, "it is not where it was written")
        assert [line.record for line in read_] == whole
        read_, (damage,) = read_lines(b"".join([*lines[: at + 1], *lines[at:]]))
        assert damage == Damage(at + 1, "it is here twice")
        assert [line.record for line in read_] == whole


def test_any_flipped_bit_is_told() -> None:
    data = bytearray(scene(SPECS[0]).data)
    for number in range(60):
        at = number * 7919 % (len(data) - 1)
        flipped = bytearray(data)
        flipped[at] ^= 1 << number % 7
        assert read_lines(bytes(flipped))[1], at
