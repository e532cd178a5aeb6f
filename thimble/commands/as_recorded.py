"""A recorded agent's own context management as one more strategy: its prompts, as far as the file tells."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from thimble.agent.budget import Budget
from thimble.agent.prefix_cache import PrefixCache
from thimble.agent.protocols import ModelId
from thimble.agent.view import View, measure

if TYPE_CHECKING:
    from thimble.commands.trajectories import Trajectory

AS_RECORDED = "as-recorded"
"""The SPEC that stands for the recorded agent's own context management."""


def as_recorded(run: Trajectory, budget: Budget, model: ModelId) -> Iterator[View]:
    """The prompt of each call as the recorded agent sent it, as far as its file tells.

    Nothing is repaired, shortened or put back: no law of thimble was kept there. What a model was asked for a summary
    is not in most files, and so in no view.
    """
    prefixes = PrefixCache(slot=False)
    held = partial(prefixes.kept, model, run.tools, budget.counter)
    before: View | None = None
    for at in run.calls:
        sent = run.sent_before(at)
        messages = [*sent.base, *run.messages[sent.since : at]]
        before = measure(run.messages[:at], messages, budget, before, held=held)
        prefixes.forget(model)
        prefixes.read(model, run.tools, before.messages, budget.counter)
        yield before
