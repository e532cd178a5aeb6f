# ruff: noqa: E501, T201
"""The list of laws: what each says, and where it is tried.

python -m tests.support.laws_table    # the list in Markdown, as docs/reference/laws.md shows it
"""

from __future__ import annotations

from importlib import import_module

LAWS = """
Strategies
1 pairs | Each result follows its call, each call has one result; pending calls stay | strategies/test_laws.py::test_law_1_
2 task and question | System message, first task and question are there, byte for byte | strategies/test_laws.py::test_law_2_
3 budget | Within the budget, or a `BudgetError`; nothing becomes longer | strategies/test_laws.py::test_law_3_
4 no side effects | The order stays, nothing is doubled or mutated, and the same input gives the same view | strategies/test_laws.py::test_law_4_
5 identity | While everything fits, the view is the history | strategies/test_laws.py::test_law_5_
6 prefix | Between two edits a view only grows at its end | strategies/test_laws.py::test_law_6_
7 failures | A call of a model that fails or is cut off loses nothing | strategies/test_laws.py::test_law_7_
8 nothing is too nasty | Nasty histories, 4,000 messages, budgets that break or shrink | strategies/test_laws_nasty.py::test_law_8_
state | Saving and restoring it in mid-session changes nothing | strategies/test_laws.py::test_state_
read back | What tidy and dedup write is read back to what a tool said | strategies/test_read_back.py::test_
comem | Whatever its memory model does, nothing is lost, and the agent waits only over the budget | strategies/test_comem.py::test_whatever_
Between history and view
repair | Any list comes out sound, with notes, and loses no words | agent/test_repair.py::test_
fit | It fits, or says by how much it does not; oldest observations go first | agent/test_fit.py::test_
every view sent | A server that is strict takes it; task and question are in it | agent/test_strict_server.py::test_
view | Fates and prefill are measured right; a broken view is mended | agent/test_view.py::test_
ledger | It is a fold over the events; one unknown makes a sum unknown | agent/test_ledger.py::test_
timeline | Its sums are those of squared paper; a lane does one thing at a time; clock and pauses count for nothing | session/test_timeline.py::test_
loop | The session continues after anything that a model does, and its history is sound | agent/test_loop_cut_off.py::test_whatever_
chat | Messages that are written for a server can be read again | models/test_chat.py::test_
"""


def row(line: str) -> str:
    """An item of the list."""
    law, says, where = line.split(" | ")
    path, prefix = where.split("::")
    module = import_module(f"tests.{path.removesuffix('.py').replace('/', '.')}")
    assert any(name.startswith(prefix) for name in vars(module)), f"{where}: there is none"
    return f"- [{law}](../../tests/{path}): {says}."


def table() -> str:
    """The whole list in Markdown."""
    printed = []
    for line in LAWS.strip().splitlines():
        if " | " in line:
            printed.append(row(line))
        else:
            printed.append(f"\n### {line}\n")
    return "\n".join(printed).strip()


if __name__ == "__main__":
    print(table())
