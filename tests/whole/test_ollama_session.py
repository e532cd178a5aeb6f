"""Whole sessions with the small Ollama of tests/support/ollama_server.py, through the command line."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from tests.support.ollama_server import Model, Ollama, Reply, prompt_of, served
from tests.support.ollama_wire import loopback, send
from tests.support.paths import ROOT
from thimble.agent.events import Prepared
from thimble.corpus.library import ARTICLES
from thimble.repl.prompt.completion import Completions
from thimble.session.session import Session
from thimble.session.settings import Settings

Thimble = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def thimble(forked: Path) -> Thimble:
    """Asks this server on the command line."""

    def asked(url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [forked, "--backend", "ollama", "--base-url", url, *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=ROOT)

    return asked


PROGRESS = re.compile(r"(reading|embedding) [\d,]+ of [\d,]+ \w+\n")
"""What a slow machine says while it prepares the articles."""


def events(run: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run.stdout.splitlines()]


def test_a_session_from_question_to_answer(thimble: Thimble) -> None:
    with served() as (server, url):
        run = thimble(url, "-p", "What is a context window?", "-p", "And again?", "--json")
        assert (run.returncode, PROGRESS.sub("", run.stderr)) == (0, "")
    kinds = [event["type"] for event in events(run)]
    assert kinds[:3] == ["asked", "preparing", "prepared"]
    assert kinds.count("waiting") == 1, "it is loaded once, and that is told"
    assert kinds.count("replied") == 6
    assert "prompt_cut" not in kinds
    replies = [event["usage"] for event in events(run) if event["type"] == "replied"]
    assert all(usage["prompt_tokens"] > 0 and usage["cached_tokens"] is not None for usage in replies)
    assert replies[1]["cached_tokens"] > 0, "the prefix holds"
    assert server.loads == [16_384]
    tools = [event["tool"] for event in events(run) if event["type"] == "tool_returned"]
    assert tools == ["list_articles", "read_article"] * 2


def test_there_is_no_tokenizer_so_each_reply_corrects_our_counts() -> None:
    """Of a model whose vocabulary is not here."""
    with served(Ollama({"mystery:1b": Model()})) as (server, url):
        session = Session(Settings(backend="ollama", base_url=url))
        list(session.ask("What is a context window?"))
        server.replies = [Reply("Done.")]
        sent = [event.view.tokens for event in session.ask("And what is masking?") if isinstance(event, Prepared)]
        assert not session.agent.backend.counter.exact
    read = session.agent.ledger.calls[-1].usage.prompt_tokens
    assert read is not None
    assert abs(sent[-1] / read - 1) < 0.1
    assert not [path for path, _ in server.requests if "token" in path]


def test_a_thinking_model_shows_its_thoughts_apart(thimble: Thimble) -> None:
    server = Ollama({"qwen3:8b": Model(("completion", "tools", "thinking"), family="qwen3")})
    with served(server) as (_, url):
        run = thimble(url, "-p", "What is a context window?", "--json")
    kinds = {event["type"] for event in events(run)}
    assert {"thinking", "text"} <= kinds
    thoughts = [[one["thinking"] for one in sent["messages"] if "thinking" in one] for sent in server.sent()]
    assert thoughts[0] == []
    assert thoughts[1] == ["There may be an article."]


def test_a_prompt_that_the_server_cuts_raises_the_alarm(monkeypatch: pytest.MonkeyPatch, thimble: Thimble) -> None:
    """By a server that does not do as it is told: it cuts although `truncate` is off."""

    def cutting(model: Model, body: dict[str, Any], context: int) -> list[str] | None:
        prompt = prompt_of(model, body, 10**9) or []
        return prompt[: len(prompt) // 4]

    monkeypatch.setattr("tests.support.ollama_server.prompt_of", cutting)
    with served() as (_, url):
        run = thimble(url, "-p", "What is a context window?", "--json")
        told = [event for event in events(run) if event["type"] == "prompt_cut"]
        assert told
        assert all(event["read_tokens"] < event["sent_tokens"] / 2 for event in told)
        run = thimble(url, "-p", "What is a context window?")
    assert "it cut the prompt" in run.stderr


def test_a_busy_server_is_told_and_waited_for(thimble: Thimble) -> None:
    with served() as (server, url):
        server.busy = 1
        run = thimble(url, "--budget", "8000", "-p", "What is a context window?")
    assert (run.returncode, run.stdout) in [(0, f"It is in [{path.stem}].\n") for path in ARTICLES.glob("*.md")]
    assert "… the server is busy: again in 0." in run.stderr
    assert "s wait" in run.stderr.splitlines()[-1], "the footer keeps it apart"


# ---- completion ----


def models_offered(completions: Completions) -> list[str]:
    return [offer.text for offer in completions.get_completions(Document("/model "), CompleteEvent())]


def test_tab_does_not_wait_for_a_slow_server() -> None:
    offered = Event()

    def slow(handler: Any, body: Any) -> None:
        if handler.path != "/api/version":
            offered.wait(60)
        body = b'{"version":"1"}' if handler.path == "/api/version" else b'{"models":[{"model":"slow:1b"}]}'
        send(handler, body)

    with loopback(slow) as url:
        session = Session(Settings(backend="ollama", base_url=url))
        completions = Completions(session)
        assert models_offered(completions) == ["reader"]
        offered.set()
        backends = session.backends
        assert backends._asking is not None
        backends._asking.join()
        assert backends._names in (["reader", "slow:1b"], ["reader"]), "the next Tab has it"
