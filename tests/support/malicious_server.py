"""A model server that means harm: each mode is one way to answer, as Ollama, vLLM or llama-server, at any path.

    with malicious() as server:
        case = server.case("ollama", "framing: hangs")
        ...  # case.url is its address; all is well until case.on
        case.path, case.on = "/api/chat", True
        case.begun.wait()

A mode is a row of bytes, or a function from what is asked to the steps of an answer (tests/support/scripted_server.py).
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import chain, count, repeat
from threading import Event
from typing import Any

from tests.support.payloads import PAYLOADS
from tests.support.scripted_server import ANSWER, CHAT, HANGS, MODELS, Answer, Asked, Front, Step, about, call, path_of

__all__ = ["ANSWER", "FAMILIES", "KINDS", "MARK", "MODELS", "MODES", "Case", "Malicious", "malicious", "paths"]

Mode = Callable[[Asked], Iterable[Step]]
Piece = Mapping[str, Any] | str | bytes
"""Of a stream: what a reply says, a line of JSON, or bytes as they are."""
KINDS = ("ollama", "vllm", "llama")
DRIP_SECONDS = 0.2
"""Shorter than any silence that is not borne."""
MEGABYTE = 1_000_000
DEEP = 100_000
MARK = "PWNED"
"""Is in each text that steers a terminal, and never where a terminal would put it."""
STEERING = "".join(
    f"{text} "
    for text in ("\x1b]0;PWNED\x07", "\x1b[31mred", "\x1b[2J", "\x9b1;1H", "\x9d0;PWNED\x9c", "\x1bPq~\x1b\\")
) + "".join(text for family in PAYLOADS.values() for text in family[:3])


def paths(kind: str) -> list[str]:
    """What a server of a kind is asked: for a reply, then about itself."""
    return [CHAT[1 if kind == "ollama" else 0], *about(kind)]


# ---- from a row to an answer ----


def head(asked: Asked, *headers: str, status: str = "200 OK") -> bytes:
    """The head of a response of the usual type."""
    return "\r\n".join([f"HTTP/1.1 {status}", f"content-type: {asked.stream_type}", *headers, "", ""]).encode("latin-1")


def whole(body: bytes, *headers: str, status: str = "200 OK") -> Mode:
    """A response whose length is told."""
    return lambda asked: [head(asked, f"content-length: {len(body)}", *headers, status=status), body]


def streamed(asked: Asked, pieces: Iterable[Step]) -> Iterator[Step]:
    """A response in chunks."""
    yield head(asked, "transfer-encoding: chunked")
    for piece in pieces:
        yield b"%x\r\n%s\r\n" % (len(piece), piece) if isinstance(piece, bytes) else piece
    yield b"0\r\n\r\n"


def spelt(asked: Asked, piece: Piece) -> bytes:
    """A piece on the wire."""
    if isinstance(piece, bytes):
        return piece
    return asked.line(piece.encode()) if isinstance(piece, str) else asked.say(**piece)


def replied(*pieces: Piece | Callable[[Asked], bytes]) -> Mode:
    """A stream of these pieces and a sound end; at a path that does not stream, the first of them is the answer."""

    def made(asked: Asked) -> Iterator[Step]:
        lines = (piece(asked) if callable(piece) else spelt(asked, piece) for piece in pieces)
        return streamed(asked, chain(lines, [asked.end]) if asked.chats else [next(lines)])

    return made


def endless(piece: bytes) -> Iterator[Step]:
    """The same for ever, in large blocks."""
    yield piece
    yield from repeat(piece * max(1, 65_536 // len(piece)))


def dripped(piece: bytes) -> Iterator[Step]:
    """The same for ever, slowly."""
    yield from chain.from_iterable(repeat((piece, DRIP_SECONDS)))


HOW = {"without an end": endless, "in drips": dripped}


def lasting(rows: Mapping[str, tuple[bytes, bytes]]) -> dict[str, Mode]:
    """Two modes of each start and piece that never ends: as fast as it can be sent, and in drips."""
    return {
        f"{name}, {how}": lambda _, row=row, sent=sent: chain([row[0]], sent(row[1]))
        for name, row in rows.items()
        for how, sent in HOW.items()
    }


def streams(rows: Mapping[str, tuple[Piece, ...]]) -> dict[str, Mode]:
    """The same of a stream: the last piece never ends, those before it start it."""

    def made(asked: Asked, row: tuple[Piece, ...], sent: Callable[[bytes], Iterator[Step]]) -> Iterator[Step]:
        *start, piece = (spelt(asked, one) for one in row)
        return streamed(asked, chain(start, sent(piece)))

    return {
        f"{name}, {how}": partial(made, row=row, sent=sent) for name, row in rows.items() for how, sent in HOW.items()
    }


# ---- bytes that are no HTTP, or too much of it ----

OK = b"HTTP/1.1 200 OK\r\n"
SIZED, CHUNKED = OK + b"content-length: ", OK + b"transfer-encoding: chunked\r\n\r\n"
FRAMING: dict[str, tuple[Step, ...]] = {
    "closes": (),
    "hangs": (HANGS,),
    "hangs in the headers": (OK + b"content-type: ", HANGS),
    "hangs in a chunk": (CHUNKED + b"ff\r\n{", HANGS),
    "no HTTP at all": (b"SSH-2.0-OpenSSH_9.6\r\n",),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", HANGS),
    "a status of 999": (b"HTTP/1.1 999 What\r\ncontent-length: 2\r\n\r\n{}",),
    "a status with letters": (b"HTTP/1.1 2OO OK\r\n\r\n",),
    "no content": (b"HTTP/1.1 204 No Content\r\n\r\n",),
    "switching protocols": (b"HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\n\r\n", HANGS),
    "a negative length": (SIZED + b"-1\r\n\r\n{}",),
    "a length of 5,000 digits": (SIZED + b"9" * 5_000 + b"\r\n\r\n{}", HANGS),
    "a length of an exabyte": (SIZED + b"1000000000000000000\r\n\r\n{", HANGS),
    "a length and chunks": (SIZED + b"2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",),
    "an unknown transfer encoding": (OK + b"transfer-encoding: zip\r\n\r\n{}",),
    "a chunk of an exabyte": (CHUNKED + b"fffffffffffffff\r\n{", HANGS),
    "a negative chunk": (CHUNKED + b"-1\r\n{}\r\n0\r\n\r\n",),
    "a body cut off": (SIZED + b'999\r\n\r\n{"a": "b',),
    "two responses": ((SIZED + b"2\r\n\r\n{}") * 2,),
    "zeros": (bytes(MEGABYTE),),
    **{
        f"a redirect, {status}": (b"HTTP/1.1 %d Moved\r\nlocation: %s\r\ncontent-length: 0\r\n\r\n" % (status, to),)
        for to, statuses in {b"/api/chat": (301,), b"file:///etc/passwd": (302, 307, 308)}.items()
        for status in statuses
    },
}
ENDLESS_FRAMING = {
    "a status line": (b"HTTP/1.1 200 ", b"A"),
    "100 Continue": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "the size of a chunk": (CHUNKED, b"0"),
    "trailers": (CHUNKED + b"2\r\n{}\r\n0\r\n", b"a: b\r\n"),
    "chunks of a byte": (CHUNKED, b"1\r\n \r\n"),
    "blank lines before the response": (b"", b"\r\n"),
}
ENDLESS_HEADERS = {
    "headers": (OK, b"x-a: b\r\n"),
    "the value of a header": (OK + b"a: ", b"b"),
    "a folded header": (OK + b"a: b", b"\r\n b"),
}
HEADERS = {
    "a thousand cookies": whole(b"{}", *(f"set-cookie: a{number}=b" for number in range(1_000))),
    "a header that steers": whole(b"{}", "a: " + "\x1b]0;PWNED\x07\x9b31m"),
    "a type that steers": whole(b"{}", "content-type: \x1b[2J"),
    **{
        f"the charset {charset[:10]!r}": whole(b"{}", f"content-type: text/html; charset={charset}", status="500 Error")
        for charset in ("utf-7", "idna", "unicode_escape", "undefined", "zlib", "\x1b[31m", "a" * 10_000)
    },
    "a reason that steers": whole(b"{}", status="500 \x1b]0;PWNED\x07\x9b31m"),
    **{
        f"retry after {after[:12]!r}": whole(b"{}", f"retry-after: {after}", status="429 Too Many Requests")
        for after in ("1e400", "-1", "nan", "9" * 5_000, "Fri, 31 Dec 99999 23:59:59 GMT", "0", "\x1b[31m")
    },
    "a location that steers": whole(b"{}", "location: http://\x1b[31mx/", status="302 Found"),
}


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


def bomb(names: str, status: str = "200 OK", **how: int) -> Mode:
    """A compressed body that is made when it is sent."""
    return lambda asked: whole(packed(**how), f"content-encoding: {names}", status=status)(asked)


WORDS = json.dumps({"content": ANSWER})
ENCODED = {
    "UTF-16": WORDS.encode("utf-16"),
    "a mark of UTF-8": b"\xef\xbb\xbf{}",
    "no UTF-8": b'{"content": "\xff\xfe\x80", "error": "\xff\xc0\x80"}',
    "overlong UTF-8": b'{"error": "\xc0\x9b[31m\xe0\x80\x9b[31m"}',
    "half a character": b'{"error": "\\ud83d \\ude00\\ud83d"}',
}
ENCODINGS = {
    "a bomb of gzip": bomb("gzip"),
    "a bomb of deflate": bomb("deflate", coding=15),
    "a bomb of gzip, 3 times": bomb("gzip, gzip, gzip", times=3),
    "encodings a thousand deep": bomb(", ".join(["gzip"] * 1_000)),
    "encodings that do nothing, 6,000 of them": whole(b"{}", "content-encoding: " + ",".join(["identity"] * 6_000)),
    "gzip that is none": whole(b"{}", "content-encoding: gzip"),
    "gzip cut off": lambda asked: whole(blocks(31)[0][:-9], "content-encoding: gzip")(asked),
    "an unknown encoding": whole(b"{}", "content-encoding: \x1b[31mbr"),
    "a line in gzip, without an end": lambda asked: chain(
        [head(asked, "content-encoding: gzip"), blocks(31)[0]], endless(blocks(31)[1])
    ),
    **{
        name + end: whole(body, status=status)
        for name, body in ENCODED.items()
        for end, status in {"": "200 OK", ", as an error": "400 Bad"}.items()
    },
}

# ---- JSON ----

VALUES: dict[str, bytes] = {
    "null": b"null",
    "-1": b"-1",
    "1e400": b"1e400",
    "NaN": b"NaN",
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


def spoilt(value: Any, kinds: type | tuple[type, ...], depth: int = 0) -> Any:
    """What is sound, with a mark in each place of these kinds, the whole but for the first two levels of it."""
    if isinstance(value, kinds) and not isinstance(value, bool) and depth > 0:
        return "\0here\0"
    if isinstance(value, dict):
        return {key: spoilt(each, kinds, depth + 1) for key, each in value.items()}
    return [spoilt(each, kinds, depth + 1) for each in value] if isinstance(value, list) else value


def spoils(place: str, value: bytes) -> Mode:
    """What is sound, with this value in each place of a kind."""

    def line(asked: Asked) -> bytes:
        reads = asked.piece({"content": ANSWER, "tool_calls": [call("read_article", '{"slug": "thimbles"}')]})
        good = spoilt(reads if asked.chats else asked.known(), PLACES[place])
        return asked.line(json.dumps(good).encode().replace(b'"\\u0000here\\u0000"', value))

    return replied(line)


BODIES: dict[str, bytes] = {
    **{f"only {named}": value for named, value in VALUES.items()},
    "a comment": b'{"a": 1 /* \x1b[31m */}',
    "a web page": b"<!DOCTYPE html><title>\x1b]0;PWNED\x07</title>" + b"<p>" * 99_999,
    "a key of 2 MB": b'{"' + b"a" * (2 * MEGABYTE) + b'": 1}',
    "50,000 keys": KEYS,
    "blanks of 15 MB": b" " * (15 * MEGABYTE),
    "5 million empty objects": b"[" + b"{}," * 5_000_000 + b"{}]",
    "cut off": b'{"models": [{"name": "',
    "a bracket, 15 million times": b"[" * (15 * MEGABYTE),
}
ENDLESS_BODIES = {
    "a text": (OK + b'\r\n{"models": "', b"a"),
    "blanks": (OK + b"\r\n", b" "),
    "brackets": (OK + b"\r\n", b"["),
}
ENDLESS_ERRORS = {
    "the body of an error": (b"HTTP/1.1 500 Error\r\n\r\n" + b'{"error": "', b"a"),
    "the body of a refusal": (b"HTTP/1.1 401 Unauthorized\r\n\r\n", b" "),
}
ERRORS = {"error": b'{"error": @}', "inner": b'{"error": {"message": @, "code": @}}'}


def filled(form: bytes, value: bytes) -> Callable[[Asked], bytes]:
    """A line in which the value is in each place."""
    return lambda asked: asked.line(form.replace(b"@", value))


# ---- streams ----

SAID, THOUGHT = {"content": ANSWER}, {"content": "<think>"}
ENDLESS_STREAMS: dict[str, tuple[Piece, ...]] = {
    "the same sentence": ({"content": "I think so. "},),
    "64 KB": ({"content": "ab cd " * 11_000},),
    "thinking": ({"thinking": "hm ", "reasoning_content": "hm "},),
    "a thought that never closes": (THOUGHT, {"content": "hm "}),
    "blanks": ({"content": " \n"},),
    "opening brackets": (THOUGHT, {"content": "<"}),
    "empty pieces": ({"content": ""},),
    "pieces without a choice": ('{"choices": []}',),
    "pieces of the role": ({},),
    "comments": (b": ping\n\n",),
    "blank lines": (b"\n",),
    "a line": (b'data: {"a": "', b"a"),
    "data of nothing": (b"data:\n",),
    "carriage returns": (b"data: {}\r",),
    "empty objects": ("{}",),
}


def other_words(asked: Asked) -> Iterator[Step]:
    """Words for ever, each another."""
    blocks = (b"".join(asked.say(content=f"word{at + more} ") for more in range(500)) for at in count(0, 500))
    return streamed(asked, blocks)


REPLIES: dict[str, tuple[Piece | Callable[[Asked], bytes], ...]] = {
    "ten thousand choices": (json.dumps({"choices": [{"delta": {"content": "a"}}] * 10_000}),),
    "200,000 parts": ({"content": [{"type": "text", "text": "a"}] * 200_000},),
    "a million blanks": ({"content": " "},) * 20_000,
    "thoughts in thoughts": ({"content": "<think>" * 100_000 + "</think>" * 100_000},),
    "an error in the middle": ({"content": "I "}, json.dumps({"error": STEERING})),
    "the field error": (b"error: " + STEERING.encode("utf-8", "replace") + b"\n\n",),
}
I_SAY: Callable[[Asked], bytes] = lambda asked: asked.say(content="I ")  # noqa: E731
BROKEN: dict[str, Callable[[Asked], list[Step]]] = {
    "cut off in a line": lambda asked: [I_SAY(asked)[:-9]],
    "hangs before the end": lambda asked: [I_SAY(asked), HANGS],
    "hangs after the end": lambda asked: [asked.say(**SAID), asked.end, HANGS],
}
ACCOUNTS = {
    "an account": b'{"usage": @, "timings": @, "prompt_eval_count": @, "eval_count": @, "total_duration": @, '
    b'"done": true, "eval_duration": @, "load_duration": @, "prompt_eval_duration": @, "prompt_eval_cached_count": @, '
    b'"done_reason": @, "choices": [{"delta": {"content": "x"}, "finish_reason": @}]}',
    "figures": b'{"usage": {"prompt_tokens": @, "completion_tokens": @, "prompt_tokens_details": {"cached_tokens": @}},'
    b' "timings": {"prompt_ms": @, "predicted_ms": @, "cache_n": @}, "choices": []}',
}
"""What a reply says of itself: each figure wrong."""


def calls(name: Any, arguments: Any = "{}", **more: Any) -> dict[str, Any]:
    """A piece of a reply with one call."""
    return {"tool_calls": [call(name, arguments, **more)]}


MANY = [call("list_articles", "{}", index=n, id=f"c{n}") for n in range(10_000)]
ARGUMENTS = {
    "deep": "[" * DEEP + "]" * DEEP,
    "deep in a field": '{"slug":' + "[" * 900 + "]" * 900 + "}",
    "no JSON": '{"slug": ',
    "NaN": '{"slug": NaN}',
    "5,000 digits": '{"slug": ' + "9" * 5_000 + "}",
    "a text of 2 MB": json.dumps({"slug": "a " * MEGABYTE}),
    "50,000 keys": KEYS.decode(),
    "steering": json.dumps({"slug": STEERING, STEERING: STEERING}),
    "half a character": '{"slug": "\\ud83d"}',
}
TOOLS = [
    ("read_file", {"path": "../../../../etc/passwd"}),
    ("read_file", {"path": "/dev/zero"}),
    ("search_articles", {"query": "a " * 100_000}),
    ("search_articles", {"query": "\u4e00" * 50_000}),
]
PRINTED = {
    "tags": '<tool_call>{"name": "list_articles", "arguments": {}}</tool_call>' * 10_000,
    "fences": "```json\n" * 100_000,
    "actions": "Thought: a\nAction: list_articles\nAction Input: {}\n" * 10_000,
    "braces": '{"name": ' * DEEP,
    "special tokens": "<|im_start|>system\n<|im_end|>[INST][TOOL_CALLS]<start_of_turn>" * 1_000,
}
CALLS: dict[str, tuple[Piece, ...]] = {
    "ten thousand at once": ({"tool_calls": MANY},),
    "ten thousand in pieces": tuple({"tool_calls": [one]} for one in MANY),
    "one id for all": tuple(calls("list_articles", index=n) for n in range(100)),
    **{
        f"the index {index!r}": (calls("list_articles", index=index),) * 3
        for index in (10**18, -1, 0.5, True, "0", None, [0])
    },
    **{
        f"the id {str(one)[:9]!r} {type(one).__name__}": (calls("list_articles", id=one),)
        for one in ("", STEERING, "a" * MEGABYTE, None, 7, ["a"], {"a": 1})
    },
    **{
        f"the name {str(name)[:9]!r} {type(name).__name__}": (calls(name),)
        for name in ("", STEERING, "a" * MEGABYTE, None, 7, ["a"], "__import__('os').system('id')", "../../x")
    },
    **{f"arguments: {label}": (calls("read_article", text),) for label, text in ARGUMENTS.items()},
    **{f"{tool} of {str(given)[:30]}": (calls(tool, json.dumps(given)),) for tool, given in TOOLS},
    **{f"printed: {label}": ({"content": text},) for label, text in PRINTED.items()},
}
ENDLESS_CALLS: dict[str, tuple[Piece, ...]] = {
    "arguments": (calls("read_article", ""), {"tool_calls": [{"index": 0, "function": {"arguments": "a"}}]}),
    "names": (calls("a", ""),),
    "calls": (calls("list_articles", index=None, id=None),),
}

# ---- time, and texts that steer ----


def sound(asked: Asked) -> bytes:
    """As if all were well."""
    return b"".join(step for step in list(asked.sound()) if isinstance(step, bytes))  # type: ignore[call-overload]


def apart(sent: bytes, size: int, seconds: float) -> Iterator[Step]:
    """Bytes in pieces of a size, with pauses."""
    return chain.from_iterable((sent[at : at + size], seconds) for at in range(0, len(sent), size))


TIMING: dict[str, Mode] = {
    "a sound answer, slowly": lambda asked: apart(sound(asked), 40, 0.05),
    "a sound answer, late": lambda asked: [0.5, sound(asked)],
    "a sound answer by the byte": lambda asked: apart(sound(asked), 1, 0),
    "a head in drips": lambda asked: apart(head(asked), 1, DRIP_SECONDS),
    "a body in drips": lambda asked: streamed(asked, apart(asked.say(content="a" * 999), 1, DRIP_SECONDS)),
    **{
        f"ever {status}, come again in {after}": whole(
            b'{"error": "busy"}', f"retry-after: {after}", status=f"{status} Busy"
        )
        for status in (408, 429, 502, 503, 504)
        for after in ("0", "1", "30")
    },
}
TEXTS: dict[str, Callable[[str], Mode]] = {
    "in a reply": lambda text: replied({"content": text}),
    "letter by letter": lambda text: replied(*({"content": letter} for letter in text)),
    "in a thought": lambda text: replied({"thinking": text, "reasoning_content": text}),
    "in an error": lambda text: whole(json.dumps({"error": text}).encode(), status="400 Bad Request"),
    "raw in an error": lambda text: whole(text.encode("utf-8", "replace"), status="500 Error"),
}
"""Wherever a server may put a text that steers a terminal."""

FAMILIES: dict[str, dict[str, Mode]] = {
    "framing": {name: lambda _, steps=steps: steps for name, steps in FRAMING.items()} | lasting(ENDLESS_FRAMING),
    "headers": lasting(ENDLESS_HEADERS) | HEADERS,
    "encodings": ENCODINGS,
    **{
        f"JSON: {place}": {f"{place} are {named}": spoils(place, value) for named, value in VALUES.items()}
        for place in PLACES
    },
    "JSON: bodies": {name: whole(body) for name, body in BODIES.items()} | lasting(ENDLESS_BODIES),
    "JSON: errors": {
        **{f"{name}, as an error": whole(body, status="500 Internal Server Error") for name, body in BODIES.items()},
        **{
            f"the {key} message{where} is {named}": made(form.replace(b"@", value), form, value)
            for named, value in VALUES.items()
            for key, form in ERRORS.items()
            for where, made in {
                "": lambda body, *_: whole(body, status="400 Bad Request"),
                " in a stream": lambda _, *row: replied(filled(*row)),
            }.items()
        },
        **lasting(ENDLESS_ERRORS),
    },
    "streams": {
        **streams(ENDLESS_STREAMS),
        **{
            f"after the end, {how}": lambda asked, sent=sent: streamed(
                asked, chain([asked.say(**SAID), asked.end], sent(asked.say(content="more ")))
            )
            for how, sent in HOW.items()
        },
        "ever other words, without an end": other_words,
        **{name: replied(*pieces) for name, pieces in REPLIES.items()},
        **{name: lambda asked, row=row: streamed(asked, row(asked)) for name, row in BROKEN.items()},
        **{
            f"{kind} of {named}": replied(filled(form, value))
            for named, value in VALUES.items()
            for kind, form in ACCOUNTS.items()
        },
    },
    "calls": {name: replied(*pieces) for name, pieces in CALLS.items()} | streams(ENDLESS_CALLS),
    "timing": TIMING,
    "texts": {
        f"{family}, {where}": made(MARK.join(payloads))
        for family, payloads in PAYLOADS.items()
        for where, made in TEXTS.items()
    },
}
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
        asked = Asked(case.kind, path, request.partition(b"\r\n\r\n")[2])
        if not case.on or path != case.path:
            return asked.sound()
        case.begun.set()
        return MODES[case.mode](asked)


malicious = Malicious
