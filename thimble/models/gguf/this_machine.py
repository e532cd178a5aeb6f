"""What this machine has for a model: the package that runs it, cores and memory."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

XLLAMACPP_INSTALL = "pip install xllamacpp"
SIBLINGS = "devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list"


def is_installed() -> bool:
    """Whether the package that runs the models is there."""
    return find_spec("xllamacpp") is not None


def cores() -> int:
    """The physical cores that this process may use; where the system does not tell, the logical ones."""
    own = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError):
        return min(own, len({path.read_text() for path in Path("/sys").glob(SIBLINGS)}) or own)
    return own


def threads() -> int:
    """The threads that compute: one less than there are cores, as threads that wait for a busy core cost most."""
    return max(1, cores() - 1)


def free_bytes() -> int | None:
    """The memory that a program may still take; None where the system does not tell."""
    with suppress(OSError):
        found = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
        return int(found[1]) * 1024 if found else None
    return None
