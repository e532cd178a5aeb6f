"""A session on a cassette is the session that was recorded: answers, tokens and views; and never another model's."""

from __future__ import annotations

import io
import json
import re
import socket
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.checked import checked, fields_of
from agent.errors import ModelError, NotOnTape, ThimbleError, UsageError
from agent.events import Answered, Event, Prepared, Preparing, SideCalled, ToolCalled, ToolReturned
from agent.messages import ToolCall
from agent.protocols import Sent, Text, Thinking, Usage, Waiting
from models.scripted import Scripted, Step
from repl.cli.cassette import SHIPPED, load, pace_of, settled, shipped
from repl.cli.headless import answer, prompts
from repl.commands.table import obey
from scripts.cassettes import BUDGET, LINES, hold, make, spec_of
from session.cassette import Played, Recorded, names_code
from session.session import Session, open_session
from session.settings import Settings
from strategies.table import STRATEGIES
from tests.support.histories import TinyCounter
from tests.support.paths import ROOT
from tests.support.sessions import Paper, tool_call


def recorded(path: Path, *steps: Step, **settings: Any) -> Session:
    """A session with a scripted model that is recorded here."""
    from models.tape.recorder import recorded

    told = Settings(backend="reader", **settings)
    cassette = Recorded(path, told)
    session = open_session(told, cassette=cassette)
    session.agent.use(recorded(Scripted(steps, TinyCounter()), "agent", cassette._tape))
    return session


def played(name: object, **settings: Any) -> Session:
    """A session that is played from this cassette. A setting that is given is as if by a flag."""
    tape = load(str(name))
    told = Settings(**settings, origins=dict.fromkeys(settings, "flag"))
    session = open_session(settled(told, tape), cassette=Played(tape, str(name), pace_of("0")[0]))
    if tape.voices[-1].name == "scripted":  # the recording began with the reader, and went on with the script
        session.cassette._taken["agent"] = len(tape.voices) - 1  # type: ignore[union-attr]
    return session


def facts(events: Iterable[Event]) -> list[object]:
    """What must be the same, times apart."""
    found: list[object] = []
    for event in events:
        match event:
            case Prepared():
                found.append((event.view, event.exact, event.model, event.tools))
            case ToolReturned() | SideCalled():
                found.append(
                    replace(event, seconds=0.0, waited_seconds=0.0)
                    if isinstance(event, SideCalled)
                    else (event.call, event.message, event.tokens, event.exact, event.ok)
                )
            case Answered():
                found.append(event)
    return found


def tokens(session: Session) -> list[object]:
    """The ledger's, call by call."""
    return [(c.purpose, c.strategy, c.prompt, c.cached, c.output, c.limit) for c in session.agent.ledger.calls]


def _answers(events: Iterable[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, Answered)]


# ---- those that ship ----


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_ships_is_what_the_program_makes_and_plays_to_its_end(strategy: str, tmp_path: Path) -> None:
    events = make(strategy, tmp_path / "new.jsonl")
    made, ships = (tmp_path / "new.jsonl").read_bytes(), (SHIPPED / "reader" / f"{strategy}.jsonl").read_bytes()
    assert made == ships, "make them anew: make cassettes"
    again = played(f"reader/{strategy}")
    assert (again.spec, again.settings.budget) == (spec_of(strategy), BUDGET)
    assert facts(hold(again, LINES)) == facts(events)
    assert again.cassette is not None
    assert again.cassette.suggested() == ""
    acts = [event.view.acted or event.view.inserted for event in events if isinstance(event, Prepared)]
    assert any(acts) == (strategy != "none")
    calls = again.agent.ledger.calls
    side = sum(call.purpose != "answer" for call in calls)
    prompt = sum(call.prompt.tokens or 0 for call in calls)
    knows = "yes" if "7431" in _answers(events)[-1] else "no"
    row = f"| `reader/{strategy}` | {len(calls) - side} | {side} | {prompt:,} | {knows} |"
    assert row in (ROOT / "docs" / "cassettes.md").read_text()


def test_every_strategy_ships_and_an_unknown_name_lists_them() -> None:
    assert shipped() == sorted(f"reader/{name}" for name in STRATEGIES)
    with pytest.raises(UsageError, match="there is no cassette reader/nope") as error:
        load("reader/nope")
    assert "reader/hybrid" in error.value.fix


# ---- all that a model can say ----

REPLIES: list[Step] = [
    [Waiting("loading", 0.0), Sent("http://there/", '{"half": "\\ud83d"}'), Thinking("Hm."), Text("I look. "),
     tool_call("read_article", 1, slug="observation-masking"), tool_call("save_note", 2, title="on", text="\x1b[31m")],
    [ToolCall("c3", "read_file", '{"path": "../x"}'), ToolCall("c4", "nope", "{"), Usage(100, 50, 7, 0.1, 0.2, 0.3)],
    [tool_call("get_notes", 5), Usage()],
    "So it is.",
    ModelError("the server is gone", "start it"),
    "Again.",
]  # fmt: skip


@pytest.mark.parametrize("spec", ["none", "hybrid:window=1", "thrifty", "progressive-summary"])
def test_a_session_comes_back_with_thinking_calls_errors_and_unknown_usage(spec: str, tmp_path: Path) -> None:
    live = recorded(tmp_path / "one", *REPLIES, *["a summary"] * 9, strategy=spec, budget=2500)
    again: Session | None = None
    told: list[list[object]] = []
    for session in (live, again):
        session = session or played(tmp_path / "one")
        seen: list[Event] = []
        errors = []
        for question in ("What is masking?", "And?", "Well?"):
            try:
                seen += session.ask(question)
            except ModelError as error:
                errors.append((error.what, error.fix))
        told.append([facts(seen), tokens(session), session.agent.history, session.notes.kept, errors])
    assert told[0] == told[1]
    assert told[0][4] == [("the server is gone", "start it")] or spec != "none"


def test_a_reply_that_was_stopped_stops_again_and_the_rest_goes_on(tmp_path: Path) -> None:
    live = recorded(tmp_path / "one", [Text("I "), Text("think")], "Again.", budget=2500)
    with closing(live.ask("What?")) as events:
        next(event for event in events if event == _said("I "))
    list(live.ask("What now?"))
    again = played(tmp_path / "one")
    with pytest.raises(KeyboardInterrupt, match="as it was"):
        list(again.ask("What?"))
    list(again.ask("What now?"))
    assert again.agent.history == live.agent.history
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(io.StringIO()):
        code = answer(whole := played(tmp_path / "one"), iter(["What?", "What now?"]), False)
    assert (code, out.getvalue()) == (1, "Again.\n")
    assert whole.agent.history == live.agent.history


@pytest.mark.parametrize("until", [ToolCalled, ToolReturned, Preparing])
def test_an_exchange_that_was_stopped_between_two_calls_stops_again(until: type, tmp_path: Path) -> None:
    read = tool_call("read_article", 1, slug="observation-masking")
    live = recorded(tmp_path / "one", [Text("I look."), read], "Again.", budget=2500)
    with closing(live.ask("What?")) as events:
        seen: list[Event] = []
        while not (len(seen) > 3 and isinstance(seen[-1], until)):
            seen.append(next(events))
    list(live.ask("What now?"))
    again = played(tmp_path / "one")
    with pytest.raises(KeyboardInterrupt, match="as it was"):
        list(again.ask("What?"))
    list(again.ask("What now?"))
    assert again.agent.history == live.agent.history


def _said(text: str) -> Event:
    from agent.events import Said

    return Said("text", text)


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
            obey(session, command, Paper().console)
    with pytest.raises(ModelError):
        session.backends.server_of("ollama")
    with pytest.raises(NotOnTape):
        list(session.ask("Is anybody there?"))
    with pytest.raises(BlockingIOError):
        server.accept()


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({}, "“Is anybody there?” is not on the cassette"),
        ({"budget": 3500}, "the budget is 3500, and was 4000"),
        ({"strategy": "none"}, "the strategy is none, and was hybrid"),
    ],
)
def test_what_is_not_on_the_cassette_fails_at_once_and_says_what_differs(settings: dict[str, Any], what: str) -> None:
    session = played("reader/hybrid", **settings)
    with pytest.raises(NotOnTape) as error:
        list(hold(session, LINES if settings else ("Is anybody there?",)))
    assert what in error.value.what
    assert "it holds 5 questions under hybrid in 4,000 tokens" in error.value.fix


@pytest.mark.parametrize("strategy", ["hybrid", "thrifty"])
def test_what_is_not_on_the_cassette_changes_nothing(strategy: str) -> None:
    session = played(f"reader/{strategy}")
    told = [*hold(session, LINES[:2])]
    with pytest.raises(NotOnTape, match="Is anybody there"):
        list(session.ask("Is anybody there?"))
    told += hold(session, LINES[2:3])
    with pytest.raises(NotOnTape, match="not what was asked then"):
        list(session.ask(LINES[5]))
    told += hold(session, LINES[3:])
    then = [*hold(played(f"reader/{strategy}"), LINES)]
    assert _answers(told) == _answers(then)
    assert facts(told)[:9] == facts(then)[:9]


def test_a_session_that_is_played_is_not_kept_and_has_no_name() -> None:
    tape = load("reader/none")
    with pytest.raises(UsageError, match="this session is not kept"):
        obey(
            open_session(settled(Settings(), tape), cassette=Played(tape, "", pace_of("0")[0])),
            "/save it",
            Paper().console,
        )


def test_the_articles_may_be_others(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("---\ntitle: Another\n---\nNothing of it.\n")
    session = played("reader/offload", corpus=tmp_path, files=tmp_path)
    answered = next(event for event in hold(session, LINES[:1]) if isinstance(event, Answered))
    assert answered.text.startswith("“Context windows")


def test_a_swap_of_the_model_comes_back(tmp_path: Path) -> None:
    told = Settings(backend="reader", budget=3000)
    live = open_session(told, cassette=Recorded(tmp_path / "one", told))
    lines = (LINES[0], "/model reader", "What is observation masking?", "/strategy none", "What is chunking?")
    then = facts(hold(live, lines))
    assert facts(hold(played(tmp_path / "one"), lines)) == then
    assert (tmp_path / "one").stat().st_mode & 0o077 == 0


# ---- headless ----


def test_without_prompts_all_recorded_lines_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    session, out, err = played("reader/offload"), io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        assert answer(session, prompts((), session.cassette), False) == 0
    assert "7431" in out.getvalue()
    assert "hit: every word" in err.getvalue()
    assert err.getvalue().startswith("Played from reader/offload: 7 lines, recorded with reader/extractive.")


# ---- what is written on a command line, and on a tape by others ----


@pytest.mark.parametrize(
    ("pace", "seconds"),
    [("original", 2.0), ("1x", 2.0), ("2x", 1.0), ("0.5x", 4.0), ("0", 0.0), ("key", 0.0), ("10", 1.0)],
)
def test_paces(pace: str, seconds: float) -> None:
    made, steps = pace_of(pace)
    assert made(2.0, "x" * 50) == seconds
    assert steps == (pace == "key")


@pytest.mark.parametrize("pace", ["", "x", "0x", "-1", "fast", "1e9", "nan", "99999"])
def test_what_is_no_pace(pace: str) -> None:
    with pytest.raises(UsageError, match="--pace"):
        pace_of(pace)


@given(st.dictionaries(st.sampled_from(["strategy", "budget", "price", "max_turns", "files", "x"]),
                       st.text() | st.integers() | st.floats() | st.booleans()))  # fmt: skip
def test_settings_of_a_tape_are_settings_or_told(settings: dict[str, Any]) -> None:
    tape = load("reader/none")
    try:
        made = settled(Settings(), replace(tape, header=replace(tape.header, settings=settings)))
    except UsageError:
        return
    assert (made.backend, made.files) == ("reader", Settings().files)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("/strategy ./mine.py", True),
        ("/compare none a.b:Mine", True),
        ("/strategy none+mine.py:Mine", True),
        ("/strategy observation-masking:window=4", False),
        ("What is ./mine.py?", False),
    ],
)
def test_data_runs_no_code(line: str, code: bool) -> None:
    assert names_code(line) == code


def test_a_strategy_of_ones_own_is_said_again(tmp_path: Path) -> None:
    lines = (SHIPPED / "reader" / "none.jsonl").read_bytes().splitlines()
    fields = fields_of(lines[0])
    fields["settings"]["strategy"] = "./mine.py"
    (tmp_path / "one").write_bytes(b"\n".join([checked(fields).encode().strip(), *lines[1:], b""]))
    with pytest.raises(UsageError, match="which is code"):
        played(tmp_path / "one")
    assert played(tmp_path / "one", strategy="none").spec == "none"


@pytest.mark.parametrize("tokens", [-1, 2**53, 10**400])
def test_a_figure_that_no_session_has_is_damage(tokens: int, tmp_path: Path) -> None:
    whole = (SHIPPED / "reader" / "none.jsonl").read_text()
    changed = re.sub(r'("prompt_tokens":)\d+', rf"\g<1>{tokens}", whole)
    sealed = [
        checked({key: value for key, value in json.loads(line).items() if key != "crc"})
        for line in changed.splitlines()
    ]
    (tmp_path / "one").write_text("".join(sealed))
    session = played(tmp_path / "one")
    assert any("cannot be read" in notice for notice in session.notices)
    with pytest.raises(NotOnTape):
        list(hold(session, LINES))


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_of_a_cassette_without_its_end_the_beginning_is_played(share: float, tmp_path: Path) -> None:
    whole = (SHIPPED / "reader" / "offload.jsonl").read_bytes()
    (tmp_path / "one").write_bytes(whole[: int(len(whole) * share)])
    session = played(tmp_path / "one")
    assert any("Its end is missing" in notice for notice in session.notices)
    seen: list[Event] = []
    with pytest.raises(NotOnTape):
        seen.extend(hold(session, LINES))
    then = facts(hold(played("reader/offload"), LINES))
    assert facts(seen) == then[: len(facts(seen))]


def test_a_file_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("mine")
    with pytest.raises(UsageError, match="is there already"):
        Recorded(tmp_path / "one", Settings())
    with pytest.raises(UsageError, match="cannot be recorded to"):
        Recorded(tmp_path / "no" / "one", Settings())


@pytest.mark.parametrize("strategy", ["hybrid", "delegate", "thrifty"])
def test_tokens_are_the_same_where_the_vocabulary_is_missing(strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with_it = facts(hold(played(f"reader/{strategy}"), LINES[:6]))
    monkeypatch.setattr("models.counting.counters.qwen_file", lambda: None)
    assert facts(hold(played(f"reader/{strategy}"), LINES[:6])) == with_it
    assert len(with_it) > 20


@pytest.mark.parametrize("question", ["", " ", "\n"])
def test_a_blank_question_leaves_the_cassette_whole(question: str, tmp_path: Path) -> None:
    settings, path = Settings(backend="reader"), tmp_path / "tape.jsonl"
    session = open_session(settings, cassette=Recorded(path, settings))
    assert isinstance([*session.ask(question), *session.ask("What is truncation?")][-1], Answered)
    tape = load(str(path))
    assert ([line.text for line in tape.lines], tape.damaged) == (["What is truncation?"], [])


def test_a_comparison_that_is_not_on_the_cassette_shows_no_rows() -> None:
    session, paper = played("reader/hybrid"), Paper(80, drawn=False)
    with pytest.raises(NotOnTape, match="this prompt is not on the cassette, and no model is asked"):
        obey(session, "/compare none truncate run What is observation masking?", paper.console)
    assert paper.text == ""


@pytest.mark.parametrize("share", [0, 0.2, 0.9, 2])
def test_a_full_disk_leaves_a_cassette_that_can_be_played_or_none_and_is_told(share: float, tmp_path: Path) -> None:
    whole, path, settings = tmp_path / "whole.jsonl", tmp_path / "tape.jsonl", Settings(backend="reader")
    with largest_file(None):
        one_exchange(whole, settings)
    with largest_file(int(whole.stat().st_size * share)):
        if share == 0:
            with pytest.raises(UsageError, match=r"tape\.jsonl cannot be recorded to: File too large"):
                Recorded(path, settings)
            assert not path.exists()
            return
        session = one_exchange(path, settings)
    told = [notice for notice in session.notices if "not on the cassette" in notice]
    assert told == ["The end of this session is not on the cassette: File too large."] * (share < 1)
    assert load(str(path)).cut_off == (share < 1)


def one_exchange(path: Path, settings: Settings) -> Session:
    session = open_session(settings, cassette=Recorded(path, settings))
    assert isinstance([*session.ask("What is truncation?")][-1], Answered)
    session.leave()
    return session


@contextmanager
def largest_file(size: int | None) -> Iterator[None]:
    """No file grows beyond this."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (before[1] if size is None else size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
