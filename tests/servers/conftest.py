"""The servers that the tests of this folder share, and sessions with them. `make test-servers` runs these tests."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.servers.serve import (
    ENDLESS,
    ENDLESS_WINDOW,
    INSTALLED,
    TOOLS_AND_DETAILS,
    Server,
    llama,
    vllm,
    workshop,
)
from tests.servers.tiny.corpora import Question, corpus, sound_seeds
from thimble.session.session import Session
from thimble.session.settings import Settings
from thimble.session.settings_table import NONE

KEY = "sk-of-a-test"
WAIT_SECONDS = 60.0


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the model as each server loads it."""
    if not (INSTALLED / "python").exists():
        pytest.skip("there is no vLLM: make test-servers")
    return workshop(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="session")
def vllm_server(models: Path) -> Iterator[Server]:
    """vLLM with all that a session can use, and a key."""
    with vllm(models, *TOOLS_AND_DETAILS, key=KEY) as server:
        yield server


@pytest.fixture(scope="session")
def bare_vllm(models: Path) -> Iterator[Server]:
    """vLLM as it is without a flag, which takes no tools and tells no cached tokens; its replies do not end."""
    with vllm(models, "--max-model-len", str(ENDLESS_WINDOW), model=ENDLESS) as server:
        yield server


@pytest.fixture(scope="session")
def llama_server(models: Path) -> Iterator[Server]:
    """llama-server, which takes any key."""
    with llama(models) as server:
        yield server


@pytest.fixture(params=["vllm", "llama"])
def server(request: pytest.FixtureRequest) -> Server:
    """Each of the two servers, in a test that holds for both."""
    found: Server = request.getfixturevalue(f"{request.param}_server")
    return found


@pytest.fixture(params=["vllm", "llama"])
def endless(request: pytest.FixtureRequest, models: Path) -> Iterator[Server]:
    """Each of the two servers, with replies that do not end."""
    if request.param == "vllm":
        yield request.getfixturevalue("bare_vllm")
    else:
        with llama(models, "--ignore-eos") as server:
            yield server


@dataclass(frozen=True)
class Sessions:
    """Sessions over one library, in words that the model was never shown, and questions that it answers from there."""

    corpus: Path
    questions: list[Question]

    def open(self, server: Server | None, url: str = "", **settings: Any) -> Session:
        """A session with a server, or with an address before it; with the reader where there is none.

        The model calls tools as it was trained to, and articles are listed by words alone, as in its training: by
        meaning the list has others too, and of several it often reads the wrong one.
        """
        backend = "reader" if server is None else {"vllm": "vllm", "llama": "openai"}[server.name]
        address = "" if server is None else url or server.url
        settings = {"embeddings": NONE, "calls": "tools"} | settings
        return Session(Settings(backend=backend, base_url=address, corpus=self.corpus, **settings))


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Sessions:
    folder = tmp_path_factory.mktemp("library")
    return Sessions(folder, corpus(folder, sound_seeds()[0]))


@pytest.fixture
def sessions(library: Sessions, monkeypatch: pytest.MonkeyPatch) -> Sessions:
    """Sessions of a user who has the key."""
    monkeypatch.setenv("THIMBLE_API_KEY", KEY)
    return library


def eventually(true: Callable[[], bool]) -> bool:
    """Whether something comes true before long."""
    until = time.monotonic() + WAIT_SECONDS
    while not true():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True
