"""A played session is the recorded one: answers, tokens, views and memory; and no model is ever asked."""

from __future__ import annotations

import io
import json
import re
import socket
from collections.abc import Iterable, Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scripts.recordings import BUDGET, LINES, hold, lines_of, make, spec_of
from tests.support.family import family
from tests.support.histories import TinyCounter, is_sound
from tests.support.journal_scenes import QUESTIONS, keep, state
from tests.support.journal_scenes import ask as ask_until
from tests.support.paths import ROOT
from tests.support.scripted import Scripted, Step
from tests.support.sessions import Paper
from thimble.agent.errors import ModelError, NotRecorded, ThimbleError, UsageError
from thimble.agent.events import Answered, Event, Prepared, ReplyPiece, SideCalled, ToolReturned
from thimble.commands.replayed_seconds import replayed_seconds
from thimble.models.hardware import HARDWARE
from thimble.repl.cli.headless import answer, iter_prompts
from thimble.repl.cli.recordings import SHIPPED, list_shipped, load_recording, new_file, pace_of, playback_settings
from thimble.repl.commands.table import run_command
from thimble.session.journal.checksum_lines import add_checksum
from thimble.session.journal.journal import Journal
from thimble.session.journal.lines import Line
from thimble.session.jsonl import event_fields as as_json
from thimble.session.jsonl import to_line
from thimble.session.playback import Playback, Recording, read_recording
from thimble.session.session import Session
from thimble.session.settings import Settings
from thimble.strategies.table import STRATEGIES

NOWHERE = Path("/nowhere")
RECORDED = [name.removeprefix("reader/") for name in list_shipped()]
"""The strategies whose recordings ship."""


def recorded(path: Path, *steps: Step, **settings: Any) -> Session:
    """A session with a scripted model that is written to this file."""
    session = Session(Settings(backend="reader", **settings), Journal(path))
    session.backends.first_backend = lambda: Scripted(steps, TinyCounter())  # type: ignore[method-assign]
    return session


def deck(recording: Recording, **settings: Any) -> Session:
    """A session that plays this at once. A setting that is given is as if by a flag."""
    told = Settings(**settings, origins=dict.fromkeys(settings, "flag"))
    return Session(playback_settings(told, recording), playback=Playback(recording, "it", pace_of("0")[0]))


def played(name: object, **settings: Any) -> Session:
    """A session that plays this file, or shipped recording."""
    return deck(load_recording(str(name), NOWHERE), **settings)


def suggested(session: Session) -> str:
    """The line that comes next."""
    assert session.playback
    return session.playback.suggested()


def facts(events: Iterable[Event]) -> list[object]:
    """What must be the same, times apart."""
    found: list[object] = []
    for event in events:
        match event:
            case Prepared():
                found.append((event.view, event.exact, event.model, event.tools))
            case ToolReturned():
                found.append((event.call, event.message, event.tokens, event.exact, event.ok))
            case SideCalled():
                times = dict.fromkeys(("seconds", "waited_seconds", "held_seconds", "began"), 0.0)
                found.append(replace(event, **times, first_token_seconds=None))
            case Answered():
                found.append(event)
    return found


def tokens(session: Session) -> list[object]:
    """The ledger's, call by call."""
    return [(c.purpose, c.strategy, c.prompt, c.cached, c.output, c.limit) for c in session.agent.ledger.calls]


def _answers(events: Iterable[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, Answered)]


# ---- those that ship ----


@pytest.mark.parametrize("strategy", family(RECORDED, "observation-masking", "hybrid", "comem"))
def test_what_ships_is_what_the_program_makes_and_plays_to_its_end(strategy: str, tmp_path: Path) -> None:
    events = make(strategy, tmp_path / "new.jsonl")
    made, ships = (tmp_path / "new.jsonl").read_bytes(), (SHIPPED / "reader" / f"{strategy}.jsonl").read_bytes()
    assert made == ships, "make them anew: make recordings"
    again = played(f"reader/{strategy}")
    assert (again.spec, again.settings.budget) == (spec_of(strategy), BUDGET)
    assert facts(hold(again, lines_of(strategy))) == facts(events)
    assert suggested(again) == ""
    acts = [event.view.acted or event.view.inserted for event in events if isinstance(event, Prepared)]
    assert any(acts) == (strategy != "none")
    page = (ROOT / "docs" / "how-to" / "record-and-play.md").read_text()
    known, _, lost = page.partition("- Known at the end: ")[2].partition("- Lost: ")
    assert f"`{strategy}`" in (known if "7431" in _answers(events)[-1] else lost.partition("\n\n")[0])


def test_recordings_are_of_strategies_and_an_unknown_name_lists_them() -> None:
    assert {*RECORDED} <= {*STRATEGIES}
    with pytest.raises(UsageError, match="there is no recording reader/nope") as error:
        load_recording("reader/nope", NOWHERE)
    assert "reader/hybrid" in error.value.fix


# ---- all that a model can say ----


def test_what_came_of_questions_on_the_side_comes_again(tmp_path: Path) -> None:
    live = recorded(tmp_path / "one", "So.", "It is 4711.", "Under none.", "And again.", budget=2500, strategy="none")
    lines = ("What?", "/budget 3000", "/plant The code is 4711.", "/probe", "/compare none run And?", "Well?")
    then, now = Paper(80, drawn=False), Paper(80, drawn=False)
    again: Session | None = None
    for paper in (then, now):
        session = live if again is None else again
        for line in lines:
            if line.startswith("/"):
                run_command(session, line, paper.console)
            else:
                list(session.ask(line))
        again = again or played(tmp_path / "one")
    asked = [paper.text[paper.text.index("question: What is the code") :] for paper in (then, now)]
    assert asked[0] == asked[1]
    assert "answer: It is 4711." in asked[1]
    assert again
    with pytest.raises(NotRecorded):
        run_command(again, "/probe And what else?", now.console)


def test_commands_that_branch_are_played_as_they_were_typed(tmp_path: Path) -> None:
    lines = ("One?", "Two?", "/undo", "Two?", "/retry", "/strategy none", "/fork 1", "Three?", "/tree 1", "Four?")
    live = recorded(tmp_path / "one", *(f"{number}." for number in range(9)), strategy="observation-masking")
    sent = [*_with_handed_on(live, lines)]
    again = played(tmp_path / "one")
    assert [*_with_handed_on(again, _all_suggested(again))] == sent
    assert again.agent.history == live.agent.history
    assert len(again.journal.tree.branches) == len(live.journal.tree.branches)


def _with_handed_on(session: Session, lines: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Each line with its answers; a question that a command hands on is asked."""
    for line in lines:
        question = run_command(session, line, Paper().console) if line.startswith("/") else line
        yield line, _answers(session.ask(question)) if question else []


def _all_suggested(session: Session) -> Iterator[str]:
    while line := suggested(session):
        yield line


@pytest.mark.parametrize("spec", ["none", "hybrid:window=1", "notes+progressive-summary", "delegate", "thrifty"])
def test_after_each_exchange_a_played_session_is_the_recorded_one(spec: str, tmp_path: Path) -> None:
    live = keep(tmp_path / "one.jsonl", strategy=spec, budget=6000)
    then = []
    for number, question in enumerate(QUESTIONS):
        wrong = ask_until(live, question, 12 if "stop" in question else 10_000)[1]
        if number == 2:
            live.plant("The code is 4711.")
        then.append((wrong, state(live)))
    again = played(tmp_path / "one.jsonl")
    for number, question in enumerate(QUESTIONS):
        try:
            wrong = ask_until(again, question)[1]
        except KeyboardInterrupt:
            wrong = ""
        if number == 2:
            again.plant("The code is 4711.")
        assert (wrong, state(again)) == then[number]


def test_a_session_that_was_resumed_under_another_strategy_is_played_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    first = keep(path, strategy="none")
    ask_until(first, "What is masking? both", 8)
    first.journal.close()
    flags = {"strategy": "hybrid", "budget": 6000}
    second = keep(path, **flags)
    ask_until(second, "And then?")
    again, sent = played(path), []
    while line := suggested(again):
        sent.append(line)
        with suppress(KeyboardInterrupt):
            [*_with_handed_on(again, [line])]
    assert sent == ["What is masking? both", "/strategy hybrid", "/budget 6000", "And then?"]
    assert state(again) == state(second)


# ---- never a live model ----


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterable[socket.socket]:
    """An address at which somebody listens, where every server is said to be."""
    with socket.create_server(("127.0.0.1", 0)) as here:
        here.setblocking(False)
        for variable in ("OLLAMA_HOST", "OPENAI_BASE_URL"):
            monkeypatch.setenv(variable, f"http://127.0.0.1:{here.getsockname()[1]}")
        yield here


def test_no_road_leads_to_a_server(server: socket.socket) -> None:
    session = played("reader/compaction", backend="ollama", model="qwen3:8b", summariser="qwen3:8b")
    with suppress(ModelError):
        session.backends.look_for_server()
    session.warm()
    list(session.ask(LINES[0]))
    for command in ("/model", "/model qwen3:8b", "/model reader", "/pull qwen3:8b", "/doctor", "/stats", "/probe x"):
        with suppress(ThimbleError):
            run_command(session, command, Paper().console)
    with pytest.raises(ModelError):
        session.backends.server_of("ollama")
    with pytest.raises(NotRecorded):
        list(session.ask("Is anybody there?"))
    with pytest.raises(BlockingIOError):
        server.accept()


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({}, "“Is anybody there?” is not in the recording"),
        ({"budget": 3500}, "the budget is 3500, and was 4000"),
        ({"strategy": "none"}, "the strategy is none, and was hybrid"),
    ],
)
def test_what_is_not_in_the_recording_fails_at_once_and_says_what_differs(settings: dict[str, Any], what: str) -> None:
    session = played("reader/hybrid", **settings)
    with pytest.raises(NotRecorded) as error:
        list(hold(session, LINES if settings else ("Is anybody there?",)))
    assert what in error.value.what
    assert "it has 5 questions under hybrid in 4,000 tokens" in error.value.fix


def test_what_is_not_in_the_recording_changes_nothing() -> None:
    session = played("reader/hybrid")
    told = [*hold(session, LINES[:2])]
    with pytest.raises(NotRecorded, match="Is anybody there"):
        list(session.ask("Is anybody there?"))
    told += hold(session, LINES[2:3])
    with pytest.raises(NotRecorded, match="not those of the recording"):
        list(session.ask(LINES[5]))
    told += hold(session, LINES[3:])
    then = [*hold(played("reader/hybrid"), LINES)]
    assert _answers(told) == _answers(then)
    assert facts(told)[:9] == facts(then)[:9]


def test_the_articles_may_be_others(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("---\ntitle: Another\n---\nNothing of it.\n")
    session = played("reader/offload", corpus=tmp_path, files=tmp_path)
    answered = next(event for event in hold(session, LINES[:1]) if isinstance(event, Answered))
    assert answered.text.startswith("“Context windows")


def test_a_swap_of_the_model_comes_back(tmp_path: Path) -> None:
    live = Session(Settings(backend="reader", budget=3000), Journal(tmp_path / "one"))
    lines = (
        LINES[0],
        "/model reader",
        "/budget 2500",
        "What is observation masking?",
        "/strategy none",
        "What is chunking?",
    )
    then = facts(hold(live, lines))
    assert facts(hold(played(tmp_path / "one"), lines)) == then
    assert (tmp_path / "one").stat().st_mode & 0o077 == 0


# ---- headless ----


def test_without_prompts_all_recorded_lines_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    session, out, err = played("reader/offload"), io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        assert answer(session, iter_prompts((), session), False) == 0
    assert "7431" in out.getvalue()
    assert "hit: it states every word" in out.getvalue()
    assert err.getvalue().startswith("Played from it: 7 lines, recorded with reader/extractive.")


# ---- what is written on a command line, and in a recording by others ----


@pytest.mark.parametrize(
    ("pace", "seconds"), [("original", 2.0), ("1x", 2.0), ("0.5x", 4.0), ("0", 0.0), ("key", 0.0), ("10", 1.0)]
)
def test_paces(pace: str, seconds: float) -> None:
    made, steps = pace_of(pace)
    assert made(2.0, Line(1, 0.0, ReplyPiece("text", "x" * 50))) == seconds
    assert steps == (pace == "key")
    for wrong in ("", "x", "0x", "-1", "1e9", "nan", "99999"):
        with pytest.raises(UsageError, match="--pace"):
            pace_of(wrong)


@cache
def shipped_as_none() -> Recording:
    """One for all examples, none of which changes it."""
    return load_recording("reader/none", NOWHERE)


@given(st.dictionaries(st.sampled_from(["strategy", "budget", "price", "max_turns", "files", "x"]),
                       st.text() | st.integers() | st.floats() | st.booleans()))  # fmt: skip
def test_settings_of_a_recording_are_settings_or_told(settings: dict[str, Any]) -> None:
    recording = shipped_as_none()
    try:
        opened = replace(recording.opened, settings=settings)
    except ValueError:
        return  # a line that holds it is damage
    try:
        made = playback_settings(Settings(), replace(recording, opened=opened))
    except UsageError:
        return
    assert (made.backend, made.files) == ("reader", Settings().files)


@pytest.mark.parametrize("tokens", [-1, 2**53, 10**400])
def test_a_figure_that_no_session_has_is_damage(tokens: int, tmp_path: Path) -> None:
    whole = (SHIPPED / "reader" / "none.jsonl").read_text()
    changed = re.sub(r'("prompt_tokens":)\d+', rf"\g<1>{tokens}", whole)
    sealed = [
        add_checksum({key: value for key, value in json.loads(line).items() if key != "crc"})
        for line in changed.splitlines()
    ]
    (tmp_path / "one").write_text("".join(sealed))
    session = played(tmp_path / "one")
    assert any("cannot be read" in notice for notice in session.notices)
    with pytest.raises(NotRecorded):
        list(hold(session, LINES))


def test_of_a_recording_without_its_end_the_beginning_is_played(tmp_path: Path) -> None:
    whole = (SHIPPED / "reader" / "offload.jsonl").read_bytes()
    (tmp_path / "one").write_bytes(whole[: len(whole) // 2])
    session = played(tmp_path / "one")
    assert any("Its end is missing" in notice for notice in session.notices)
    seen: list[Event] = []
    with pytest.raises(NotRecorded):
        seen.extend(hold(session, LINES))
    then = facts(hold(played("reader/offload"), LINES))
    assert facts(seen) == then[: len(facts(seen))]


def test_a_file_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("mine")
    with pytest.raises(UsageError, match="already exists"):
        new_file(str(tmp_path / "one"))
    for name in (str(tmp_path / "no" / "one"), "~nobody-is-called-so/one", "x" * 5000):
        with pytest.raises(UsageError, match="cannot record to"):
            new_file(name)
    assert new_file(str(tmp_path / "two")) == tmp_path / "two"


def test_a_blank_question_is_no_line_to_send(tmp_path: Path) -> None:
    session = Session(Settings(backend="reader"), Journal(tmp_path / "one"))
    assert isinstance([*session.ask("\n"), *session.ask("What is truncation?")][-1], Answered)
    again = played(tmp_path / "one")
    assert suggested(again) == "What is truncation?"
    assert isinstance([*again.ask("\n"), *again.ask("What is truncation?")][-1], Answered)


@pytest.mark.parametrize(
    "data", [b"", b"# A page\n", b'{"type":"cassette","version":1,"settings":{},"crc":"00000000"}\n']
)
def test_what_is_not_a_recording_is_refused(data: bytes) -> None:
    with pytest.raises(UsageError, match="is not a recording"):
        read_recording(data, "it")


WHOLE = (SHIPPED / "reader" / "summary-buffer.jsonl").read_bytes()


QUICK = [line for line in LINES if line != "/probe"]
"""/probe takes as long as all others."""


def shown(data: bytes) -> None:
    """Play this as far as it goes, and look at it. Raises what no user may see."""
    with suppress(ThimbleError):
        recording = read_recording(data, "it")
        assert (
            min(replayed_seconds(recording.lines, HARDWARE["a100-32b"], HARDWARE["a100-4b"]).values(), default=0) >= 0
        )
        session = deck(recording)
        for line in [*QUICK, "/stats", "/context"]:
            with suppress(ThimbleError, KeyboardInterrupt):
                if line.startswith("/"):
                    run_command(session, line, Paper().console)
                else:
                    for event in session.ask(line):
                        to_line(as_json(event, session.agent.ledger.call_of(event)))
        assert not is_sound(session.agent.history)


@settings(max_examples=12)
@given(st.data())
def test_a_damaged_recording_is_played_as_far_as_it_can_be(data: st.DataObject) -> None:
    lines = WHOLE.splitlines(keepends=True)
    for place in data.draw(st.lists(st.integers(0, len(lines) - 1), max_size=5)):
        lines[place] = data.draw(st.sampled_from([b"", b"?\n", lines[place][:-9], lines[place] * 2, lines[-place]]))
    shown(b"".join(lines)[: data.draw(st.integers(0, len(WHOLE)) | st.just(len(WHOLE)))])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=12)
@given(st.lists(st.tuples(st.integers(0, 10**6), JSON), max_size=4), st.data())
def test_a_recording_that_somebody_wrote_is_no_danger(changes: list[tuple[int, Any]], data: st.DataObject) -> None:
    lines = WHOLE.splitlines()
    for number, value in changes:
        fields = {name: one for name, one in json.loads(lines[number % len(lines)]).items() if name != "crc"}
        fields[data.draw(st.sampled_from(sorted(fields)))] = value
        lines[number % len(lines)] = add_checksum(json.loads(json.dumps(fields))).encode().rstrip(b"\n")
    shown(b"\n".join(lines) + b"\n")
