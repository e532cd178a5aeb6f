"""`thimble open FILE…`: open each recorded run in the files as a session."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from thimble.commands.open_run import open_run, path_of
from thimble.commands.trajectories import read_trajectories
from thimble.session.journal.folder import reopen_session
from thimble.session.session import Session
from thimble.session.settings import Settings
from thimble.tools.wording import count_noun, join_names

MOST_NAMED = 5
"""The most other sessions that the notice names."""


def open_runs(files: Sequence[str], settings: Settings, keep_secrets: bool) -> Session:
    """Open the first run as a session, with a notice of the others; a run that was opened before is resumed.

    Raises:
        ThimbleError: a file cannot be read, or the model cannot be used.
    """
    runs = read_trajectories([Path(name).expanduser() for name in files], keep_secrets=keep_secrets)
    paths = [path_of(run, settings.session_dir) for run in runs]
    for run, path in zip(runs[1:], paths[1:], strict=True):
        if not path.exists():
            open_run(run, settings).leave()
    session = Session(*reopen_session(settings, paths[0])) if paths[0].exists() else open_run(runs[0], settings)
    if others := [path.stem for path in paths[1:]]:
        more = count_noun(len(others), "more session")
        session.notices.append(f"{more} in the files: /load {join_names(others, MOST_NAMED)}.")
    return session
