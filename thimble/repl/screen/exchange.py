"""Draw an exchange while it happens. Finished lines are printed once and never redrawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Literal

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.text import Text

from thimble.agent import events
from thimble.agent.events import Event, Prepared, Replied, ReplyPiece, ToolReturned
from thimble.agent.messages import Message
from thimble.agent.protocols import Waiting
from thimble.repl.screen import trace
from thimble.repl.screen.blocks import Blocks
from thimble.repl.screen.sanitise import Sanitiser, one_line
from thimble.repl.screen.trace import Kind
from thimble.session import figures
from thimble.session.grounding import Prose, mark_unread

if TYPE_CHECKING:
    from rich.live import Live

KIND_STYLES: dict[Kind, str] = {
    "tool": "tool",
    "act": "act",
    "note": "warn",
    "over": "over",
    "error": "error",
    "thought": "thought",
    "passage": "quiet",
}
ENDING_LINES = {
    "turn-limit": "  ! the turn limit of this question was reached: the model had to answer without more tools",
    "refused": "  ✗ the model declined to answer: rephrase the question, or take another model (/model)",
    "thought": "  ✗ the model spent its reply on thinking and did not answer: ask again, or lower --think",
    "empty": "  ✗ the model returned an empty answer: ask again, or take another model (/model)",
}
TAIL_CHARACTERS = 4_000
TURNS_PER_SECOND = 12
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


class Lines:
    """Append-only lines with a label each: no colour, no drawing, nothing is ever moved or redrawn.

    A line of an answer is written when it is complete. With `history` set, it marks citations of articles that no tool
    has shown.
    """

    history: Callable[[], Sequence[Message]] | None = None

    def __init__(self, console: Console) -> None:
        self.console = console
        self._prose, self._open, self._began = Prose(), "", False
        self._reading = ""
        self._text, self._thinking = Sanitiser(), Sanitiser()
        self._thought: list[str] = []

    def __enter__(self) -> Lines:
        """Ready to show events."""
        return self

    def __exit__(self, *_: object) -> None:
        """End an open line, however the exchange ended."""
        self._end_text(called=False)

    def show(self, event: Event) -> None:
        """Show one event."""
        match event:
            case events.Preparing():
                self._reading = ""
                self._wait(f"{one_line(event.strategy)} prepares the view")
            case events.SideBegan():
                self._line("act", trace.side_began_line(event))
            case events.SideCalled():
                self._line("error" if event.error else "act", trace.side_line(event))
            case Prepared():
                self._on_prepared(event)
            case Waiting():
                self._waiting_for(event)
            case ReplyPiece():
                self._on_reply_piece(event)
            case Replied():
                self._on_replied(event)
            case events.PromptCut():
                self._line("over", trace.prompt_cut_line(event))
            case events.ToolCalled():
                self._wait(trace.call_line(event.call, self.console.width - 20))
            case ToolReturned():
                self._on_tool_returned(event)
            case events.Answered():
                if event.ending in ENDING_LINES and not (event.ending == "refused" and event.text.strip()):
                    self._line("note" if event.ending == "turn-limit" else "error", ENDING_LINES[event.ending])
                self._line("passage", trace.passage_line(event))

    def _on_replied(self, event: Replied) -> None:
        self._end_text(called=bool(event.message.calls))
        self._line("note", trace.cut_off_line(event))

    def _on_prepared(self, event: Prepared) -> None:
        for note in trace.note_lines(event):
            self._line("note", note)
        self._act(event)
        self._line("over", trace.over_line(event))
        self._reading = f"reading {figures.format_tokens(event.view.tokens, event.exact)} tokens"
        self._wait(self._reading)

    def _on_reply_piece(self, event: ReplyPiece) -> None:
        if event.was_text:
            self._drop_text()
        if event.kind == "thinking":
            self._thought.append(self._thinking.feed(event.text))
            return
        text = self._text.feed(event.text)
        if text:
            self._end_thought()
            self._say(text)

    def _waiting_for(self, event: Waiting) -> None:
        """Print the server's activity before its reply, such as loading the model."""
        self._line("note", f"  … {one_line(event.what)}")

    def _end_thought(self) -> None:
        thought, self._thought = "".join([*self._thought, self._thinking.flush()]).strip(), []
        if thought:
            self._think(thought)

    def _end_text(self, called: bool) -> None:
        self._end_thought()
        rest = self._text.flush()
        if rest:
            self._say(rest)
        self._end_reply_text(called)

    def _act(self, event: Prepared) -> None:
        self._line("act", trace.acted_line(event, self._width()))

    def _on_tool_returned(self, event: ToolReturned) -> None:
        self._line("tool" if event.ok else "error", trace.tool_line(event, self._width()))

    # ---- overridden by a drawn screen ----

    def _think(self, thought: str) -> None:
        self._line("thought", trace.cut_line(f"  ∴ {one_line(thought)}", self._width()))

    def _width(self) -> int:
        return trace.PLAIN_WIDTH

    def _wait(self, what: str) -> None:
        """Nothing is drawn while waiting."""

    def _line(self, kind: Kind, text: str | None) -> None:
        if text:
            self.console.out(trace.label_line(kind, text), highlight=False)

    def _say(self, text: str) -> None:
        *whole, self._open = f"{self._open}{text}".split("\n")
        for each in whole:
            self._write(each)

    def _drop_text(self) -> None:
        """Drop the text that is not shown yet."""
        self._open = ""

    def _write(self, text: str) -> None:
        """Write a line of the answer; the first that is not empty has the label."""
        text = text if self._began else text.lstrip()
        if text or self._began:
            shown = mark_unread(f"{text}\n", self.history(), self._prose) if self.history else f"{text}\n"
            label = "" if self._began else "model: "
            self.console.file.write(f"{label}{shown}")  # past rich, which makes blanks of tabs
            self.console.file.flush()
            self._began = True

    def _end_reply_text(self, called: bool) -> None:
        if self._open:
            self._write(self._open)
        self._prose, self._open, self._began = Prose(), "", False


class Screen(Lines):
    """Colours, Markdown, and a few live lines at the end while something runs, erased when it is done.

    The live lines are redrawn several times a second; without `auto_refresh`, when `redraw` is called.
    """

    auto_refresh = True

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._blocks = Blocks()
        self._shown: Literal["", "trace", "answer"] = ""
        self._waiting, self._since = "", perf_counter()
        self._pause, self._pause_ends = "", 0.0
        self._live: Live | None = None

    def __enter__(self) -> Screen:
        """Start the live lines."""
        from thimble.repl.screen.live import live_lines

        self.console.print()
        self._live = live_lines(self.console, self._tail, self.auto_refresh)
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Erase the live lines; the received part of an interrupted answer stays."""
        try:
            super().__exit__()
        finally:
            if self._live:
                self._waiting = ""
                self._live.stop()

    def redraw(self) -> None:
        """Draw the live lines now."""
        if self._live:
            self._live.refresh()

    def _width(self) -> int:
        return self.console.width

    def _waiting_for(self, event: Waiting) -> None:
        if event.seconds:
            self._pause, self._pause_ends = one_line(event.what), perf_counter() + event.seconds
        else:
            self._wait(", then ".join(filter(None, [one_line(event.what), self._reading])))

    def _wait(self, what: str) -> None:
        self._waiting, self._since = what, perf_counter()

    def _line(self, kind: Kind, text: str | None) -> None:
        if text:
            shown = Text(text.lstrip(), style=KIND_STYLES[kind])
            self._print(Padding(shown, (0, 0, 0, len(text) - len(shown)), expand=False), "trace")

    def _say(self, text: str) -> None:
        self._wait("writing")
        for block in self._blocks.feed(text):
            self._answer(block)

    def _drop_text(self) -> None:
        self._blocks = Blocks()

    def _end_reply_text(self, called: bool) -> None:
        for block in self._blocks.flush():
            if called:
                self._print(Padding(Text(block.strip(), style="quiet"), (0, 0, 0, 2), expand=False), "trace")
            else:
                self._answer(block)

    def _answer(self, block: str) -> None:
        from thimble.repl.screen.markdown import Markdown

        if self._shown:
            self.console.print()
        self._print(Markdown(mark_unread(block, self.history()) if self.history else block), "answer")

    def _print(self, what: RenderableType, kind: Literal["trace", "answer"]) -> None:
        if kind == "trace" and self._shown == "answer":
            self.console.print()
        self._shown = kind
        # Not cropped: if the terminal becomes narrower at this moment, ends of lines would be lost.
        self.console.print(what, soft_wrap=False, crop=False)

    def _tail(self) -> RenderableType:
        """The live lines: the end of the unfinished block, the thinking, or the current wait."""
        rest = self._blocks.open(TAIL_CHARACTERS)
        if rest.strip():
            from thimble.repl.screen.markdown import Markdown

            return Markdown(rest) if len(rest) <= TAIL_CHARACTERS else Text(rest[-TAIL_CHARACTERS:])
        thought = one_line("".join(self._thought[-200:]))
        if thought:
            room = max(1, self.console.width - 6)
            return Text(f"  {self._frame()} …{thought[-room:]}", style="thought", no_wrap=True)
        if self._waiting:
            seconds = perf_counter() - self._since
            passed = f" {seconds:.0f} s" if seconds >= 1 else ""
            what = self._pause if perf_counter() < self._pause_ends else self._waiting
            return Text(trace.cut_line(f"  {self._frame()} {what}…{passed}", self.console.width), style="quiet")
        return Text("")

    def _frame(self) -> str:
        return SPINNER[int(perf_counter() * TURNS_PER_SECOND) % len(SPINNER)]
