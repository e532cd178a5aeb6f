from __future__ import annotations

from typing import Any

import pyte
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text as Shown

from tests.repl.screen.test_sanitise import NASTY
from tests.support.sessions import Paper, ask, scripted, tool_call
from thimble.agent.events import Answered, Event, Prepared, Preparing, Replied, ReplyPiece
from thimble.agent.messages import Message, ToolCall
from thimble.agent.protocols import Text, Thinking, Usage
from thimble.repl.screen.exchange import Lines, Screen
from thimble.repl.screen.live import LIVE_LINES
from thimble.session.grounding import marked

READ = tool_call("read_article", slug="observation-masking", section="Opening")


def said(*pieces: str, calls: tuple[ToolCall, ...] = ()) -> list[Event]:
    """The events of one reply."""
    message = Message("m1", "assistant", "".join(pieces), calls=calls)
    return [*(ReplyPiece("text", piece) for piece in pieces), Replied(1, message, Usage(), 0.1, None)]


def lines(*events: Event, **rest: Any) -> Paper:
    paper = Paper(120, drawn=False)
    with Lines(paper.console, **rest) as renderer:
        for event in events:
            renderer.show(event)
    return paper


def screen(*events: Event, width: int = 80, color: bool = False) -> Paper:
    """What a screen shows in the end: the live lines are taken out, as a terminal would."""
    paper = Paper(width, color=color)
    renderer = Screen(paper.console)
    for event in events:
        renderer.show(event)
    renderer.__exit__(None, None, None)
    return paper


PASSAGE = "Tomatoes want water every two or three days; in hot weeks daily.\n\x1b[31mWet leaves bring mould. [tomatoes]"
ANSWER = [*said("Daily."), Answered("Daily.", "answered", passage=PASSAGE)]


def test_a_passage_stands_beneath_the_answer() -> None:
    assert lines(*ANSWER).text == (
        "model: Daily.\n"
        "passage: Tomatoes want water every two or three days; in hot weeks daily. Wet leaves bring mould. [tomatoes]\n"
    )
    assert [line.rstrip() for line in screen(*ANSWER, width=60).text.splitlines()] == [
        "Daily.",
        "",
        "  ❝ Tomatoes want water every two or three days; in hot",
        "  weeks daily. Wet leaves bring mould. [tomatoes]",
    ]
    assert "\x1b[31m" not in screen(*ANSWER, color=True).text


READ_IT = [Message("m3", "tool", "slug: observation-masking", call_id="c1", name="read_article")]
CITES = "It hides [observation-masking], so **they** say [made-up.md:7] and `a[latency]`.\n\n- [made-up]\n"


@given(st.lists(st.sampled_from([*"ab[]-,`\n", "[a-b]", "~~~\n", "a-c"]), max_size=40), st.data())
def test_lines_mark_what_was_not_read_however_they_come(letters: list[str], data: st.DataObject) -> None:
    text = f"x{''.join(letters)}"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    pieces = [text[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    paper = Paper(120, drawn=False)
    with Lines(paper.console) as renderer:
        renderer.history = lambda: READ_IT
        for event in said(*pieces):
            renderer.show(event)
    assert paper.text == f"model: {marked(text, READ_IT)}" + "\n" * (not text.endswith("\n"))


def test_a_line_is_written_when_it_is_complete() -> None:
    paper = Paper(120, drawn=False)
    with Lines(paper.console) as renderer:
        renderer.history = lambda: READ_IT
        for piece in ("One", " two ", "[made-", "up]"):
            renderer.show(ReplyPiece("text", piece))
            assert paper.text == ""
        renderer.show(ReplyPiece("text", ".\nThree"))
        assert paper.text == "model: One two [made-up (not read)].\n"


def test_a_screen_marks_what_was_not_read_in_the_colour_of_a_warning() -> None:
    paper = Paper(80, color=True)
    renderer = Screen(paper.console)
    renderer.history = lambda: READ_IT
    for event in said(*CITES):
        renderer.show(event)
    renderer.__exit__(None, None, None)
    assert paper.text.count("\x1b[33m (not read)") == 2
    plain = Shown.from_ansi(paper.text).plain.splitlines()
    assert [line for line in plain if line] == [
        "It hides [observation-masking], so they say [made-up.md:7 (not read)] and",
        "a[latency].",
        " • [made-up (not read)]",
    ]
    assert "not read" not in screen(*said(*CITES)).text, "where the history is not known"


def as_seen(paper: Paper) -> list[str]:
    """The lines that a terminal shows in the end."""
    terminal = pyte.Screen(paper.console.width, 200)
    terminal.set_mode(pyte.modes.LNM)
    pyte.Stream(terminal).feed(paper.text)
    return "\n".join(line.rstrip() for line in terminal.display).rstrip().split("\n")


@given(st.lists(NASTY, max_size=6), st.booleans())
def test_a_screen_never_passes_a_sequence_on(pieces: list[str], called: bool) -> None:
    text = screen(*said(*pieces, calls=(READ,) if called else ())).text
    assert "\x1b" not in text
    assert "\x9b" not in text


def test_lines_have_labels() -> None:
    session = scripted([Thinking("hm,\nwell"), Text("I look."), READ, tool_call("nothing", 2)], "It **hides** results.")
    shown = lines(*ask(session)).lines
    assert shown[0] == "thinking: hm, well"
    assert shown[1] == "model: I look."
    assert shown[2].startswith('tool: read_article "observation-masking" section="Opening" → ')
    assert shown[3].startswith("error: nothing → there is no tool named 'nothing'")
    assert shown[4] == "model: It **hides** results."
    assert len(shown) == 5


def test_what_turns_out_to_be_a_thought_is_not_shown_as_the_answer() -> None:
    thought = ReplyPiece("thinking", "So a sum", was_text=True)
    reply = [ReplyPiece("text", "So a sum"), thought, *said("It is 4.")]
    assert lines(*reply).text == "thinking: So a sum\nmodel: It is 4.\n"
    assert screen(*reply).text.split() == ["∴", "So", "a", "sum", "It", "is", "4."]


def test_what_is_said_before_a_call_is_quieter_than_the_answer() -> None:
    text = screen(*said("I look.", calls=(READ,)), *said("It hides."), color=True).text
    assert "\x1b[2mI look.\x1b[0m" in text
    assert "\nIt hides.\n" in text


def test_a_screen_shows_markdown() -> None:
    text = screen(
        *said("# Title\n\nA **bold** [slug] <b>tag</b> [link](http://a.b) ![pic](p.png)\n\n- one\n- two")
    ).text
    assert [line for line in text.splitlines() if line] == [
        "Title",
        "A bold [slug] <b>tag</b> link (http://a.b) !pic (p.png)",
        " • one",
        " • two",
    ]


def test_the_act_of_a_strategy_is_told_once() -> None:
    """Of one long result; the two errors after it are too short to be masked."""
    reads = [[tool_call("read_article", page, slug="observation-masking", page=page)] for page in (1, 98, 99)]
    session = scripted(*reads, "So.", strategy="observation-masking:when=always,window=1", budget=20_000)
    shown = lines(*ask(session)).lines
    assert [line.startswith("strategy: ") and "masked 1 result " in line for line in shown].count(True) == 1


def test_live_lines_are_few_and_wiped() -> None:
    paper = Paper(40)
    with Screen(paper.console) as renderer:
        renderer.show(Preparing(1, "mine", 8000))
        for _ in range(40):
            renderer.show(ReplyPiece("text", "many words in one paragraph that goes on "))
        renderer.redraw()
        tail = paper.console.render_lines(renderer._live.get_renderable())  # type: ignore[union-attr]
        assert 1 < len(tail) <= LIVE_LINES
    assert paper.text.count("\x1b[J") > 1
    seen = as_seen(paper)
    assert len(seen) == 41, "a blank line and every line of the paragraph, once"
    assert seen[-1] == "many words in one paragraph that goes on"


def test_prepared_says_what_is_read() -> None:
    session = scripted("So.")
    renderer = Screen(Paper().console)
    for event in ask(session):
        renderer.show(event)
        if isinstance(event, Prepared):
            shown = Paper()
            shown.console.print(renderer._tail())
            assert f"reading {event.view.tokens:,} tokens…" in shown.text
