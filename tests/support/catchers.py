# ruff: noqa: B012, E722, SIM105, T201
"""Code that catches Ctrl-C wherever it can: `python -m tests.support.catchers` runs each, and presses it from outside.

Prints the name of each that was ended, in a line; code that cannot be ended is waited for for ever.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from agent.messages import Message
from agent.own_code import run
from agent.side import SideModel
from models.scripted import Scripted
from tests.support.histories import TinyCounter

FOR_EVER = 1_000
PRESSES = "read begun; sleep 0.05; kill -INT {0}; read heard; sleep 0.05; kill -INT {0}"


def asking(side: SideModel) -> None:
    """As a summary in a strategy that is being written."""
    while True:
        try:
            side.ask([Message("q", "user", "?")], "summary", 10)
        except:
            pass


def flat() -> None:
    """Waits."""
    while True:
        try:
            time.sleep(FOR_EVER)
        except:
            pass


def busy() -> None:
    """Computes, three times over."""
    while True:
        try:
            while True:
                try:
                    while True:
                        try:
                            sum(range(9))
                        except:
                            pass
                except:
                    pass
        except:
            pass


def suppressed() -> None:
    """Suppresses."""
    while True:
        with contextlib.suppress(BaseException):
            time.sleep(FOR_EVER)


def finally_on() -> None:
    """Goes on in a finally."""
    while True:
        try:
            time.sleep(FOR_EVER)
        finally:
            continue


def yielded() -> None:
    """Catches in a generator and around it."""

    def numbers() -> Iterator[int]:
        while True:
            try:
                yield 1
            except BaseException:
                yield 2

    for _ in numbers():
        with contextlib.suppress(BaseException):
            time.sleep(0.01)


def matching() -> None:
    """Stays in one function in C that looks for signals."""
    while True:
        try:
            re.match(r"(a*)*b", "a" * 40)
        except:
            pass


def slow(messages: Sequence[Message], tools: Any) -> str:
    """A model that does not answer."""
    time.sleep(FOR_EVER)
    return ""


def pressed(code: Callable[[], None]) -> None:
    """Run it; press Ctrl-C when it has begun, and again when that was heard: two at a time would be one."""
    read, write = os.pipe()

    def told(number: int, frame: object) -> None:
        os.write(write, b"\n")

    def begun() -> None:
        os.write(write, b"\n")
        code()

    signal.signal(signal.SIGINT, told)
    with subprocess.Popen(["sh", "-c", PRESSES.format(os.getpid())], stdin=read):
        try:
            run(begun)
        except KeyboardInterrupt:
            assert signal.getsignal(signal.SIGINT) is told
            print(getattr(code, "__name__", "asking"), flush=True)


def main() -> None:
    """Run each."""
    side = SideModel(Scripted([slow] * 1_000, TinyCounter()))
    codes: list[Callable[[], None]] = [flat, busy, suppressed, finally_on, yielded, matching]
    codes.append(partial(asking, side))
    for code in codes:
        pressed(code)


if __name__ == "__main__":
    main()
