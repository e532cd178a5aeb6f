"""The process of a model: llama.cpp's server for one file, as long as standard input stays open.

`models.gguf.child` runs this file. It reads one line of JSON, writes its address once the model is loaded, and logs to
standard error. Clients need the key, and must be on this machine.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

SAVED_PROMPTS_MIB = 1_024
"""Memory for cached prompts that are set aside while another is computed, such as a summary's."""


def serve(file: str, key: str, context: int, threads: int) -> None:
    """Serve the model, computing on `threads` threads. Raises RuntimeError if it cannot be loaded; the log says why."""
    told = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever llama.cpp prints belongs in the log
    import xllamacpp

    asked = xllamacpp.CommonParams()
    asked.model.path, asked.api_keys, asked.n_ctx = file, [key], context
    asked.cpuparams.n_threads = asked.cpuparams_batch.n_threads = threads
    asked.cache_ram_mib = SAVED_PROMPTS_MIB
    asked.ui = False
    server = xllamacpp.Server(asked)  # on 127.0.0.1, at a free port, with one slot
    print(server.listening_address, file=told, flush=True)
    Event().wait()


def end_with_input() -> None:
    """End the process when standard input closes, however the parent process ends.

    A thread waits for that, but cannot run while a model is loaded, which holds the GIL. So on Linux a signal is sent
    too, which ends the process by default.
    """
    if sys.platform == "linux":
        from fcntl import F_SETFL, F_SETOWN, fcntl

        fcntl(0, F_SETOWN, os.getpid())
        fcntl(0, F_SETFL, os.O_ASYNC)
    Thread(target=lambda: os.read(0, 1) or os._exit(0), daemon=True).start()


if __name__ == "__main__":
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")  # if memory runs out, this process is killed, not thimble
    given = json.loads(sys.stdin.buffer.readline())
    end_with_input()
    serve(**given)
