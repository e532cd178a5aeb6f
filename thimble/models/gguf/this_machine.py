"""The resources of this machine for a model: the package that runs it, cores and memory."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

XLLAMACPP_INSTALL = "pip install xllamacpp"
SIBLINGS = "devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list"


def is_installed() -> bool:
    """Whether the package that runs the models is installed."""
    return find_spec("xllamacpp") is not None


def count_cores() -> int:
    """The physical cores that this process may use; the logical ones if the system does not report them."""
    own = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError):
        return min(own, len({path.read_text() for path in Path("/sys").glob(SIBLINGS)}) or own)
    return own


def count_threads() -> int:
    """The number of threads that compute: one less than the cores, since waiting for a busy core costs most."""
    return max(1, count_cores() - 1)


def free_bytes() -> int | None:
    """The available memory in bytes; None if the system does not report it."""
    with suppress(OSError):
        found = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
        return int(found[1]) * 1024 if found else None
    return None
