"""The servers that the tests of this folder share. Only `make test-servers` runs them, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.serve import ENDLESS, INSTALLED, TOOLS_AND_DETAILS, WEIGHTS, Server, llama, vllm, workshop

KEY = "sk-of-a-test"


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the model as each server loads it."""
    for needed, how in ((INSTALLED / "llama-server", "make test-servers"), (WEIGHTS, "make tiny-model")):
        if not needed.exists():
            pytest.skip(f"there is no {needed.name}: {how}")
    return workshop(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="session")
def vllm_server(models: Path) -> Iterator[Server]:
    """vLLM with all that a session can use, and a key."""
    with vllm(models, *TOOLS_AND_DETAILS, key=KEY) as server:
        yield server


@pytest.fixture(scope="session")
def bare_vllm(models: Path) -> Iterator[Server]:
    """vLLM as it is without a flag, which takes no tools and tells no cached tokens; its replies do not end."""
    with vllm(models, model=ENDLESS) as server:
        yield server


@pytest.fixture(scope="session")
def llama_server(models: Path) -> Iterator[Server]:
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
