"""Answers without a conversation: answers and the output of commands, or JSON Lines, go to standard output.

Everything else goes to standard error.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from itertools import count
from typing import TYPE_CHECKING, BinaryIO

from thimble.agent.errors import BudgetError, ModelError, NotRecorded, ThimbleError, UsageError
from thimble.agent.events import Answered, Event
from thimble.commands import tour
from thimble.repl.screen.redirect_output import RedirectedOutput
from thimble.repl.screen.sanitise import clean
from thimble.repl.screen.streams import Unwritable, write_error, write_error_line, write_json, write_output
from thimble.repl.screen.wrapping import stream_width, wrap_text
from thimble.session import jsonl
from thimble.session.bounded import MOST_INPUT_BYTES
from thimble.strategies.own_code import limit_seconds

if TYPE_CHECKING:
    from thimble.repl.cli.printer import Printer
    from thimble.session.session import Session

DONE, NOT_ANSWERED, USAGE, MODEL, BUDGET, REFUSED = range(6)
"""Exit codes."""
NO_ANSWERS = {
    "thought": (
        NOT_ANSWERED,
        "the model spent its reply on thinking and did not answer",
        "ask again with --think low or --think off",
    ),
    "refused": (
        REFUSED,
        "the model said that it cannot answer",
        "rephrase the question, or take another --model",
    ),
    "passages": (
        REFUSED,
        "the built-in reader has no sure answer; it shows the closest passages",
        "rephrase the question, or ask a language model (--model)",
    ),
    "empty": (NOT_ANSWERED, "the model returned an empty answer", "rephrase the question, or take another --model"),
}
READ_ONLY_COMMANDS = ("/pull", "/export")
"""Commands that do not change the session: prompts after one that failed do not depend on it."""
BUG_MESSAGE = "this is a bug in thimble or in your own strategy: the traceback above shows the place"


@limit_seconds()
def answer(session: Session, prompts: Iterator[str], as_json: bool) -> int:
    """Answer prompts one after the other, in one session until /load; return the highest exit code.

    An error ends the run, because later prompts may depend on the failed one. An empty answer does not, nor does an
    error of a command that does not change the session.
    """
    session.reading.watch(write_error_line)
    with RedirectedOutput():
        _ = session.agent  # fail before the first question if the session cannot work at all
    if session.saved:
        _print_resumed(session, as_json)
    _print_notices(session, as_json)
    tour.tour_of(session)  # the tour of a resumed session follows from the first prompt on
    printer = _printer(session, as_json)
    code = DONE
    try:
        for prompt in prompts:
            try:
                ended, now = _answer_or_run(session, prompt, printer)
            except (ThimbleError, KeyboardInterrupt) as error:
                recorded = session.playback is not None and session.playback.suggested()
                aside = isinstance(error, ThimbleError) and prompt.startswith(READ_ONLY_COMMANDS)
                if not (recorded or aside) or isinstance(error, NotRecorded | Unwritable):
                    raise
                ended, now = False, report_error(error, as_json)
            code = max(code, now)
            if ended:
                break
            if session.successor:
                session = session.successor
                if printer:
                    printer.session = session
            _print_notices(session, as_json)
            _advance_tour(session, as_json)
    except (ThimbleError, KeyboardInterrupt) as error:
        code = report_error(error, as_json)
    session.leave()
    _print_notices(session, as_json)
    if as_json:
        write_output(jsonl.to_line(jsonl.session_fields(session)))
    return code


def _printer(session: Session, as_json: bool) -> Printer | None:
    if as_json:
        return None
    from thimble.repl.cli.printer import Printer

    return Printer(session)


def _answer_or_run(session: Session, prompt: str, printer: Printer | None) -> tuple[bool, int]:
    """Answer a prompt or run a command; return whether it asks to leave, and the exit code."""
    from thimble.repl.commands.command import normalise_line

    question = prompt = normalise_line(prompt)
    if prompt.startswith("/"):
        planted = len(session.planted)
        answer = _command(session, prompt, printer)
        if answer is None:
            return True, DONE
        new = session.planted[planted:] if printer is None and prompt.startswith("/plant") else ()
        for event in new:
            write_output(jsonl.to_line(jsonl.event_fields(event, session.agent.ledger.call_of(event))))
        question = answer
    return False, _ask(session, question, printer) if question else DONE


def _print_resumed(session: Session, as_json: bool) -> None:
    """Print which session is resumed, and its last exchange."""
    from thimble.repl.screen.resumed import last_exchange, show_resumed
    from thimble.repl.screen.tables import Paper
    from thimble.repl.screen.theme import console_for

    show_resumed(session, console_for(plain=True, file=Paper(_aside)))
    if as_json:
        question, answer = last_exchange(session)
        tree, said = session.journal.tree, {"question": question or None, "answer": answer or None}
        write_json("resumed", id=session.journal.id, name=tree.name or None, branch=tree.current, **said)


def _advance_tour(session: Session, as_json: bool) -> None:
    """Advance the tour and print its step and the line that it offers; an empty line sends that."""
    if not tour.tour_of(session):
        return
    from thimble.repl.commands.tour import advance_tour
    from thimble.repl.screen.tables import Paper
    from thimble.repl.screen.theme import console_for

    told = Paper(_aside)
    advance_tour(session, console_for(plain=True, file=told))
    if offered := offered_line(session):
        told.write(f"next: {offered}\n")
    if as_json:
        write_json("notice", text=told.getvalue())


def offered_line(session: Session | None) -> str:
    """The line that a tour offers; "" without one."""
    while session and session.successor:
        session = session.successor
    return (tour.offered_line(session) or "") if session else ""


def _aside(text: str) -> None:
    write_error(wrap_text(text, stream_width(sys.stderr)))


def _print_notices(session: Session, as_json: bool) -> None:
    for notice in session.take_notices():
        _notice(notice, as_json)


def _notice(text: str, as_json: bool) -> None:
    write_error_line(text)
    if as_json:
        write_json("notice", text=text)


def iter_prompts(given: Sequence[str], session: Session | None = None, first: str = "") -> Iterator[str]:
    """Yield `first`, then the prompts of the command line (`-` is all of standard input), else lines of standard input.

    An empty line means the line that a tour offers. Without any of these, the prompts of the recording that is played.

    Raises:
        UsageError: there is no prompt, one is empty, or standard input is not UTF-8.
    """
    if given.count("-") > 1:
        raise UsageError("standard input can be read only once", "write -p - once")
    for text in given:
        prompt = _whole_input() if text == "-" else text.strip()
        if not prompt:
            raise UsageError("the prompt is empty", 'write -p "your question"')
        yield prompt
    if given:
        return
    playback = session.playback if session else None
    plays = playback is not None and bool(playback.suggested())
    lines = () if plays and sys.stdin and sys.stdin.isatty() else _input_lines()
    piped = filter(None, (line.strip() or offered_line(session) for line in lines))
    first = first or next(piped, "")
    while playback and plays and not first:
        if not (recorded := playback.suggested()):
            return
        yield recorded
    if not first:
        raise UsageError("standard input is empty", "pipe in one prompt per line, or use -p TEXT")
    yield first
    yield from piped


def report_error(error: BaseException, as_json: bool) -> int:
    """Print the error and its fix, a line each, to standard error; return the exit code."""
    if isinstance(error, BrokenPipeError):  # the reader of the answers has gone
        return NOT_ANSWERED
    if isinstance(error, ThimbleError):
        what, fix = error.what, error.fix
        code = MODEL if isinstance(error, ModelError) else BUDGET if isinstance(error, BudgetError) else USAGE
    elif isinstance(error, KeyboardInterrupt):
        what, fix, code = str(error) or "stopped before the answer was complete", "", NOT_ANSWERED
    else:
        write_error(clean("".join(traceback.format_exception(error))))
        what, fix, code = f"{type(error).__name__}: {error}", BUG_MESSAGE, NOT_ANSWERED
    _fault(code, what, fix, as_json)
    return code


def _fault(code: int, what: str, fix: str, as_json: bool) -> None:
    write_error_line(f"thimble: {what}")
    if fix:
        write_error_line(f"fix: {fix}")
    if as_json:
        with suppress(UsageError, BrokenPipeError):  # it is on standard error already
            write_json("error", code=code, what=what, fix=fix or None)


def _ask(session: Session, question: str, printer: Printer | None) -> int:
    code, what, fix = NO_ANSWERS["empty"]
    with closing(session.ask(question)) as events:
        for event in _redirect_strategy_output(events):
            if printer:
                printer.show(event)
            else:
                write_output(jsonl.to_line(jsonl.event_fields(event, session.agent.ledger.call_of(event))))
            if isinstance(event, Answered):
                code, what, fix = NO_ANSWERS.get(event.ending, (DONE, "", ""))
    if "guess" in session.watchers:
        from thimble.repl.commands.predict import reveal_score

        for told in reveal_score(session):
            _notice(told, as_json=printer is None)
    if code:
        _fault(code, what, fix, as_json=printer is None)
    return code


def _redirect_strategy_output(events: Iterator[Event]) -> Iterator[Event]:
    """Yield the events; the output of a user's strategy meanwhile goes to standard error, sanitised."""
    apart = RedirectedOutput()
    while True:
        with apart:
            event = next(events, None)
        if event is None:
            return
        yield event


def _command(session: Session, text: str, printer: Printer | None) -> str | None:
    """Run a command and print its output; return a question to ask next, "" for none, None to leave.

    With --json its output goes to standard error, and a JSON line holds it, with the tables apart, even after an error.
    """
    from thimble.repl.commands.table import run_command
    from thimble.repl.screen.tables import Paper
    from thimble.repl.screen.theme import console_for

    apart = RedirectedOutput()
    failed: list[Exception] = []

    def pass_on(part: str) -> None:  # as it comes: a download takes its time
        with apart.lifted():
            if printer is None:
                _aside(part)
                return
            try:
                if not shown.tell():
                    printer.begin()
                write_output(wrap_text(part, stream_width(sys.stdout)))
            except (Unwritable, BrokenPipeError) as error:
                failed.append(error)  # raised when the command has ended

    shown = Paper(pass_on)
    try:
        with apart:
            answer = run_command(session, text, console_for(plain=True, file=shown))
        if failed:
            raise failed[0]
        return answer
    finally:
        if printer is None:
            tables = [table.as_fields() for table in shown.tables]
            write_json("command", command=text, text=shown.getvalue(), tables=tables)


def _whole_input() -> str:
    text = ""
    for read in _input_lines():
        text += f"{read}\n"
        if len(text) > MOST_INPUT_BYTES:
            raise _too_long()
    return text.strip()


def _too_long() -> UsageError:
    what = f"a prompt on standard input is longer than {MOST_INPUT_BYTES:,} bytes"
    return UsageError(what, "put the text in a file and name the file in the prompt: a tool can read it")


def _input_lines() -> Iterator[str]:
    """Yield the lines of standard input as they arrive."""
    stream: BinaryIO | None = getattr(sys.stdin, "buffer", None)
    for number in count(1):
        raw = stream.readline(MOST_INPUT_BYTES + 1) if stream else b""
        if not raw:
            return
        if len(raw) > MOST_INPUT_BYTES:
            raise _too_long()
        try:
            yield raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            what = f"standard input is not UTF-8 text (line {number}, byte {error.start + 1})"
            raise UsageError(what, "convert it first: iconv -t UTF-8") from error
