"""Count the code on the way of one question: from Enter to the request, and from a streamed word to the screen.

python benchmarks/road.py            # the counts, and the names
python benchmarks/road.py --check    # exits 1 above a limit

A conversation asks a model on a loopback server that speaks OpenAI's chat completions; the model calls a tool, then
answers. *Frames* are the functions of thimble on the stack when httpx sends the request, from the loop of prompt and
answer on. *Generators* are those on the stack when httpx waits for the next piece of the reply. *Files* are the files
of thimble in which a function runs between Enter and the end of the answer, after a first question imported them all.
"""

from __future__ import annotations

import inspect
import io
import os
import sys
import tempfile
import threading
from contextlib import redirect_stdout
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import FrameType

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the project need not be installed

import thimble
from tests.support.openai_wire import ANSWER, CHAT, DONE, MODELS, VLLM_MODELS, chunk
from thimble.repl.conversation import Conversation
from thimble.session.session import Session
from thimble.session.settings import Settings

PACKAGE = str(Path(thimble.__file__).parent) + os.sep
MOST = {"frames": 13, "generators": 10, "files": 80}
QUESTIONS = "What is context rot?\nWhat is masking?\n"
CALL = chunk(
    '"tool_calls":[{"id":"call_1","type":"function","index":0,'
    '"function":{"name":"search_articles","arguments":"{\\"query\\": \\"context\\"}"}}]'
)
CALLS = CALL + chunk('"content":""', '"tool_calls"') + DONE


class Model(BaseHTTPRequestHandler):
    """A model that replies to a question with a tool call, and to a result with an answer."""

    def do_GET(self) -> None:
        """List the models."""
        self._send(VLLM_MODELS if self.path == MODELS else b"", "application/json")

    def do_POST(self) -> None:
        """Send a reply to the chat request, without token counts."""
        body = self.rfile.read(int(self.headers["content-length"]))
        last = body.rpartition(b'"role": ')[2]
        self._send((ANSWER if last.startswith(b'"tool"') else CALLS) if self.path == CHAT else b"", "text/event-stream")

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(200 if body else 404)
        self.send_header("content-type", kind)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Road:
    """The frames, generators and files that a profiler sees during the last question."""

    def __init__(self) -> None:
        self.frames: list[str] = []
        self.generators: list[str] = []
        self.files: dict[str, None] = {}
        self._on = False

    def see(self, frame: FrameType, event: str, _: object) -> None:
        """Record one event of `sys.setprofile`."""
        code = frame.f_code
        if code is Conversation._step.__code__ and event in ("call", "return"):
            self._on = event == "call"
            if self._on:
                self.frames, self.generators, self.files = [], [], {}
        if event != "call" or not self._on:
            return
        if code.co_filename.startswith(PACKAGE):
            self.files[code.co_filename.removeprefix(PACKAGE)] = None
        elif "httpx" not in code.co_filename:
            return
        elif code.co_name == "send" and not self.frames and frame.f_locals["request"].url.path == CHAT:
            self.frames = [name for name, _ in stack(frame)]
        elif code.co_name == "iter_raw" and not self.generators:
            self.generators = [name for name, flags in stack(frame) if flags & inspect.CO_GENERATOR]


def stack(frame: FrameType | None) -> list[tuple[str, int]]:
    """The functions of thimble on the stack of this frame, the outermost first, and the flags of their code."""
    found: list[tuple[str, int]] = []
    while frame:
        code = frame.f_code
        if code.co_filename.startswith(PACKAGE):
            found.append((f"{Path(code.co_filename).stem}.{code.co_name}", code.co_flags))
        frame = frame.f_back
    return found[::-1]


def main() -> int:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    road, output = Road(), io.StringIO()
    with tempfile.TemporaryDirectory() as home, redirect_stdout(output):
        os.environ |= {"HOME": home, "XDG_CACHE_HOME": home, "XDG_STATE_HOME": home}
        url = f"http://127.0.0.1:{server.server_port}"
        sys.stdin = io.StringIO(QUESTIONS)
        conversation = Conversation(Session(Settings(backend="openai", base_url=url, embeddings="none")), plain=True)
        threading.setprofile(road.see)
        sys.setprofile(road.see)
        conversation.run()
        sys.setprofile(None)
    server.shutdown()
    if "A thimble holds" not in output.getvalue():
        sys.exit(f"no answer came:\n{output.getvalue()}")
    over = False
    for name, most in MOST.items():
        found = getattr(road, name)
        over = over or len(found) > most
        print(f"{len(found)} {name}: {', '.join(found)}")
    return int("--check" in sys.argv and over)


if __name__ == "__main__":
    sys.exit(main())
