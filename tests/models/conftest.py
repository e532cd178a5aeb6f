"""The small Ollama, listening."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.ollama_http import served
from tests.support.ollama_server import Ollama


@pytest.fixture
def ollama() -> Iterator[tuple[Ollama, str]]:
    with served() as each:
        yield each
