"""The process of a model: llama.cpp's server for one file, as long as standard input stays open.

`models.gguf.child` runs this file. It reads one line of JSON, writes its address once the model is loaded, and logs to
standard error. Only the key's holder is answered, and only from this machine.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

SAVED_PROMPTS_MIB = 1_024
"""Memory for prompts that are put aside while another is computed, such as a summary's."""


def serve(file: str, key: str, context: int, threads: int, prompt_threads: int) -> None:
    """Serve the model. Raises RuntimeError where it cannot be loaded; the log says why."""
    told = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever llama.cpp prints belongs into the log
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = file
    params.api_keys = [key]
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.n_parallel, params.n_ctx = 1, context
    params.cpuparams.n_threads, params.cpuparams_batch.n_threads = threads, prompt_threads
    params.cache_ram_mib = SAVED_PROMPTS_MIB
    params.ui = False
    server: Any = xllamacpp.Server(params)
    print(server.listening_address, file=told, flush=True)
    Event().wait()


def _end_with_input() -> None:
    """End when standard input does, as it does however its other side ends.

    A thread sees it; but not while a model is loaded, which holds Python's lock. So a signal comes as well, whose
    default ends a process; not every system has it.
    """
    with suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC)
    Thread(target=lambda: os.read(0, 1) or os._exit(0), daemon=True).start()


if __name__ == "__main__":
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")  # where memory runs out, this one goes, not thimble
    asked = json.loads(sys.stdin.buffer.readline())
    _end_with_input()
    serve(**asked)
