"""`thimble open FILE…`: open each recorded run in the files as a session."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from thimble.commands.open_run import open_run, path_of
from thimble.commands.trajectories import read_trajectories
from thimble.session.journal.folder import reopen
from thimble.session.session import Session
from thimble.session.settings import Settings
from thimble.tools.wording import count_noun

MOST_NAMED = 5
"""The most other sessions that the notice names."""


def open_runs(files: Sequence[str], settings: Settings, keep_secrets: bool) -> Session:
    """Open the first run as a session, with a notice of the others; a run that was opened before is resumed.

    Raises:
        ThimbleError: a file cannot be read, or the model cannot be used.
    """
    first, *others = read_trajectories([Path(name).expanduser() for name in files], keep_secrets=keep_secrets)
    for run in others:
        if not path_of(run, settings.session_dir).exists():
            open_run(run, settings).leave()
    path = path_of(first, settings.session_dir)
    session = Session(*reopen(settings, path)) if path.exists() else open_run(first, settings)
    if others:
        ids = [path_of(run, settings.session_dir).stem for run in others]
        more = ", …" if len(ids) > MOST_NAMED else ""
        told = f"{count_noun(len(others), 'more session')} in the files: /load {', '.join(ids[:MOST_NAMED])}{more}."
        session.notices.append(told)
    return session
