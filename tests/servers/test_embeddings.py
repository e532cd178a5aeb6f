"""Embeddings of a real vLLM and a real llama-server, whose model was trained for something else: the form counts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.servers.serve import EMBEDDING_LLAMA, EMBEDDING_VLLM, MODEL, Server, llama, vllm
from thimble.agent.errors import ModelError
from thimble.models import embedder_on, server_at

KINDS = {"vllm": "vllm", "llama": "openai"}


@pytest.fixture(scope="module", params=["vllm", "llama"])
def embedding(request: pytest.FixtureRequest, models: Path) -> Iterator[Server]:
    """Each of the two servers, started for embeddings."""
    with vllm(models, *EMBEDDING_VLLM) if request.param == "vllm" else llama(models, *EMBEDDING_LLAMA) as server:
        yield server


def test_unit_rows_in_order_one_at_a_time_as_together(embedding: Server) -> None:
    embedder = embedder_on(server_at(KINDS[embedding.name], embedding.url), MODEL)
    texts = ["Thimbles hold 2 ml.", "", "€1 for a café", "word " * 9000, "Thimbles hold 2 ml.", *map(str, range(90))]
    rows = embedder.embed(texts)
    assert rows.shape == (len(texts), 192)
    assert np.allclose(np.linalg.norm(rows, axis=1), [0 if not text else 1 for text in texts], atol=1e-5)
    assert np.allclose(rows, [embedder.embed([text])[0] for text in texts], atol=1e-3)
    assert embedder.name.startswith(f"{KINDS[embedding.name]}:{MODEL} ")


def test_a_server_that_chats_says_how_it_is_started_for_embeddings(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    if server.key:
        monkeypatch.setenv("THIMBLE_API_KEY", server.key)
    with pytest.raises(ModelError) as caught:
        embedder_on(server_at(KINDS[server.name], server.url), MODEL).embed(["text"])
    assert "--runner pooling" in caught.value.fix
