"""The four prompts of the demo, with what a real Ollama replied with a model of 1.5 billion parameters (Q4_K_M)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from benchmarks.demo import PROMPTS, Asked, ask
from thimble.models.ollama.backend import backend
from thimble.models.ollama.server import OllamaServer
from thimble.models.tool_calls.caller import ToolCaller
from thimble.session.session import Session
from thimble.session.settings import Settings

LINES = Path(__file__).with_name("recorded").joinpath("demo.jsonl").read_text("utf-8").splitlines()
RECORDED = [json.loads(line) for line in LINES]
ANSWERS: dict[str, Any] = {
    "/api/version": {"version": "0.33.0"},
    "/api/tags": {"models": [{"name": "small", "model": "small"}]},
    "/api/show": {"model_info": {"general.parameter_count": 1_777_088_000}, "capabilities": ["completion", "tools"]},
    "/api/ps": {"models": [{"name": "small", "model": "small", "context_length": 16_384}]},
}


class Recorded(httpx.BaseTransport):
    """Says the recorded replies in order, and keeps the requests."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path != "/api/chat":
            return httpx.Response(200, json=ANSWERS[request.url.path])
        self.requests.append(json.loads(request.read()))
        if "_debug_render_only" in self.requests[-1]:
            self.requests.pop()
            return httpx.Response(200, json={"done": True, "message": {}})
        return httpx.Response(200, content=RECORDED[len(self.requests) - 1]["response"].encode())


@pytest.fixture(scope="module")
def played() -> Iterator[tuple[Recorded, list[Asked]]]:
    transport = Recorded()
    session = Session(Settings(backend="reader", strategy="observation-masking"))
    session.agent.use(ToolCaller(backend(OllamaServer(transport=transport), "small", 10_000)))
    asked = [Asked("small", "observation-masking", number) for number in range(1, len(PROMPTS) + 1)]
    for one in asked:
        ask(session, one)
    yield transport, asked
    session.leave()


def test_each_prompt_has_its_steps_and_a_right_answer(played: tuple[Recorded, list[Asked]]) -> None:
    _, asked = played
    assert [one.calls for one in asked] == [
        ['list {"topic": "ai-agents"}'],
        ['read {"name": "context-windows"}'],
        ['read {"name": "testing-llm-applications"}'],
        [],
    ]
    assert all(one.right_step and one.right for one in asked)


def test_the_strategy_acts_at_the_third_prompt(played: tuple[Recorded, list[Asked]]) -> None:
    _, asked = played
    assert [one.acted for one in asked] == [{}, {}, {"masked": 2}, {}]


def test_what_the_model_wrote_was_offered_and_what_it_read_is_what_it_was_sent_then(
    played: tuple[Recorded, list[Asked]],
) -> None:
    transport, _ = played
    assert len(transport.requests) == len(RECORDED)
    for request, recorded in zip(transport.requests, RECORDED, strict=True):
        said = "".join(json.loads(line)["message"]["content"] for line in recorded["response"].splitlines())
        ((key, value),) = json.loads(said).items()
        offered = {name: of for form in request["format"]["anyOf"] for name, of in form["properties"].items()}
        assert key in offered
        assert value in offered[key].get("enum", [value])
        assert request["messages"][-1] == recorded["request"]["messages"][-1]
        assert request["options"]["temperature"] == 0
