"""What real servers sent for embeddings, and what it becomes."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.support.embedding import Wire, on
from tests.support.recorded import recorded
from thimble.agent.errors import ModelError

TEXTS = ["Thimbles hold 2 ml.", "€1", "café"]
SERVERS = {"ollama": "ollama", "vllm": "openai", "llama": "openai"}


@pytest.mark.parametrize("server", SERVERS)
def test_vectors_are_read_in_order_and_sent_for_as_recorded(server: str) -> None:
    exchange = recorded(server, "embeddings")
    body = json.loads(exchange.body)
    wire = Wire((exchange.status, exchange.body))
    rows = on(SERVERS[server], wire).embed(TEXTS)
    sent = body["embeddings"] if server == "ollama" else [row["embedding"] for row in body["data"]]
    assert rows.shape == (3, 192)
    assert np.allclose(rows, np.array(sent) / np.linalg.norm(sent, axis=1, keepdims=True), atol=1e-6)
    assert wire.inputs == [TEXTS]


@pytest.mark.parametrize(
    ("server", "name", "what", "fix"),
    [
        ("ollama", "missing", "'all-minilm' is not installed", "ollama pull all-minilm"),
        ("ollama", "no-embeddings", "all-minilm makes no embeddings", "ollama pull all-minilm"),
        ("llama", "no-embeddings", "all-minilm makes no embeddings on this server", "--embeddings --pooling mean"),
        ("vllm", "no-embeddings", "has no /v1/embeddings: Not Found", "--runner pooling"),
    ],
)
def test_a_refusal_says_what_and_how_to_mend_it(server: str, name: str, what: str, fix: str) -> None:
    exchange = recorded(server, name)
    with pytest.raises(ModelError) as caught:
        on(SERVERS[server], Wire((exchange.status, exchange.body))).embed(TEXTS)
    assert what in caught.value.what
    assert fix in caught.value.fix


@pytest.mark.parametrize("server", ["vllm", "llama"])
def test_a_text_that_is_too_long_is_sent_again_as_its_half(server: str) -> None:
    exchange = recorded(server, "embeddings-too-long")
    wire = Wire((exchange.status, exchange.body))
    assert on("openai", wire).embed(["word " * 100]).any()
    assert wire.inputs == [["word " * 100], ["word " * 50]]
