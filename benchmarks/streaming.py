"""Does drawing an answer keep up with a fast model?

python benchmarks/streaming.py            # the figures
python benchmarks/streaming.py --check    # exits 1 above a limit

Linear: seconds for 4,000 and for 40,000 words in one paragraph; a ratio of 10 is linear, 100 quadratic. Keeping up:
20,000 tokens of Markdown (paragraphs, lists, code, tables, a paragraph of 5,000 words), a thousand per second in real
time, drawn in a real terminal (a PTY that is read without delay): the share of one core, the delay between the last
token and the complete answer, and the bytes per frame.
"""

from __future__ import annotations

import fcntl
import io
import os
import pty
import struct
import sys
import termios
import threading
from dataclasses import dataclass
from itertools import count, cycle
from pathlib import Path
from time import perf_counter, process_time, sleep

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the project need not be installed

from rich.console import Console

from thimble.agent.events import Replied, ReplyPiece
from thimble.agent.messages import Message
from thimble.agent.protocols import Usage
from thimble.repl.screen.exchange import Screen
from thimble.repl.screen.theme import console_for

MOST_RATIO = 20
MOST_CORE = 0.5
MOST_LATE_SECONDS = 0.5
TOKENS, TOKENS_A_SECOND, CHARACTERS = 20_000, 1_000, 4
COLUMNS, ROWS = 100, 40
ERASED = b"\r\x1b[J"

WORDS = {
    "narrow": "a prefix cache keeps what the server has computed and breaks at the first difference",
    "wide": "前缀 缓存 保留 服务器 已经 计算 的 内容 🧵 在 第一个 不同 之处 失效 👩‍👩‍👧 e\u0301",
}


def seconds(words: int) -> float:
    """The time to draw this many words one by one."""
    screen = Screen(Console(file=io.StringIO(), force_terminal=True, width=100))
    started = perf_counter()
    with screen:
        for _ in range(words):
            screen.show(ReplyPiece("text", "word "))
    return perf_counter() - started


def markdown(words: str, characters: int) -> str:
    """An answer of this many characters, with a paragraph of 5,000 words in its middle."""
    stock, size, parts = cycle(words.split()), 0, []

    def text(many: int) -> str:
        return " ".join(next(stock) for _ in range(many))

    for number in count(1):
        rows = "\n".join(f"| {text(2)} | {number * row:,} | {text(5)} |" for row in range(8))
        part = (
            f"## {text(5)}\n\n{text(90)} **{text(3)}** {text(60)}.\n\n"
            + "\n".join(f"- {text(14)}\n  - `{text(2)}` {text(9)}" for _ in range(9))
            + f"\n\n{text(70)}.\n\n```python\n"
            + "\n".join(f"def step_{line}(x: int) -> int:  # {text(4)}\n    return x * {line}" for line in range(12))
            + f"\n```\n\n| what | tokens | why |\n|---|---:|---|\n{rows}\n\n"
        )
        if size < characters // 3 <= size + len(part):
            part += text(5_000) + "\n\n"
        parts.append(part)
        size += len(part)
        if size >= characters:
            return "".join(parts)[:characters]
    raise AssertionError


@dataclass
class Drawn:
    """The cost of drawing an answer."""

    core: float
    late_seconds: float
    frames: int
    bytes: int

    def __str__(self) -> str:
        a_frame = self.bytes // max(1, self.frames)
        return (
            f"{self.core:.2f} of a core, complete {self.late_seconds * 1000:.0f} ms after the last token; "
            f"{self.bytes / 1e6:.1f} MB in {self.frames} frames, {a_frame:,} bytes each"
        )

    @property
    def keeps_up(self) -> bool:
        """Whether the cost is within the limits."""
        return self.core < MOST_CORE and self.late_seconds < MOST_LATE_SECONDS


def stream(text: str) -> Drawn:
    """Draw a text token by token, in real time, in its own terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    written = bytearray()
    reader = threading.Thread(target=_drain, args=(ours, written), daemon=True)
    reader.start()
    with os.fdopen(theirs, "w", encoding="utf-8") as terminal:
        os.environ.update(TERM="xterm-256color", COLUMNS=str(COLUMNS), LINES=str(ROWS))
        core, late = _show(console_for(plain=False, file=terminal), text)
    reader.join(5)
    return Drawn(core, late, written.count(ERASED), len(written))


def _show(console: Console, text: str) -> tuple[float, float]:
    began, worked = perf_counter(), process_time()
    with Screen(console) as screen:
        for number, start in enumerate(range(0, len(text), CHARACTERS)):
            ahead = began + number / TOKENS_A_SECOND - perf_counter()
            if ahead > 0:
                sleep(ahead)
            screen.show(ReplyPiece("text", text[start : start + CHARACTERS]))
        last = perf_counter()
        screen.show(Replied(1, Message("m1", "assistant", text), Usage(), last - began, None))
    ended = perf_counter()
    planned = began + len(text) / CHARACTERS / TOKENS_A_SECOND
    return (process_time() - worked) / (ended - began), ended - min(last, planned)


def _drain(terminal: int, written: bytearray) -> None:
    while True:
        try:
            written += os.read(terminal, 65_536)
        except OSError:  # the other end was closed
            return


def main() -> int:
    seconds(1_000)
    few, many = (min(seconds(words) for _ in range(3)) for words in (4_000, 40_000))
    print(f"4,000 words {few:.2f} s, 40,000 words {many:.2f} s, ratio {many / few:.1f} (10 is linear)")
    good = many / few <= MOST_RATIO
    for name, words in WORDS.items():
        drawn = stream(markdown(words, TOKENS * CHARACTERS))
        print(f"{TOKENS:,} tokens, {TOKENS_A_SECOND:,} a second, {name} letters: {drawn}")
        good = good and drawn.keeps_up
    return int("--check" in sys.argv and not good)


if __name__ == "__main__":
    sys.exit(main())
