from __future__ import annotations

import json
import socket
import time
from collections.abc import Sequence
from itertools import pairwise
from threading import Event
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import ModelError, UsageError
from agent.messages import Message, ToolCall
from agent.protocols import Delta, Text, Thinking, Usage
from models import make
from models.ollama import Ollama, answers, capabilities, choose_model, host_url, installed, pull
from models.ollama.wire import lines
from tests.models.wire import ANSWER, CALLS, PAGE, PS, PULL, SHOW, TAGS, Chunks, Wire, loopback, send

SYSTEM, USER = Message("s", "system", "Be brief."), Message("u", "user", "What holds 2 ml?")
TOOL = {"type": "function", "function": {"name": "list_articles", "description": "List.", "parameters": {}}}


def reply(wire: Wire, messages: Sequence[Message] = (SYSTEM, USER), **settings: Any) -> list[Delta]:
    return list(Ollama("qwen2.5:7b", transport=wire, **settings).stream(messages, [TOOL]))


def failure(wire: Wire) -> ModelError:
    with pytest.raises(ModelError) as caught:
        reply(wire)
    assert "\n" not in caught.value.what + caught.value.fix
    assert caught.value.fix
    return caught.value


# ---- a reply ----


def test_a_reply_streams_text_and_then_its_account() -> None:
    assert reply(Wire(chat=ANSWER)) == [
        Text("A thimble"),
        Text(" holds €1 — 2\x85ml."),
        Usage(812, None, 11, 1.0, 0.5, 0.75, "stop"),
    ]


def test_an_account_that_cannot_be_is_unknown() -> None:
    wrong = {"prompt_eval_count": -5, "eval_count": 10**30, "eval_duration": 10**1000, "load_duration": -1}
    line = json.dumps({"message": {"content": "A"}, "error": None, "done": True, **wrong}).encode()
    assert reply(Wire(chat=line))[-1] == Usage()


@given(st.lists(st.text("a\n \x85", max_size=6).map(str.encode)))
def test_lines_are_the_same_wherever_the_pieces_end(pieces: list[bytes]) -> None:
    every = (line.strip() for line in b"".join(pieces).split(b"\n"))
    assert [line.strip() for line in lines(pieces)] == [line for line in every if line]


def test_tool_calls_arrive_whole_with_ids_that_no_other_call_has() -> None:
    history = (SYSTEM, USER, Message("a", "assistant", calls=(ToolCall("call_k2m9", "list_articles"),)))
    deltas = reply(Wire(chat=CALLS), history)
    calls = [delta for delta in deltas if isinstance(delta, ToolCall)]
    assert deltas[:3] == [Thinking("Two lists "), Thinking("will do."), Text("I look twice.")]
    assert [(call.name, json.loads(call.arguments)) for call in calls] == [
        ("list_articles", {"page": 2, "topic": "café"}),
        ("list_articles", {}),
        ("list_articles", {}),
    ]
    assert len({call.id for call in calls} | {"call_k2m9", ""}) == 5
    assert deltas[-1] == Usage(3000, 2500, 40, 0.0, 0.25, 2.0, "length")


def test_a_servers_own_id_is_kept() -> None:
    calls = [delta for delta in reply(Wire(chat=CALLS)) if isinstance(delta, ToolCall)]
    assert calls[0].id == "call_k2m9"


@given(st.sampled_from([ANSWER, CALLS.replace(b'"id":"call_k2m9",', b'"id":"x",')]), st.data())
def test_chunk_borders_make_no_difference(body: bytes, data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(body)), max_size=12).map(sorted))
    pieces = [body[start:end] for start, end in pairwise([0, *cuts, len(body)])]
    assert named(reply(Wire(chat=Chunks(pieces)))) == named(reply(Wire(chat=body)))


def named(deltas: list[Delta]) -> list[object]:
    """Deltas without the ids that are made up anew each time."""
    return [(delta.name, delta.arguments) if isinstance(delta, ToolCall) else delta for delta in deltas]


@given(st.text(), st.text(), st.dictionaries(st.text(), st.none() | st.integers() | st.text()))
def test_any_text_and_arguments_come_through(text: str, thinking: str, arguments: dict[str, object]) -> None:
    message = {
        "content": text,
        "thinking": thinking,
        "tool_calls": [{"function": {"name": "f", "arguments": arguments}}],
    }
    body = json.dumps({"message": message, "done": True}, ensure_ascii=False).encode("utf-8", "replace")
    expected = json.loads(body)["message"]
    deltas = reply(Wire(chat=body))
    assert "".join(d.text for d in deltas if isinstance(d, Text)) == expected["content"]
    assert "".join(d.text for d in deltas if isinstance(d, Thinking)) == expected["thinking"]
    assert [json.loads(d.arguments) for d in deltas if isinstance(d, ToolCall)] == [
        expected["tool_calls"][0]["function"]["arguments"]
    ]


def test_what_the_server_leaves_out_is_unknown_and_not_zero() -> None:
    assert reply(Wire(chat=b'{"done":true,"done_reason":"load","eval_count":"many"}')) == [Usage()]


# ---- a request ----


def test_a_request_fixes_the_window_and_forbids_cutting() -> None:
    wire = Wire(chat=ANSWER)
    model = Ollama("qwen2.5:7b", transport=wire, num_ctx=9000, keep_alive="1h", options={"temperature": 0})
    list(model.stream([SYSTEM, USER], [TOOL], max_tokens=300))
    assert wire.sent() == {
        "model": "qwen2.5:7b",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What holds 2 ml?"}],
        "stream": True,
        "options": {"temperature": 0, "num_ctx": 9000, "num_predict": 300},
        "keep_alive": "1h",
        "truncate": False,
        "shift": False,
        "tools": [TOOL],
    }


def test_calls_go_back_as_objects_results_with_their_call_and_thinking_not_at_all() -> None:
    wire = Wire(chat=ANSWER)
    call = ToolCall("c1", "list_articles", '{"page": 2}')
    turn = Message("a", "assistant", "I look.", thinking="SECRET", calls=(call,))
    reply(wire, [SYSTEM, USER, turn, Message("t", "tool", "16 articles", call_id="c1", name="list_articles")])
    function = {"name": "list_articles", "arguments": {"page": 2}}
    assert wire.sent()["messages"][2:] == [
        {"role": "assistant", "content": "I look.", "tool_calls": [{"id": "c1", "function": function}]},
        {"role": "tool", "content": "16 articles", "tool_name": "list_articles", "tool_call_id": "c1"},
    ]
    assert "SECRET" not in json.dumps(wire.bodies)


@pytest.mark.parametrize("text", ["", "{page: 2", "[1]", "null", '"x"', '{"a": NaN}', '{"a": 1e999}', "[" * 100_000])
def test_arguments_that_are_no_object_go_back_as_what_they_are(text: str) -> None:
    wire = Wire(chat=ANSWER)
    reply(wire, [USER, Message("a", "assistant", calls=(ToolCall("c", "f", text),))])
    assert wire.sent()["messages"][1]["tool_calls"][0]["function"]["arguments"] == {"_raw": text}


@given(st.text(st.characters()), st.text(st.characters()))
def test_any_history_can_be_sent(content: str, arguments: str) -> None:
    wire = Wire(chat=ANSWER)
    reply(wire, [USER, Message("a", "assistant", content, calls=(ToolCall("c", "f", arguments),))])
    assert wire.sent()["messages"][1]["content"] == content


@pytest.mark.parametrize(
    ("model", "think", "sent"),
    [
        ("qwen3:8b", True, True),
        ("qwen3:8b", False, False),
        ("gpt-oss:20b", True, "medium"),
        ("gpt-oss:20b", False, "low"),
    ],
)
def test_a_model_that_can_think_is_told_whether_to(model: str, think: bool, sent: object) -> None:
    wire = Wire(chat=ANSWER, show=SHOW)
    backend = Ollama(model, transport=wire, think=think)
    for _ in range(2):
        list(backend.stream([USER], []))
        assert wire.sent()["think"] == sent
    assert [route for route, _ in wire.bodies] == ["show", "chat", "chat"]
    assert "tools" not in wire.sent()


def test_a_model_of_unknown_abilities_is_not_asked_to_think() -> None:
    wire = Wire(chat=ANSWER, show=(500, b"oops"))
    reply(wire)
    assert "think" not in wire.sent()


# ---- what goes wrong ----

OVERFLOWS = [
    "input length exceeds maximum context length",
    "the input length exceeds the context length",
    "request (40960 tokens) exceeds the available context size (4096 tokens), try increasing it",
    "prompt is too long: 9000 tokens",
    "prompt too long; exceeded max context length by 5 tokens",
    "context limit hit - shift disabled",
]


@pytest.mark.parametrize("words", OVERFLOWS)
@pytest.mark.parametrize("status", [400, 500, 200])
def test_a_prompt_that_is_too_long_is_told_as_that(words: str, status: int) -> None:
    error = failure(Wire(chat=(status, json.dumps({"error": words}).encode())))
    assert "longer than the model's context" in error.what
    assert words in error.what
    assert "--budget" in error.fix


@pytest.mark.parametrize(
    ("status", "body", "what", "fix"),
    [
        (400, b'{"error":"registry.ollama.ai/library/phi does not support tools"}', "cannot call tools", "--model"),
        (400, b'{"error":"\\"qwen2.5:7b\\" does not support thinking"}', "cannot think", "--model"),
        (404, b'{"error":"model \\"qwen2.5:7b\\" not found, try pulling it first"}', "not installed",
         "ollama pull qwen2.5:7b (installed: llama3.2:3b, qwen2.5:7b)"),
        (404, b"404 page not found", "status 404: 404 page not found", "address"),
        (503, b'{"error":"server busy, please try again. maximum pending requests exceeded"}', "is busy", "again"),
        (500, b'{"error":"model requires more system memory (9.1 GiB) than 3.0 GiB"}', "9.1 GiB", "smaller"),
        (400, b'{"error":{"code":400,"message":"bad\\nrequest"}}', "status 400: bad request", "log"),
        (502, PAGE, "status 502: a web page", "address"),
        (500, b"", "no reason given", "log"),
        (500, b"x" * 9000, "status 500: xxx", "log"),
        (200, PAGE, "a web page", "--base-url"),
        (200, b"[1]\n", "[1]", "--base-url"),
        (200, b'{"message":"hello"}\n', "hello", "--base-url"),
        (200, b'{"message":{"tool_calls":[7]}}\n', "7", "--base-url"),
        (200, b"\xff\xfe\n", "language", "--base-url"),
        (200, b'{"message":{"tool_calls":7}}\n', "7", "--base-url"),
        (200, b"", "stopped in the middle of a reply", "log"),
        (200, b'{"message":{"content":"A"}}\n{"message":{"con', "stopped in the middle of a reply", "log"),
    ],
)  # fmt: skip
def test_each_refusal_says_what_and_how_to_mend_it(status: int, body: bytes, what: str, fix: str) -> None:
    error = failure(Wire(chat=(status, body)))
    assert what in error.what
    assert fix in error.fix
    assert len(error.what) < 400


def test_a_missing_model_is_named_missing_though_no_list_can_be_had() -> None:
    wire = Wire(chat=(404, b'{"error":"model \'x\' not found"}'), tags=(500, b""))
    assert failure(wire).fix == "ollama pull qwen2.5:7b"


def test_an_error_in_the_middle_comes_after_what_was_said() -> None:
    body = ANSWER.split(b"\n")[0] + b'\n{"error":"llama runner process has terminated: exit status 2"}\n'
    stream = Ollama("qwen2.5:7b", transport=Wire(chat=body)).stream([USER], [])
    assert next(stream) == Text("A thimble")
    with pytest.raises(ModelError, match="broke off its reply: llama runner process has terminated"):
        next(stream)


@given(st.integers(0, ANSWER.rindex(b"\n") - 1))
def test_a_stream_that_ends_too_early_is_never_taken_for_a_reply(end: int) -> None:
    cut = ANSWER[:end]
    if cut.endswith(b"}"):
        failure(Wire(chat=cut))
        return
    with pytest.raises(ModelError):
        reply(Wire(chat=cut))
    error = failure(Wire(chat=Chunks([cut, httpx.RemoteProtocolError("peer closed connection")])))
    assert "stopped in the middle of a reply" in error.what


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (httpx.ConnectError("[Errno 111] Connection refused"), "nothing answers at http://127.0.0.1:11434"),
        (httpx.ConnectTimeout(""), "nothing answers at http://127.0.0.1:11434 (timed out)"),
        (httpx.ReadTimeout("timed out"), "nothing came from http://127.0.0.1:11434 for 300 seconds"),
        (httpx.ReadError("reset"), "stopped in the middle"),
    ],
)
def test_a_broken_connection_says_which(error: Exception, what: str) -> None:
    assert what in failure(Wire(chat=error)).what


def test_closing_midway_closes_the_response() -> None:
    body = Chunks([line + b"\n" for line in ANSWER.splitlines()[:1] * 100])
    stream = Ollama("qwen2.5:7b", transport=Wire(chat=body)).stream([USER], [])
    assert next(stream) == Text("A thimble")
    assert not body.closed
    stream.close()
    assert body.closed


# ---- a real server ----


def chat(handler: Any, body: Any) -> None:
    if handler.path == "/api/chat":
        last = body["messages"][-1]
        send(handler, CALLS if last["role"] == "user" else ANSWER)
    else:
        send(handler, {"/api/show": SHOW, "/api/tags": TAGS, "/api/ps": PS}[handler.path])


def test_a_whole_conversation_over_a_real_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # a proxy before loopback would refuse
    with loopback(chat) as url:
        model = make("ollama", base_url=url.removeprefix("http://"))
        assert isinstance(model, Ollama)
        history = [SYSTEM, USER]
        calls = tuple(d for d in model.stream(history, [TOOL]) if isinstance(d, ToolCall))
        history += [Message("a", "assistant", calls=calls), Message("t", "tool", "16", call_id=calls[0].id)]
        assert Text("A thimble") in list(model.stream(history, [TOOL]))
        assert (model.model, model.loaded_context()) == ("qwen2.5:7b", 4096)
        assert model.check_context() == (
            "qwen2.5:7b is loaded with a context of 4,096 tokens, not the 16,384 asked for"
        )


def test_a_slow_server_is_given_up_on_and_a_cancelled_one_notices() -> None:
    gone, done = Event(), Event()

    def slow(handler: Any, body: Any) -> None:
        if handler.path != "/api/chat":
            return send(handler, SHOW)
        handler.send_response(200)
        handler.end_headers()
        try:
            handler.wfile.write(ANSWER.splitlines(keepends=True)[0])
            while body["messages"][0]["content"] == "endless" and not done.wait(0.01):
                handler.wfile.write(ANSWER.splitlines(keepends=True)[0])
            done.wait(5)
        except OSError:
            gone.set()
        return None

    with loopback(slow) as url:
        model = Ollama("qwen2.5:7b", url, timeout_seconds=0.15)
        with pytest.raises(ModelError, match=r"for 0\.15 seconds"):
            list(model.stream([USER], []))
        endless = model.stream([Message("u", "user", "endless")], [])
        next(endless)
        endless.close()
        assert gone.wait(5)
        done.set()


def test_a_server_that_dies_is_told_as_that() -> None:
    def dying(handler: Any, body: Any) -> None:
        if handler.path != "/api/chat":
            return send(handler, SHOW)
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        handler.wfile.write(ANSWER[:200])
        return None

    with loopback(dying) as url, pytest.raises(ModelError, match="stopped in the middle of a reply"):
        list(Ollama("qwen2.5:7b", url).stream([USER], []))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_nothing_listening() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    for ask in (lambda: list(Ollama("x", url).stream([USER], [])), lambda: installed(url)):
        with pytest.raises(ModelError, match="nothing answers at") as caught:
            ask()
        assert "ollama serve" in caught.value.fix
    assert Ollama("x", url).check_context() is None


# ---- is it there ----


def test_answers_knows_ollama_from_a_web_server_and_from_nothing() -> None:
    with loopback(lambda handler, _: send(handler, b'{"version":"0.13.0"}')) as url:
        assert answers(url, 5)
    with loopback(lambda handler, _: send(handler, PAGE)) as url:
        assert not answers(url, 5)
    assert not answers(f"http://127.0.0.1:{free_port()}", 5)


def test_answers_keeps_its_deadline_before_a_silent_server() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        start = time.perf_counter()
        assert not answers(f"http://127.0.0.1:{silent.getsockname()[1]}", 0.1)
        assert time.perf_counter() - start < 1


def test_answers_keeps_its_deadline_before_a_name_server_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    freed = Event()

    def hang(*_: object, **__: object) -> None:
        freed.wait(10)
        raise OSError

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    start = time.perf_counter()
    assert not answers("http://ollama.example:11434", 0.1)
    assert time.perf_counter() - start < 1
    freed.set()


# ---- which model ----


def test_the_server_tells_what_it_has() -> None:
    wire = Wire(show=SHOW, pull=PULL, ps=PS)
    assert installed(transport=wire) == ["llama3.2:3b", "qwen2.5:7b"]
    assert capabilities("qwen3:8b", transport=wire) == {"completion", "tools", "thinking"}
    steps = list(pull("qwen2.5:7b", transport=wire))
    assert [(step.status, step.done_bytes, step.total_bytes) for step in steps] == [
        ("pulling manifest", None, None),
        ("pulling 2bada8a74506", 1048576, 4683073184),
        ("success", None, None),
    ]


@pytest.mark.parametrize(
    "body", [PAGE, b"[]", b"{}", b'{"models":7}', b"[" * 10**5, (500, b"[]"), (500, b""), (200, b"")]
)
def test_a_list_that_is_none_is_a_model_error(body: bytes | tuple[int, bytes]) -> None:
    with pytest.raises(ModelError) as caught:
        installed(transport=Wire(tags=body))
    assert "\n" not in caught.value.what


def test_a_pull_that_fails_is_a_model_error() -> None:
    with pytest.raises(ModelError, match="file does not exist"):
        list(pull("nosuch", transport=Wire(pull=b'{"status":"pulling manifest"}\n{"error":"file does not exist"}\n')))


@pytest.mark.parametrize(
    ("names", "wanted", "chosen"),
    [
        (["llama3.2:3b", "qwen3:8b", "qwen2.5:3b", "qwen2.5:7b"], "", "qwen2.5:7b"),
        (["llama3.2:3b", "qwen3:8b", "qwen2.5:3b"], "", "qwen2.5:3b"),
        (["llama3.2:3b", "qwen3-embedding:0.6b", "qwen3:8b"], "", "qwen3:8b"),
        (["nomic-embed-text:latest", "llama3.2:3b"], "", "llama3.2:3b"),
        (["qwen2.5:7b", "llama3.2:latest"], "llama3.2", "llama3.2:latest"),
        (["qwen2.5:7b", "hf.co/a/b:Q4"], "hf.co/a/b:Q4", "hf.co/a/b:Q4"),
    ],
)
def test_the_model_is_chosen_in_the_order_that_is_told(names: list[str], wanted: str, chosen: str) -> None:
    assert choose_model(names, wanted) == chosen


def test_a_model_is_asked_what_it_can_only_when_none_is_known() -> None:
    asked: list[str] = []

    def able(name: str) -> bool:
        asked.append(name)
        return name == "c"

    assert choose_model(["a", "c", "qwen3:4b"], "", able) == "qwen3:4b"
    assert asked == []
    assert choose_model(["a", "c", "d"], "", able) == "c"
    assert asked == ["a", "c"]


@pytest.mark.parametrize(
    ("names", "wanted", "fix"),
    [
        ([], "", "ollama pull qwen2.5:7b"),
        (["nomic-embed-text"], "", "ollama pull qwen2.5:7b"),
        ([], "phi4", "ollama pull phi4 (no model is installed)"),
        (["a", "b"], "phi4", "ollama pull phi4 (installed: a, b)"),
    ],
)
def test_no_model_to_choose_says_what_to_pull(names: list[str], wanted: str, fix: str) -> None:
    with pytest.raises(ModelError) as caught:
        choose_model(names, wanted)
    assert caught.value.fix == fix


def test_check_context_is_silent_where_all_is_well_or_unknown() -> None:
    assert Ollama("qwen2.5:7b", num_ctx=4096, transport=Wire(ps=PS)).check_context() is None
    assert Ollama("qwen2.5:3b", transport=Wire(ps=PS)).check_context() is None
    assert Ollama("qwen2.5:7b", transport=Wire(ps=(500, b""))).check_context() is None


# ---- where it is ----


@pytest.mark.parametrize(
    ("value", "url"),
    [
        (None, "http://127.0.0.1:11434"),
        ("", "http://127.0.0.1:11434"),
        ("  ", "http://127.0.0.1:11434"),
        ("box", "http://box:11434"),
        ('"box"', "http://box:11434"),
        ("box:1234", "http://box:1234"),
        (":1234", "http://127.0.0.1:1234"),
        ("box/", "http://box:11434"),
        ("box/ollama/", "http://box:11434/ollama"),
        ("box:1/a/b", "http://box:1/a/b"),
        ("http://box", "http://box:80"),
        ("https://box", "https://box:443"),
        ("HTTPS://box", "https://box:443"),
        ("https://box:8443/x", "https://box:8443/x"),
        ("http://", "http://127.0.0.1:80"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:80", "http://127.0.0.1:80"),
        ("http://0.0.0.0:11434", "http://127.0.0.1:11434"),
        ("::", "http://[::1]:11434"),
        ("[::]:1234", "http://[::1]:1234"),
        ("::1", "http://[::1]:11434"),
        ("[::1]", "http://[::1]:11434"),
        ("[::1]:1234", "http://[::1]:1234"),
        ("http://[fe80::1]/p", "http://[fe80::1]:80/p"),
        ("10.0.0.7", "http://10.0.0.7:11434"),
    ],
)
def test_every_form_of_a_host(value: str | None, url: str) -> None:
    assert host_url(value) == url
    assert host_url(url) == url


@pytest.mark.parametrize(
    "value",
    [
        "box:x", "box:99999", "ftp://box", "a b", "me:pw@box", "box?x=1", "box:1:2", "[::1", "http:///a b", "[box]",
        "box:" + "9" * 5000, "box/\x7f", "box/\udc80", "b\u2024x", "xn--\u00fc", "a" * 64, "a..b", "[fe80::1%eth0]",
    ],
)  # fmt: skip
def test_what_is_no_host_is_a_users_mistake(value: str) -> None:
    with pytest.raises(UsageError) as caught:
        host_url(value)
    assert caught.value.fix


@given(st.text() | st.text("a1.-_:[]/%\x7f\udc80\u2024"))
def test_any_text_is_a_host_or_a_users_mistake(value: str) -> None:
    try:
        url = host_url(value)
    except UsageError:
        return
    assert host_url(url) == url
    assert httpx.URL(url).host.encode("idna")


def test_an_unknown_backend_is_a_users_mistake() -> None:
    with pytest.raises(UsageError, match="gpt") as caught:
        make("gpt")
    assert "ollama, reader" in caught.value.fix
