"""A server that sends the key back, in whatever it says: neither the screen nor the journal has it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.scripted_server import NOT_FOUND, Answer, Front, path_of, says, says_json
from thimble.repl.__main__ import main

KEY = "sk-our-own-secret"
SPELT = "".join(f"\\u{ord(letter):04x}" for letter in KEY)


def streamed(*deltas: str) -> Answer:
    """A reply in these deltas, as JSON texts."""
    chunks = [f'data: {{"choices":[{{"delta":{delta}}}]}}\n\n' for delta in deltas]
    end = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":9}}\n\ndata: [DONE]\n\n'
    return says("200 OK", "".join([*chunks, end]).encode(), "content-type: text/event-stream")


def call(id_: str, name: str, arguments: str) -> str:
    function = f'{{"name":"{name}","arguments":{json.dumps(arguments)}}}'
    return f'{{"tool_calls":[{{"index":0,"id":"{id_}","function":{function}}}]}}'


ECHOES: dict[str, Callable[[], Answer]] = {
    "text": lambda: streamed(f'{{"content":"it is {KEY}."}}'),
    "escaped": lambda: streamed(f'{{"content":"it is {SPELT}."}}'),
    "thought": lambda: streamed(f'{{"reasoning":"it is {KEY}"}}', '{"content":"x"}'),
    "arguments": lambda: streamed(call("1", "read_article", f'{{"name":"{KEY}"}}')),
    "id": lambda: streamed(call(KEY, "read_article", '{"name":"x"}')),
    "name": lambda: streamed(call("1", KEY, "{}")),
    "error": lambda: says_json("401 Unauthorized", {"error": {"message": f"Incorrect API key provided: {KEY}"}}),
    "late error": lambda: streamed('{"content":"x"}}]}\n\ndata: {"error":{"message":"' + KEY + '"},"a":[{"b":{}'),
    "page": lambda: says("200 OK", f"<html>{KEY}</html>".encode(), "content-type: text/html"),
}


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("echo", [*ECHOES, "model"])
def test_neither_screen_nor_journal_has_the_key(
    echo: str, as_json: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.chdir(tmp_path)
    came: list[bytes] = []

    def answer(request: bytes) -> Answer:
        came.append(request)
        match path_of(request):
            case "/v1/models":
                return says_json("200 OK", {"data": [{"id": f"it is {KEY}" if echo == "model" else "m"}]})
            case "/v1/chat/completions":
                made = ECHOES.get(echo, ECHOES["text"])
                return made() if len([one for one in came if b"/chat/" in one]) < 3 else streamed('{"content":"end"}')
        return NOT_FOUND

    server = Front(answer)
    try:
        flags = [
            "--backend",
            "openai",
            "--base-url",
            server.url,
            "--embeddings",
            "none",
            "--session-dir",
            str(tmp_path),
        ]
        code = main(["-p", "Which key is it?", "-p", "/model", *flags, *(["--json"] if as_json else [])])
    finally:
        server.stop()
    told = capsys.readouterr()
    kept = "".join(path.read_text() for path in tmp_path.glob("*.jsonl"))
    assert any(KEY.encode() in request for request in came), "the key was sent"
    assert not any(KEY.encode() in request.partition(b"\r\n\r\n")[2] for request in came), "and not in a prompt"
    for shown in (told.out, told.err, kept):
        assert KEY not in shown
        assert SPELT not in shown
    assert "Which key" in kept or code
