"""/sessions, /save and /load: list the saved sessions, name this one, or switch to another."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice
from shlex import quote

from rich.cells import cell_len
from rich.console import Console

from thimble.agent.errors import UsageError
from thimble.repl.commands.command import Offer, command
from thimble.repl.screen.resumed import show_resumed
from thimble.repl.screen.sanitise import clean, one_line
from thimble.repl.screen.tables import Table
from thimble.repl.screen.theme import say
from thimble.repl.screen.trace import cut_line
from thimble.session import figures
from thimble.session.journal import folder as kept
from thimble.session.journal.folder import ListedSession
from thimble.session.journal.records import Named
from thimble.session.session import Session
from thimble.tools.wording import count_noun

ONE_SHOTS = "-p"
MAX_SHOWN = 12
MAX_OFFERED = 40
QUESTION_WIDTH, NAME_WIDTH = 60, 40
TABLE_COLUMNS = ("session", ">last", "first question")


@command("sessions [WORDS]", "Sessions")
def sessions(session: Session, words: str, console: Console) -> None:
    """List conversations, or search all sessions for WORDS.

    The newest come first. WORDS are searched in questions, answers, names and ids, also of one-shots: runs with -p that
    were never named or resumed. /sessions -p lists the one-shots.
    """
    _list(session, words, console)


def _list(session: Session, words: str, console: Console) -> None:
    folder = session.settings.session_dir
    paths = kept.session_paths(folder)
    if not paths:
        say(console, f"No sessions in {one_line(str(folder))} yet. A session is saved after its first question.")
        return
    every = [kept.list_session(path) for path in paths]
    talks = [one for one in every if not one.one_shot]
    noun, about = "conversation", ""
    if words == ONE_SHOTS:
        noun, found = "one-shot", [one for one in every if one.one_shot]
    elif words:
        noun, about, found = "session", f" with {one_line(words)}", [one for one in every if one.has(words)]
        if not found:
            raise UsageError(
                f"no session has {words[:40]!r} in a question, an answer or its name",
                "/sessions lists all conversations",
            )
    else:
        found = talks
    title = f"{count_noun(len(found), noun)}{about} in {one_line(str(folder))}"
    rows = [_row(one, one.path == session.journal.path) for one in found[:MAX_SHOWN]]
    if rows:
        Table(f"{title}, the newest first", TABLE_COLUMNS, rows).show(console)
    else:
        say(console, f"{title}.")
    if len(found) > MAX_SHOWN:
        rest = f"{len(found) - MAX_SHOWN:,} older ones are not shown: /sessions WORDS searches all of them."
        say(console, rest, "quiet")
    if found is talks and len(talks) < len(paths):
        aside = f"{count_noun(len(paths) - len(talks), 'one-shot')} (-p) not shown: /sessions {ONE_SHOTS} lists them."
        say(console, aside, "quiet")


@command("save NAME", "Sessions")
def save(session: Session, text: str, console: Console) -> None:
    """Name this session; it is saved anyway.

    thimble --resume NAME and /load NAME then find it. A second name replaces the first.
    """
    if session.playback:
        raise UsageError("a recording that is played is not saved", "write it to a file: /export FILE")
    name = " ".join(text.split())
    if not name:
        raise UsageError("/save needs a name", "write /save masking talk; without a name the session is saved anyway")
    if not name.isprintable() or clean(name) != name or cell_len(name) > NAME_WIDTH:
        raise UsageError(
            "invalid name: it is too long or has unprintable characters",
            f"use printable characters, at most {NAME_WIDTH} columns",
        )
    if kept.ID.match(name) or name.startswith("-"):
        what = "a flag" if name[0] == "-" else "a session id"
        raise UsageError(f"{name} would be taken for {what}", "choose another name")
    for path in kept.session_paths(session.settings.session_dir):
        if path != session.journal.path and kept.list_session(path).name == name:
            raise UsageError(f"another session has the name {name}: {path.stem}", "choose another name")
    session.record(Named(name))
    own = session.journal.path
    by = kept.found_by(session.settings.session_dir, own) if own else session.journal.id
    by = name if by == session.journal.id else by
    again = f"to resume it: thimble --resume {quote(by)}, or /load {by}."
    say(console, one_line(f"This session is now called “{name}”; {again}"))


def offers(session: Session, _: str) -> Iterator[Offer]:
    """The completions of /load: the newest conversations, by name if they have one, with their first question."""
    every = map(kept.list_session, kept.session_paths(session.settings.session_dir))
    for one in islice((one for one in every if not one.one_shot), MAX_OFFERED):
        if one.path != session.journal.path:
            yield one.name or one.id, cut_line(one_line(one.questions[0]) if one.questions else "", QUESTION_WIDTH)


@command("load ID|NAME", "Sessions", completer=offers)
def load(session: Session, wanted: str, console: Console) -> None:
    """Switch to another session; this one is saved.

    Takes its name, its id or the first characters of the id. If loading fails, nothing changes.
    """
    if session.playback:
        raise UsageError(
            "/load is not available while a recording is playing", "leave with /quit, then thimble --resume ID"
        )
    if not wanted:
        raise UsageError("/load needs the id or the name of a session", "/sessions lists them")
    path = kept.find_session(session.settings.session_dir, wanted)
    journal = session.journal
    if path == journal.path:
        raise UsageError(f"{one_line(wanted)} is the current session", "/sessions lists the others")
    journal.flush()
    if journal.error:
        what = f"this session would be lost: its file cannot be written ({journal.error})"
        raise UsageError(what, "make room on the disk, then /load again")
    session.load(*kept.reopen_session(session.settings, path))
    if session.successor:
        show_resumed(session.successor, console)


def _row(one: ListedSession, here: bool) -> tuple[str, str, str]:
    question = cut_line(one_line(one.questions[0]), QUESTION_WIDTH) if one.questions else "nothing was asked"
    more = [
        one.id if one.name else "",
        count_noun(len(one.questions), "question") if one.questions else "",
        one.strategy,
        one.model.called,
        "this one" if here else "",
        "one-shot" if one.one_shot else "",
        f"! {one.trouble}" if one.trouble else "",
    ]
    age = figures.format_age(time.time() - one.at) if one.at else "?"
    return one_line(one.name) or one.id, age, f"{question}\n{one_line(' · '.join(filter(None, more)))}"
