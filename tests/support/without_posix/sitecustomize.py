"""Python starts with this file if its folder is in PYTHONPATH: what thimble then imports finds no POSIX, as on Windows.

The standard library and the packages that thimble depends on are of the system that is there, so they come first.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
import sys
import types

for theirs in (
    *("asyncio", "concurrent.futures.process", "multiprocessing.popen_fork", "multiprocessing.synchronize"),
    *("argcomplete", "httpx", "numpy", "platformdirs", "prompt_toolkit.output", "pydantic", "yaml", "zoneinfo"),
    *("rich.console", "rich.live", "rich.markdown", "rich.progress", "rich.table", "tiktoken", "tokenizers"),
):
    importlib.import_module(theirs)
multiprocessing.set_start_method("fork")
for module in ("fcntl", "grp", "pty", "pwd", "readline", "resource", "termios", "tty"):
    sys.modules[module] = None  # type: ignore[assignment]  # the import of it fails
for place, names in (
    (os, "O_DIRECTORY O_NOCTTY O_NOFOLLOW O_NONBLOCK getuid killpg setsid"),
    (signal, "ITIMER_PROF ITIMER_REAL SIGALRM SIGCONT SIGHUP SIGPROF SIGQUIT setitimer pthread_kill pthread_sigmask"),
):
    for name in names.split():
        delattr(place, name)
windows = types.ModuleType("msvcrt")
windows.LK_NBLCK = os.F_TLOCK  # type: ignore[attr-defined]
windows.locking = os.lockf  # type: ignore[attr-defined]
sys.modules["msvcrt"] = windows
sys.platform = "win32"
