"""The embeddings of a session: what the setting leads to, and how far they are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.ollama_wire import loopback, send
from tests.support.sessions import scripted
from thimble.agent.errors import ModelError, UsageError
from thimble.models.embeddings.static import static_embedder
from thimble.session.articles import Reading
from thimble.session.embeddings import embedder_of, make_uncached
from thimble.session.settings import Settings, resolve_settings
from thimble.session.settings_table import ServedEmbeddings, served_embeddings

WORDS = st.text(st.characters(categories=["L", "N"], include_characters="/.-_:"), min_size=1)


@given(st.sampled_from(["ollama", "openai", "vllm"]), WORDS, st.sampled_from(["", "http://box:1/v1", ":8081"]))
def test_a_model_of_a_server_is_read_as_it_is_written(kind: str, model: str, url: str) -> None:
    text = f"{kind}:{model}@{url}" if url else f"{kind}:{model}"
    assert served_embeddings(text) == ServedEmbeddings(kind, model, url)


@pytest.mark.parametrize("text", ["", "ollama", "ollama:", "ollama:@box", "reader:x", "x:y", "vllm:name@", "Static"])
def test_what_is_none_is_told_with_what_there_is(text: str) -> None:
    assert served_embeddings(text) is None
    with pytest.raises(UsageError) as caught:
        resolve_settings({"embeddings": text}, environ={})
    assert "it takes auto, static, none, or a model of a server" in caught.value.fix


def test_none_is_none_and_the_default_is_what_is_installed() -> None:
    assert embedder_of(Settings(embeddings="none")) is None
    assert (embedder_of(Settings()) is None) == (static_embedder() is None)


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No package can be found, whatever other tests of this process have found."""
    monkeypatch.setattr("sys.path", [])
    static_embedder.cache_clear()
    yield
    static_embedder.cache_clear()


@pytest.mark.usefixtures("nothing_installed")
def test_static_by_name_is_missed_where_it_is_not_installed() -> None:
    assert make_uncached(Settings()) is None
    with pytest.raises(UsageError, match="not installed") as caught:
        embedder_of(Settings(embeddings="static"))
    assert "pip install --no-deps wordllama" in caught.value.fix


def test_a_server_is_where_the_chat_says_or_where_it_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:2")
    for settings, address in (
        (Settings(embeddings="ollama:a", base_url="127.0.0.1:1"), "127.0.0.1:1"),
        (resolve_settings({"embeddings": "ollama:a"}), "127.0.0.1:2"),
        (Settings(embeddings="ollama:a@127.0.0.1:3", base_url="127.0.0.1:1"), "127.0.0.1:3"),
    ):
        embedder = make_uncached(settings)
        assert embedder
        with pytest.raises(ModelError, match=f"nothing answers at http://{address}"):
            embedder.embed(["text"])


def test_a_session_embeds_with_a_server_and_keeps_the_vectors() -> None:
    asked = []

    def handle(handler: object, body: object) -> None:
        if not isinstance(body, dict):
            return send(handler, b'{"models":[{"name":"a:latest","digest":"of-this-test"}]}')  # type: ignore[arg-type]
        asked.append(body["input"])
        return send(handler, b'{"embeddings":[[3.0,4.0]]}')  # type: ignore[arg-type]

    with loopback(handle) as url:
        for _ in range(2):
            session = scripted("Hello.", embeddings=f"ollama:a@{url}", strategy="retrieval:by=meaning")
            embedder = session.embedder()
            assert embedder is session.agent.side.embedder is session.fork().side.embedder
            assert embedder
            assert embedder.embed(["a text"])[0] == pytest.approx([0.6, 0.8], abs=1e-3)
    assert asked == [["a text"]]


def test_how_far_the_embedding_is_shows_only_where_it_takes_long() -> None:
    reading, told = Reading(), []
    reading.watch(told.append, 0)
    reading.embedded(0, 12)
    assert reading.words == ""
    reading.embedded(1_024, 20_000)
    assert told == [reading.words] == ["embedding 1,024 of 20,000 passages"]
    reading.embedded(20_000, 20_000)
    assert reading.words == ""


def test_by_meaning_without_embeddings_says_how_to_mend_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs embeddings") as caught:
        scripted(embeddings="none", strategy="retrieval:by=meaning")
    assert "--embeddings" in caught.value.fix
