"""/context raw and prompt: what is printed is what was sent, and nothing of it steers the terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.repl.screen.test_sanitise import FORBIDDEN, NASTY
from tests.support import ollama_wire as wire
from tests.support import openai_wire as openai
from tests.support.histories import TinyCounter
from tests.support.scripted import Scripted
from tests.support.sessions import Paper, ask, scripted, tool_call
from thimble.agent.messages import Message, Schema
from thimble.repl.commands.context.request import escape_controls
from thimble.repl.commands.table import run_command
from thimble.repl.screen.sanitise import clean
from thimble.session.session import Session
from thimble.session.settings import Settings

HOSTILE = "What is \x1b[2J\x9b31m\u202e masking? 日本語 🙂 \x07\x7f\x85 \u2028 [bold]"
REPLIES = {
    "/api/tags": wire.TAGS,
    "/api/show": wire.TOOLS_ONLY,
    "/api/ps": b'{"models":[]}',
    "/api/version": b'{"version":"0.34.1"}',
    "/api/chat": wire.ANSWER,
    openai.MODELS: openai.VLLM_MODELS,
    openai.CHAT: openai.ANSWER,
}


def shown(session: Session, drawn: bool = True) -> tuple[str, str]:
    """The line on top, and the JSON below it."""
    paper = Paper(80, drawn)
    run_command(session, "/context raw", paper.console)
    head, _, body = paper.text.partition("\n")
    assert not FORBIDDEN.search(paper.text.replace("\n", ""))
    return head, body


@pytest.mark.parametrize(("backend", "path"), [("ollama", "/api/chat"), ("openai", openai.CHAT)])
@pytest.mark.parametrize("drawn", [True, False])
def test_context_raw_is_what_the_server_received(backend: str, path: str, drawn: bool) -> None:
    received: list[bytes] = []

    def handle(handler: Any, _: Any) -> None:
        if handler.path == path:
            received.append(handler.raw)
        status = 200 if handler.path in REPLIES else 404
        wire.send(handler, REPLIES.get(handler.path, b'{"detail":"Not Found"}'), status)

    with wire.loopback(handle) as url:
        session = Session(Settings(backend=backend, base_url=url))
        ask(session, "What is a thimble?")
        ask(session, HOSTILE)
    sent = session.agent.ledger.sent
    assert sent is not None
    assert sent.body.encode() == received[-1]
    head, body = shown(session, drawn)
    assert json.loads(body) == json.loads(received[-1])
    assert HOSTILE in [message["content"] for message in json.loads(body)["messages"]]
    assert head == f"{url}{path} was sent {len(received[-1]):,} bytes, laid out here for reading:"


@given(st.recursive(NASTY | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(NASTY, inner)))
def test_whatever_is_sent_is_read_again_and_steers_nothing(value: object) -> None:
    value = json.loads(json.dumps(value))
    text = escape_controls(json.dumps(value, ensure_ascii=False))
    assert clean(text) == text
    assert json.loads(text) == value


@pytest.mark.parametrize("drawn", [True, False])
def test_context_raw_without_a_wire_is_what_the_model_was_given(drawn: bool) -> None:
    session = scripted([tool_call("search_articles", query=HOSTILE)], "So.", strategy="none")
    ask(session, HOSTILE)
    head, body = shown(session, drawn)
    assert head.startswith("scripted/scripted runs without a server.")
    given_ = json.loads(body)
    request = session.agent.backend.requests[-1]  # type: ignore[attr-defined]
    assert [message["content"] for message in given_["messages"]] == [message.content for message in request.messages]
    assert given_["messages"][2]["tool_calls"][0]["function"]["arguments"] == json.dumps(
        {"query": HOSTILE}, ensure_ascii=False
    )
    assert given_["tools"] == [dict(tool) for tool in request.tools]


def chatml(messages: Sequence[Message], tools: Sequence[Schema] = ()) -> str:
    """As the templates of Qwen write it, tools behind the system message."""
    parts = []
    for place, message in enumerate(messages):
        said = message.content + (f"\n<tools>\n{json.dumps(list(tools))}\n</tools>" if tools and not place else "")
        for call in message.calls:
            said += f'\n<tool_call>\n{{"name": "{call.name}", "arguments": {call.arguments}}}\n</tool_call>'
        parts.append(f"<|im_start|>{message.role}\n{said}<|im_end|>\n")
    return "".join([*parts, "<|im_start|>assistant\n"])


class Telling(Scripted):
    """A model whose server tells how it reads a prompt."""

    def rendered(self, messages: Sequence[Message], tools: Sequence[Schema]) -> str | None:
        return chatml(messages, tools)


def told(*steps: Any) -> Session:
    session = scripted()
    session.agent.use(Telling(steps, TinyCounter()))
    return session


def prompt(session: Session) -> list[str]:
    paper = Paper(drawn=False)
    run_command(session, "/context prompt", paper.console)
    assert not FORBIDDEN.search(paper.text.replace("\n", ""))
    return paper.text.split("\n")


def test_nothing_of_the_prompt_is_lost() -> None:
    session = told([tool_call("read_article", 1, slug="observation-masking")], "It hides\n\nold results.")
    ask(session, "What is masking?")
    last = session.agent.ledger.prepared
    assert last is not None
    head, *lines = prompt(session)
    assert head.startswith("last call: turn 2 of exchange 1, as scripted/scripted reads it: ")
    assert "\n".join(lines).rstrip("\n") == chatml(last.view.messages, last.tools).rstrip("\n")


@given(NASTY)
def test_what_a_message_says_steers_nothing_and_is_all_there(text: str) -> None:
    session = told("Fine.")
    ask(session, f"What? {text}")
    said, seen = (
        re.sub(r"[ \t]+", " ", each) for each in (escape_controls(f"What? {text}"), "\n".join(prompt(session)))
    )
    assert said.strip() in seen, "a tab is drawn as blanks"
