"""The view: the messages that one model call sends, and the fate of each message of the history, measured."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from thimble.agent.budget import Budget
from thimble.agent.fates import Fate, list_fates
from thimble.agent.fit import fit
from thimble.agent.laws import keep_laws, messages_of
from thimble.agent.messages import YOU, Message, common_prefix, differences
from thimble.agent.override import NO_OVERRIDES, Override, apply_overrides
from thimble.agent.protocols import Stage, Strategy
from thimble.agent.repair import repair
from thimble.agent.steps import FIT, LazyMapping, ViewStep, explain_changes, explain_drops
from thimble.agent.turns import pinned, task

CountCached = Callable[[Sequence[Message]], int | None]
"""Counts the messages at the start of a prompt that the server has cached; None if it has read no prompt yet."""


@dataclass(frozen=True, slots=True)
class View:
    """The messages that one model call sends, with the history that they were made from. All sizes are tokens.

    `fates` has one entry for each message of the history, `inserted` the positions of the `messages` that are not in
    it. `overhead` belongs to no message (tool schemas, template). `cached` is the longest prefix that it shares with a
    prompt that the server can still hold; `prefill` the rest. `edited`: the prefix of the previous view has changed, by
    the strategy or by thinking that is no longer sent. `acted` counts the messages whose fate is new in this view.
    `without`: its tokens without the new edits: the previous view and the new messages of the history. `warm`: the
    server could reuse the previous prompt at all: the same model with the same tools. `history`: repaired.
    `whole_cached`: the tokens that the server would still hold, had everything always been sent, with the same worked
    examples. `left_out`: the reason for each dropped message, by id, from the strategy or `fit`. `steps`: the changes
    of each message, in order, by id; empty if they are lost. `sizes`: the tokens of the prompt after each of its
    makers, named as in `ViewStep.by`. `lawful`: the messages that `prepare` gave to `fit`; they and the history are
    known to be sound.
    """

    messages: Sequence[Message]
    fates: Sequence[Fate]
    inserted: tuple[int, ...]
    tokens: int
    history_tokens: int
    limit: int
    overhead: int
    cached: int
    prefill: int
    edited: bool
    acted: Mapping[Fate, int]
    without: int
    notes: tuple[str, ...] = ()
    warm: bool = False
    whole_cached: int = 0
    sizes: tuple[tuple[str, int], ...] = ()
    history: Sequence[Message] = field(default=(), compare=False, repr=False)
    left_out: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    steps: Mapping[str, Sequence[ViewStep]] = field(default_factory=dict, compare=False, repr=False)
    lawful: Sequence[Message] = field(default=(), compare=False, repr=False)

    @property
    def fated(self) -> Iterator[tuple[Message, Fate]]:
        """Every message of the history with its fate."""
        return zip(self.history, self.fates, strict=True)

    @property
    def whole_tokens(self) -> int:
        """Its tokens if it held the whole history, with the messages that the loop adds to a view (`agent.prompts`)."""
        return self.history_tokens + (self.tokens - self.sizes[-1][1] if self.sizes else 0)

    @property
    def saved(self) -> int:
        """The tokens that its new edits save in this call; negative if more comes back."""
        return self.without - self.tokens

    @property
    def taken(self) -> Mapping[str, int]:
        """The tokens that each maker of the view took out of the history; negative for one that added more."""
        found: dict[str, int] = {}
        before = self.history_tokens
        for by, tokens in self.sizes:
            found[by] = found.get(by, 0) + before - tokens
            before = tokens
        return found

    @property
    def settled(self) -> int:
        """The number of messages before those added at the end for this call alone: removing these is not an edit."""
        added = {*self.inserted}
        return next((at + 1 for at in reversed(range(len(self.messages))) if at not in added), 0)


def prepare(
    history: Sequence[Message],
    strategy: Strategy,
    budget: Budget,
    before: View | None = None,
    warm: bool = True,
    held: CountCached | None = None,
    examples: Sequence[Message] = (),
    behind: Sequence[Message] = (),
    overrides: Mapping[str, Override] = NO_OVERRIDES,
) -> View:
    """Make a view, in steps: repair, the user's overrides, the strategy, the laws, `fit`, measurement.

    `before` is the previous view, whose prefix `fit` keeps to; `warm`: the server may still hold it, used if `held`
    does not know. The loop's own messages count too: `examples` follow the system message, `behind` is at the end.

    Raises:
        BudgetError: the system message, the task, the question and the last turn alone are over budget.
        TypeError: the strategy did not return messages.
    """
    own = sum(map(budget.count, [*examples, *behind]))
    left = replace(budget, limit=budget.limit - own)
    sound = repair(history, sound=before.history if before and before.lawful else ())
    given, kept = apply_overrides(sound.messages, overrides)
    proposed = messages_of(strategy.prepare([*given], left))
    lawful = keep_laws(proposed, given, kept, before.lawful if before else ())
    sent = lawful.messages
    counts = left.counter.counts(sent)
    size = left.overhead + sum(counts)
    if strategy.fitted and size > left.limit:
        gone = {message.id for message, fate in before.fated if fate == "dropped"} if before else ()
        sent = fit(sent, left, [*pinned(sound.messages), *kept], gone, {*task(sound.messages)[:-1]}, counts)
    notes, whole = (*sound.notes, *lawful.notes), [*add_examples(sent, examples), *behind]
    view = measure_view(sound.messages, whole, budget, before, warm, notes, held, examples)
    made = strategy.stages or [Stage("", ())]
    stages = [*made[:-1], Stage(made[-1].by, lawful.messages), Stage(FIT, sent)]
    stages[:0] = [Stage(YOU, given)] if overrides else []
    sizes = [
        *((by, left.size(messages)) for by, messages in stages[:-2]),
        (made[-1].by, size),
        (FIT, view.tokens - own),
    ]
    whys = LazyMapping(lambda: explain_drops(view.fated, stages, strategy, left))
    told = LazyMapping(lambda: explain_changes(view.fated, stages, whys, left))
    return replace(view, left_out=whys, steps=told, sizes=(*sizes,), lawful=lawful.messages)


def measure_view(
    history: Sequence[Message],
    messages: Sequence[Message],
    budget: Budget,
    before: View | None = None,
    warm: bool = True,
    notes: Sequence[str] = (),
    held: CountCached | None = None,
    examples: Sequence[Message] = (),
) -> View:
    """Compare a view with its history and with earlier prompts, trusting nothing that the strategy says.

    `examples` follow the system message of the view, as they would in the whole history.
    """
    ids = {message.id for message in history}
    found, was = list_fates(history, messages), before.fates[: len(history)] if before else ()
    tokens, history_tokens = budget.size(messages), budget.size(history)
    shared = common_prefix(messages, before.messages) if before else 0
    warm = warm and before is not None
    known = held(messages) if held else None
    kept = known if known is not None else shared if warm else 0
    prefill = sum(map(budget.count, messages[kept:])) if kept else tokens
    whole = add_examples(history, examples)
    still = min(kept, common_prefix(messages, whole))
    if warm and before is not None:
        # or as much as it would hold from the whole history of the previous call
        still = max(still, common_prefix(add_examples(before.history, examples), whole))
    view = View(
        messages=tuple(messages),
        fates=tuple(found),
        inserted=tuple(at for at, message in enumerate(messages) if message.id not in ids),
        tokens=tokens,
        history_tokens=history_tokens,
        limit=budget.limit,
        overhead=budget.overhead,
        cached=tokens - prefill,
        prefill=prefill,
        edited=before is not None and shared < before.settled,
        acted=Tally(fate for fate, old in zip_longest(found, was) if fate != old and fate != "kept"),
        without=0,
        notes=tuple(notes),
        warm=warm,
        whole_cached=history_tokens + sum(map(budget.count, examples)) - sum(map(budget.count, whole[still:]))
        if still
        else 0,
        history=tuple(history),
    )
    return replace(view, without=_count_unedited(view, whole, budget, before, shared))


def add_examples(messages: Sequence[Message], examples: Sequence[Message]) -> list[Message]:
    """The messages with worked examples after the system message."""
    system = sum(message.role == "system" for message in messages[:1])
    return [*messages[:system], *examples, *messages[system:]]


def _count_unedited(view: View, whole: Sequence[Message], budget: Budget, before: View | None, shared: int) -> int:
    """The tokens of the previous view, the new messages of the history, and those added for this call alone.

    The first `shared` messages are those of the previous view.
    """
    own = view.settled
    if before is None:
        return budget.size([*whole, *view.messages[own:]])
    begun = next(differences(before.history, view.history), len(before.history))
    known = {message.id for message in before.history[begun:]}
    new = (message for message in view.history[begun:] if message.id not in known)
    same = min(shared, own, before.settled)
    would = [*before.messages[same : before.settled], *new]
    return view.tokens - sum(map(budget.count, view.messages[same:own])) + sum(map(budget.count, would))
