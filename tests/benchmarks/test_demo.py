"""The benchmark of the demo marks a prompt by its steps and by the facts in its answer."""

from __future__ import annotations

import pytest

from benchmarks.demo import Asked

WINDOW = "A context window is the largest number of tokens that a model can handle, and grew to a million."


@pytest.mark.parametrize(
    ("prompt", "calls", "answer", "step", "right"),
    [
        (1, ["list {}"], "Agent memory, tool-calling, observability [agent-memory]", True, True),
        (1, ["list {}"], "Tool calling [tool-calling]", True, False),
        (1, ["list {}", "read {}"], "Agent memory, tool-calling, observability", False, True),
        (2, ["read {}"], f"{WINDOW} [context-windows]", True, True),
        (2, ["read {}"], WINDOW, True, False),
        (2, ["search {}"], f"{WINDOW} [context-windows]", False, True),
        (3, ["read {}"], f"{WINDOW} [context-windows]", True, False),
        (4, [], f"{WINDOW} Evaluations are statistical. [context-windows]", True, True),
        (4, [], f"{WINDOW} [context-windows]", True, False),
    ],
)
def test_a_prompt_is_marked_by_its_steps_and_its_facts(
    prompt: int, calls: list[str], answer: str, step: bool, right: bool
) -> None:
    asked = Asked("m", "none", prompt, calls, answer=answer, ending="answered")
    assert (asked.right_step, asked.right) == (step, right)
    asked.ending = "refused"
    assert (asked.right_step, asked.right) == (False, False)
