"""The conversation: read a question, show the answer as it comes, print its cost, until the user leaves.

Modules that the first prompt does not need are imported after it.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, nullcontext
from functools import cached_property
from shlex import quote
from typing import TYPE_CHECKING

from thimble.agent.errors import Stopped, ThimbleError
from thimble.agent.events import Answered
from thimble.commands.tour import tour_of
from thimble.repl.prompt.interrupts import Interrupts
from thimble.repl.prompt.prompt import PlainPrompt, TerminalPrompt, open_prompt
from thimble.repl.screen.keys import silent_keyboard, wait_for_key
from thimble.repl.screen.sanitise import one_line
from thimble.repl.screen.theme import console_for, is_plain, say
from thimble.tools.wording import count_noun

if TYPE_CHECKING:
    from rich.console import Console

    from thimble.repl.screen.exchange import Lines
    from thimble.session.session import Session

ANSWER_STOPPED = "stopped: the session continues; the unfinished answer is not kept"
LOOKING_FOR_MODEL = "looking for the model"
MODEL_NOT_FOUND = "stopped: nothing was asked; ask again to look for the model again"
ARTICLES_NOT_READ = "stopped: the articles read so far are kept; ask again to read the rest"
WITHOUT_ARTICLES = ("/quit", "/exit", "/help", "/?")
"""Commands that do not wait for the articles."""
NEW_HERE = "New here? Type /tour, or ask: What is context rot? What is masking?"
"""The greeting of the first session: the tour, and typical questions."""
HOW_TO_LEAVE = "Ctrl-D or /quit leaves"


def converse(session: Session, first: str = "") -> int:
    """Converse until the user leaves, starting with the line `first`; return the exit code.

    Raises:
        ThimbleError: the strategy or the model server cannot be used at all.
    """
    plain = is_plain(session.settings.plain)
    session.backends.can_pull = True
    if session.playback and not plain:
        session.notices.append("Enter sends the grey line, the next line of the recording.")
    return Conversation(session, plain).run(first)


class Conversation:
    """The loop of prompt and answer."""

    def __init__(self, session: Session, plain: bool) -> None:
        self.plain = plain
        self._interrupts = Interrupts()
        self._introduced = False
        self._continue_with(session)

    def _continue_with(self, session: Session) -> None:
        self.session = session
        self._prompt = open_prompt(session, self.plain, self.print_introduction)
        if isinstance(self._prompt, PlainPrompt):
            session.reading.watch(lambda words: say(self.console, words))

    @cached_property
    def console(self) -> Console:
        """The console for everything but the prompt."""
        return console_for(self.plain, color=self.session.settings.color, stage=self.session.settings.stage)

    def run(self, first: str = "") -> int:
        """Run until Ctrl-D or /quit; Ctrl-C never ends it. Returns the exit code."""
        going = True
        with self._interrupts, silent_keyboard(not self.plain):
            if isinstance(self._prompt, TerminalPrompt):
                self._prompt.take_typeahead()
            self._greet()
            while going:
                try:
                    text, first = first or self._read(), ""
                    going = self._step(text.strip())
                except KeyboardInterrupt as stop:
                    say(self.console, str(stop) or HOW_TO_LEAVE, "quiet")
                except EOFError:
                    going = False
        self.session.leave()
        self._print_notices()
        journal = self.session.journal
        if journal.path and journal.path.exists() and not journal.error:
            from thimble.session.journal.folder import found_by

            by = found_by(self.session.settings.session_dir, journal.path)
            which = "" if by == journal.id else f" {quote(by)}"
            say(self.console, f"Saved as {one_line(by)}. To resume: thimble --resume{which}", "quiet")
        return 0

    def print_introduction(self) -> None:
        """Wait for the model and the articles, then print them and the number of tools, once; then the news."""
        if not self._introduced:
            self._wait()
            agent, library = self.session.agent, self.session.library
            self._introduced = True
            builtin = agent.backend.name == "reader"
            words = [f"{one_line(agent.backend.id.called)} ({'built in' if builtin else one_line(agent.backend.name)})"]
            words.append(count_noun(len(library.articles), "article"))
            words.append(count_noun(len(agent.tools), "tool"))
            if not (agent.backend.counter.exact or self.session.playback):
                words.append("tokens are estimates (~)")
            say(self.console, " · ".join(words), "quiet")
        self._print_notices()

    def _wait(self) -> None:
        """Wait until model and articles are ready, and show which is missing. Raises Stopped at Ctrl-C."""
        if self.session.is_ready:
            return
        reading = self.session.reading
        try:
            with self._shown(lambda: reading.words or LOOKING_FOR_MODEL), self._interrupts.allowed():
                _ = self.session.agent
        except KeyboardInterrupt:
            raise Stopped(ARTICLES_NOT_READ if reading.words else MODEL_NOT_FOUND) from None

    def _shown(self, words: Callable[[], str]) -> AbstractContextManager[object]:
        """Show a live line of text; nothing in plain output."""
        if isinstance(self._prompt, PlainPrompt):
            return nullcontext()
        from rich.text import Text

        from thimble.repl.screen.live import live_lines

        return live_lines(self.console, lambda: Text(f"  {words()}…", style="quiet"))

    def _greet(self) -> None:
        budget = self.session.settings.budget
        self._prompt.greet("thimble", f" · {one_line(self.session.spec)} in {budget:,} tokens · /help")
        if self.session.saved:
            from thimble.repl.screen.resumed import show_resumed

            show_resumed(self.session, self.console)
        if tour := tour_of(self.session):
            from thimble.repl.commands.tour import waiting_line

            say(self.console, waiting_line(tour), "quiet")
        elif self._is_new():
            self._prompt.greet("", NEW_HERE)
        if isinstance(self._prompt, PlainPrompt):
            try:
                self.print_introduction()
            except Stopped as stop:
                say(self.console, stop.what)

    def _is_new(self) -> bool:
        """Whether this is the user's first session."""
        kept = any(self.session.settings.session_dir.glob("*.jsonl"))
        return not (kept or self.session.saved or self.session.playback)

    def _step(self, text: str) -> bool:
        with self._interrupts.allowed():
            self.session.reload()
        self._print_notices()
        if not text:
            return True
        from thimble.repl.commands.command import normalise_line

        text = normalise_line(text)
        question: str | None = text
        if text.startswith("/"):
            if self.session.reading.words and text not in WITHOUT_ARTICLES:
                self._wait()
            question = self._command(text)
        if question:
            self.print_introduction()
            self._ask(question)
        self._print_notices()
        if question is not None and tour_of(self.session):
            from thimble.repl.commands.tour import advance_tour

            self.print_introduction()  # before the words of a step, which belong to the prompt below them
            advance_tour(self.session, self.console)
        return question is not None

    def _read(self) -> str:
        if isinstance(self._prompt, PlainPrompt):
            with self._interrupts.allowed():
                return self._prompt.read()
        return self._prompt.read()  # takes Ctrl-C as a key: an interrupt inside it would leave a half-closed event loop

    def _command(self, text: str) -> str | None:
        """Run a command; return a question to ask next, "" for none, None to leave."""
        from thimble.repl.commands.table import run_command, show_error
        from thimble.repl.screen.redirect_output import print_above_live

        question: str | None = ""
        try:
            with print_above_live(self.console), self._interrupts.allowed():
                question = run_command(self.session, text, self.console)
        except KeyboardInterrupt as stop:
            say(self.console, str(stop) or "stopped", "warn")
        except ThimbleError as error:
            show_error(self.console, error)
        except (Exception, SystemExit):
            self._print_traceback()
        if self.session.successor:
            self._continue_with(self.session.successor)
        self._space()
        return question

    def _space(self) -> None:
        """Print a blank line, except in plain output."""
        if not self.plain:
            self.console.print()

    def _ask(self, question: str) -> None:
        from thimble.repl.commands.table import show_error
        from thimble.repl.screen.redirect_output import print_above_live

        renderer = self._renderer()
        renderer.history = lambda: self.session.agent.history
        answered = False
        try:
            with print_above_live(self.console), closing(self.session.ask(question)) as events, renderer:
                for event in self._interrupts.stopping(events):
                    renderer.show(event)
                    answered = answered or isinstance(event, Answered)
        except KeyboardInterrupt as stop:
            if not answered:
                say(self.console, str(stop) or ANSWER_STOPPED, "warn")
            self._print_footer()
        except ThimbleError as error:
            show_error(self.console, error)
        except (Exception, SystemExit):
            self._print_traceback()
        else:
            self._print_footer()
        self._reveal()
        self._space()

    def _renderer(self) -> Lines:
        from thimble.repl.screen.exchange import Lines, Screen

        if self.plain:
            return Lines(self.console)
        steps = self.session.settings.stage or (self.session.playback and self.session.playback.steps)
        if not steps:
            return Screen(self.console)
        from thimble.repl.screen.stage import Stage

        return Stage(self.console, self._wait_for_presenter)

    def _wait_for_presenter(self) -> bool:
        """Wait for the presenter; return whether to wait at the next step, too."""
        with self._interrupts.allowed():
            return wait_for_key()

    def _print_footer(self) -> None:
        from rich.text import Text

        from thimble.repl.screen.footer import FROM_MEMORY, context, footer_line
        from thimble.repl.screen.trace import PLAIN_WIDTH

        agent = self.session.agent
        shown = Text(footer_line(agent, PLAIN_WIDTH if self.plain else self.console.width), style="quiet")
        for style in ("not dim", context(agent).level):
            shown.highlight_regex(r"(?<= · )ctx .*?(?= · |$)", style)
        for style in ("not dim", "warn"):
            shown.highlight_regex(rf"(?<= · ){FROM_MEMORY}(?= · |$)", style)
        self._space()
        self.console.print(shown, no_wrap=True, overflow="ignore", crop=False)

    def _reveal(self) -> None:
        if "guess" in self.session.watchers:
            from thimble.repl.commands.predict import show_reveal

            show_reveal(self.session, self.console)

    def _print_notices(self) -> None:
        for notice in self.session.take_notices():
            say(self.console, notice, "warn")

    def _print_traceback(self) -> None:
        """Print the traceback of an unexpected error, such as a bug in a user's strategy."""
        say(self.console, traceback.format_exc(), "error")
        say(self.console, "That was a bug in thimble or in your own strategy. The session continues.", "warn")
