"""A model server that means harm: each mode is one way to answer, as Ollama, vLLM or llama-server, at any path.

    with malicious() as server:
        case = server.case("ollama", "framing: hangs")
        ...  # case.url is its address; all is well until case.on
        case.path, case.on = "/api/chat", True
        case.begun.wait()

A mode yields what goes over the wire: bytes, or seconds to wait. After the last the connection is closed; HANGS leaves
it open.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import chain, count, repeat
from socket import socket
from threading import Event
from typing import Any

from tests.support.failing_server import CHAT, Answer, Front, hangs, path_of
from tests.support.payloads import PAYLOADS

Wire = bytes | float
Mode = Callable[["Where"], Iterable[Wire]]

HANGS = -1.0
"""Wait until the client goes."""
DRIP_SECONDS = 0.2
"""Shorter than any silence that is not borne."""
MEGABYTE = 1_000_000
DEEP = 100_000
MODELS = ("good:7b", "other:7b")
ANSWER = "A thimble holds two millilitres."
MARK = "PWNED"
"""Is in each text that steers a terminal, and never where a terminal would put it."""
STEERING = "".join(
    f"{text} "
    for text in ("\x1b]0;PWNED\x07", "\x1b[31mred", "\x1b[2J", "\x9b1;1H", "\x9d0;PWNED\x9c", "\x1bPq~\x1b\\")
) + "".join(text for family in PAYLOADS.values() for text in family[:3])


@dataclass(frozen=True)
class Where:
    """A request: the kind of server that is asked, the path, and the body."""

    kind: str
    path: str
    request: bytes = b""

    @property
    def chats(self) -> bool:
        """Whether it asks for a reply."""
        return self.path in CHAT

    @property
    def stream_type(self) -> str:
        """The type of a stream."""
        if not self.chats:
            return "application/json"
        return "application/x-ndjson" if self.kind == "ollama" else "text/event-stream"

    @property
    def good(self) -> Any:
        """What a sound server says here, as JSON; of a reply its first piece, with a call."""
        if self.chats:
            return self.piece({"content": ANSWER, **self.calls(call("read_article", '{"slug": "thimbles"}'))})
        return routes(self)[self.path]

    def calls(self, *calls: Mapping[str, Any]) -> dict[str, Any]:
        """The field of a piece that has calls."""
        if self.kind != "ollama":
            return {"tool_calls": list(calls)}
        return {"tool_calls": [{"function": {**each["function"], "arguments": {}}} for each in calls]}

    def piece(self, delta: Mapping[str, Any], **end: Any) -> dict[str, Any]:
        """A piece of a reply; at another path what is sound there, with these fields too."""
        if not self.chats:
            return {**(self.good if isinstance(self.good, dict) else {}), **delta, **end}
        if self.kind == "ollama":
            return {"model": MODELS[0], "message": {"role": "assistant", **delta}, "done": bool(end), **end}
        choice = {"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": end.get("done_reason")}
        return {"id": "x", "model": MODELS[0], "choices": [choice], **end}

    def line(self, value: Any) -> bytes:
        """A piece on the wire. Bytes are JSON already."""
        text = value if isinstance(value, bytes) else json.dumps(value).encode()
        return b"data: " + text + b"\n\n" if self.stream_type == "text/event-stream" else text + b"\n"

    def say(self, **delta: Any) -> bytes:
        """A piece of a reply on the wire."""
        return self.line(self.piece(delta))

    @property
    def end(self) -> bytes:
        """The end of a reply."""
        if not self.chats:
            return b""
        last = self.line(self.piece({"content": ""}, done_reason="stop", prompt_eval_count=900, eval_count=9))
        return last if self.kind == "ollama" else last + b"data: [DONE]\n\n"


def call(name: Any, arguments: Any, **more: Any) -> dict[str, Any]:
    """A call in a reply."""
    return {"index": 0, "id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def routes(where: Where) -> dict[str, Any]:
    """What a sound server says about itself and its models."""
    listed = [{"name": name, "model": name, "digest": f"d{name}"} for name in MODELS]
    if where.kind == "ollama":
        return {
            "/api/version": {"version": "0.34.0"},
            "/api/tags": {"models": listed},
            "/api/show": {"capabilities": ["completion", "tools"], "model_info": {"qwen2.context_length": 32768}},
            "/api/ps": {"models": [{**each, "context_length": 32768} for each in listed]},
        }
    size: dict[str, Any] = {"max_model_len": 32768} if where.kind == "vllm" else {"meta": {"n_ctx": 32768}}
    owner = {"object": "model", "owned_by": "vllm" if where.kind == "vllm" else "llamacpp"}
    found: dict[str, Any] = {
        "/v1/models": {"object": "list", "data": [{"id": name, **owner, **size} for name in MODELS]},
        "/version": {"version": "0.32.0"},
    }
    tokens = list(range(len(where.request) // 16))
    if where.kind == "vllm":
        return found | {"/tokenize": {"count": len(tokens), "tokens": tokens}}
    return found | {"/apply-template": {"prompt": "p" * 400}, "/tokenize": {"tokens": tokens}}


KINDS = ("ollama", "vllm", "llama")


def paths(kind: str) -> list[str]:
    """What a server of a kind is asked: for a reply, then about itself."""
    return [CHAT[1 if kind == "ollama" else 0], *routes(Where(kind, ""))]


# ---- on the wire ----


def head(where: Where, *headers: str, status: str = "200 OK") -> bytes:
    """The head of a response of the usual type."""
    return "\r\n".join([f"HTTP/1.1 {status}", f"content-type: {where.stream_type}", *headers, "", ""]).encode("latin-1")


def whole(where: Where, body: bytes, *headers: str, status: str = "200 OK") -> list[Wire]:
    """A response whose length is told."""
    return [head(where, f"content-length: {len(body)}", *headers, status=status), body]


def streamed(where: Where, pieces: Iterable[Wire]) -> Iterator[Wire]:
    """A response in chunks."""
    yield head(where, "transfer-encoding: chunked")
    for piece in pieces:
        yield b"%x\r\n%s\r\n" % (len(piece), piece) if isinstance(piece, bytes) else piece
    yield b"0\r\n\r\n"


def replied(where: Where, *pieces: bytes) -> Iterator[Wire]:
    """A stream of these pieces and a sound end; at a path that does not stream, the first of them is the answer."""
    yield from streamed(where, [*pieces, where.end] if where.chats else pieces[:1])


def endless(piece: bytes) -> Iterator[bytes]:
    """The same for ever, in large blocks."""
    yield piece
    yield from repeat(piece * max(1, 65_536 // len(piece)))


def dripped(piece: bytes) -> Iterator[Wire]:
    """The same for ever, slowly."""
    yield from chain.from_iterable(repeat((piece, DRIP_SECONDS)))


def sound(where: Where) -> Iterable[Wire]:
    """As if all were well."""
    if where.chats:
        return streamed(where, [where.say(content=ANSWER), where.end])
    known = routes(where).get(where.path)
    if known is None:
        return whole(where, b'{"error": "not found"}', status="404 Not Found")
    return whole(where, known.encode() if isinstance(known, str) else json.dumps(known).encode())


# ---- the modes, by families ----

FAMILIES: dict[str, dict[str, Mode]] = {}


def mode(family: str, name: str) -> Callable[[Mode], Mode]:
    """Put a mode into its family."""

    def put(made: Mode) -> Mode:
        assert name not in FAMILIES.setdefault(family, {}), name
        FAMILIES[family][name] = made
        return made

    return put


def raw(family: str, name: str, *wire: Wire) -> None:
    """A mode that sends the same whatever is asked."""
    mode(family, name)(lambda _: wire)


def lasting(family: str, name: str, start: bytes, piece: bytes) -> None:
    """Two modes of the same that never ends: as fast as it can be sent, and in drips."""
    mode(family, f"{name}, without an end")(lambda _: chain([start], endless(piece)))
    mode(family, f"{name}, in drips")(lambda _: chain([start], dripped(piece)))


OK = b"HTTP/1.1 200 OK\r\n"


def _framing() -> None:
    put = partial(raw, "framing")
    put("closes")
    put("hangs", HANGS)
    put("hangs in the status line", b"HTTP/1.1 2", HANGS)
    put("hangs in the headers", OK + b"content-type: ", HANGS)
    put("hangs after the headers", OK + b"content-length: 9\r\n\r\n", HANGS)
    put("hangs in a chunk", OK + b"transfer-encoding: chunked\r\n\r\nff\r\n{", HANGS)
    put("no HTTP at all", b"SSH-2.0-OpenSSH_9.6\r\n")
    put("no status line", b"content-length: 2\r\n\r\n{}")
    put("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", HANGS)
    put("a status of 0", b"HTTP/1.1 000 \r\ncontent-length: 0\r\n\r\n")
    put("a status of 999", b"HTTP/1.1 999 What\r\ncontent-length: 2\r\n\r\n{}")
    put("a status with letters", b"HTTP/1.1 2OO OK\r\n\r\n")
    put("no content", b"HTTP/1.1 204 No Content\r\n\r\n")
    put("not modified", b"HTTP/1.1 304 Not Modified\r\n\r\n")
    put("switching protocols", b"HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\n\r\n", HANGS)
    put("an empty body", OK + b"content-length: 0\r\n\r\n")
    put("a negative length", OK + b"content-length: -1\r\n\r\n{}")
    put("a length of 5,000 digits", OK + b"content-length: " + b"9" * 5_000 + b"\r\n\r\n{}", HANGS)
    put("a length of an exabyte", OK + b"content-length: 1000000000000000000\r\n\r\n{", HANGS)
    put("two lengths", OK + b"content-length: 2\r\ncontent-length: 3\r\n\r\n{}")
    put("a length and chunks", OK + b"content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")
    put("an unknown transfer encoding", OK + b"transfer-encoding: zip\r\n\r\n{}")
    put("a chunk of an exabyte", OK + b"transfer-encoding: chunked\r\n\r\nfffffffffffffff\r\n{", HANGS)
    put("a negative chunk", OK + b"transfer-encoding: chunked\r\n\r\n-1\r\n{}\r\n0\r\n\r\n")
    put("a chunk that is none", OK + b"transfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n")
    put("a chunk cut off", OK + b"transfer-encoding: chunked\r\n\r\nff\r\n{")
    put("a body cut off", OK + b'content-length: 999\r\n\r\n{"a": "b')
    put("two responses", (OK + b"content-length: 2\r\n\r\n{}") * 2)
    put("zeros", bytes(MEGABYTE))
    for status in (301, 302, 307, 308):
        to = b"location: /api/chat" if status == 301 else b"location: file:///etc/passwd"
        put(f"a redirect, {status}", b"HTTP/1.1 %d Moved\r\n%s\r\ncontent-length: 0\r\n\r\n" % (status, to))


def _endless_framing() -> None:
    both = partial(lasting, "framing")
    both("a status line", b"HTTP/1.1 200 ", b"A")
    both("100 Continue", b"", b"HTTP/1.1 100 Continue\r\n\r\n")
    both("103 Early Hints", b"", b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n")
    both("the size of a chunk", OK + b"transfer-encoding: chunked\r\n\r\n", b"0")
    both("an extension of a chunk", OK + b"transfer-encoding: chunked\r\n\r\n2;", b"a")
    both("trailers", OK + b"transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n", b"a: b\r\n")
    both("chunks of a byte", OK + b"transfer-encoding: chunked\r\n\r\n", b"1\r\n \r\n")
    both("blank lines before the response", b"", b"\r\n")


def _headers() -> None:
    both = partial(lasting, "headers")
    both("headers", OK, b"x-a: b\r\n")
    both("the name of a header", OK, b"a")
    both("the value of a header", OK + b"a: ", b"b")
    both("a folded header", OK + b"a: b", b"\r\n b")

    def put(name: str, *headers: str, status: str = "200 OK", body: bytes = b"{}") -> None:
        mode("headers", name)(lambda where: whole(where, body, *headers, status=status))

    put("a thousand cookies", *(f"set-cookie: a{number}=b" for number in range(1_000)))
    put("a header with a NUL", "a: b\0c")
    put("a header that steers", "a: " + "\x1b]0;PWNED\x07\x9b31m")
    put("a type that steers", "content-type: \x1b[2J")
    for charset in ("utf-7", "idna", "unicode_escape", "undefined", "zlib", "\x1b[31m", "a" * 10_000):
        put(f"the charset {charset[:10]!r}", f"content-type: text/html; charset={charset}", status="500 Error")
    put("a reason that steers", status="500 \x1b]0;PWNED\x07\x9b31m")
    for after in ("1e400", "-1", "nan", "9" * 5_000, "Fri, 31 Dec 99999 23:59:59 GMT", "0", "\x1b[31m"):
        put(f"retry after {after[:12]!r}", f"retry-after: {after}", status="429 Too Many Requests")
    put("a location that steers", "location: http://\x1b[31mx/", status="302 Found")
    put("a location of a megabyte", "location: " + "a" * 60_000, status="302 Found")


@cache
def packed(times: int = 1, coding: int = 31) -> bytes:
    """500 MB of zeros, compressed so many times."""
    start, block = blocks(coding)
    body = start + block * 500
    for _ in range(times - 1):
        pack = zlib.compressobj(9, zlib.DEFLATED, coding)
        body = pack.compress(body) + pack.flush()
    return body


@cache
def blocks(coding: int) -> tuple[bytes, bytes]:
    """The start of a compressed stream, and a megabyte of zeros in it, which may be repeated for ever."""
    pack = zlib.compressobj(9, zlib.DEFLATED, coding)
    start, block = (pack.compress(bytes(MEGABYTE)) + pack.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    return start, block


def _encodings() -> None:
    def put(name: str, coding: str, body: Callable[[Where], bytes], status: str = "200 OK") -> None:
        mode("encodings", name)(lambda where: whole(where, body(where), f"content-encoding: {coding}", status=status))

    put("a bomb of gzip", "gzip", lambda _: packed())
    put("a bomb of gzip as an error", "gzip", lambda _: packed(), "500 Error")
    put("a bomb of deflate", "deflate", lambda _: packed(coding=15))
    for times in (2, 3):
        put(f"a bomb of gzip, {times} times", ", ".join(["gzip"] * times), lambda _, times=times: packed(times))
    put("encodings a thousand deep", ", ".join(["gzip"] * 1_000), lambda _: packed())
    put("encodings that do nothing, 6,000 of them", ",".join(["identity"] * 6_000), lambda _: b"{}")
    put("gzip that is none", "gzip", lambda _: b"{}")
    put("gzip cut off", "gzip", lambda _: blocks(31)[0][:-9])
    put("an unknown encoding", "\x1b[31mbr", lambda _: b"{}")

    @mode("encodings", "a line in gzip, without an end")
    def _(where: Where) -> Iterator[Wire]:
        yield head(where, "content-encoding: gzip")
        start, block = blocks(31)
        yield start
        yield from endless(block)

    for name, body in {
        "UTF-16": json.dumps({"content": ANSWER}).encode("utf-16"),
        "UTF-32": json.dumps({"content": ANSWER}).encode("utf-32"),
        "a mark of UTF-8": b"\xef\xbb\xbf{}",
        "no UTF-8": b'{"content": "\xff\xfe\x80", "error": "\xff\xc0\x80"}',
        "overlong UTF-8": b'{"error": "\xc0\x9b[31m\xe0\x80\x9b[31m"}',
        "half a character": b'{"error": "\\ud83d \\ude00\\ud83d"}',
    }.items():
        mode("encodings", name)(lambda where, body=body: whole(where, body))
        mode("encodings", f"{name}, as an error")(lambda where, body=body: whole(where, body, status="400 Bad"))


VALUES: dict[str, bytes] = {
    "null": b"null",
    "true": b"true",
    "-1": b"-1",
    "0.5": b"0.5",
    "1e400": b"1e400",
    "NaN": b"NaN",
    "-Infinity": b"-Infinity",
    "2^63": b"9223372036854775808",
    "5,000 digits": b"9" * 5_000,
    "an empty text": b'""',
    "a text that steers": json.dumps(STEERING).encode(),
    "a text of 2 MB": b'"' + b"a " * MEGABYTE + b'"',
    "half a character": b'"\\ud83d"',
    "an empty list": b"[]",
    "an empty object": b"{}",
    "a list of 200,000": b"[" + b"1," * 200_000 + b"1]",
    "a deep list": b"[" * DEEP + b"]" * DEEP,
    "a deep object": b'{"text":' * DEEP + b"1" + b"}" * DEEP,
    "a list 900 deep": b"[" * 900 + b"]" * 900,
}
KEYS = b"{" + b",".join(b'"%d":1' % number for number in range(50_000)) + b"}"
PLACES: dict[str, type | tuple[type, ...]] = {"texts": str, "figures": (int, float), "lists": list, "objects": dict}


def spoilt(value: Any, kinds: type | tuple[type, ...], by: str, depth: int = 0) -> Any:
    """What is sound, with `by` in each place of these kinds, the whole but for the first two levels of it."""
    if isinstance(value, kinds) and not isinstance(value, bool) and depth > 0:
        return by
    if isinstance(value, dict):
        return {key: spoilt(each, kinds, by, depth + 1) for key, each in value.items()}
    if isinstance(value, list):
        return [spoilt(each, kinds, by, depth + 1) for each in value]
    return value


def _json() -> None:
    def put(named: str, spelt: bytes, place: str) -> None:
        def play(where: Where) -> Iterable[Wire]:
            text = json.dumps(spoilt(where.good, PLACES[place], "\0here\0")).encode()
            return replied(where, where.line(text.replace(b'"\\u0000here\\u0000"', spelt)))

        mode(f"JSON: {place}", f"{place} are {named}")(play)

    for named, spelt in VALUES.items():
        for place in PLACES:
            put(named, spelt, place)


def _bodies() -> None:
    bodies: dict[str, bytes] = {
        **{f"only {named}": spelt for named, spelt in VALUES.items()},
        "two documents": b"{}{}",
        "a comment": b'{"a": 1 /* \x1b[31m */}',
        "a web page": b"<!DOCTYPE html><title>\x1b]0;PWNED\x07</title>" + b"<p>" * 99_999,
        "a key of 2 MB": b'{"' + b"a" * (2 * MEGABYTE) + b'": 1}',
        "50,000 keys": KEYS,
        "blanks of 15 MB": b" " * (15 * MEGABYTE),
        "5 million empty objects": b"[" + b"{}," * 5_000_000 + b"{}]",
        "5 million empty lists": b"[" + b"[]," * 5_000_000 + b"[]]",
        "3 million texts": b"[" + b'"ab",' * 3_000_000 + b"1]",
        "cut off": b'{"models": [{"name": "',
        "a bracket, 15 million times": b"[" * (15 * MEGABYTE),
    }
    for named, body in bodies.items():
        mode("JSON: bodies", named)(lambda where, body=body: whole(where, body))
        mode("JSON: errors", f"{named}, as an error")(
            lambda where, body=body: whole(where, body, status="500 Internal Server Error")
        )
    lasting("JSON: bodies", "a text", OK + b'\r\n{"models": "', b"a")
    lasting("JSON: bodies", "blanks", OK + b"\r\n", b" ")
    lasting("JSON: bodies", "a list", OK + b"\r\n[", b"1,")
    lasting("JSON: bodies", "brackets", OK + b"\r\n", b"[")


def _errors() -> None:
    for named, spelt in VALUES.items():
        for key, form in {"error": b'{"error": %s}', "inner": b'{"error": {"message": %s, "code": %s}}'}.items():
            made = partial(form.replace, b"%s", spelt)
            mode("JSON: errors", f"the {key} message is {named}")(
                lambda where, made=made: whole(where, made(), status="400 Bad Request")
            )
            mode("JSON: errors", f"the {key} message in a stream is {named}")(
                lambda where, made=made: replied(where, where.line(made()))
            )
    lasting("JSON: errors", "the body of an error", b"HTTP/1.1 500 Error\r\n\r\n" + b'{"error": "', b"a")
    lasting("JSON: errors", "the body of a refusal", b"HTTP/1.1 401 Unauthorized\r\n\r\n", b" ")


def _streams() -> None:
    def both(name: str, made: Callable[[Where], bytes], start: Callable[[Where], bytes] = lambda _: b"") -> None:
        def begun(where: Where) -> list[Wire]:
            return [one for one in [start(where)] if one]

        mode("streams", f"{name}, without an end")(
            lambda where: streamed(where, chain(begun(where), endless(made(where))))
        )
        mode("streams", f"{name}, in drips")(lambda where: streamed(where, chain(begun(where), dripped(made(where)))))

    both("a letter", lambda where: where.say(content="a"))
    both("the same sentence", lambda where: where.say(content="I think so. "))
    both("64 KB", lambda where: where.say(content="ab cd " * 11_000))
    both("thinking", lambda where: where.say(thinking="hm ", reasoning_content="hm "))
    both(
        "a thought that never closes",
        lambda where: where.say(content="hm "),
        lambda where: where.say(content="<think>"),
    )
    both("blanks", lambda where: where.say(content=" \n"))
    both("opening brackets", lambda where: where.say(content="<"), lambda where: where.say(content="<think>"))
    both("empty pieces", lambda where: where.say(content=""))
    both("pieces without a choice", lambda where: where.line({"choices": []}))
    both("pieces of the role", lambda where: where.say())
    both("comments", lambda _: b": ping\n\n")
    both("blank lines", lambda _: b"\n")
    both("a line", lambda _: b"a", lambda _: b'data: {"a": "')
    both("data without a blank line", lambda _: b"data: a\n")
    both("data of nothing", lambda _: b"data:\n")
    both("events without data", lambda _: b"event: x\nid: 1\nretry: 1\n\n")
    both("carriage returns", lambda _: b"data: {}\r")
    both("null", lambda where: where.line(b"null"))
    both("empty objects", lambda where: where.line(b"{}"))
    both("after the end", lambda where: where.say(content="more "), lambda where: where.say(content=ANSWER) + where.end)

    @mode("streams", "ever other words, without an end")
    def _(where: Where) -> Iterator[Wire]:
        blocks = (
            b"".join(where.say(content=f"word{number + more} ") for more in range(500)) for number in count(0, 500)
        )
        return streamed(where, blocks)

    def put(name: str, made: Callable[[Where], Iterable[bytes]]) -> None:
        mode("streams", name)(lambda where: replied(where, *made(where)))

    put("a role of its own", lambda where: [where.say(role="system", content=ANSWER), where.say(role="tool")])
    put("ten thousand choices", lambda where: [where.line({"choices": [{"delta": {"content": "a"}}] * 10_000})])
    put("200,000 parts", lambda where: [where.say(content=[{"type": "text", "text": "a"}] * 200_000)])
    put("a million blanks", lambda where: [where.say(content=" ") for _ in range(20_000)])
    put("thoughts in thoughts", lambda where: [where.say(content="<think>" * 100_000 + "</think>" * 100_000)])
    put("an error in the middle", lambda where: [where.say(content="I "), where.line({"error": STEERING})])
    put("an error of 5 MB", lambda where: [where.say(content="I "), where.line({"error": "a " * 2_500_000})])
    put("the field error", lambda where: [b"error: " + STEERING.encode("utf-8", "replace") + b"\n\n"])
    for how, pieces in {
        "no end": lambda where: [where.say(content="I ")],
        "cut off in a line": lambda where: [where.say(content="I ")[:-9]],
        "hangs in a line": lambda where: [where.say(content="I ")[:-9], HANGS],
        "hangs before the end": lambda where: [where.say(content="I "), HANGS],
        "hangs after the end": lambda where: [where.say(content=ANSWER), where.end, HANGS],
    }.items():
        mode("streams", how)(lambda where, pieces=pieces: streamed(where, pieces(where)))


def _accounts() -> None:
    """What a reply says of itself: each figure wrong."""
    ends = b'{"usage": @, "timings": @, "prompt_eval_count": @, "eval_count": @, "total_duration": @, "done": true, '
    ends += b'"eval_duration": @, "load_duration": @, "prompt_eval_duration": @, "prompt_eval_cached_count": @, '
    ends += b'"done_reason": @, "choices": [{"delta": {"content": "x"}, "finish_reason": @}]}'
    inner = b'{"usage": {"prompt_tokens": @, "completion_tokens": @, "prompt_tokens_details": {"cached_tokens": @}}, '
    inner += b'"timings": {"prompt_ms": @, "predicted_ms": @, "cache_n": @}, "choices": []}'
    for named, spelt in VALUES.items():
        for kind, form in {"an account": ends, "figures": inner}.items():
            mode("streams", f"{kind} of {named}")(
                lambda where, form=form, spelt=spelt: replied(where, where.line(form.replace(b"@", spelt)))
            )


def _calls() -> None:
    def put(name: str, made: Callable[[Where], Iterable[bytes]]) -> None:
        mode("calls", name)(lambda where: replied(where, *made(where)))

    def named(where: Where, name: Any, arguments: Any, **more: Any) -> bytes:
        """A call whose arguments are an object where the server sends objects."""
        one = call(name, arguments, **more)
        if where.kind == "ollama" and isinstance(arguments, str):
            with suppress(ValueError, RecursionError):
                one["function"]["arguments"] = json.loads(arguments)
        return where.say(tool_calls=[one])

    put(
        "ten thousand at once",
        lambda where: [where.say(tool_calls=[call("list_articles", "{}", index=n, id=f"c{n}") for n in range(10_000)])],
    )
    put(
        "ten thousand in pieces",
        lambda where: [named(where, "list_articles", "{}", index=n, id=f"c{n}") for n in range(10_000)],
    )
    put("one id for all", lambda where: [named(where, "list_articles", "{}", index=n) for n in range(100)])
    for index in (10**18, -1, 0.5, True, "0", None, [0]):
        put(f"the index {index!r}", lambda where, index=index: [named(where, "list_articles", "{}", index=index)] * 3)
    for call_id in ("", STEERING, "a" * MEGABYTE, None, 7, ["a"], {"a": 1}):
        put(
            f"the id {str(call_id)[:9]!r} {type(call_id).__name__}",
            lambda where, call_id=call_id: [named(where, "list_articles", "{}", id=call_id)],
        )
    for name in ("", STEERING, "a" * MEGABYTE, None, 7, ["a"], "__import__('os').system('id')", "../../x"):
        put(f"the name {str(name)[:9]!r} {type(name).__name__}", lambda where, name=name: [named(where, name, "{}")])
    for label, arguments in {
        "deep": "[" * DEEP + "]" * DEEP,
        "deep in an object": '{"slug":' * DEEP + "1" + "}" * DEEP,
        "deep in a field": '{"slug":' + "[" * 900 + "]" * 900 + "}",
        "no JSON": '{"slug": ',
        "NaN": '{"slug": NaN}',
        "5,000 digits": '{"slug": ' + "9" * 5_000 + "}",
        "a list": "[1]",
        "a text of 2 MB": json.dumps({"slug": "a " * MEGABYTE}),
        "50,000 keys": KEYS.decode(),
        "steering": json.dumps({"slug": STEERING, STEERING: STEERING}),
        "a NUL": '{"slug": "\\u0000"}',
        "half a character": '{"slug": "\\ud83d"}',
    }.items():
        put(f"arguments: {label}", lambda where, text=arguments: [named(where, "read_article", text)])
    for tool, arguments_ in {
        "read_file": {"path": "../../../../etc/passwd"},
        "read_file ": {"path": "/dev/zero"},
        "read_file  ": {"path": "a/" * 500_000},
        "search_files": {"query": "a " * 100_000},
        "search_articles": {"query": "a " * 100_000},
        "search_articles ": {"query": "\u4e00" * 50_000},
    }.items():
        put(
            f"{tool} of {str(arguments_)[:30]}",
            lambda where, tool=tool, arguments_=arguments_: [named(where, tool.strip(), json.dumps(arguments_))],
        )

    def fragments(where: Where) -> bytes:
        return where.say(tool_calls=[{"index": 0, "function": {"arguments": "a"}}])

    for how, sent in {"without an end": endless, "in drips": dripped}.items():
        mode("calls", f"arguments, {how}")(
            lambda where, sent=sent: streamed(where, chain([named(where, "read_article", "")], sent(fragments(where))))
        )
        mode("calls", f"names, {how}")(lambda where, sent=sent: streamed(where, sent(named(where, "a", ""))))
        mode("calls", f"calls, {how}")(
            lambda where, sent=sent: streamed(where, sent(named(where, "list_articles", "{}", index=None, id=None)))
        )

    printed = {
        "tags": '<tool_call>{"name": "list_articles", "arguments": {}}</tool_call>' * 10_000,
        "open tags": "<tool_call>" * 100_000,
        "fences": "```json\n" * 100_000,
        "actions": "Thought: a\nAction: list_articles\nAction Input: {}\n" * 10_000,
        "braces": '{"name": ' * DEEP,
        "functions": "<function=list_articles>" * 50_000,
        "special tokens": "<|im_start|>system\n<|im_end|>[INST][TOOL_CALLS]<start_of_turn>" * 1_000,
    }
    for label, text in printed.items():
        put(f"printed: {label}", lambda where, text=text: [where.say(content=text)])


def _timing() -> None:
    def slow(where: Where) -> Iterator[Wire]:
        for piece in sound(where):
            for at in range(0, len(piece) if isinstance(piece, bytes) else 0, 40):
                assert isinstance(piece, bytes)
                yield from (piece[at : at + 40], 0.05)

    mode("timing", "a sound answer, slowly")(slow)
    mode("timing", "a sound answer, late")(lambda where: [0.7, *sound(where)])
    mode("timing", "a sound answer by the byte")(
        lambda where: (bytes([byte]) for piece in sound(where) if isinstance(piece, bytes) for byte in piece)
    )
    mode("timing", "a head in drips")(
        lambda where: chain.from_iterable((bytes([byte]), DRIP_SECONDS) for byte in head(where))
    )
    mode("timing", "a body in drips")(
        lambda where: streamed(
            where, chain.from_iterable((bytes([byte]), DRIP_SECONDS) for byte in where.say(content="a" * 999))
        )
    )
    for status in (408, 429, 502, 503, 504):
        for after in ("0", "1", "30"):
            mode("timing", f"ever {status}, come again in {after}")(
                lambda where, status=status, after=after: whole(
                    where, b'{"error": "busy"}', f"retry-after: {after}", status=f"{status} Busy"
                )
            )


def _texts() -> None:
    """Texts that steer a terminal, wherever a server may put one."""
    for family, payloads in PAYLOADS.items():
        text = MARK.join(payloads)
        mode("texts", f"{family}, in a reply")(lambda where, text=text: replied(where, where.say(content=text)))
        mode("texts", f"{family}, letter by letter")(
            lambda where, text=text: replied(where, *(where.say(content=letter) for letter in text))
        )
        mode("texts", f"{family}, in a thought")(
            lambda where, text=text: replied(where, where.say(thinking=text, reasoning_content=text))
        )
        mode("texts", f"{family}, in an error")(
            lambda where, text=text: whole(where, json.dumps({"error": text}).encode(), status="400 Bad Request")
        )
        mode("texts", f"{family}, raw in an error")(
            lambda where, text=text: whole(where, text.encode("utf-8", "replace"), status="500 Error")
        )


for _family in (
    _framing,
    _endless_framing,
    _headers,
    _encodings,
    _json,
    _bodies,
    _errors,
    _streams,
    _accounts,
    _calls,
    _timing,
    _texts,
):
    _family()

MODES: dict[str, Mode] = {f"{family}: {name}": made for family, each in FAMILIES.items() for name, made in each.items()}


# ---- the server ----


@dataclass
class Case:
    """One mode of one kind of server, behind an address of its own. While it is `on`, it answers at `path`."""

    kind: str
    mode: str
    number: int
    url: str
    path: str = ""
    on: bool = False
    begun: Event = field(default_factory=Event)
    """Set when the mode begins to answer."""


class Malicious(Front):
    """Each case is behind a path of its own, so that one server is enough."""

    def __init__(self) -> None:
        self._cases: dict[str, Case] = {}
        super().__init__(self._chosen)

    def case(self, kind: str, mode: str) -> Case:
        """An address of its own for this mode."""
        number = len(self._cases)
        self._cases[f"case{number}"] = case = Case(kind, mode, number, f"{self.url}/case{number}")
        return case

    def _chosen(self, request: bytes) -> Answer:
        name, slash, path = path_of(request)[1:].partition("/")
        case, path = self._cases[name], slash + path
        where = Where(case.kind, path, request.partition(b"\r\n\r\n")[2])
        evil = case.on and path == case.path
        if evil:
            case.begun.set()
        return partial(_play, MODES[case.mode](where) if evil else sound(where))


def _play(wire: Iterable[Wire], connection: socket, request: bytes) -> None:
    for piece in wire:
        if isinstance(piece, bytes):
            connection.sendall(piece)
        elif piece == HANGS:
            hangs(connection, request)
        else:
            time.sleep(piece)


@contextmanager
def malicious() -> Iterator[Malicious]:
    """The server, gone in the end with all that it keeps waiting."""
    server = Malicious()
    try:
        yield server
    finally:
        server.stop()
