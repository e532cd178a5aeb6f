"""How long does a result of 10 MB take, and how much memory?

    python benchmarks/large_results.py               # a table in Markdown, some five minutes
    python benchmarks/large_results.py 50 none json  # one row: megabytes, a strategy, a text

Four calls with such a result in the history, under each strategy that reads results, after `tidy`, in 8,000 tokens:
seconds of CPU time, and peak megabytes beyond the text. Each row runs in a new process. Tokens are counted with the
vocabulary of Qwen 2.5 if it is installed.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the project need not be installed

from tests.support.scripted import Scripted
from thimble.agent.budget import Budget
from thimble.agent.messages import Message, ToolCall
from thimble.agent.side import SideModel
from thimble.agent.view import prepare
from thimble.models.counting.vocabulary import counter_for
from thimble.strategies.spec import make_strategy

MEGABYTES, LIMIT = 10, 8_000
STRATEGIES = ("none", "observation-masking", "compress", "retrieval:by=words", "dedup")
Repeated = Callable[[int], str]
TEXTS: dict[str, Repeated] = {
    "newlines": lambda n: "\n",
    "one letter": lambda n: "x",
    "blanks": lambda n: " ",
    "10% and CR": lambda n: "10%\r",
    "json": lambda n: f'{{"id": {n}, "name": "user number {n}", "age": {n % 90}}},',
    "prose": lambda n: f"This is sentence {n}, and it tells of {n * 37 % 911} things. ",
    "lines": lambda n: f"line {n} of a log is here: {n * 37 % 911} ms\n",
    "Chinese": lambda n: "語言模",
}


def text_of(repeated: Repeated, size: int) -> str:
    """A text of about this many bytes; JSON is one list on one line."""
    text = "".join(repeated(n) for n in range(size // len(repeated(size).encode())))
    return f"[{text.rstrip(',')}]" if text[0] == "{" else text


def histories(text: str) -> list[list[Message]]:
    """A history with the result, and its extensions by one, two and three turns."""
    messages = [Message("s", "system", "Answer from the files."), Message("q", "user", "What does it say of 77?")]
    found = []
    for n, result in enumerate([text, *["nothing new " * 30] * 3]):
        call = ToolCall(f"c{n}", "read", "{}")
        messages.append(Message(f"a{n}", "assistant", "", calls=(call,)))
        messages.append(Message(f"r{n}", "tool", result, call_id=call.id, name="read"))
        found.append([*messages])
    return found


def memory() -> float:
    """The peak memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measured(megabytes: int, spec: str, name: str) -> str:
    """A row of the table."""
    calls = histories(text_of(TEXTS[name], megabytes * 1_000_000))
    counter = counter_for("qwen2.5")
    budget, strategy = Budget(LIMIT, counter), make_strategy(f"tidy+{spec}", SideModel(Scripted([], counter)))
    budget.count(calls[0][0])  # reads the vocabulary
    before, started = memory(), process_time()
    view = None
    for history in calls:
        view = prepare(history, strategy, budget, view)
    return f"| {spec} | {name} | {process_time() - started:.1f} | {memory() - before:.0f} |"


def main(asked: list[str]) -> None:
    if asked:
        print(measured(int(asked[0]), asked[1], asked[2]))
        return
    print("| strategy | text | seconds | MB |\n|---|---|--:|--:|", flush=True)
    for spec in STRATEGIES:
        for name in TEXTS:
            subprocess.run([sys.executable, __file__, str(MEGABYTES), spec, name], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
