from __future__ import annotations

import json
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scripts.recordings import LINES
from tests.support.pty_terminal import Terminal
from thimble.repl.cli.recordings import SHIPPED

Open = Callable[..., Terminal]
ESCAPE = "\x1b"


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Open]:
    opened: list[Terminal] = []

    def start(*arguments: str, **rest: Any) -> Terminal:
        opened.append(Terminal(*arguments, state=tmp_path, **rest))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


def test_a_conversation(terminal: Open) -> None:
    here = terminal("repl", "--backend", "reader")
    here.see("thimble", "›", "56 articles", "next ")
    here.type("What breaks a prefix cache?")
    here.see("› What breaks a prefix cache?", " · prefill ")
    here.type("\r")
    shown = here.see("⌕ search_articles", "turns ", "1 exchange")
    footer = next(line for line in shown.splitlines() if line.startswith("turns "))
    assert " · ctx " in footer
    assert "/4,000 " in footer
    here.type("/strategy sliding-window\r")
    here.see("The strategy is now sliding-window", "· sliding-window · reader · 1 exchange")
    here.type("/strategi\r")
    here.see("there is no command /strategi", "did you mean /strategy?")
    here.resize(60)
    here.type("/stats\r")
    here.see("Prompt tokens of each call")
    assert all(len(line) <= 60 for line in here.lines)
    here.type("\x1b[200~one\rtwo\nthree\x1b[201~")
    shown = here.see("› one", "  two", "  three")
    assert "2 exchanges" not in shown, "a paste sends nothing"
    here.type("\x03")
    here.see("ctx", until=lambda text: "three" not in text)
    here.type("\x03")
    here.see("Ctrl-D or /quit leaves")
    here.type("\x04")
    assert here.end() == 0
    assert "Saved as " in here.raw
    assert "\x1b[?1049h" not in here.raw, "no alternate screen"
    assert "\x1b[?1000h" not in here.raw, "no mouse"
    assert "\x1b[6n" not in here.raw, "the terminal is asked nothing"


@pytest.mark.nightly
def test_enter_pressed_while_it_starts_sends(terminal: Open) -> None:
    here = terminal("repl", "--backend", "reader")
    here.type("help\rquit\r", ahead=True)
    assert here.end() == 0
    assert "/strategy" in here.text


@pytest.mark.parametrize("answering", [pytest.param(False, marks=pytest.mark.nightly), True])
def test_who_is_killed_gives_the_terminal_back(terminal: Open, answering: bool) -> None:
    here = terminal("tests.support.scripted_conversation", "--pace", "300")
    here.see(" tools", "next ")
    if answering:
        here.type("first\r")
        here.see("∴ A long thought")
    here.kill(signal.SIGTERM)
    assert here.is_given_back


def test_each_line_that_is_sent_while_something_runs_is_asked_in_its_turn(terminal: Open) -> None:
    here = terminal("tests.support.scripted_conversation", "--pace", "60")
    here.see(" tools", "next ")
    here.type("first\r")
    here.see("∴ A long thought")
    here.type("\rsecond?\r\x1b[200~help\rexit\x1b[201~", ahead=True)  # a paste is one text, whatever its lines
    here.see("› second?", "evil clear", "2 exchanges", "› help", "  exit")
    here.type("\x03")
    here.see("ctx", until=lambda text: "  exit" not in text)
    here.type("help\r")
    here.see("/strategy", "/quit")
    here.type("Exit\r")
    assert here.end() == 0


def test_ctrl_c_stops_an_answer_and_drops_nothing_that_was_sent_meanwhile(terminal: Open) -> None:
    here = terminal("tests.support.scripted_conversation", "--pace", "60")
    here.see(" tools", "next ")
    here.type("first\r")
    here.see("∴ A long thought")
    here.type("second?\rthird\x03", ahead=True)
    here.see("stopped: the session continues", "› second?", "turns 1 ·", "› third")


def test_no_control_character_of_a_paste_is_in_the_question(terminal: Open) -> None:
    here = terminal("tests.support.scripted_conversation", "--echo")
    here.see(" tools", "next ")
    here.type("\x1b[200~a\x1b[31mred\x1b]0;title\x07\x00 b\x9b1m\u202ec\x1b[201~\r")
    here.see("'ared bc'")


def test_whatever_happens_the_session_goes_on(terminal: Open) -> None:
    here = terminal("tests.support.scripted_conversation", "--pace", "60", columns=100)
    here.see(" tools")
    here.type("first\r")
    here.see("∴ A long thought")
    here.type("second", ahead=True)
    shown = here.see("▤ read_article", "A prefix breaks where it differs.", " • two", "1 exchange", "› second")
    assert "**" not in shown
    assert shown.count("second") == 1, "what is typed ahead is not echoed, and stands on the next prompt"
    here.type("\r")
    shown = here.see("evil clear  [bold (not read)]markup[/bold] red", "2 exchanges")
    assert "A prefix breaks where it differs." in shown, "the screen was not cleared"
    here.type("third\r")
    here.see("✗ the server has gone", "start it again", "3 exchanges")
    here.type("fourth\r")
    here.see("slow slow slow")
    here.type("\x03")
    here.see("stopped: the session continues", "4 exchanges")
    here.type("/strategy tests.support.scripted_conversation:Bug\r")
    here.see("now tests.support.scripted_conversation:Bug", "tests.support.scripted_conversation:Bug · scripted")
    here.type("fifth\r")
    here.see("ZeroDivisionError: of mine", "% + ? · tests.support.scripted_conversation:Bug")
    here.type("/strategy none\r")
    here.see("now none", "none · scripted")
    here.type("sixth\r")
    here.see("And it went on.", "6 exchanges")
    here.type("/quit\r")
    assert here.end() == 0


@pytest.mark.parametrize(
    ("arguments", "environment"), [(["--plain"], {}), pytest.param([], {"TERM": "dumb"}, marks=pytest.mark.nightly)]
)
def test_plain_is_free_of_escapes(terminal: Open, arguments: list[str], environment: dict[str, str]) -> None:
    here = terminal("tests.support.scripted_conversation", *arguments, **environment)
    here.see("you:")
    here.type("first\n")
    here.see("thinking: A long thought", "tool: read_article", "model: # Found", "turns 2 · ctx ")
    here.type("second\n")
    here.see("model: evil clear")
    here.type("/stats\n")
    here.see("Prompt tokens of each call")
    here.type("third\n")
    here.see("error: the server has gone", "fix: start it again")
    here.type("fourth\n")
    here.see("slow slow", "turns 1 · from memory")
    here.type("\x03")
    here.see("Ctrl-D or /quit leaves")
    here.type("\x04")
    assert here.end() == 0
    assert ESCAPE not in here.raw
    assert not set("─│┌▓╌█⠋") & set(here.raw)


def test_a_session_that_cannot_work_says_so_and_ends(terminal: Open, tmp_path: Path) -> None:
    here = terminal("repl", "--backend", "reader", "--corpus", str(tmp_path))
    here.see("no articles in", "fix: ")
    assert here.end() == 2


def test_ctrl_c_while_a_server_is_waited_for(terminal: Open) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        here = terminal("repl", "--backend", "ollama", "--base-url", f"127.0.0.1:{silent.getsockname()[1]}")
        here.see("thimble", "›", "next ")
        here.type("What is masking?\r")
        here.see("looking for the model…")
        here.type("\x03")
        here.see("stopped: nothing was asked")
        here.type("\x04")
        assert here.end() == 0


def first_answer(name: str) -> str:
    """The beginning of the first answer in a shipped recording."""
    records = map(json.loads, (SHIPPED / f"{name}.jsonl").read_text("utf-8").splitlines())
    text: str = next(record["text"] for record in records if record["type"] == "answered")
    return text[:30]


@pytest.mark.nightly
def test_a_recording_comes_line_by_line(terminal: Open) -> None:
    here = terminal("repl", "--replay", "reader/offload", "--pace", "0")
    here.see(
        "thimble", "offload in 4,000 tokens", "› Read the article about context windows", "Played from reader/offload"
    )
    here.type("\r")
    here.see(first_answer("reader/offload"), "turns ", "› /plant The door code of the library is 7431.")
    here.type("Is anybody there?\r")
    here.see("“Is anybody there?” is not in the recording, and no model is asked", "it has 5 questions")
    for line in LINES[1:]:
        here.see(until=lambda text, line=line: text.splitlines()[-2].startswith(f"› {line[:30]}"))  # type: ignore[misc]
        here.type("\r")
    here.see("the recording has ended: Ctrl-D leaves")
    here.type("\r/stats\r")
    here.see("Prompt tokens of each call")
    here.type("\x04")
    assert here.end() == 0
