"""Embeddings of a server: unit rows in the order of the texts, however they are sent, or an error that says why."""

from __future__ import annotations

import json
from typing import Any

import httpx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.embedding import NUMBERS, Wire, counted, on
from tests.support.ollama_wire import PAGE
from tests.support.recorded import recorded
from thimble.agent.errors import ModelError
from thimble.models import SERVERS, embedder_on, server_at
from thimble.models.embeddings import scale_to_unit
from thimble.models.embeddings.served import BATCH

KINDS = ("ollama", "openai")
TEXTS = st.lists(st.text(max_size=12) | st.sampled_from(["", " \n", "one two", "two"]), max_size=2 * BATCH + 9)

either = pytest.mark.parametrize("kind", KINDS)


@either
@given(TEXTS)
def test_each_text_has_its_own_unit_row_at_its_place(kind: str, texts: list[str]) -> None:
    rows = on(kind, wire := Wire()).embed(texts)
    assert rows.shape == (len(texts), NUMBERS)
    assert np.allclose(
        rows, scale_to_unit(np.array([counted(text) for text in texts], np.float32).reshape(-1, NUMBERS))
    )
    assert all(len(sent) <= BATCH for sent in wire.inputs)


@either
def test_a_batch_has_the_rows_of_one_at_a_time(kind: str) -> None:
    texts = [f"text {number} of many" for number in range(BATCH + 3)]
    one_by_one = [on(kind, Wire()).embed([text])[0] for text in texts]
    assert np.array_equal(on(kind, Wire()).embed(texts), one_by_one)


@given(TEXTS, st.integers(1, 9))
def test_a_text_that_is_too_long_has_the_row_of_its_beginning(texts: list[str], longest: int) -> None:
    rows = on("openai", wire := Wire(longest=longest)).embed(texts)
    assert rows.shape == (len(texts), NUMBERS)
    for text, row in zip(texts, rows, strict=True):
        while len(text) > longest:
            text = text[: len(text) // 2]
        assert np.allclose(row, scale_to_unit(np.array([counted(text)], np.float32))[0])
    assert not wire.replies


@either
def test_the_name_tells_models_of_one_name_apart(kind: str) -> None:
    one, other = Wire(), Wire()
    other.digest = "0123456789ab"
    assert on(kind, one).name == on(kind, one).name != on(kind, other).name
    assert on(kind, one).name.startswith(f"{kind}:all-minilm ")


REFUSED = {
    "ollama": [
        ((404, {"error": 'model "all-minilm" not found, try pulling it first'}), "not installed", "ollama pull"),
        ((501, {"error": "This server does not support embeddings. Start it with `--embeddings`"}), "makes no embedd",
         "ollama pull all-minilm"),
        ((404, b"404 page not found"), "there is no Ollama at http://127.0.0.1:11434", "--backend openai"),
        ((200, {"message": "hello"}), "not an Ollama server", "--base-url"),
        ((200, {"embeddings": [[1.0]] * 3}), "3 vectors for 2 texts", "protocol"),
        ((200, {"embeddings": [[1.0], [1.0, 2.0]]}), "something other than rows", "protocol"),
        ((200, {"embeddings": [[1.0], [None]]}), "something other than rows", "protocol"),
        ((200, {"embeddings": [["a"], ["b"]]}), "something other than rows", "protocol"),
        ((200, {"embeddings": None}), "something other than rows", "protocol"),
        ((200, {"embeddings": [[], []]}), "something other than rows", "protocol"),
        ((200, b'{"embeddings":[[NaN],[1e400]]}'), "something other than rows", "protocol"),
    ],
    "openai": [
        ((404, {"error": {"message": "The model `x` does not exist."}}), "no model 'all-minilm'", "--"),
        ((501, {"error": {"message": "This server does not support embeddings. Start it with `--embeddings`"}}),
         "makes no embeddings", "--embeddings --pooling mean"),
        ((404, {"detail": "Not Found"}), "has no /v1/embeddings", "--base-url"),
        ((401, {"error": "Unauthorized"}), "requires a key", "THIMBLE_API_KEY"),
        ((200, {"data": [{"index": 0, "embedding": [1.0]}]}), "an embedding for each text", "protocol"),
        ((200, {"data": [{"embedding": [1.0]}, {"embedding": [1.0]}]}), "an embedding for each text", "protocol"),
        ((200, {"data": 7}), "an embedding for each text", "protocol"),
        ((200, [1]), "an embedding for each text", "protocol"),
        ((200, {"data": [{"index": 1, "embedding": "AACAPw=="}, {"index": 0, "embedding": "AACAPw=="}]}),
         "something other than rows", "protocol"),
    ],
}  # fmt: skip
EITHER = [
    ((200, PAGE), "it answered a web page", "--base-url"),
    ((500, b""), "status 500", "log"),
    (httpx.ConnectError("[Errno 111] Connection refused"), "nothing answers at", "start it"),
    (httpx.ReadTimeout("timed out"), "sent nothing for", "loading"),
]


@pytest.mark.parametrize(
    ("kind", "reply", "what", "fix"),
    [(kind, *row) for kind in KINDS for row in [*REFUSED[kind], *EITHER]],
)
def test_an_error_says_what_and_how_to_mend_it(kind: str, reply: Any, what: str, fix: str) -> None:
    with pytest.raises(ModelError) as caught:
        on(kind, Wire(reply)).embed(["one", "two"])
    assert caught.value.what.startswith(f"no embeddings from {kind}:all-minilm: ")
    assert what in caught.value.what
    assert fix in caught.value.fix
    assert caught.value.fix.endswith("; or go without: --embeddings none")
    assert "\n" not in caught.value.what + caught.value.fix


@either
def test_a_model_that_is_not_there_is_missed_by_its_name(kind: str) -> None:
    with pytest.raises(ModelError, match="bge-m3") as caught:
        _ = on(kind, Wire(), "bge-m3").name
    assert "all-minilm" in caught.value.fix


@either
def test_a_busy_server_is_asked_again(kind: str) -> None:
    busy = (503, {"error": "server busy, please try again"})
    wire = Wire(busy, busy, httpx.ReadError("reset"))
    assert on(kind, wire).embed(["one"]).shape == (1, NUMBERS)
    with pytest.raises(ModelError, match="busy"):
        on(kind, Wire(*[busy] * 4)).embed(["one"])


@either
def test_vectors_of_another_length_than_before_are_refused(kind: str) -> None:
    embedder = on(kind, wire := Wire())
    embedder.embed(["one"])
    short = {"embeddings": [[1.0]], "data": [{"index": 0, "embedding": [1.0]}]}
    wire.replies.append((200, short))
    with pytest.raises(ModelError, match=f"vectors of 1 numbers after some of {NUMBERS}"):
        embedder.embed(["two"])


@pytest.mark.parametrize("kind", sorted(SERVERS.keys() - {"gguf"}))
def test_no_kind_of_server_is_asked_before_embeddings_are_wanted(kind: str) -> None:
    embedder = embedder_on(server_at(kind, "http://127.0.0.1:1"), "some-model")
    with pytest.raises(ModelError, match=f"no embeddings from {kind}:some-model: nothing answers"):
        embedder.embed([json.dumps("a text")])


# ---- as recorded ----

SENT = ["Thimbles hold 2 ml.", "€1", "café"]
RECORDED = {"ollama": "ollama", "vllm": "openai", "llama": "openai"}


@pytest.mark.parametrize("server", RECORDED)
def test_vectors_are_read_in_order_and_sent_for_as_recorded(server: str) -> None:
    exchange = recorded(server, "embeddings")
    body = json.loads(exchange.body)
    wire = Wire((exchange.status, exchange.body))
    rows = on(RECORDED[server], wire).embed(SENT)
    sent = body["embeddings"] if server == "ollama" else [row["embedding"] for row in body["data"]]
    assert rows.shape == (3, 192)
    assert np.allclose(rows, np.array(sent) / np.linalg.norm(sent, axis=1, keepdims=True), atol=1e-6)
    assert wire.inputs == [SENT]


@pytest.mark.parametrize(
    ("server", "name", "what", "fix"),
    [
        ("ollama", "missing", "'all-minilm' is not installed", "ollama pull all-minilm"),
        ("ollama", "no-embeddings", "all-minilm makes no embeddings", "ollama pull all-minilm"),
        ("llama", "no-embeddings", "all-minilm makes no embeddings on this server", "--embeddings --pooling mean"),
        ("vllm", "no-embeddings", "has no /v1/embeddings: Not Found", "--runner pooling"),
    ],
)
def test_a_recorded_refusal_says_what_and_how_to_mend_it(server: str, name: str, what: str, fix: str) -> None:
    exchange = recorded(server, name)
    with pytest.raises(ModelError) as caught:
        on(RECORDED[server], Wire((exchange.status, exchange.body))).embed(SENT)
    assert what in caught.value.what
    assert fix in caught.value.fix


@pytest.mark.parametrize("server", ["vllm", "llama"])
def test_a_text_that_is_too_long_is_sent_again_as_its_half(server: str) -> None:
    exchange = recorded(server, "embeddings-too-long")
    wire = Wire((exchange.status, exchange.body))
    assert on("openai", wire).embed(["word " * 100]).any()
    assert wire.inputs == [["word " * 100], ["word " * 50]]
