"""A terminal to look at: the program behind a real PTY, its screen as pyte understands it."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import signal
import termios
import time
from collections.abc import Callable
from pathlib import Path
from select import select

import pyte

from tests.support.forked_thimble import Started
from tests.support.paths import ROOT

ROWS = 60
PATIENCE_SECONDS = 120
"""For a machine that does other things too; what never comes is a failure then."""
HANDED_SECONDS = 0.02
"""The kernel has by then handed over what was typed before."""
HEARD_SECONDS = 2
"""How long a person waits for a program that hears no key."""
PROMPT_LEFT = "\x1b[?2004l"
"""A drawn prompt marks pastes, until it is answered."""
MODES = termios.ECHO | termios.ICANON | termios.ISIG


class Screen(pyte.Screen):
    """A screen that knows the rows that have left it at the top, so that no test depends on its height."""

    def __init__(self, columns: int, rows: int) -> None:
        self.gone: list[str] = []
        super().__init__(columns, rows)

    def index(self) -> None:
        """Go down a row, and at the last one scroll."""
        if self.cursor.y == self.lines - 1:
            self.gone.append("".join(self.buffer[0][column].data for column in range(self.columns)).rstrip())
        super().index()


class Terminal:
    """Runs a module as `python -m` would, in a terminal of 80 columns and, if not told otherwise, 60 rows.

    `raw` is all that was written to the terminal. Only who looks at the `screen` waits until it is drawn.
    """

    def __init__(
        self, *arguments: str, state: Path, columns: int = 80, rows: int = ROWS, here: Path = ROOT, **environment: str
    ) -> None:
        places = {f"XDG_{name}_HOME": str(state) for name in ("STATE", "CONFIG", "CACHE")}
        env = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(state), **places, "LANG": "C.UTF-8"}
        env |= {"THIMBLE_CALLS": "tools", "TERM": "xterm-256color", **environment}
        self.raw = ""
        self._drawn = self._found = 0
        self._lines: list[str] = []
        self._screen = Screen(columns, rows)
        self._stream = pyte.Stream(self._screen)
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._device, terminal = pty.openpty()
        termios.tcsetwinsize(self._device, (rows, columns))
        self._started = Started(arguments[0], arguments[1:], here, env, terminal)
        self._name = os.ttyname(terminal)
        os.close(terminal)

    def type(self, keys: str, ahead: bool = False) -> None:
        """Press keys, as a person does: when those before were heard, and a line that Enter sends only at the prompt.

        Then a drawn prompt has been left: what is waited for next stands on a new one. What is typed `ahead` waits for
        nothing.
        """
        if ahead:
            os.write(self._device, keys.encode())
            return
        time.sleep(HANDED_SECONDS)
        self._wait_until(lambda: not self._unread, HEARD_SECONDS)
        if keys.endswith("\r") and len(keys) > 1:
            self.see(until=lambda _: self._line.startswith(("›", "you:")))
        left, sends = self.raw.count(PROMPT_LEFT), keys.endswith("\r") and self._line.startswith("›")
        something = len(keys) > 1 or self._line != "›"
        os.write(self._device, keys.encode())
        if sends and something:
            self._wait_until(lambda: self.raw.count(PROMPT_LEFT) > left)

    @property
    def _line(self) -> str:
        """Where the cursor stands."""
        return self.lines[self.screen.cursor.y]

    @property
    def _unread(self) -> bool:
        """Whether keys were pressed that the program has not read yet."""
        try:
            keys = os.open(self._name, os.O_RDONLY | os.O_NOCTTY)
        except OSError:  # it has ended
            return False
        count = fcntl.ioctl(keys, termios.FIONREAD, bytes(4))
        os.close(keys)
        return any(count)

    def resize(self, columns: int) -> None:
        """Make it wider or narrower."""
        self.screen.resize(self.screen.lines, columns)
        self._lines.clear()
        termios.tcsetwinsize(self._device, (self.screen.lines, columns))

    @property
    def screen(self) -> Screen:
        """What the terminal shows."""
        new, self._drawn = self.raw[self._drawn :], len(self.raw)
        self._stream.feed(new)
        return self._screen

    @property
    def lines(self) -> list[str]:
        """What is on the screen."""
        screen = self.screen
        if screen.dirty or len(self._lines) != screen.lines:  # to draw a screen takes 20 ms
            self._lines = [line.rstrip() for line in screen.display]
            screen.dirty.clear()
        return self._lines

    @property
    def text(self) -> str:
        """What is on the screen, as one text."""
        return "\n".join(self.lines).rstrip()

    def see(self, *texts: str, until: Callable[[str], bool] | None = None) -> str:
        """Wait until all of this has come, though it may have scrolled away, and until the screen is so; the screen."""

        def seen() -> bool:
            everything = "\n".join([*self.screen.gone, self.text])
            return all(text in everything for text in texts) and (until is None or until(self.text))

        assert self._wait_until(seen), f"{texts} is not on the screen:\n{self.text}"
        return self.text

    def until(self, text: str, seconds: float) -> float | None:
        """Read on until this text comes; the seconds that it took, None if it did not come or the program ended."""
        started = time.monotonic()

        def found() -> bool:
            at = self.raw.find(text, self._found)
            self._found = self._found if at < 0 else at + len(text)
            return at >= 0

        return time.monotonic() - started if self._wait_until(found, seconds) else None

    def settle(self, silent_seconds: float = 0.5) -> str:
        """Wait until nothing more comes for so long."""
        while self._read(silent_seconds):
            pass
        return self.text

    def end(self) -> int:
        """Wait until it ends; its exit code."""
        code, _ = self.ended()
        assert code >= 0, f"killed by signal {-code}"
        return code

    def ended(self) -> tuple[int, int]:
        """Wait until it ends; its exit code, below 0 where a signal killed it, and the most bytes of memory it had."""
        assert self._wait_until(lambda: self._device_is_left), f"it does not end:\n{self.text}"
        return self._started.end()

    def kill(self, number: signal.Signals) -> None:
        """Send it a signal, and wait until that has ended it."""
        self._started.kill(number)
        assert self.ended()[0] == -number

    @property
    def is_given_back(self) -> bool:
        """Whether it is as a shell expects it: lines echoed and edited, no paste marked, a cursor at the margin."""
        modes = termios.tcgetattr(self._device)
        lines = bool(modes[0] & termios.ICRNL) and modes[3] & MODES == MODES
        marked = self.raw.rfind("\x1b[?2004h") > self.raw.rfind("\x1b[?2004l")
        return lines and not marked and not self.screen.cursor.hidden and self.screen.cursor.x == 0

    def close(self) -> None:
        """End it, whatever it does."""
        self._started.kill(signal.SIGKILL)
        self._started.end()
        os.close(self._device)

    _device_is_left = False

    def _wait_until(self, so: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> bool:
        """Read until it is so; whether it is, in these seconds and before the program ends."""
        deadline = time.monotonic() + seconds
        while not so():
            left = deadline - time.monotonic()
            if left <= 0 or self._device_is_left:
                return False
            self._read(min(left, 0.1))
        return True

    def _read(self, seconds: float) -> bool:
        """Read what comes in these seconds; whether anything came."""
        if self._device_is_left or not select([self._device], [], [], seconds)[0]:
            return False
        try:
            self.raw += self._decoder.decode(os.read(self._device, 65_536))
        except OSError:  # nobody has the terminal open any more
            self._device_is_left = True
        return not self._device_is_left
