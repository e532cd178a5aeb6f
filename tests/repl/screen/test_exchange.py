from __future__ import annotations

from typing import Any

import pyte
from hypothesis import given
from hypothesis import strategies as st

from tests.repl.screen.test_sanitise import NASTY
from tests.support.sessions import Paper, ask, scripted, tool_call
from thimble.agent.events import Event, Prepared, Preparing, Replied, ReplyPiece
from thimble.agent.messages import Message, ToolCall
from thimble.agent.protocols import Usage
from thimble.repl.screen.exchange import Lines, Screen
from thimble.repl.screen.live import LIVE_LINES
from thimble.session.grounding import mark_unread

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


READ_IT = [Message("m3", "tool", "slug: observation-masking", call_id="c1", name="read_article")]


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
    assert paper.text == f"model: {mark_unread(text, READ_IT)}" + "\n" * (not text.endswith("\n"))


def test_a_line_is_written_when_it_is_complete() -> None:
    paper = Paper(120, drawn=False)
    with Lines(paper.console) as renderer:
        renderer.history = lambda: READ_IT
        for piece in ("One", " two ", "[made-", "up]"):
            renderer.show(ReplyPiece("text", piece))
            assert paper.text == ""
        renderer.show(ReplyPiece("text", ".\nThree"))
        assert paper.text == "model: One two [made-up (not read)].\n"


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


def test_words_before_a_call_are_quieter_and_a_source_that_was_not_read_is_a_warning() -> None:
    paper = Paper(80, color=True)
    with Screen(paper.console) as renderer:
        renderer.history = lambda: READ_IT
        for event in [*said("I look.", calls=(READ,)), *said("It hides [observation-masking] and [made-up].")]:
            renderer.show(event)
    assert "\x1b[2mI look.\x1b[0m" in paper.text
    assert paper.text.count("\x1b[33m (not read)") == 1
    assert "not read" not in screen(*said("[made-up]")).text, "where the history is not known"


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
