"""The entry point of `thimble` and `python -m thimble`: from the command line to a session."""

from __future__ import annotations

import io
import os
import sys

from thimble.agent.errors import UsageError

TYPE_CHECKING = False  # as in typing, whose import would cost a quarter of the start
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from typing import TextIO

    from thimble.session.playback import Playback
    from thimble.session.session import Session
    from thimble.session.settings import Settings


def main(argv: Sequence[str] | None = None) -> int:
    """Run thimble and return its exit code, never a traceback for an error that a user can cause.

    0 done; 1 the question was not answered, or the output pipe was closed; 2 wrong usage or settings, or standard
    output is closed or full; 3 the model server cannot be used; 4 the budget cannot hold the request; 5 the model, or
    the built-in reader, said that it cannot answer.
    """
    arguments = sys.argv[1:] if argv is None else list(argv)
    if arguments[:1] in (["lab"], ["workshop"]):
        return _run_room(arguments[0], arguments[1:])
    if "_ARGCOMPLETE" in os.environ:
        from thimble.repl.cli.completion import complete

        complete()
    try:
        return _run(arguments)
    except (Exception, KeyboardInterrupt, SystemExit) as error:  # a strategy may raise anything
        return _report_error(error, as_json="--json" in arguments)


def _run_room(room: str, arguments: Sequence[str]) -> int:
    """Run `python -m thimble.ROOM` in this process and return its exit code: this room imports neither of them."""
    import runpy

    before, sys.argv = sys.argv, [f"thimble {room}", *arguments]
    try:
        runpy.run_module(f"thimble.{room}", run_name="__main__", alter_sys=True)
    except SystemExit as ending:
        return ending.code if isinstance(ending.code, int) else 0
    finally:
        sys.argv = before
    return 0


def _report_error(error: BaseException, as_json: bool) -> int:
    """Report an error, ignoring further Ctrl-C, and return its exit code."""
    from thimble.session.sigint import ignore_sigint

    with ignore_sigint():
        from thimble.repl.cli.headless import report_error

        return report_error(error, as_json)


def _run(arguments: Sequence[str]) -> int:
    from thimble.repl.cli import flags as options

    if sys.stdout is None:  # checked before a model is asked, which may cost money
        raise UsageError("standard output is closed", "open it: > FILE")
    asks_help = not {"-h", "--help"}.isdisjoint(arguments)
    if arguments[:1] == ["completion"] and not asks_help:
        from thimble.repl.cli.completion import shell_code

        sys.stdout.write(shell_code(arguments[1:]))
        return 0
    if arguments[:1] == ["laws"] and not asks_help:
        from thimble.repl.cli import laws

        return laws.run_laws(arguments[1:])
    try:
        given = options.parse_flags(arguments)
    except SystemExit:  # raised by --help and --version
        given = None
    except OSError as error:
        raise _unwritable_output(error) from error
    code = _start(given) if given else 0
    try:
        sys.stdout.flush()
    except OSError as error:
        raise _unwritable_output(error) from error
    return code


def _unwritable_output(error: OSError) -> Exception:
    from thimble.repl.screen.streams import output_error

    return output_error(error)


def _start(given: Namespace) -> int:
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a letter that the encoding lacks must not cost the answer
    from thimble.repl.screen.redirect_output import mark_output_of_children

    mark_output_of_children()
    if given.command == "config":
        from thimble.repl.cli.config import show_settings

        return show_settings(_settings(given), given.json)
    if given.command == "doctor":
        from thimble.repl.commands.doctor import doctor

        return doctor.run_doctor(_settings(given), given.json, given.warm)
    if given.command == "prepare":
        from thimble.repl.cli import prepare as filter

        budget, given.budget = given.budget, None  # unlike a session's it may be any size, or none
        return filter.run_prepare(_settings(given), budget, given.observations)
    shown = not given.json and _is_terminal(sys.stdout)
    headless = bool(given.prompts) or not _is_terminal(sys.stdin) or (given.replay is not None and not shown)
    pace = given.pace
    given.pace = None if given.replay is not None else pace  # a setting of the reader, unless a recording is played
    settings = _settings(given)
    if given.stage and (headless or given.json or settings.plain):
        other = "--plain" if settings.plain else "--json" if given.json else "-p or piped prompts"
        raise UsageError(f"--stage cannot be used with {other}", "use it for a conversation in a terminal")
    playback = None
    if given.replay is not None:
        from thimble.repl.cli.recordings import choose_recording

        playback, settings = choose_recording(given, pace, settings, headless)
    first = f"/tour {given.tour}".strip() if given.command == "tour" else ""
    if not headless and not shown:
        what = "--json needs a prompt" if given.json else "standard output is not a terminal"
        raise UsageError(what, "ask with -p TEXT, or pipe the prompts in")
    session = (
        _open_recorded_runs(given, settings)
        if given.files_to_open
        else _make_session(given, settings, playback, headless)
    )
    with _shown_live(session, given.live):
        if headless:
            from thimble.repl.cli.headless import answer, iter_prompts

            return answer(session, iter_prompts(given.prompts, session, first), given.json)
        from thimble.repl.conversation import converse

        return converse(session, first)


def _shown_live(session: Session, where: str | None) -> AbstractContextManager[object]:
    """Show the session on a live page while it runs, if --live asks for one."""
    from contextlib import nullcontext

    if where is None:
        return nullcontext()
    from thimble.repl.live.server import shown_live

    return shown_live(session, where)


def _settings(given: Namespace) -> Settings:
    from thimble.session.settings import resolve_settings
    from thimble.session.settings_table import NO

    flags = {name: value for name, value in vars(given).items() if value is not None}
    if given.stage or given.live is not None or os.environ.get("THIMBLE_STAGE", NO[0]).lower() not in NO:
        _hide_private_words(None)  # the settings themselves may be wrong
    settings = resolve_settings(flags)
    if settings.stage or given.live is not None:
        _hide_private_words(settings)
    return settings


def _hide_private_words(settings: Settings | None) -> None:
    """Hide private words in all output."""
    from thimble.repl.screen.private import private_words
    from thimble.repl.screen.sanitise import hide_words

    hide_words(private_words(settings))


def _make_session(given: Namespace, settings: Settings, playback: Playback | None, one_shot: bool) -> Session:
    """A new session, a resumed one, or the playback of a recording."""
    from thimble.session.journal import folder as shelf
    from thimble.session.journal.journal import Journal
    from thimble.session.session import Session

    if playback:
        return Session(settings, playback=playback)  # not saved: to resume it would take a model
    if given.resume is not None and given.record is not None:
        raise UsageError(
            "--record cannot be used with --resume", "leave out --record: a resumed session continues in its own file"
        )
    if given.resume is not None:
        path = shelf.find_session(settings.session_dir, given.resume)
        session = Session(*shelf.reopen_session(settings, path))
        if not given.resume and (passed := shelf.count_changed_after(path, settings.session_dir)):
            from thimble.tools.wording import count_noun

            newer = count_noun(passed, "newer session")
            session.notices.append(
                f"Not resumed: {newer} made with -p. /sessions -p lists them, --resume ID resumes one."
            )
        return session
    if given.record is None:
        return Session(settings, Journal(shelf.new_path(settings.session_dir), one_shot))
    from thimble.repl.cli.recordings import new_file

    path = new_file(given.record)
    session = Session(settings, Journal(path))
    session.notices.append(f"Recording to {path}: all questions and all answers.")
    return session


def _open_recorded_runs(given: Namespace, settings: Settings) -> Session:
    """The session of the first recorded run in the files; the other runs become sessions to resume."""
    from thimble.repl.cli.open_runs import open_runs

    return open_runs(given.files_to_open, settings, given.keep_secrets)


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


if __name__ == "__main__":
    sys.exit(main())
