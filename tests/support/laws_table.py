# ruff: noqa: E501, T201
"""The table of laws: what each says, where it is tried, and over what.

python -m tests.support.laws_table    # the table in Markdown, as docs/reference/laws.md shows it
"""

from __future__ import annotations

from importlib import import_module

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
"""


def row(line: str) -> str:
    """A row of the table."""
    law, says, where, over = line.split(" | ")
    path, prefix = where.split("::")
    module = import_module(f"tests.{path.removesuffix('.py').replace('/', '.')}")
    assert any(name.startswith(prefix) for name in vars(module)), f"{where}: there is none"
    return f"| [{law}](../../tests/{path}) | {says} | {over} |"


def table() -> str:
    """The whole table in Markdown."""
    printed = []
    for line in LAWS.strip().splitlines():
        if " | " in line:
            printed.append(row(line))
        else:
            printed += [f"\n### {line}\n", "| law | it says | tried on |", "|---|---|---|"]
    return "\n".join(printed).strip()


if __name__ == "__main__":
    print(table())
