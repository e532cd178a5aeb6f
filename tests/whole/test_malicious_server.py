"""A conversation with a server that means harm: each mode at each path, before a person in a terminal.

For each: an answer or an error within twice the bounds, nothing on the terminal that steers it, Ctrl-C obeyed at once,
the next question answered, and memory within its limit. Nightly every mode is tried at every path of every server;
else each mode at two paths, one of them the chat.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.conftest import PROFILE
from tests.support.forked_terminals import Forks, Terminal
from tests.support.malicious_server import ANSWER, FAMILIES, KINDS, MODELS, Case, Malicious, malicious, paths

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no PTY")

SILENT_SECONDS, REPLY_SECONDS = 1, 2
"""The bounds: --timeout, --reply-timeout."""
MOST_BYTES = 300_000_000
OBEYED_SECONDS = 0.3
STOPS = 3
MOMENT_SECONDS = 0.1
START_SECONDS = 30
TOGETHER = 12
PROMPT = "you: "
UNCLEAN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]|\\\\x|Traceback|was a bug"
)


@pytest.fixture(scope="module")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    folder = tmp_path_factory.mktemp("malicious")
    (folder / "articles").mkdir()
    (folder / "articles" / "thimbles.md").write_text("# Thimbles\n\nA thimble holds two millilitres of water.\n")
    with Forks(folder) as found:
        yield found


@pytest.fixture(scope="module")
def server() -> Iterator[Malicious]:
    with malicious() as found:
        yield found


def chosen(server: Malicious, family: str) -> list[Case]:
    """The cases of a family: each mode at the chat and, in turn, at one of the other paths; nightly at each."""
    found = []
    for number, mode in enumerate(FAMILIES[family]):
        for kind in KINDS if PROFILE == "nightly" else (KINDS[number % len(KINDS)],):
            chat, *about = paths(kind)
            if PROFILE != "nightly":
                about = [about[number // len(KINDS) % len(about)]]
            found += [server.case(kind, f"{family}: {mode}", path) for path in (chat, *about)]
    return found


class Trial:
    """One case in a terminal; `faults` says what was wrong."""

    def __init__(self, forks: Forks, case: Case) -> None:
        self.case = case
        self.faults: list[str] = []
        self.took = 0.0
        backend = "openai" if case.kind == "llama" else case.kind
        self.terminal: Terminal = forks.open(
            *("--plain", "--backend", backend, "--base-url", case.url, "--model", MODELS[0], "--budget", "2000"),
            *("--corpus", "articles", "--files", "articles", "--embeddings", "none", "--session-dir", "sessions"),
            *("--timeout", str(SILENT_SECONDS)),
        )

    def run(self) -> list[str]:
        """The whole trial."""
        if self.expect(PROMPT, START_SECONDS, "does not begin"):
            self.attacked()
            self.answered("after the attack")
            self.stopped()
            self.answered("after Ctrl-C")
            self.terminal.type("\x04")
        ended = self.terminal.end(START_SECONDS if not self.faults else 1)
        if not ended:
            self.faults.append("does not end")
        elif ended["code"] != 0:
            self.faults.append(f"ends with code {ended['code']}")
        if ended.get("peak", 0) > MOST_BYTES:
            self.faults.append(f"takes {ended['peak'] / 1e6:.0f} MB")
        if found := UNCLEAN.search(self.terminal.raw):
            around = self.terminal.raw[max(0, found.start() - 60) : found.end() + 60]
            self.faults.append(f"shows {around!r}")
        return [f"{self.case.kind} {self.case.path} {self.case.mode}: {fault}" for fault in self.faults]

    @property
    def lines(self) -> tuple[str, ...]:
        """What makes thimble ask at the path."""
        return ("How much?",) if self.case.path == paths(self.case.kind)[0] else (f"/model {MODELS[1]}", "How much?")

    def attacked(self) -> None:
        """Ask, while the server does harm."""
        self.case.on = True
        for line in self.lines:
            self.terminal.type(f"{line}\n")
            self.expect(PROMPT, 2 * REPLY_SECONDS, f"does not come back from {line}")
        self.case.on = False

    def stopped(self) -> None:
        """The same, until Ctrl-C: at once in one of three tries, for the machine may be busy."""
        self.case.on = True
        for line in self.lines:
            took = [self.stop(line)]
            while took[-1] > OBEYED_SECONDS and len(took) < STOPS:
                took.append(self.stop(line))
            if not self.faults and took[-1] > OBEYED_SECONDS:
                self.faults.append(f"obeys Ctrl-C after {[round(one, 2) for one in took]} s")
        self.case.on = False

    def stop(self, line: str) -> float:
        """Ask, and press Ctrl-C a moment after the server began; the seconds until the prompt is back."""
        self.case.begun.clear()
        self.terminal.type(f"{line}\n")
        while not self.case.begun.is_set():
            if self.faults or self.terminal.until(PROMPT, 0.02) is not None:
                return 0
        if self.terminal.until(PROMPT, MOMENT_SECONDS) is not None:
            return 0
        self.terminal.type("\x03")
        self.expect(PROMPT, 2 * REPLY_SECONDS, "does not obey Ctrl-C")
        return self.took

    def answered(self, when: str) -> None:
        """Ask, while all is well."""
        if not self.faults:
            self.terminal.type("Once more, how much?\n")
        self.expect(ANSWER, START_SECONDS, f"does not answer {when}")
        self.expect(PROMPT, START_SECONDS, f"does not come back {when}")

    def expect(self, text: str, seconds: float, otherwise: str) -> bool:
        """Wait for a text; once something did not come, nothing is waited for any more."""
        if self.faults:
            return False
        took = self.terminal.until(text, seconds)
        if took is None:
            self.faults.append(f"{otherwise} in {seconds:g} s: {self.terminal.raw[-150:]!r}")
        self.took = took or seconds
        return took is not None


@pytest.mark.parametrize("family", FAMILIES)
def test_a_server_that_means_harm_does_none(family: str, forks: Forks, server: Malicious) -> None:
    with ThreadPoolExecutor(TOGETHER) as pool:
        found = list(pool.map(lambda case: Trial(forks, case).run(), chosen(server, family)))
    faults = [fault for each in found for fault in each]
    assert not faults, "\n".join(faults)
