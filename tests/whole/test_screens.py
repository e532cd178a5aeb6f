from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment

from tests.repl.screen.test_exchange import as_seen, said
from tests.support.doors import drawn, events
from tests.support.paper_terminal import ENDLESS, Roll
from tests.support.sessions import Paper
from tests.whole.test_escapes import steering
from tests.whole.test_pty import Open, terminal  # noqa: F401
from thimble.agent.events import Event, ReplyPiece
from thimble.repl.screen.exchange import Lines, Screen

WORD = re.compile(r"w\d{4}")


def numbered(count: int) -> list[str]:
    """An answer of numbered words in paragraphs, lists and code."""
    words = [f"w{number:04d}" for number in range(count)]
    breaks = {17: "\n\n", 40: "\n\n- ", 55: "\n- ", 60: "\n\n```\n", 66: "\n", 71: "\n```\n\n", 99: "\n\n"}
    return [breaks.get(number % 120, " ") + word for number, word in enumerate(words)]


class Redrawn(Screen):
    """A screen that is drawn when the test says so."""

    auto_refresh = False


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(1, 60), st.sampled_from([30, 40, 53, 80, 120])), min_size=1, max_size=12),
    st.booleans(),
    st.booleans(),
)
def test_resizing_loses_and_doubles_no_word(steps: list[tuple[int, int]], rewraps: bool, late: bool) -> None:
    """In terminals that wrap anew what they show, and in those that do not; and where a frame comes too late."""
    paper, pieces = Paper(120), numbered(sum(count for count, _ in steps))
    roll, seen, at = Roll(120 if rewraps else ENDLESS), 0, 0

    def look() -> None:
        nonlocal seen
        roll.feed(paper.text[seen:])
        seen = len(paper.text)

    with Redrawn(paper.console) as screen:
        for count, columns in steps:
            for piece in pieces[at : at + count]:
                screen.show(ReplyPiece("text", piece))
            at += count
            screen.redraw()
            look()
            roll.columns = columns if rewraps else ENDLESS
            if late:
                screen.redraw()
                look()
            paper.console.width = columns
        screen.show(said("".join(pieces))[-1])
    look()
    assert WORD.findall(roll.text) == WORD.findall("".join(pieces))


def test_resizing_while_a_block_is_printed_loses_nothing() -> None:
    class Narrowing:
        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            yield Segment("x" * options.max_width)
            console.width = 40

    paper = Paper(120)
    Screen(paper.console)._print(Narrowing(), "answer")
    assert paper.text.count("x") == 120


@pytest.mark.nightly
def test_resizing_a_real_terminal(terminal: Open) -> None:  # noqa: F811
    here = terminal("tests.support.scripted_conversation", "--numbered", "--pace", "400", columns=120)
    here.see(" tools")
    here.type("first\r")
    here.see("w0001")
    for number, columns in enumerate((40, 120, 60, 100, 40, 120)):
        here.resize(columns)
        here.see(f"w{number * 60 + 60:04d}")
    here.see("1 exchange")
    first, last = here.raw.index("w0000"), here.raw.rindex("w0599")
    roll = Roll()
    roll.feed(here.raw[here.raw.rindex("\x1b[?25l", 0, first) : here.raw.index("\x1b[?25h", last)])
    assert WORD.findall(roll.text) == [f"w{number:04d}" for number in range(600)]


def test_native_scrollback(terminal: Open) -> None:  # noqa: F811
    """Nothing goes up further than the live lines are high, and nothing is erased but from there on."""
    here = terminal("tests.support.scripted_conversation", "--numbered", "--pace", "800")
    here.see(" tools")
    here.type("first\r")
    here.see("1 exchange")
    answer = here.raw[here.raw.index("w0000") : here.raw.rindex("w0599")]
    assert max(map(int, re.findall(r"\x1b\[(\d+)A", answer))) < 6
    rest = re.sub(r"\x1b\[\?7[hl]", "", answer)
    assert set(re.findall(r"\x1b\[[?0-9;]*([A-Za-ln-z])", rest)) <= {"A", "J"}, "colours, up, and erase what is below"
    assert "\x1b[2J" not in here.raw
    for mode in ("1049", "47", "1000", "1002", "1003", "1006"):
        assert f"\x1b[?{mode}h" not in here.raw


@pytest.mark.parametrize(
    "text",
    [
        "漢字かな交じり文",
        "👩\u200d👩\u200d👧\u200d👦 family",
        "🇩🇪🇯🇵 flags",
        "e\u0301a\u0308 combined",
        "🧵 한국어 단어",
    ],
)
def test_wide_letters_stay_in_their_columns(text: str) -> None:
    rows = "\n".join(f"| {cell} | 1 |" for cell in (text, "plain", "x"))
    paper = shown(f"| a | b |\n|---|---|\n{rows}\n\n")
    in_terminal = [] if "\u200d" in text else as_seen(paper)[-3:]  # of these pyte knows no width
    for lines in (paper.text.splitlines()[-3:], in_terminal):
        assert len({cell_len(line[: line.rindex("1")]) for line in lines}) <= 1, lines
    narrow = shown(f"{text} " * 40, width=41)
    assert all(cell_len(line) <= 41 for line in narrow.text.splitlines())


def shown(text: str, width: int = 80) -> Paper:
    paper = Paper(width)
    screen = Screen(paper.console)
    for event in said(text):
        screen.show(event)
    return paper


@given(st.lists(st.text("ab \t", max_size=20), min_size=1, max_size=6))
def test_code_copies_as_it_was_written(lines: list[str]) -> None:
    code = "\n".join(["x", *lines, "x"])
    copied = shown(f"```\n{code}\n```\n").text.strip("\n").split("\n")
    wanted = [line.expandtabs(4).rstrip() for line in code.split("\n")]
    assert [line.removeprefix(" ") for line in copied] == wanted or copied == wanted


def test_a_paragraph_copies_without_boxes_and_blanks() -> None:
    paragraph = "A paragraph of words that is wrapped where it is too long. " * 3
    text = shown(f"# Title\n\n{paragraph}\n\n1. one\n2. two\n\n```\ncode\n```\n").text
    assert not set("─│┌┐└┘█▌") & set(text)
    assert all(line == line.rstrip() for line in text.split("\n"))


@pytest.mark.parametrize("kind", get_args(Event))
def test_plain_says_what_a_screen_shows(kind: type) -> None:
    """Every event that puts words on the screen for good says them in plain lines; a wait is only drawn."""
    of_kind = [event for event in events("words") if isinstance(event, kind)]
    assert of_kind
    for event in of_kind:
        assert {*re.findall(r"\w+", settled(event))} <= {*re.findall(r"\w+", drawn(Lines, [event]))}


def settled(event: Event) -> str:
    """What stays on the screen of one event."""
    paper = Paper(120)
    screen = Screen(paper.console)
    screen.show(event)
    return paper.text


@pytest.mark.parametrize("how", [pytest.param(["--plain"], marks=pytest.mark.nightly), []])
def test_the_corpus_in_a_real_terminal(terminal: Open, how: list[str], tmp_path: Path) -> None:  # noqa: F811
    here = terminal("tests.support.scripted_conversation", "--corpus-of-payloads", *how, NO_COLOR="1")
    here.see(" tools")
    here.type("first\r")
    here.see("turns 1 ·")
    here.type("second\r")
    here.see("turns 1 ·", until=lambda text: text.count("turns 1 ·") == 2)
    if how:
        assert steering(here.raw.replace("\r\n", "\n")) == []
    assert not re.search("\x1b[]P_^]|\x1b\\[(2J|6n|c)|[\x07\x9b\u202e\u2066]", here.raw)
