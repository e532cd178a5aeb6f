"""Sessions on disk as a user meets them: kept, resumed, listed, named, loaded; and what may be in the way."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from traceback import walk_stack
from typing import Any

import pytest

from tests.support.histories import TinyCounter
from tests.support.ollama_server import Model, Ollama, served
from tests.support.paths import ROOT
from tests.support.scripted import Scripted
from tests.support.sessions import Paper, ask
from thimble.agent.agent import Agent
from thimble.agent.errors import ThimbleError, UsageError
from thimble.agent.messages import Message
from thimble.agent.prefix_cache import PrefixCache
from thimble.repl.commands.table import run_command
from thimble.repl.prompt.completion import Completions
from thimble.repl.prompt.interrupts import Interrupts
from thimble.repl.screen.resumed import UNANSWERED, last_exchange, resume_lines
from thimble.session.journal import folder as shelf
from thimble.session.journal.journal import FILE_GONE, IN_MEMORY, OPEN_IN_ONE_THIMBLE, Journal
from thimble.session.journal.records import Named
from thimble.session.journal.state import saved_state
from thimble.session.session import Session
from thimble.session.settings import Settings

QUESTION = "What breaks a prefix cache?"
READER = ("--backend", "reader")


@pytest.fixture
def environ(tmp_path: Path, forked: Path) -> dict[str, str]:
    """A user with an empty state folder, and thimble on the path."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("THIMBLE_")}
    home = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    return {**kept, **home, "PATH": f"{forked.parent}{os.pathsep}{kept['PATH']}", "PYTHONPATH": str(ROOT)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "thimble" / "sessions"


def thimble(environ: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    return subprocess.run(["thimble", *arguments], env=environ, cwd=environ["HOME"], timeout=60, **streams)


def reading(folder: Path, *questions: str, name: str = "", **settings: Any) -> Session:
    """A session of the reader that is kept, and was asked these."""
    session = Session(Settings(backend="reader", session_dir=folder, **settings), Journal(shelf.new_path(folder)))
    for question in questions:
        ask(session, question)
    if name:
        session.record(Named(name))
    return session


def said(session: Session, command: str) -> str:
    paper = Paper(80, drawn=False)
    run_command(session, command, paper.console)
    return paper.text


# ---- the command line ----


def test_a_session_is_kept_and_goes_on(environ: dict[str, str], folder: Path) -> None:
    assert thimble(environ, *READER, "-p", QUESTION, "--strategy", "hybrid").returncode == 0
    (path,) = folder.iterdir()
    assert path.stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    again = thimble(environ, "--resume", "-p", "And what helps?")
    assert again.returncode == 0
    told = again.stderr.splitlines()
    assert re.fullmatch(rf"Resumed {path.stem}: 1 exchange, hybrid, left just now\.", told[0])
    assert told[1] == f"you: {QUESTION}"
    assert QUESTION not in again.stdout
    named = thimble(environ, "--resume", path.stem[:12], "--plain", "--strategy", "none", "-p", "/save a talk")
    assert f"Resumed {path.stem}: 2 exchanges, hybrid, from now on none, left just now." in named.stderr
    assert "you: And what helps?\nmodel: " in named.stderr
    assert thimble(environ, "--resume", "a talk", "-p", "/stats").returncode == 0
    assert [*folder.iterdir()] == [path]


def test_a_session_in_which_nothing_was_asked_leaves_nothing(environ: dict[str, str], folder: Path) -> None:
    assert thimble(environ, *READER, "-p", "/budget 4000", "-p", "/sessions").returncode == 0
    assert not folder.exists()
    missing = thimble(environ, *READER, "--resume", "-p", "x")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert missing.stderr.splitlines()[0] == f"thimble: there are no sessions in {folder}"


def test_two_processes_do_not_write_one_session(environ: dict[str, str], folder: Path) -> None:
    thimble(environ, *READER, "-p", QUESTION)
    (path,) = folder.iterdir()
    here = Journal.reopen(path)
    run = thimble(environ, "--resume", "-p", "x")
    assert (run.returncode, run.stdout) == (2, "")
    what, fix = run.stderr.splitlines()
    assert what == f"thimble: the session {path.stem} is in use by another thimble"
    assert fix.startswith("fix: ")
    here.close()
    assert thimble(environ, "--resume", "-p", "And what helps?").returncode == 0


def test_where_there_are_no_locks_it_is_kept_and_told_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", flock)
    here = reading(folder, QUESTION, "And what helps?")
    path = here.journal.path or folder
    here.leave()
    assert [notice for notice in here.notices if "locked" in notice] == [
        f"{path} cannot be locked: No locks available. {OPEN_IN_ONE_THIMBLE}"
    ]
    assert saved_state(Journal.reopen(path).read()[0]).ledger.exchanges == 2


# ---- disks ----

ON_A_FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from thimble.repl.cli.headless import answer
from thimble.session.journal.journal import Journal
from thimble.session.session import Session
from thimble.session.settings import Settings

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
session = Session(Settings(backend="reader"), Journal(Path(sys.argv[1])))

def prompts():
    yield "What breaks a prefix cache?"
    resource.setrlimit(resource.RLIMIT_FSIZE, (Path(sys.argv[1]).stat().st_size + 100, -1))
    yield "And what helps?"
    print("told by now", file=sys.stderr)
    yield "What is observation masking?"
    resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
    yield "What is a prefix cache?"

sys.exit(answer(session, prompts(), False))
"""


def test_a_full_disk_is_told_at_once_and_what_is_missing_is_written_later(
    environ: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "one.jsonl"
    command = [sys.executable, "-c", ON_A_FULL_DISK, str(path)]
    run = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    told = [line for line in run.stderr.splitlines() if line.startswith(f"{path} ") or line == "told by now"]
    assert len(told) == 3
    assert told[0] == f"{path} cannot be written: File too large. {IN_MEMORY}"
    assert told[1] == "told by now"
    assert told[2] == f"{path} can be written again, and nothing of the session is missing from it."
    lines, damaged = Journal.reopen(path).read()
    assert not damaged
    assert saved_state(lines).ledger.exchanges == 4


def test_ctrl_c_at_any_moment_writes_no_line_twice_and_loses_none(tmp_path: Path) -> None:
    journal, over, stopped = Journal(tmp_path / "one.jsonl"), threading.Event(), 0

    def press() -> None:
        while not over.wait(0.0002):
            os.kill(os.getpid(), signal.SIGINT)

    presses = threading.Thread(target=press)
    with Interrupts() as interrupts:
        presses.start()
        for number in range(400):
            try:
                with interrupts.allowed():
                    journal.write(Named(str(number)))
            except KeyboardInterrupt:
                stopped += 1
        over.set()
        presses.join()
    lines, damaged = journal.read()
    names = [line.record.name for line in lines if isinstance(line.record, Named)]
    assert stopped
    assert not damaged
    assert len(names) == len(set(names)) == journal.count


class Pressed(TinyCounter):
    """Ctrl-C is pressed while a reply is entered and its prompt, which the server now holds, is counted."""

    def count(self, message: Message) -> int:
        running = {frame.f_code for frame, _ in walk_stack(None)}
        if {Agent.enter.__code__, PrefixCache.read.__code__} <= running:
            raise KeyboardInterrupt
        return super().count(message)


def test_ctrl_c_after_a_reply_costs_no_record(tmp_path: Path) -> None:
    session = Session(Settings(backend="reader"), Journal(tmp_path / "one.jsonl"))
    session.backends.first_backend = lambda: Scripted(["So it is."], Pressed())  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        ask(session, QUESTION)
    assert session.agent.history[-1].content == "So it is."
    assert session.journal.state().history == session.agent.history


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_is_deleted_meanwhile_is_told(replaced: bool, folder: Path) -> None:
    here, other = reading(folder, QUESTION), reading(folder, QUESTION, name="other")
    other.journal.close()
    path = here.journal.path or folder
    path.unlink()
    if replaced:
        path.write_text("another")
    ask(here, "And what helps?")
    assert [notice for notice in here.notices if FILE_GONE in notice] == [here.notices[-1]]
    with pytest.raises(UsageError, match=FILE_GONE):
        said(here, "/load other")
    said(here, "/undo")
    here.leave()
    assert here.notices[-1] == f"{'The end of this' if replaced else 'This'} session is not saved: {FILE_GONE}."
    assert not replaced or path.read_text() == "another"


def test_a_folder_that_cannot_be_made_is_told_at_once(environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "thimble").write_text("in the way")
    run = thimble(environ, *READER, "-p", QUESTION, "-p", "And what helps?")
    assert run.returncode == 0
    assert run.stderr.count(".jsonl cannot be written: ") == 1
    assert run.stderr.splitlines()[-1].startswith("This session is not saved: ")
    assert run.stderr.index(".jsonl cannot be written: ") < run.stderr.index("› And what helps?")


# ---- commands ----


def test_sessions_are_searched_by_the_words_of_their_questions_answers_and_names(folder: Path) -> None:
    reading(folder, "What is masking?", "And \x1b[31mhybrid?", name="first talk")
    two = reading(folder, QUESTION)
    assert "What is masking?" not in said(two, "/sessions prefix CACHE evicted")
    assert QUESTION in said(two, "/sessions evicted")  # a word of its answer
    assert QUESTION not in said(two, "/sessions TALK hybrid")


def test_load_goes_on_with_the_other_and_keeps_this_one(folder: Path) -> None:
    one = reading(folder, "What is masking?", "And hybrid?", name="one", strategy="hybrid", budget=5000)
    history, calls = one.agent.history, one.agent.ledger.calls
    one.journal.close()
    here = reading(folder, QUESTION)
    mine = here.journal.path
    shown = said(here, "/load one")
    assert "Resumed “one” (" in shown
    assert "2 exchanges, hybrid" in shown
    assert "you: And hybrid?\nmodel: " in shown
    here = here.successor or here
    assert (here.agent.history, here.agent.ledger.calls, here.spec) == (history, calls, "hybrid")
    assert (here.agent.limit, here.settings.budget) == (5000, 5000)
    ask(here, "Which of the two?")
    with pytest.raises(UsageError, match="the current session"):
        said(here, "/load one")
    assert "1 exchange, observation-masking" in said(here, f"/load {mine.stem if mine else ''}")
    here = here.successor or here
    assert (here.spec, here.settings.budget) == ("observation-masking", 4000)
    assert len(shelf.list_session(shelf.find_session(folder, "one")).questions) == 3


def gone(folder: Path) -> Iterator[str]:
    """Names of sessions that cannot be loaded."""
    locked = reading(folder, QUESTION, name="locked")
    (folder / "mine.py").write_text("def prepare(messages, budget):\n    return messages\n")
    strategy = reading(folder, QUESTION, name="strategy", strategy=str(folder / "mine.py"))
    (folder / "mine.py").unlink()
    (folder / "files").mkdir()
    files = reading(folder, QUESTION, name="files", files=folder / "files")
    (folder / "files").rmdir()
    strategy.journal.close()
    files.journal.close()
    yield from ("locked", "strategy", "files", "unknown", "")
    locked.journal.close()


def test_a_load_that_fails_leaves_all_as_it_was(folder: Path) -> None:
    here = reading(folder, QUESTION)
    for name in gone(folder):
        before = {**vars(here)}
        with pytest.raises(ThimbleError) as caught:
            said(here, f"/load {name}")
        assert caught.value.fix, name
        assert {**vars(here)} == before
        ask(here, "And now?")
    assert shelf.list_session(here.journal.path or folder).questions == (QUESTION, *["And now?"] * 5)
    assert Journal.reopen(shelf.find_session(folder, "strategy")).count, "it is free for others"


def test_tab_offers_names_and_ids(folder: Path) -> None:
    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.document import Document

    one, two, here = reading(folder, "What is masking?", name="a talk"), reading(folder, QUESTION), reading(folder, "x")
    offered = Completions(here).get_completions(Document("/load "), CompleteEvent())
    found = {offer.text: offer.display_meta_text for offer in offered}
    assert found == {"a talk": "What is masking?", two.journal.id: QUESTION}
    assert one.journal.id not in found


# ---- what is shown ----


def test_it_says_what_was_resumed_and_shows_the_last_exchange(folder: Path) -> None:
    here = reading(folder, QUESTION, "One\nline?")
    here.saved = saved_state(here.journal.read()[0])
    here.saved.lost += [f"line {number}" for number in range(2, 200)]
    here.saved.at -= 7300
    first, lost = (text for text, _ in resume_lines(here))
    assert first == f"Resumed {here.journal.id}: 2 exchanges, observation-masking, left 2 h ago."
    assert lost.startswith("The session file is damaged: line 2, line 3, ")
    assert lost.endswith("… lost. The rest was read; the file was not changed.")
    assert len(lost) < 500
    with closing(here.ask(QUESTION)) as events:
        next(events)
    assert last_exchange(here) == (QUESTION, UNANSWERED)
    here.saved = None
    assert last_exchange(here) == ("", "")


def test_it_goes_on_with_the_server_and_the_model_that_answered(environ: dict[str, str]) -> None:
    with served(Ollama({"llama3.2:3b": Model(), "qwen2.5:7b": Model()})) as (server, url):
        started = {**environ, "OLLAMA_HOST": url}
        assert thimble(started, "--model", "llama3.2:3b", "-p", "What is a context window?").returncode == 0
        before = len(server.sent())
        again = thimble(started, "--resume", "-p", "And again?", "--json")
        assert again.returncode == 0, again.stderr
        sent = server.sent()[before:]
        assert {body["model"] for body in sent} == {"llama3.2:3b"}
        assert "What is a context window?" in json.dumps(sent[0]["messages"])
        other = thimble(started, "--resume", "--model", "qwen2.5:7b", "-p", "And again?", "--json")
        assert json.loads(other.stdout.splitlines()[-1])["model"] == "qwen2.5:7b"
    stopped = thimble(started, "--resume", "-p", "And now?")
    assert (stopped.returncode, stopped.stdout) == (3, "")
    assert url in stopped.stderr
    resume_settings = re.search(r"or continue without it: thimble (--resume \S+ --backend reader)", stopped.stderr)
    assert resume_settings
    assert thimble(environ, *resume_settings[1].split(), "-p", "What is a context window?").returncode == 0
