"""The tiny model as a file, and a library that it answers questions about."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.servers.tiny import gguf_file
from tests.servers.tiny.corpora import Question, corpus, sound_seeds
from thimble.session.session import Session
from thimble.session.settings import Settings

NOWHERE = "127.0.0.1:9"
WAIT_SECONDS = 60.0


@pytest.fixture(autouse=True)
def _logs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The logs of models that crash stay: here."""
    with pytest.MonkeyPatch.context() as patch:
        folder = str(tmp_path_factory.mktemp("logs"))
        patch.setenv("TMPDIR", folder)
        patch.setattr(tempfile, "tempdir", folder)
        yield


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    gguf_file.write(path)
    return path


@dataclass(frozen=True)
class Local:
    """Sessions with the tiny model on this machine."""

    model: Path
    corpus: Path
    questions: list[Question]

    def open(self, **settings: Any) -> Session:
        given = {"backend": "gguf", "model": str(self.model), "corpus": self.corpus, "budget": 2000, **settings}
        return Session(Settings(**{"base_url": NOWHERE, "temperature": 0.0, "calls": "tools", **given}))


@pytest.fixture(scope="session")
def local(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Local:
    folder = tmp_path_factory.mktemp("library")
    return Local(tiny, folder, corpus(folder, sound_seeds()[1])[:3])


def children(parent: int | None = None) -> list[int]:
    """The processes of models that this process, or another, has started and that run."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, of = status.read_text().rpartition(")")[2].split()[:2]
            command = (status.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if state != "Z" and b"serve.py" in command and int(of) == (parent or os.getpid()):
            found.append(int(status.parent.name))
    return found


def runs(process: int) -> bool:
    """Whether a process runs, and is no zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def eventually(true: Callable[[], object]) -> bool:
    """Whether something comes true before long."""
    until = time.monotonic() + WAIT_SECONDS
    while not true():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True
