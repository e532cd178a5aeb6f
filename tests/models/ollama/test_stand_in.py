"""The small Ollama of the tests beside a real one: to the same request, the same fields, kinds and words."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.support.ollama_recorded import Exchange, answered, exchange
from tests.support.ollama_server import Model, Ollama, Reply, served

SMALL = {
    "smol:latest": Model(("completion",), 8_192, "llama"),
    "tiny:latest": Model(context=8_192),
    "thinker:latest": Model(("completion", "thinking"), 8_192, "llama"),
}
SAME = ("error", "done", "done_reason", "role", "arguments")


def flat(value: Any, path: str = "") -> dict[str, Any]:
    """Each value in a line by its place; of a list the first."""
    if isinstance(value, dict):
        return {at: one for key, each in value.items() for at, one in flat(each, f"{path}.{key}").items()}
    return flat(value[0], f"{path}[]") if isinstance(value, list) and value else {path: value}


def of_both(name: str) -> tuple[Exchange, Exchange]:
    """The exchange with the real one, and the same with the small one, which says what that said."""
    real, reply = exchange(name), Reply()
    if real.path == "/api/chat" and real.status == 200:
        messages = [line["message"] for line in real.lines]
        calls = [call["function"] for message in messages for call in message.get("tool_calls", ())]
        texts = ("".join(message.get(key, "") for message in messages) for key in ("content", "thinking"))
        reply = Reply(*texts, [(call["name"], call["arguments"]) for call in calls])
    with served(Ollama(dict(SMALL), counts_cached=False, busy=int(name == "error-busy"), replies=[reply])) as (_, url):
        if name == "ps-loaded":
            answered("POST", "/api/chat", exchange("load").sent, url=url)
        return real, answered(real.method, real.path, real.sent, url=url)


@pytest.mark.parametrize(
    "name",
    [
        *("version", "tags", "ps-loaded", "show-smol", "show-tiny", "load"),
        *("chat-first", "chat-whole", "chat-thinking", "chat-tool-call-native-template", "chat-tool-call-whole"),
        *("error-model-missing", "error-no-tools", "error-no-thinking", "error-busy", "error-too-long-truncate-false"),
    ],
)
def test_the_small_ollama_has_fields_of_the_real_one(name: str) -> None:
    real, small = of_both(name)
    assert small.status == real.status
    for theirs, ours in ((real.lines[0], small.lines[0]), (real.lines[-1], small.lines[-1])):
        told, said = flat(theirs), flat(ours)
        both = said.keys() & told.keys()
        assert not said.keys() - told.keys()
        assert {key: type(said[key]) for key in both} == {key: type(told[key]) for key in both}
        for key in (key for key in both if key.rpartition(".")[2] in SAME):
            assert re.sub(r"\d{4}", "N", str(said[key])) == re.sub(r"\d{4}", "N", str(told[key])), key
