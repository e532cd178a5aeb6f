"""Does drawing an answer stay linear in its length? Seconds for 4,000 and for 40,000 words in one paragraph.

python benchmarks/streaming.py            # the ratio; 10 is linear, 100 quadratic
python benchmarks/streaming.py --check    # exits 1 above 20
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the project need not be installed

from rich.console import Console

from agent.events import Said
from repl.render import Screen


def seconds(words: int) -> float:
    """Time to draw so many words that come one by one."""
    screen = Screen(Console(file=io.StringIO(), force_terminal=True, width=100))
    started = perf_counter()
    with screen:
        for _ in range(words):
            screen.show(Said("text", "word "))
    return perf_counter() - started


def main() -> int:
    seconds(1_000)
    few, many = (min(seconds(words) for _ in range(3)) for words in (4_000, 40_000))
    print(f"4,000 words {few:.2f} s, 40,000 words {many:.2f} s, ratio {many / few:.1f} (10 is linear)")
    return int("--check" in sys.argv and many / few > 20)


if __name__ == "__main__":
    sys.exit(main())
