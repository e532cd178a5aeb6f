# ruff: noqa: E501, T201
"""The table of laws: what each says, where it is tried, over what, and on how many examples.

python -m tests.support.laws_table    # the table in Markdown, as docs/reference/laws.md shows it
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from math import prod
from typing import Any

from hypothesis import is_hypothesis_test

from tests.conftest import ASKED, PROFILE, examples

BY_NIGHT = ("agent/", "strategies/", "session/test_timeline.py", "models/test_chat.py")
"""Whose laws `make nightly` tries on many examples."""

LAWS = """
Strategies
1 pairs | Each result follows its call, each call has one result; pending calls stay | strategies/test_laws.py::test_law_1_ | every strategy, nasty histories
2 task and question | System message, first task and question are there, byte for byte | strategies/test_laws.py::test_law_2_ | every strategy, nasty histories
3 budget | Within the budget, or a `BudgetError`; nothing becomes longer | strategies/test_laws.py::test_law_3_ | every strategy, nasty histories, budgets that change
4 no side effects | The order stays, nothing is doubled or mutated, and the same input gives the same view | strategies/test_laws.py::test_law_4_ | every strategy, nasty histories
5 identity | While everything fits, the view is the history | strategies/test_laws.py::test_law_5_ | every strategy, nasty histories
6 prefix | Between two edits a view only grows at its end | strategies/test_laws.py::test_law_6_ | every strategy, sound histories
7 failures | A call of a model that fails or is cut off loses nothing | strategies/test_laws.py::test_law_7_ | strategies that ask a model
8 nothing is too nasty | Nasty histories, 4,000 messages, budgets that break or shrink | strategies/test_laws_nasty.py::test_law_8_ | SPECs at their limits, each on 20 histories
state | Saving and restoring it in mid-session changes nothing | strategies/test_laws.py::test_state_ | every strategy, sound histories
read back | What tidy and dedup write is read back to what a tool said | strategies/test_read_back.py::test_ | outputs of tools in any mixture
comem | Whatever its memory model does, nothing is lost, and the agent waits only over the budget | strategies/test_comem.py::test_whatever_ | calls that end early, late or never, fail, or are stopped
Between history and view
repair | Any list comes out sound, with notes, and loses no words | agent/test_repair.py::test_ | broken histories
fit | It fits, or says by how much it does not; oldest observations go first | agent/test_fit.py::test_ | sound histories, any budget
every view sent | A server that is strict takes it; task and question are in it | agent/test_strict_server.py::test_ | nastiest strategies, by an oracle that reads JSON
view | Fates and prefill are measured right; a broken view is mended | agent/test_view.py::test_ | views edited and attacked
ledger | It is a fold over the events; one unknown makes a sum unknown | agent/test_ledger.py::test_ | any calls and sessions
timeline | Its sums are those of squared paper; a lane does one thing at a time; clock and pauses count for nothing | session/test_timeline.py::test_ | an agent, a memory model beside it, tools
loop | The session continues after anything that a model does, and its history is sound | agent/test_loop_cut_off.py::test_whatever_ | replies that fail, stop, call
chat | Messages that are written for a server can be read again | models/test_chat.py::test_ | sound histories, any entries
Sessions
journal | A resumed session equals the one that wrote it, and sends the same | session/journal/test_laws.py::test_after_ | every strategy, every ending
journal, killed | Killed at any byte, a session resumes as if it had stopped after the last event | session/journal/test_killed.py::test_behind_any_ | strategies with state
journal, damaged | A damaged journal never fails: each line that cannot be read is reported | session/journal/test_fuzz.py::test_ | any bytes, lines flipped or false
looks | A command that only looks does not change the next request | session/test_nothing_enters.py::test_the_next_ | SPECs of each kind, commands, failures
branches | Every branch stays as it was left, and nothing is ever rewritten | repl/commands/branches/test_laws.py::test_whatever_ | any typed lines
branches, sent | A question that is undone and asked again sends the same bytes | repl/commands/branches/test_laws.py::test_what_ | SPECs of each kind
exports | Every view can be rebuilt from the exported file | repl/commands/export/test_document.py::test_every_view_ | SPECs of each kind
cassettes | A played session is the recorded one, exchange by exchange; a damaged or forged one is no danger | session/test_playback.py::test_a | sessions, bytes
timeline, played | It is the same live, read back and played | session/test_timeline.py::test_it_is_ | with and without calls in the background
prepare | The output is valid and within the budget, and the report is true | repl/cli/test_prepare.py::test_ | every strategy, any conversation
compare | It agrees with a replay, and changes nothing | repl/commands/compare/test_replay.py::test_ | every strategy, nasty histories
Untrusted text
sanitiser | The same in any chunks; no control sequence is left, and harmless text stays | repl/screen/test_sanitise.py::test_ | sequences in any mixture
doors | No payload controls the terminal, on any way to it | whole/test_escapes.py::test_no | every door, every payload
exports, hostile | No payload becomes an element, a link or an escape | repl/commands/export/test_harmless.py::test_ | every format, every payload
confined | No path leaves the root | tools/test_confined.py::test_ | any paths
specs | No text of a session or a cassette imports anything | session/test_trust.py::test_no_word_ | any text
folders | Only what is harmless counts, and the rest is told | session/test_folders_file.py::test_only_ | any settings
"""


def tests_of(module: Any, prefix: str) -> Iterator[Callable[..., None]]:
    """The laws of a file that begin so: those that Hypothesis tries; all, where it tries none."""
    found = [test for name, test in vars(module).items() if name.startswith(prefix)]
    yield from [test for test in found if is_hypothesis_test(test)] or found


def parameters(test: Callable[..., None]) -> int:
    """How often pytest runs a test."""
    return prod(len(of_mark) for of_mark in _parameters(test))


def is_nightly(test: Callable[..., None]) -> bool:
    """Whether only `make nightly` runs a test."""
    return any(mark.name == "nightly" for mark in getattr(test, "pytestmark", []))


def by_day(test: Callable[..., None]) -> int:
    """How often `make test` runs a test."""
    days = ([one for one in of_mark if not _is_nightly(one)] for of_mark in _parameters(test))
    return 0 if is_nightly(test) else prod(map(len, days))


def tried(profile: str, law: Callable[..., None], times: int) -> int:
    """On how many examples a law is tried with so many parameters."""
    return times * examples(profile, getattr(law, ASKED).max_examples, times) if times else 0


def _parameters(test: Callable[..., None]) -> list[list[Any]]:
    return [list(mark.args[1]) for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]


def _is_nightly(parameter: Any) -> bool:
    return any(mark.name == "nightly" for mark in getattr(parameter, "marks", ()))


def row(line: str) -> str:
    """A row of the table."""
    law, says, where, over = line.split(" | ")
    path, prefix = where.split("::")
    laws = list(tests_of(import_module(f"tests.{path.removesuffix('.py').replace('/', '.')}"), prefix))
    assert laws, f"{where}: there is none"
    if is_hypothesis_test(laws[0]):
        day = f"{sum(tried('quick', law, by_day(law)) for law in laws):,}"
        by_night = sum(tried("nightly", law, parameters(law)) for law in laws)
        night = f"{by_night:,}" if path.startswith(BY_NIGHT) else "–"
    else:
        days, nights = sum(map(by_day, laws)), sum(map(parameters, laws))
        day = f"{days} cases"
        night = f"{nights} cases" if days < nights or path.startswith(BY_NIGHT) else "–"
    return f"| {law} | {says} | [{len(laws)}](../../tests/{path}) | {over} | {day} | {night} |"


def table() -> str:
    """The whole table in Markdown."""
    assert PROFILE == "quick", "the table is of the profile `quick`"
    printed = []
    for line in LAWS.strip().splitlines():
        if " | " in line:
            printed.append(row(line))
        else:
            printed += [f"\n### {line}\n", "| law | it says | tests | over | `make test` | `make nightly` |"]
            printed += ["|---|---|--:|---|--:|--:|"]
    return "\n".join(printed).strip()


if __name__ == "__main__":
    print(table())
