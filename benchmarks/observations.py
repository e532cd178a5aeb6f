"""How much CPU time does it take to shorten a tool result?

    python benchmarks/observations.py            # a table in Markdown, some three minutes
    python benchmarks/observations.py --check    # exits 1 above a limit

Milliseconds of CPU time, which other work on the machine hardly changes, for a new text: *tidy* chooses its smallest
form, *dedup* finds the lines of its first half in an earlier result of the same size, and *excerpt* chooses the most
informative half of its characters, as `compress` does once for each result. A token is four characters here, so that
counting takes no time.

The texts are made up, one for each kind and size, and some are hostile. Limits: `LIMITS_MS` for 4 KB, and from a size
to the next at most `MOST_RATIO` times the time per byte.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the project need not be installed

from thimble.agent.budget import Budget
from thimble.agent.messages import Message, ToolCall
from thimble.corpus.library import ARTICLES, load_library
from thimble.models.counting.message_counter import ChatCounter
from thimble.strategies.compression.excerpt import make_excerpt, rank_units
from thimble.strategies.dedup import Dedup
from thimble.strategies.tidy import smallest_form

SIZES = (4_000, 40_000, 390_000)
LIMITS_MS = {"tidy": 3.0, "dedup": 3.0, "excerpt": 6.0}
MOST_RATIO, HOSTILE_SIZE = 3.0, 390_000
ENOUGH_SECONDS, MOST_TIMES = 0.3, 15
"""A time is the minimum of up to MOST_TIMES runs, each on another text."""
MOST_TOKENS = 10**9
ARTICLE_WORDS = " ".join(part.text for article in load_library(ARTICLES).articles for part in article.sections).split()


def words(number: int, many: int) -> str:
    """Words of the shipped articles."""
    at = number * many % (len(ARTICLE_WORDS) - many)
    return " ".join(ARTICLE_WORDS[at : at + many])


def log(n: int) -> str:
    return (
        f"2026-03-{1 + n % 28:02} 12:{n % 60:02}:07,{n % 997:03} INFO  worker-{n % 7}: job {n} took {n * 37 % 911} ms\n"
    )


def record(n: int) -> str:
    return f'{{"id": {n}, "name": "item-{n}", "state": "{("open", "done")[n % 3 == 0]}", "seconds": {n * 37 % 911}}},\n'


def function(n: int) -> str:
    body = f"    if job.size > {n}:\n        return retry\n    return 0"
    return f"def step_{n}(job: Job, retry: int = {n % 5}) -> int:\n{body}\n\n\n"


Form = tuple[str, Callable[[int], str], str]
FORMS: dict[str, Form] = {
    "HTML": ("<html><body>\n", lambda n: f"<h2>Part {n}</h2>\n<p>{words(n, 30)}</p>\n", "</body></html>\n"),
    "JSON": ("[", record, "{}]\n"),
    "log": ("", log, ""),
    "table": ("NAME           READY   SECONDS\n", lambda n: f"{f'job-{n}':14} {n % 3}/3     {n * 37 % 911}\n", ""),
    "table of commas": ("id,name,seconds\n", lambda n: f"{n},job-{n},{n * 37 % 911}\n", ""),
    "source code": ("import jobs\n\n\n", function, ""),
    "prose in Markdown": ("# A page\n\n", lambda n: f"## Part {n}\n\n{words(n, 60)}.\n\n- {words(n + 7, 9)}\n\n", ""),
    "prose": ("", lambda n: f"{words(n, 60)}.\n\n", ""),
    "lines": ("", lambda n: f"./src/part_{n // 9}/step_{n}.{('py', 'md', 'json')[n % 3]}\n", ""),
}
"""The start of a text of each kind, the piece that it repeats with other numbers, and its end."""
HOSTILE: dict[str, Callable[[int, int], str]] = {
    "deep JSON": lambda size, n: f"{n}" + "[" * size,
    "deep objects of JSON": lambda size, n: f"{n}" + '{"a": ' * (size // 6),
    "one line": lambda size, n: " ".join(f"word{n + at % 997}" for at in range(size // 8)),
    "one word": lambda size, n: f"{n}" + "x" * size,
    "short lines": lambda size, n: "".join(f"{n + at % 7}\n" for at in range(size // 2)),
    "empty lines": lambda size, n: f"{n}" + "\n" * size,
}


def text_of(form: Form, size: int, first: int) -> str:
    """A text of about this many characters, from piece number `first` on."""
    head, piece, tail = form
    parts = [head, tail]
    length, number = len(head) + len(tail), first
    while length < size:
        parts.insert(-1, piece(number))
        length, number = length + len(parts[-2]), number + 1
    return "".join(parts)


class QuickCounter(ChatCounter):
    """Counts four characters as a token."""

    def tokens(self, text: str) -> int:
        """The tokens of a text."""
        return len(text) // 4


def result(id_: str, text: str) -> list[Message]:
    """A tool call with this text as its result."""
    call = ToolCall(f"call {id_}", "read", "{}")
    return [Message(f"a{id_}", "assistant", "", calls=(call,)), Message(id_, "tool", text, call_id=call.id)]


def tidy(text: str) -> Callable[[], object]:
    return lambda: smallest_form(Message("r", "tool", text), Budget(MOST_TOKENS, QuickCounter(), 0))


def dedup(text: str) -> Callable[[], object]:
    """The task of `dedup` on this text, after one with the lines of its first half."""
    middle = len(text) // 2
    history = [Message("q", "user", "Read."), *result("r1", text[:middle] + text[middle:].replace("0", "o"))]
    strategy, budget = Dedup(), Budget(MOST_TOKENS, QuickCounter(), 0)
    strategy.prepare(history, budget)
    return lambda: strategy.prepare([*history, *result("r2", text)], budget)


def excerpted(text: str) -> Callable[[], object]:
    return lambda: make_excerpt(text, len(text) // 2)


Times = dict[str, float]
TASKS = {"tidy": tidy, "dedup": dedup, "excerpt": excerpted}


def milliseconds(task: Callable[[str], Callable[[], object]], text: Callable[[], str]) -> float:
    """The minimum time of a task, each run with a new text."""
    rank_units.cache_clear()  # the caches would grow to gigabytes
    times: list[float] = []
    while sum(times) < ENOUGH_SECONDS and len(times) < MOST_TIMES:
        run = task(text())
        started = process_time()
        run()
        times.append(process_time() - started)
    return 1_000 * min(times)


def measured(text: Callable[[], str]) -> Times:
    """The times of each task."""
    return {name: milliseconds(task, text) for name, task in TASKS.items()}


def row(name: str, size: int, times: Times, most: Times) -> bool:
    """Print a row of the table, and return whether a time is above its limit, which is per character."""
    missed = {task for task, limit in most.items() if times[task] > limit * size}
    cells = (f"{times[task]:,.{2 if times[task] < 10 else 0}f}{', missed' * (task in missed)}" for task in TASKS)
    print(f"| {name} | {size:,} | {' | '.join(cells)} |", flush=True)
    return bool(missed)


def main() -> int:
    check = "--check" in sys.argv
    missed, number = False, count(1)
    print("| kind | characters | tidy | dedup | excerpt |\n|---|--:|--:|--:|--:|")
    for kind, form in FORMS.items():
        most = {task: limit / SIZES[0] for task, limit in LIMITS_MS.items()}
        for size in SIZES:
            times = measured(lambda: text_of(form, size, 1_000 * next(number)))  # noqa: B023
            missed |= row(kind, size, times, most)
            most = {task: MOST_RATIO * times[task] / size for task in TASKS}
    for name, make in HOSTILE.items():
        row(name, HOSTILE_SIZE, measured(lambda: make(HOSTILE_SIZE, next(number))), {})  # noqa: B023
    return int(check and missed)


if __name__ == "__main__":
    sys.exit(main())
