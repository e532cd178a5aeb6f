"""Measure how fast thimble starts, compared with a Python that only does the same imports.

Ratios of medians; the runs take turns, so a busy machine slows all of them equally:

    thimble --help         against  python -c "import argparse, json"           at most 1.5
    thimble --version      against  the same                                    at most 1.5
    thimble, first prompt  against  python -c "import prompt_toolkit, rich"         at most 1.6

The first prompt is that of a conversation on a real pseudo-terminal, during the search for a model server (nothing
listens at the address), read until the prompt's glyph appears. A first round, not counted, writes the bytecode that an
installation has. `--check` exits with 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

PROJECT = Path(__file__).resolve().parent.parent
GLYPH = "›".encode()
BARE = "import argparse, json"
LIBRARIES = "import prompt_toolkit, rich"
PATIENCE_SECONDS = 30.0


def environment(home: str) -> dict[str, str]:
    """The environment of every run: no user settings, a terminal with colours, and no server at its address."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("THIMBLE_", "XDG_", "PYTHON"))}
    named = {"HOME": home, "PYTHONPATH": str(PROJECT), "TERM": "xterm-256color", "OLLAMA_HOST": "127.0.0.1:9"}
    return {**kept, **named}


def timed(environ: dict[str, str], *arguments: str) -> Callable[[], float]:
    """The seconds that a Python with these arguments runs."""

    def once() -> float:
        started = perf_counter()
        subprocess.run(
            [sys.executable, *arguments], env=environ, cwd=environ["HOME"], stdout=subprocess.DEVNULL, check=True
        )
        return perf_counter() - started

    return once


def first_prompt(environ: dict[str, str]) -> float:
    """The seconds until a conversation on a terminal of 24 by 80 shows its prompt."""
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    started = perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "thimble"],
        env=environ,
        cwd=environ["HOME"],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
    )
    os.close(terminal)
    seen = b""
    try:
        while GLYPH not in seen:
            if not select.select([controller], [], [], PATIENCE_SECONDS)[0]:
                raise TimeoutError
            seen += os.read(controller, 4096)
        return perf_counter() - started
    except OSError as error:
        raise SystemExit(f"no prompt was seen, but: {seen.decode(errors='replace')}") from error
    finally:
        process.kill()
        process.wait()
        os.close(controller)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    options.add_argument("--rounds", type=int, default=21, metavar="N", help="runs of each (default: 21)")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as home:
        environ = environment(home)
        runs: dict[str, Callable[[], float]] = {
            "bare": timed(environ, "-c", BARE),
            "--help": timed(environ, "-m", "thimble", "--help"),
            "--version": timed(environ, "-m", "thimble", "--version"),
            "libraries": timed(environ, "-c", LIBRARIES),
            "first prompt": lambda: first_prompt(environ),
        }
        taken: dict[str, list[float]] = {name: [] for name in runs}
        for round_ in range(given.rounds + 1):
            for name, run in runs.items():
                seconds = run()
                if round_:
                    taken[name].append(seconds)
    middle = {name: median(seconds) for name, seconds in taken.items()}
    missed = False
    for name, base, target in (("--help", "bare", 1.5), ("--version", "bare", 1.5), ("first prompt", "libraries", 1.6)):
        ratio = middle[name] / middle[base]
        missed = missed or ratio > target
        times = f"{middle[name] * 1000:4.0f} ms against {middle[base] * 1000:4.0f} ms of {base}"
        print(f"thimble {name:<13} {times:<36} ratio {ratio:.2f}, target {target:.1f}{', MISSED' * (ratio > target)}")
    return int(given.check and missed)


if __name__ == "__main__":
    sys.exit(main())
