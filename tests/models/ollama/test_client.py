"""What is used of the `ollama` package beyond what it promises, so that an upgrade that changes it fails here."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from importlib.metadata import version

from tests.support.paths import ROOT
from thimble.models.ollama import client


def test_the_version_is_the_one_that_was_read() -> None:
    """After an upgrade: read the diff of its `_client.py`, then change the figure here."""
    assert version("ollama") == "0.6.3"


def test_the_private_parts_are_there() -> None:
    base = inspect.signature(client.BaseClient.__init__).parameters
    assert list(base)[:3] == ["self", "client", "host"]
    request = inspect.signature(client.Client._request).parameters
    assert list(request) == ["self", "cls", "args", "stream", "kwargs"]
    assert "self._client = client(" in inspect.getsource(client.BaseClient.__init__)
    used = set(client.Client._request.__code__.co_names) | set(client.Client._request_raw.__code__.co_names)
    assert used >= {"_client", "request", "json", "raise_for_status"}


def test_an_environment_that_the_package_cannot_use_does_not_matter() -> None:
    """To import the whole package would fail, as it makes a client from these at once."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OLLAMA_HOST": "http://[", "ALL_PROXY": "ftp://nowhere"}

    def imports(what: str) -> bool:
        return not subprocess.run(
            [sys.executable, "-c", f"import {what}"], env=environment, capture_output=True
        ).returncode

    assert imports("thimble.models.ollama.client")
    assert not imports("ollama")
