"""A recorded agent's own context management as one more strategy: its prompts, as far as the file has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from thimble.agent.budget import Budget
from thimble.agent.events import SideCalled
from thimble.agent.prefix_cache import PrefixCache
from thimble.agent.protocols import ModelId, Usage
from thimble.agent.view import View, measure_view
from thimble.commands.trajectories import PromptStart, Trajectory


def as_recorded(run: Trajectory, budget: Budget, model: ModelId) -> Iterator[tuple[View, Sequence[SideCalled]]]:
    """The prompt of each call as the recorded agent sent it, and the calls that wrote the summaries in it.

    Nothing is repaired, shortened or put back: the recorded agent did not keep thimble's laws. If the file lacks the
    call that wrote a summary, that call has an error.
    """
    prefixes = PrefixCache(slot=False)
    held = partial(prefixes.count_cached, model, run.tools, budget.counter)
    before: View | None = None
    last, known = PromptStart(), {message.id for message in run.messages}
    for at, sent, messages in run.prompts():
        written = [message for message in sent.base if message.id not in known and message.role != "tool"]
        known.update(message.id for message in written)
        asked = []
        if written:
            read = [*last.base, *run.messages[last.since : sent.since]]
            shared = prefixes.read(model, run.tools, read, budget.counter)
            usage = Usage(output_tokens=sum(map(budget.count, written)))
            error = "" if sent.asked else "its call is not in the file"
            asked = [SideCalled("summary", budget.size(read), budget.counter.exact, usage, 0.0, error, shared=shared)]
        before, last = measure_view(run.messages[:at], messages, budget, before, held=held), sent
        prefixes.forget(model)
        prefixes.read(model, run.tools, before.messages, budget.counter)
        yield before, asked
