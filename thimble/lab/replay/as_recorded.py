"""A recorded agent's own context management as one more strategy, and how near our counts are to its provider's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from statistics import fmean
from typing import Any

from thimble.agent.budget import Budget
from thimble.agent.events import SideCalled
from thimble.agent.messages import Message
from thimble.agent.prefix_cache import PrefixCache
from thimble.agent.protocols import ModelId, Usage
from thimble.agent.view import View, measure
from thimble.lab.replay.trajectories import Sent, Trajectory

AS_RECORDED = "as-recorded"
CLOSE = 0.02
"""What we predict is close to what was reported if it differs by at most this share of the prompt."""
LEAST_REPORTS = 3


def prompts(run: Trajectory) -> Iterator[tuple[int, Sent, list[Message]]]:
    """The place of each call, what its prompt begins with, and the prompt, as far as the file tells."""
    contexts = run.sent or [Sent(0, ())]
    for at in run.calls:
        sent = next(one for one in reversed(contexts) if one.since <= at)
        yield at, sent, [*sent.base, *run.messages[sent.since : at]]


def as_recorded(run: Trajectory, budget: Budget, model: ModelId) -> Iterator[tuple[View, Sequence[SideCalled]]]:
    """The prompt of each call as the recorded agent sent it, and the calls that wrote the summaries in it.

    Nothing is repaired, shortened or put back: no law of thimble was kept there. Where the file lacks the call of a
    summary, that has an error.
    """
    prefixes = PrefixCache(slot=False)
    held = partial(prefixes.kept, model, run.tools, budget.counter)
    before: View | None = None
    last, known = Sent(0, ()), {message.id for message in run.messages}
    for at, sent, messages in prompts(run):
        written = [message for message in sent.base if message.id not in known and message.role != "tool"]
        known.update(message.id for message in written)
        asked = []
        if written:
            read = [*last.base, *run.messages[last.since : sent.since]]
            shared = prefixes.read(model, run.tools, read, budget.counter)
            usage = Usage(output_tokens=sum(map(budget.count, written)))
            error = "" if sent.asked else "its call is not in the file"
            asked = [SideCalled("summary", budget.size(read), budget.counter.exact, usage, 0.0, error, shared=shared)]
        before, last = measure(run.messages[:at], messages, budget, before, held=held), sent
        prefixes.forget(model)
        prefixes.read(model, run.tools, before.messages, budget.counter)
        yield before, asked


def calibrated(run: Trajectory, predicted: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """How near prompts as recorded, and what is cached of them, are to what the provider measured; both in tokens.

    It is told by a line through the prompts of each context (least squares), with one slope for all: `token_ratio`,
    tokens of the provider for one of ours. `unseen_tokens` is the mean height of the lines: what is in a prompt and not
    in the file, such as a system prompt. A context with fewer than three calls tells nothing.
    """
    contexts: dict[int, list[tuple[int, int, int, int | None]]] = {}
    for at, sizes in zip(run.calls, predicted, strict=True):
        own = run.reported.get(run.messages[at].id)
        if own and own.prompt:
            context = sum(one.since <= at for one in run.sent)
            contexts.setdefault(context, []).append((*sizes, own.prompt, own.cache_read))
    calls = list[tuple[int, int, int, int | None, float, float]]()
    for rows in contexts.values():
        mean = fmean(row[0] for row in rows), fmean(row[2] for row in rows)
        calls += [(*row, *mean) for row in rows if len(rows) >= LEAST_REPORTS]
    spread = sum((ours - x) ** 2 for ours, *_, x, _ in calls)
    ratio = sum((ours - x) * (theirs - y) for ours, _, theirs, _, x, y in calls) / (spread or 1)
    close = [
        abs(y + ratio * (ours - x) - theirs) <= CLOSE * theirs
        and (read is None or abs(y + ratio * (cached - x) - read) <= CLOSE * theirs)
        for ours, cached, theirs, read, x, y in calls
    ]
    return {
        "reported_calls": len(close),
        "close_calls": sum(close),
        "token_ratio": round(ratio, 3),
        "unseen_tokens": round(fmean(y - ratio * x for *_, x, y in calls)) if calls else 0,
    }
