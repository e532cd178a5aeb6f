"""A terminal to look at: the program behind a real PTY, its screen as pyte understands it."""

from __future__ import annotations

import os
import signal
import sys
import termios
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pexpect
import pyte

from tests.support.paths import ROOT

PATIENCE_SECONDS = 120
"""For a machine that does other things too; what never comes is a failure then."""
LINES = termios.ECHO | termios.ICANON | termios.ISIG


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
    """Runs `python -m …` in a terminal of 80 columns and 60 rows, in the folder `here`."""

    def __init__(self, *arguments: str, state: Path, columns: int = 80, here: Path = ROOT, **environment: str) -> None:
        env = {
            "PYTHONPATH": str(ROOT),
            "PATH": "/usr/bin:/bin",
            "HOME": str(state),
            "XDG_STATE_HOME": str(state),
            "LANG": "C.UTF-8",
        }
        env |= {"XDG_CONFIG_HOME": str(state), "THIMBLE_CALLS": "tools", "TERM": "xterm-256color", **environment}
        self.screen: pyte.Screen = Screen(columns, 60)
        self.raw = ""
        self._lines: list[str] = []
        self._stream = pyte.Stream(self.screen)
        self._child = pexpect.spawn(
            sys.executable,
            ["-m", *arguments],
            cwd=here,
            env=env,
            dimensions=(60, columns),
            encoding="utf-8",
            timeout=0.1,
        )

    def type(self, keys: str, ahead: bool = False) -> None:
        """Press keys; a line that Enter sends only at the prompt, unless it is typed `ahead`."""
        if keys.endswith("\r") and len(keys) > 1 and not ahead:
            self.see(until=lambda _: self.lines[self.screen.cursor.y].startswith(("›", "you:")))
        self._child.send(keys)

    def resize(self, columns: int) -> None:
        """Make it wider or narrower."""
        self.screen.resize(60, columns)
        self._lines.clear()
        self._child.setwinsize(60, columns)

    def as_after_fg(self) -> None:
        """Give it the terminal as a shell does after Ctrl-Z and `fg`: lines that are echoed and edited."""
        modes = termios.tcgetattr(self._child.child_fd)
        modes[0] |= termios.ICRNL
        modes[3] |= termios.ECHO | termios.ICANON
        termios.tcsetattr(self._child.child_fd, termios.TCSANOW, modes)
        os.kill(self._child.pid, signal.SIGCONT)
        time.sleep(0.3)

    @property
    def lines(self) -> list[str]:
        """What is on the screen."""
        if self.screen.dirty or len(self._lines) != self.screen.lines:  # to draw a screen takes 20 ms
            self._lines = [line.rstrip() for line in self.screen.display]
            self.screen.dirty.clear()
        return self._lines

    @property
    def text(self) -> str:
        """What is on the screen, as one text."""
        return "\n".join(self.lines).rstrip()

    def _has(self, texts: Sequence[str]) -> bool:
        """Whether all of this is on the screen, or has scrolled off it."""
        missing = [text for text in texts if text not in self.text]
        return not missing or all(text in "\n".join([*getattr(self.screen, "gone", ()), self.text]) for text in missing)

    def see(self, *texts: str, until: Callable[[str], bool] | None = None) -> str:
        """Wait until all of this has come, and until the screen is so; what is on the screen."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            shown = self.text
            if self._has(texts) and (until is None or until(shown)):
                return shown
            assert time.monotonic() < deadline, f"{texts} is not on the screen:\n{shown}"
            with suppress(pexpect.TIMEOUT):
                try:
                    self._feed(self._child.read_nonblocking(65_536, timeout=0.1))
                except pexpect.EOF:
                    assert self._has(texts), f"it ended without {texts}:\n{shown}"
                    return shown

    def settle(self, silent_seconds: float = 0.5) -> str:
        """Wait until nothing more comes for so long."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        with suppress(pexpect.TIMEOUT, pexpect.EOF):
            while time.monotonic() < deadline:
                self._feed(self._child.read_nonblocking(65_536, timeout=silent_seconds))
        return self.text

    def end(self) -> int:
        """Wait until it ends; its exit code."""
        self._child.expect(pexpect.EOF, timeout=PATIENCE_SECONDS)
        self._feed(self._child.before or "")
        self._child.close()
        assert self._child.exitstatus is not None, f"killed by signal {self._child.signalstatus}"
        return int(self._child.exitstatus)

    def kill(self, number: signal.Signals) -> None:
        """Send it a signal, and wait until that has ended it."""
        self._child.kill(number)
        self._child.expect(pexpect.EOF, timeout=PATIENCE_SECONDS)
        self._feed(self._child.before or "")
        self._child.wait()
        assert self._child.signalstatus == number

    @property
    def is_given_back(self) -> bool:
        """Whether it is as a shell expects it: lines echoed and edited, no paste marked, a cursor at the margin."""
        modes = termios.tcgetattr(self._child.child_fd)
        lines = bool(modes[0] & termios.ICRNL) and modes[3] & LINES == LINES
        marked = self.raw.rfind("\x1b[?2004h") > self.raw.rfind("\x1b[?2004l")
        return lines and not marked and not self.screen.cursor.hidden and self.screen.cursor.x == 0

    def close(self) -> None:
        """End it, whatever it does."""
        self._child.close(force=True)

    def _feed(self, text: str) -> None:
        self.raw += text
        self._stream.feed(text)
