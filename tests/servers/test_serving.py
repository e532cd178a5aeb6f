"""The servers themselves: that they run as the tests need them, and what the backends rely on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.servers.record import CALL, QUESTION, TOOLS
from tests.servers.serve import MODEL, Server, llama
from tests.support.scripted_server import front, passes, resets


def ask(server: Server, **more: Any) -> httpx.Response:
    with server.client() as client:
        return client.post("/v1/chat/completions", json={"model": MODEL, "messages": QUESTION, "tools": TOOLS} | more)


def test_the_model_is_there_and_says_the_same_again(server: Server) -> None:
    with server.client() as client:
        assert [model["id"] for model in client.get("/v1/models").json()["data"]] == [MODEL]
    first, second = (ask(server, max_tokens=32).json()["choices"][0]["message"] for _ in range(2))
    assert first.get("content") == second.get("content")


def test_both_read_the_same_prompt(vllm_server: Server, llama_server: Server) -> None:
    one, other = (ask(server, max_tokens=1).json()["usage"]["prompt_tokens"] for server in (vllm_server, llama_server))
    assert one == other


def test_a_real_stream_can_be_cut_in_the_middle_of_a_call(vllm_server: Server) -> None:
    held = {"structured_outputs": {"choice": [CALL]}, "stream": True}
    body = {"model": MODEL, "messages": QUESTION, "tools": TOOLS} | held
    got: list[bytes] = []
    with (
        front(passes(vllm_server.url, until=b'"arguments"', then=resets)) as found,
        vllm_server.client() as client,
        client.stream("POST", f"{found.url}/v1/chat/completions", json=body) as response,
        pytest.raises(httpx.ReadError),
    ):
        got.extend(response.iter_raw())
    assert b'"name":"list_articles"' in b"".join(got)


def test_a_server_that_is_killed_takes_its_workers_with_it(models: Path) -> None:
    with llama(models) as server:
        server.kill()
        assert not server.alive
        with server.client() as client, pytest.raises(httpx.ConnectError):
            client.get("/health")


def test_a_failed_start_shows_the_log(models: Path) -> None:
    with pytest.raises(RuntimeError, match="failed to load model"), llama(models, model="none.gguf"):
        pass
