"""The pace of a session: numbers and names, and the machines that a recording is played at."""

from __future__ import annotations

import math
import re
import tomllib
from argparse import Namespace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import TinyCounter
from tests.support.paths import ROOT
from tests.support.scripted import Scripted
from tests.support.sessions import Paper, tool_call
from thimble.agent.events import ReplyPiece, ToolReturned
from thimble.agent.protocols import Text, Thinking, Usage
from thimble.commands.replayed_seconds import replayed_seconds
from thimble.models.hardware import HARDWARE, Hardware, largest_ratio
from thimble.models.pace import LEGAL, NEEDED, parse_paces, read_hardware
from thimble.repl.cli.recordings import choose_recording, load_recording, pace_of, playback_settings
from thimble.repl.commands.table import run_command
from thimble.session.journal.journal import Journal
from thimble.session.playback import Playback, Recording
from thimble.session.session import Session
from thimble.session.settings import Settings

AGENT, MEMORY = Hardware(100, 0.5, 1e-4, load_seconds=9), Hardware(1_000, 0.05, 1e-5)
ROWS = {"agent": AGENT, "memory": MEMORY}
NOWHERE = Path("/nowhere")


def test_a_pace_is_a_number_or_names() -> None:
    assert parse_paces("0", ROWS) == parse_paces("0.0") == (None, None)
    assert parse_paces(" 40 ", ROWS) == (Hardware(math.inf, 1 / 40),) * 2
    assert parse_paces("agent", ROWS) == (AGENT, AGENT)
    assert parse_paces("agent, memory", ROWS) == (AGENT, MEMORY)
    assert parse_paces("a100-32b,a100-4b") == (HARDWARE["a100-32b"], HARDWARE["a100-4b"])


def test_the_page_has_the_rows_and_the_limits_of_the_program() -> None:
    page = (ROOT / "docs/reference/hardware.md").read_text()
    for name, on in HARDWARE.items():
        times = f"{1000 * on.token_seconds:.1f} ms | {1e6 * on.slope:.2f} ms | {on.load_seconds:.1f} s"
        assert f"| `{name}` | {on.prefill:,.0f} tokens/s | {times} | {largest_ratio(on, 1_000):.2f} |" in page
    for key, (least, most) in LEGAL.items():
        left_out = "" if key in NEEDED else "; 0 if left out"
        assert re.search(rf"\| `{key}` \| .* \| {least:g} to {most:,.0f}{left_out} \|", page)
    ((name, row),) = tomllib.loads(re.findall(r"```toml\n(.*?)```", page, re.DOTALL)[0])["hardware"].items()
    assert read_hardware({name: row}, "it") == {"desk": Hardware(900, 0.02, 3e-7, 4)}


@given(st.text(st.sampled_from("agentmory,0123456789.x-_ "), max_size=16))
def test_what_is_no_pace_is_refused(text: str) -> None:
    try:
        found = parse_paces(text, ROWS)
    except ValueError:
        assert text not in ("agent", "memory", "agent,memory", "1", "40")
    else:
        assert all(pace is None or pace.prefill in (100, 1_000, math.inf) for pace in found)


@pytest.mark.parametrize("name", ["reader/none", "reader/progressive-summary", "reader/compaction"])
def test_a_recorded_session_takes_the_seconds_of_its_calls(name: str) -> None:
    """All calls of the ledger, each on its machine, and nothing else; the loading is left out."""
    recording = load_recording(name, NOWHERE)
    made = replayed_seconds(recording.lines, AGENT, MEMORY)
    assert sum(made.values()) == pytest.approx(seconds_of_calls(replay(recording)))


def replay(recording: Recording) -> Session:
    """The session after all questions and commands of the recording."""
    session = Session(playback_settings(Settings(), recording), playback=Playback(recording, "it", pace_of("0")[0]))
    while line := session.playback.suggested() if session.playback else "":
        if line.startswith("/"):
            run_command(session, line, Paper().console)
        else:
            list(session.ask(line))
    return session


def seconds_of_calls(session: Session) -> float:
    total = 0.0
    for call in session.agent.ledger.calls:
        on = AGENT if call.purpose == "answer" else MEMORY
        prompt, prefill, output = call.prompt.tokens, call.prefill.tokens, call.output.tokens
        assert prompt is not None
        assert prefill is not None
        assert output is not None
        total += prefill / on.prefill
        total += sum(on.token_seconds + on.slope * (prompt + written + 0.5) for written in range(output))
    return total


def test_the_pieces_of_a_reply_and_its_calls_share_its_seconds(tmp_path: Path) -> None:
    """40 letters are thought and said, 10 are those of the call; the prompt is computed before the first of them."""
    call = tool_call("x" * 8)
    replied = [Thinking("h" * 10), Text("w" * 30), call, Usage(1_000, 200, 50)]
    flat, live = Hardware(100, 0.1), recorded(tmp_path / "one", replied, [Text("So."), Usage(2_000, 2_000, 3)])
    list(live.ask("What?"))
    recording = load_recording(str(tmp_path / "one"), NOWHERE)
    made = replayed_seconds(recording.lines, flat, flat)
    told = {type(line.record).__name__: [] for line in recording.lines}
    for line in recording.lines:
        if line.number in made:
            told[type(line.record).__name__].append(made[line.number])
    assert told["ReplyPiece"] == pytest.approx([8 + 1.0, 3.0, 0.3])
    assert told["Replied"] == pytest.approx([1.0, 0.0])
    assert told["ToolReturned"] == told["Prepared"] == []


def test_what_a_recording_does_not_tell_is_counted(tmp_path: Path) -> None:
    live = recorded(tmp_path / "one", [Text("w" * 50), Usage()])
    list(live.ask("What?"))
    prepared, flat = live.agent.ledger.prepared, Hardware(100, 0.1)
    assert prepared
    made = replayed_seconds(load_recording(str(tmp_path / "one"), NOWHERE).lines, flat, flat)
    assert sum(made.values()) == pytest.approx(prepared.view.tokens / 100 + 50 / 5 * 0.1)


def recorded(path: Path, *steps: object) -> Session:
    """A session with a scripted model that is written to this file."""
    session = Session(Settings(backend="reader", strategy="none"), Journal(path))
    session.backends.first_backend = lambda: Scripted(steps, TinyCounter())  # type: ignore[method-assign, arg-type]
    return session


def test_the_command_line_takes_a_machine_for_a_recording() -> None:
    given_ = Namespace(replay="reader/hybrid", record=None, resume=None)
    playback, _ = choose_recording(given_, "agent,memory", Settings(hardware=ROWS), headless=True)
    assert (
        "Playing at the pace of the machine agent,memory. The figures shown are the recorded ones." in playback.notices
    )
    made = replayed_seconds(playback.recording.lines, AGENT, MEMORY)
    for line in playback.recording.lines:
        assert playback.pace(7.0, line) == made.get(line.number, 7.0)
    kinds = {type(line.record) for line in playback.recording.lines if line.number in made}
    assert ReplyPiece in kinds
    assert ToolReturned not in kinds
    assert not pace_of("agent", playback.recording.lines, ROWS)[1]
