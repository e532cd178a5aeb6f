"""A conversation with a server that means harm: each mode at each path, before a person in a terminal.

For each: an answer or an error, nothing on the terminal that steers it, Ctrl-C obeyed, the next question answered, and
memory within its limit. Nightly every mode is tried at every path of every server, an error comes within twice the
bounds, and Ctrl-C is obeyed at once; else one mode of each family is tried, in a reply and at one other path.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from fcntl import LOCK_EX, flock
from pathlib import Path
from tempfile import gettempdir

import pytest

from tests.support.forked_thimble import forked_thimble
from tests.support.malicious_server import (
    ANSWER,
    FAMILIES,
    KINDS,
    MARK,
    MODELS,
    MODES,
    Case,
    Malicious,
    malicious,
    paths,
)
from tests.support.pty_terminal import Terminal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no PTY")

SILENT_SECONDS, REPLY_SECONDS = 1, 2
"""The bounds: --timeout, --reply-timeout."""
MOST_BYTES = 300_000_000
OBEYED_SECONDS = 0.3
STOPS = 3
MOMENT_SECONDS = 0.1
START_SECONDS = 30
AGAIN_SECONDS = 5
TOGETHER = 16
PROMPT = "you: "
SMALL = ("--embeddings", "none", "--timeout", str(SILENT_SECONDS), "--reply-timeout", str(REPLY_SECONDS))
STOPPED = "the unfinished answer is not kept"
DRAWN = {
    "texts: titles, links and the clipboard, in a reply": "turns 2",
    "texts: erase, in an error": "check the address",
    "streams: ever other words, without an end": STOPPED,
    "framing: 100 Continue, in drips": "did not finish its answer",
}
"""Modes before a terminal that is drawn, and what is seen of each in the end."""
FOREIGN = re.compile("\x1b\\]|\x1bP|\x1b_|\x1b\\^|[\x80-\x9f]|\x1b\\[(3J|\\?2J|9999|20P)")
"""What thimble itself never draws with."""
UNCLEAN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]|Traceback|was a bug")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with few articles, so that a start is quick."""
    folder = tmp_path_factory.mktemp("malicious")
    (folder / "articles").mkdir()
    (folder / "articles" / "thimbles.md").write_text("# Thimbles\n\nA thimble holds two millilitres of water.\n")
    forked_thimble()
    return folder


def opened(home: Path, *arguments: str) -> Terminal:
    """A terminal with thimble in it."""
    return Terminal("repl", *arguments, state=home, here=home, THIMBLE_MAX_TURNS="2")


@pytest.fixture(scope="module")
def server() -> Iterator[Malicious]:
    with malicious() as found:
        yield found


def one_of_each_family(kind: str) -> list[str]:
    """A mode of each of the families that are this kind's, so that the kinds share them."""
    return [f"{family}: {list(FAMILIES[family])[1]}" for family in list(FAMILIES)[KINDS.index(kind) :: len(KINDS)]]


class Trial:
    """One case in a terminal; `faults` says what was wrong."""

    def __init__(self, home: Path, case: Case, everywhere: bool) -> None:
        self.case, self.everywhere = case, everywhere
        self.obeyed_seconds = OBEYED_SECONDS if everywhere else START_SECONDS
        self.back_seconds = 2 * REPLY_SECONDS if everywhere else START_SECONDS
        self.faults: list[str] = []
        self.took = 0.0
        backend = "openai" if case.kind == "llama" else case.kind
        self.terminal = opened(
            home,
            *("--plain", "--backend", backend, "--base-url", case.url, "--model", MODELS[0], "--budget", "2000"),
            *(*SMALL, "--corpus", "articles", "--files", "articles", "--session-dir", "sessions"),
        )

    def run(self) -> Trial:
        """The whole trial: the harm in a reply, then in what the server tells about itself."""
        self.expect(PROMPT, START_SECONDS, "does not begin")
        chat, *about = paths(self.case.kind)
        if not self.everywhere:
            about = [about[self.case.number % len(about)]]
        for path in (chat, *about):
            self.case.path = path
            asked = ("How much?",) if path == chat else ("/model {}", "How much?")
            self.attacked([each.format(MODELS[1]) for each in asked])
            self.stopped([each.format(MODELS[0]) for each in asked])
        self.end()
        self.faults = [f"{self.case.kind} {self.case.path} {self.case.mode}: {fault}" for fault in self.faults]
        return self

    def attacked(self, asked: Sequence[str]) -> None:
        """Ask, while the server does harm; then while it is sound. Of a model it is asked two things at most."""
        self.case.on = True
        for line in asked:
            self.type(line)
            self.expect(PROMPT, len(asked) * self.back_seconds, f"does not come back from {line}")
        self.answered("after the harm")

    def stopped(self, asked: Sequence[str]) -> None:
        """The same, until Ctrl-C: obeyed at once in one of three tries, for the machine may be busy."""
        self.case.on = True
        for line in asked:
            took = [self.stop(line)]
            while took[-1] > self.obeyed_seconds and len(took) < STOPS:
                took.append(self.stop(line))
            if not self.faults and took[-1] > self.obeyed_seconds:
                self.faults.append(f"obeys Ctrl-C after {[round(one, 2) for one in took]} s")
        self.answered("after Ctrl-C")

    def stop(self, line: str) -> float:
        """Ask, and press Ctrl-C a moment after the server began; the seconds until the prompt is back."""
        self.case.begun.clear()
        self.type(line)
        while not self.case.begun.is_set():
            if self.faults or self.terminal.until(PROMPT, 0.02) is not None:
                return 0
        if self.terminal.until(PROMPT, MOMENT_SECONDS) is not None:
            return 0
        self.type("\x03")
        self.expect(PROMPT, self.back_seconds, "does not obey Ctrl-C")
        return self.took

    def answered(self, when: str) -> None:
        """Ask, while all is well; once more where Ctrl-C came late and took the question with it."""
        self.case.on = False
        self.type("Once more, how much?")
        if not self.faults and self.terminal.until(ANSWER, AGAIN_SECONDS) is None:
            self.type("Once more, how much?")
            self.expect(ANSWER, START_SECONDS, f"does not answer {when}")
        self.expect(PROMPT, START_SECONDS, f"does not come back {when}")

    def end(self) -> None:
        """Leave; then look at the memory, and at all that stood on the terminal."""
        if not self.faults:
            self.terminal.type("\x04")
            code, peak = self.terminal.ended()
            if code:
                self.faults.append(f"ends with {code}")
            if peak > MOST_BYTES:
                self.faults.append(f"takes {peak / 1e6:.0f} MB")
        self.terminal.close()
        if found := UNCLEAN.search(self.terminal.raw):
            around = self.terminal.raw[max(0, found.start() - 60) : found.end() + 60]
            self.faults.append(f"shows {around!r}")

    def type(self, line: str) -> None:
        """Type a line, or Ctrl-C."""
        if not self.faults:
            self.terminal.type(line if line == "\x03" else f"{line}\n")

    def expect(self, text: str, seconds: float, otherwise: str) -> bool:
        """Wait for a text; once something did not come, nothing is waited for any more."""
        if self.faults:
            return False
        took = self.terminal.until(text, seconds)
        if took is None:
            self.faults.append(f"{otherwise} in {seconds:g} s: {self.terminal.raw[-150:]!r}")
        self.took = took or seconds
        return took is not None


@contextmanager
def alone() -> Iterator[None]:
    """Let no other process of the tests try so many at once: what is timed needs a core."""
    with Path(gettempdir(), "thimble-malicious-server.lock").open("w") as file:
        flock(file, LOCK_EX)
        yield


def tried(home: Path, cases: Sequence[Case], everywhere: bool) -> list[str]:
    """The faults of all trials."""
    with alone(), ThreadPoolExecutor(TOGETHER) as pool:
        trials = list(pool.map(lambda case: Trial(home, case, everywhere).run(), cases))
    # On a busy machine one of many may be late: it is tried once more, alone.
    with alone():
        late = [Trial(home, trial.case, everywhere).run() for trial in trials if trial.faults]
    return [fault for trial in late for fault in trial.faults]


@pytest.mark.parametrize("kind", [KINDS[0], *(pytest.param(kind, marks=pytest.mark.nightly) for kind in KINDS[1:])])
def test_a_server_that_means_harm_does_none(kind: str, home: Path, server: Malicious) -> None:
    faults = tried(home, [server.case(kind, mode) for mode in one_of_each_family(kind)], everywhere=False)
    assert not faults, "\n".join(faults)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
def test_whatever_it_does_it_does_none(kind: str, home: Path, server: Malicious) -> None:
    faults = tried(home, [server.case(kind, mode) for mode in MODES], everywhere=True)
    assert not faults, "\n".join(faults)


def examined(home: Path, cases: Sequence[Case]) -> list[str]:
    """What is wrong with the doctor's looks at these."""

    def look(case: Case) -> str:
        kind, known = case.kind, paths(case.kind)
        case.path, case.on = known[case.number % len(known)], True
        backend = "openai" if kind == "llama" else kind
        terminal = opened(home, "doctor", "--plain", "--backend", backend, "--base-url", case.url, *SMALL)
        ended = code, peak = terminal.ended()
        terminal.close()
        sound = code in (0, 3) and peak < MOST_BYTES and not UNCLEAN.search(terminal.raw)
        return "" if sound else f"{kind} {case.path} {case.mode}: {ended} {terminal.raw[-300:]!r}"

    with alone(), ThreadPoolExecutor(TOGETHER) as pool:
        return list(filter(None, pool.map(look, cases)))


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
def test_whatever_it_does_the_doctor_looks(kind: str, home: Path, server: Malicious) -> None:
    modes = list(MODES)[KINDS.index(kind) :: len(KINDS)]  # the kinds share them: what reads their bytes is one
    assert not (faults := examined(home, [server.case(kind, mode) for mode in modes])), "\n".join(faults)


@pytest.mark.nightly
def test_a_drawn_terminal_stays_whole(home: Path, server: Malicious) -> None:
    case = server.case("ollama", "framing: hangs")
    case.path = paths("ollama")[0]
    terminal = opened(
        home, *("--backend", "ollama", "--base-url", case.url, *SMALL, "--corpus", "articles", "--files", "articles")
    )
    try:
        terminal.see("9 tools")
        for mode, shown in DRAWN.items():
            case.mode, case.on = mode, True
            case.begun.clear()
            terminal.type("How much?\r")
            if shown == STOPPED:
                case.begun.wait(START_SECONDS)
                terminal.type("\x03")
            terminal.see(shown)
            case.on = False
            terminal.type("Once more?\r")
            terminal.see(ANSWER)
            terminal.type("\x0c")
            terminal.see("›", until=lambda text: ANSWER not in text)
        assert MARK not in terminal.screen.title + terminal.screen.icon_name
        assert not FOREIGN.search(terminal.raw)
        terminal.type("\x04")
        assert terminal.end() == 0
    finally:
        terminal.close()
