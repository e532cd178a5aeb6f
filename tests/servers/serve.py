"""Real model servers on loopback: processes that go nowhere else and end with their context."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.servers.tiny import FOLDER as WEIGHTS
from tests.servers.tiny import gguf_file
from tests.support.paths import ROOT

INSTALLED = ROOT / ".servers" / "bin"

MODEL = "tiny"
"""The name that every server gives the model; in a workshop also that of its folder."""
GGUF = "tiny.gguf"
ENDLESS = "endless"
"""The model, for vLLM, with replies that only the room for them ends. llama.cpp has `--ignore-eos` for that."""
ENDLESS_WINDOW = 65_536
"""What vLLM computes can be far ahead of what it sends and hears: so small a model is faster than its server."""
WINDOW = 8192
"""Tokens of prompt and reply that a server holds, if a test does not ask for another window."""
BLOCK = 128
"""Tokens in a block of vLLM's cache on a CPU: its count of cached tokens moves in such steps."""

START_SECONDS = 600.0
END_SECONDS = 10.0

ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB
    "VLLM_CPU_NUM_OF_RESERVED_CPU": "1",  # or on two cores what it computes is sent seconds later
}


@dataclass(frozen=True)
class Server:
    """A server that runs. `key` is what it wants to be sent, "" for none."""

    name: str
    url: str
    key: str
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def client(self) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=120, trust_env=False)

    def measured(self, name: str) -> float:
        """A figure of /metrics, as in "vllm:num_requests_running"; the sum where it has several labels."""
        with self.client() as client:
            lines = re.findall(rf"(?m)^{re.escape(name)}(?:{{.*}})? (\S+)$", client.get("/metrics").text)
        return sum(map(float, lines))

    def computing(self) -> float:
        """Requests that the server computes at this moment."""
        return self.measured("vllm:num_requests_running" if self.name == "vllm" else "llamacpp:requests_processing")

    def generated(self) -> float:
        """Tokens of replies so far."""
        return self.measured(
            "vllm:generation_tokens_total" if self.name == "vllm" else "llamacpp:tokens_predicted_total"
        )

    def cached(self) -> float:
        """Tokens of prompts that were in the cache so far."""
        name = "vllm" if self.name == "vllm" else "llamacpp"
        return self.measured(f"{name}:prompt_tokens_cached_total")

    def kill(self) -> None:
        """End it as a crash does."""
        _signal(self.process, signal.SIGKILL)
        self.process.wait()


def workshop(folder: Path) -> Path:
    """Fill a folder with the model in all its forms, so that no server says where on this machine it is."""
    (folder / MODEL).symlink_to(WEIGHTS)
    gguf_file.write(folder / GGUF)
    _endless(folder / ENDLESS)
    return folder


def _endless(folder: Path) -> None:
    """The model with a long context, and with another token as the end of a reply, one that it never says."""
    shutil.copytree(WEIGHTS, folder)
    never = json.loads((folder / "config.json").read_bytes())["pad_token_id"]
    for name, change in (
        ("config.json", {"eos_token_id": never, "max_position_embeddings": ENDLESS_WINDOW}),
        ("generation_config.json", {"eos_token_id": never}),
        ("tokenizer_config.json", {"eos_token": "<|endoftext|>", "model_max_length": ENDLESS_WINDOW}),
    ):
        file = folder / name
        file.write_text(json.dumps(json.loads(file.read_bytes()) | change))


@contextmanager
def vllm(folder: Path, *flags: str, key: str = "", model: str = MODEL) -> Iterator[Server]:
    """vLLM, in half a minute or more. Without flags it parses no tool calls and tells no cached tokens."""
    command = [str(INSTALLED / "python"), "-m", "vllm.entrypoints.openai.api_server"]
    command += ["--model", model, "--served-model-name", MODEL, "--max-model-len", str(WINDOW), "--max-num-seqs", "4"]
    command += ["--override-generation-config", '{"temperature": 0}']
    command += ["--structured-outputs-config", '{"backend": "xgrammar", "disable_any_whitespace": true}']
    command += ["--dtype", "float32", "--enforce-eager", *(("--api-key", key) if key else ()), *flags]
    with running("vllm", command, folder, key) as server:
        yield server


EMBEDDING_VLLM = ("--runner", "pooling", "--convert", "embed")
EMBEDDING_LLAMA = ("--embeddings",)
TOOLS_AND_DETAILS = ("--enable-auto-tool-choice", "--tool-call-parser", "hermes", "--enable-prompt-tokens-details")


@contextmanager
def llama(folder: Path, *flags: str, key: str = "", model: str = GGUF, ready: bool = True) -> Iterator[Server]:
    """llama.cpp's server, in a second; at once, and still loading, where it need not be ready."""
    command = [sys.executable, str(ROOT / "tests" / "servers" / "llama.py"), "--model", model, "--alias", MODEL]
    command += ["--context", str(WINDOW), *(("--api-key", key) if key else ()), *flags]
    with running("llama", command, folder, key, ready=ready) as server:
        yield server


@contextmanager
def running(name: str, command: list[str], folder: Path, key: str, *, ready: bool = True) -> Iterator[Server]:
    """Run a server at a free port until the context ends, however it ends. A failed start shows its log."""
    port = _free_port()
    log = folder / f"{name}-{port}.log"
    dies_with_us = ["setpriv", "--pdeathsig", "TERM"]
    environment = {**os.environ, **ENVIRONMENT, "VLLM_CACHE_ROOT": str(folder), "VLLM_CONFIG_ROOT": str(folder)}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*dies_with_us, *command, "--host", "127.0.0.1", "--port", str(port)],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    server = Server(name, f"http://127.0.0.1:{port}", key, process, log)
    try:
        if ready:
            _wait(server)
        yield server
    finally:
        _end(process)


def _wait(server: Server) -> None:
    until = time.monotonic() + START_SECONDS
    with server.client() as client:
        while server.alive and time.monotonic() < until:
            with suppress(httpx.TransportError):
                if client.get("/health").is_success:
                    return
            time.sleep(0.05)
    raise RuntimeError(
        f"{server.name} did not start; its log ends so:\n{server.log.read_text('utf-8', 'replace')[-20_000:]}"
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask the server to end, and its workers, which are processes of their own; after a while they are not asked."""
    _signal(process, signal.SIGTERM)
    until = time.monotonic() + END_SECONDS
    while not is_gone(process) and time.monotonic() < until:
        time.sleep(0.05)
    _signal(process, signal.SIGKILL)
    process.wait()


def is_gone(process: subprocess.Popen[bytes]) -> bool:
    """Whether neither the server nor any process of its group is left."""
    if process.poll() is None:
        return False
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return True
    return False


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
