"""The prompt: questions are typed with prompt_toolkit if the terminal allows it, else as plain lines."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.application.current import get_app
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, DynamicCompleter, get_common_complete_suffix
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, has_focus
from prompt_toolkit.formatted_text import FormattedText, StyleAndTextTuples
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input.typeahead import store_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import ColorDepth, Output
from prompt_toolkit.styles import Style, merge_styles

from thimble.commands.tour import offered_line
from thimble.repl.prompt.meter import Meter
from thimble.repl.screen.sanitise import one_line, without_controls
from thimble.repl.screen.theme import GLYPH

if TYPE_CHECKING:
    from thimble.session.session import Session

REDRAW_SECONDS = 0.2
MAX_PASTE_LINES = 10
"""The longest paste that is shown in full."""
AT_THE_END = "the recording has ended: Ctrl-D leaves"
PROMPT_STYLE = Style.from_dict(
    {
        "glyph": "bold ansigreen",
        "name": "bold ansicyan",
        "bottom-toolbar": "noreverse",
        "calm": "ansigreen",
        "near": "ansiyellow",
        "over": "bold ansired",
        "rest": "ansibrightblack",
        "auto-suggestion": "ansibrightblack",
    }
)
STAGED = Style.from_dict({"bottom-toolbar": "noreverse bold", "rest": "fg:default bold"})


class PlainPrompt:
    """One line, edited by the terminal itself: for plain output and simple terminals.

    The line that `suggested` returns is printed first, and Enter alone sends it.
    """

    def __init__(self, suggested: Callable[[], str | None] = lambda: None, label: str = "next") -> None:
        self._suggested, self._label = suggested, label

    def greet(self, name: str, rest: str) -> None:
        """Print the first line: a name and the text after it."""
        sys.stdout.write(f"{name}{rest}\n")

    def read(self) -> str:
        """Read a line; the terminal itself keeps type-ahead.

        Raises EOFError to leave, KeyboardInterrupt at Ctrl-C.
        """
        suggested = self._suggested()
        if suggested is not None:
            sys.stdout.write(
                f"{self._label}: {one_line(suggested)} (Enter sends it)\n" if suggested else f"{AT_THE_END}\n"
            )
        try:
            return without_controls(input("you: ")) or suggested or ""
        except (KeyboardInterrupt, EOFError):
            sys.stdout.write("\n")  # the key left the cursor after the prompt
            raise


class TerminalPrompt:
    """Line editing with history, completion and the meter. Drawn at once, before the session is loaded.

    Args:
        session: The session to complete and to measure; it is warmed up in the background, once the prompt is drawn.
        announce: Called when the session is warm, with the prompt erased, to print what is known then.
        suggested: The text on an empty prompt, which Enter sends and Tab inserts; "" after the last one, None for none.
    """

    def __init__(
        self, session: Session, announce: Callable[[], None], suggested: Callable[[], str | None] = lambda: None
    ) -> None:
        self._announce = announce
        self._session, self._meter = session, Meter(session, self._redraw)
        self._warming = False
        session.reading.watch(lambda words: self._redraw(), REDRAW_SECONDS)
        self._pastes = Pastes()
        stage = session.settings.stage
        self._style = merge_styles([PROMPT_STYLE, STAGED]) if stage else PROMPT_STYLE
        self._prompt: PromptSession[str] = PromptSession(
            [("class:glyph", GLYPH)],
            multiline=True,
            prompt_continuation=" " * len(GLYPH),
            history=InMemoryHistory() if stage else open_history(self._pastes.restore_pastes),
            auto_suggest=AutoSuggestFromHistory(),
            placeholder=lambda: [("class:auto-suggestion", on_empty(suggested()))],
            completer=DynamicCompleter(lambda: self._completions),
            complete_while_typing=False,
            key_bindings=_keys(suggested, self._pastes),
            bottom_toolbar=self._toolbar,
            style=self._style,
            include_default_pygments_style=False,
            color_depth=ColorDepth.from_env() if session.settings.color else ColorDepth.DEPTH_1_BIT,
            output=_output(),
            enable_open_in_editor=True,
            enable_suspend=True,
            tempfile_suffix=".md",
            reserve_space_for_menu=6,
        )
        self._prompt.app.after_render += lambda _: self._warm()

    @cached_property
    def _completions(self) -> Completer:
        from thimble.repl.prompt.completion import Completions

        return Completions(self._session)

    def greet(self, name: str, rest: str) -> None:
        """Print the first line in the colours of the prompt, without loading rich for it."""
        words = FormattedText([("class:name", name), ("class:rest", f"{rest}\n")])
        self._prompt.app.print_text(words, self._style)

    def take_typeahead(self) -> None:
        """Take the keys pressed before the prompt. A terminal sends Enter as Ctrl-J until raw mode is on."""
        keyboard = self._prompt.app.input
        keys = (KeyPress(Keys.Enter) if each.key == Keys.ControlJ else each for each in keyboard.read_keys())
        store_typeahead(keyboard, [*keys])

    def read(self) -> str:
        """Read a line, in typing order, including lines typed before this prompt.

        Raises the error of a session that cannot work at all, once it is known.
        """
        if self._meter.error:
            raise self._meter.error
        self._meter.refresh()
        app = self._prompt.app
        store_typeahead(app.input, app.input.read_keys())
        try:
            return self._pastes.restore_pastes(self._prompt.prompt())
        finally:
            app.output.enable_bracketed_paste()  # lines pasted while an answer runs stay one text
            app.output.flush()

    def _toolbar(self) -> StyleAndTextTuples:
        columns = self._prompt.app.output.get_size().columns
        return [*self._meter.pieces(self._pastes.restore_pastes(self._prompt.default_buffer.text), columns - 1)]

    def _redraw(self) -> None:
        self._call_soon(self._prompt.app.invalidate)

    def _call_soon(self, act: Callable[[], None]) -> None:
        """Call `act` in the thread of the prompt, from any other, unless the prompt has ended."""
        loop = self._prompt.app.loop
        if loop:
            with suppress(RuntimeError):  # it is closed
                loop.call_soon_threadsafe(act)

    def _warm(self) -> None:
        if not self._warming:
            self._warming = True
            Thread(target=self._load, daemon=True).start()

    def _load(self) -> None:
        self._meter.warm()
        self._call_soon(self._loaded)
        if not self._meter.error and (warming := self._session.begin_warming()):
            self._redraw()
            warming.wait()
            self._meter.refresh()
            self._redraw()

    def _loaded(self) -> None:
        """Announce. prompt_toolkit's own `run_in_terminal` would echo type-ahead, and Enter as Ctrl-J."""
        app = self._prompt.app
        if app.is_running and self._meter.error:
            app.exit(exception=self._meter.error)
        elif app.is_running:
            app.renderer.erase()
            self._announce()
            app.renderer.request_absolute_cursor_position()
            app.invalidate()


def open_prompt(session: Session, plain: bool, announce: Callable[[], None]) -> PlainPrompt | TerminalPrompt:
    """Open the best prompt that this terminal can show."""

    def suggested() -> str | None:
        if session.playback:
            return session.playback.suggested()
        return offered_line(session)

    label = "recorded" if session.playback else "next"
    if plain or not sys.stdin.isatty():
        return PlainPrompt(suggested, label)
    try:
        return TerminalPrompt(session, announce, suggested)
    except Exception as error:
        if type(error).__name__ != "NoConsoleScreenBufferError":  # only Windows can import it
            raise
        return PlainPrompt(suggested, label)


class Pastes:
    """Long pastes: the screen shows a placeholder for each; the whole text is sent."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def fold_paste(self, text: str) -> str:
        """The text, or its placeholder if it is long."""
        lines = text.count("\n") + 1
        if lines <= MAX_PASTE_LINES:
            return text
        word = f"[paste {len(self._texts) + 1}: {lines:,} lines]"
        self._texts[word] = text
        return word

    def restore_pastes(self, text: str) -> str:
        """The text with every paste in place of its placeholder, and without control characters."""
        for word, paste in self._texts.items():
            text = text.replace(word, paste)
        return without_controls(text)


def open_history(whole: Callable[[str], str] = str) -> History:
    """Open the lines of earlier sessions, in a file that only the user can read; in memory if that fails.

    `whole` turns a typed line into the line to save.
    """
    from platformdirs import user_state_dir

    path = Path(user_state_dir("thimble"), "history")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_APPEND, 0o600))
    except OSError:
        return InMemoryHistory()
    return _History(path, whole)


class _History(FileHistory):
    """A history file; if it is lost or locked, the session continues without it."""

    def __init__(self, path: Path, whole: Callable[[str], str]) -> None:
        super().__init__(path)
        self._whole = whole

    def load_history_strings(self) -> Iterable[str]:
        try:
            return list(super().load_history_strings())
        except OSError:
            return []

    def store_string(self, string: str) -> None:
        with suppress(OSError):
            super().store_string(self._whole(string))


def on_empty(suggested: str | None) -> str:
    """The text on an empty prompt."""
    return "" if suggested is None else one_line(suggested) or AT_THE_END


def _keys(suggested: Callable[[], str | None], pastes: Pastes) -> KeyBindings:
    keys = KeyBindings()
    typing = has_focus(DEFAULT_BUFFER)

    @keys.add("enter", filter=typing)
    def _(event: KeyPressEvent) -> None:
        if not event.current_buffer.text and event.app.renderer.last_rendered_screen:  # not before it is shown
            event.current_buffer.text = suggested() or ""
        if event.current_buffer.text.strip():
            event.current_buffer.validate_and_handle()

    @keys.add("<bracketed-paste>", filter=typing)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text(pastes.fold_paste(without_controls(event.data)))

    @keys.add("c-j", filter=typing)
    @keys.add("escape", "enter", filter=typing)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.newline(copy_margin=False)

    @keys.add("tab", filter=typing)
    def _(event: KeyPressEvent) -> None:
        if event.current_buffer.text:
            _complete(event.current_buffer)
        else:
            event.current_buffer.insert_text(suggested() or "")

    @keys.add("right", filter=typing & Condition(lambda: not get_app().current_buffer.text))
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text(suggested() or "")

    @keys.add("<vt100-mouse-event>", eager=True)
    def _(event: KeyPressEvent) -> None:
        """Ignore mouse reports: they are not enabled, so this is text such as `ESC [ 31 m`."""

    @keys.add("c-c", filter=typing)
    def _(event: KeyPressEvent) -> None:
        if event.current_buffer.text:
            event.current_buffer.reset()
        else:
            event.app.exit(exception=KeyboardInterrupt)

    return keys


def _complete(buffer: Buffer) -> None:
    """Insert the common start of all completions at once, so that keys typed after Tab come after it."""
    if buffer.complete_state:
        buffer.complete_next()
        return
    offers = list(buffer.completer.get_completions(buffer.document, CompleteEvent(completion_requested=True)))
    buffer.insert_text(get_common_complete_suffix(buffer.document, offers))
    if len(offers) > 1:
        buffer.start_completion()


def _output() -> Output | None:
    """An output that never asks for the cursor position: a slow terminal's reply would end up in the text."""
    if sys.platform == "win32" or not sys.stdout.isatty():
        return None  # prompt_toolkit's default
    from prompt_toolkit.output.vt100 import Vt100_Output

    class Unasked(Vt100_Output):
        def get_rows_below_cursor_position(self) -> int:
            return 1

    return Unasked.from_pty(sys.stdout, term=os.environ.get("TERM"))
