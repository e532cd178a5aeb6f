"""The view: what one model call is sent, and what became of every message of the history, measured from outside."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, repeat
from typing import Literal

from agent.budget import Budget
from agent.fit import fit
from agent.messages import Message, common_prefix, pinned
from agent.protocols import Strategy
from agent.repair import repair
from agent.settle import messages_of, settle

Fate = Literal["kept", "masked", "shortened", "summarised", "offloaded", "dropped"]


@dataclass(frozen=True, slots=True)
class View:
    """What one model call is sent, beside the history that it was made from. All sizes are tokens.

    `fates` has one entry a message of the history, `inserted` the positions in `messages` that are not in it.
    `overhead` belongs to no message (tool schemas, template). `cached` is the part that the prompt before began with,
    byte for byte; `prefill` the rest. `edited` says that the strategy changed the prefix: something of the view
    before is not where it was. `acted` counts the messages whose fate is new in this view. `warm` says that the server
    could use the prompt before at all: the same model with the same tools. `history` is the one beside it, repaired.
    `left_out` says by message id why a dropped message is not here, as the strategy or `fit` has it.
    """

    messages: tuple[Message, ...]
    fates: tuple[Fate, ...]
    inserted: tuple[int, ...]
    tokens: int
    history_tokens: int
    limit: int
    overhead: int
    cached: int
    prefill: int
    edited: bool
    acted: Mapping[Fate, int]
    notes: tuple[str, ...] = ()
    warm: bool = False
    history: Sequence[Message] = field(default=(), compare=False, repr=False)
    left_out: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    @property
    def fated(self) -> Iterator[tuple[Message, Fate]]:
        """Every message of the history with its fate."""
        return zip(self.history, self.fates, strict=True)

    @property
    def settled(self) -> int:
        """How many messages stand before what was put at the end for this call alone: to take that away is no edit."""
        added = set(self.inserted)
        return next((at + 1 for at in reversed(range(len(self.messages))) if at not in added), 0)


def prepare(
    history: Sequence[Message], strategy: Strategy, budget: Budget, before: View | None = None, warm: bool = True
) -> View:
    """The one road from history to view: repair, the strategy, the laws, `fit`, measurement.

    `before` is the view of the call before, whose prefix `fit` keeps to; `warm` says that its server would still know
    it.

    Raises:
        BudgetError: the system message, the task, the question and the last turn alone are over budget.
        TypeError: the strategy did not return messages.
    """
    sound = repair(history, before.history if before else ())
    proposed = messages_of(strategy.prepare(list(sound.messages), budget))
    settled = settle(proposed, sound.messages, before.messages if before else ())
    messages = settled.messages
    if getattr(strategy, "fitted", True):
        stays = {message.id for message in pinned(sound.messages)}
        messages = fit(messages, budget, stays, _gone(sound.messages, before))
    view = measure(sound.messages, messages, budget, before, warm, (*sound.notes, *settled.notes))
    return (
        replace(view, left_out=_left_out(view, settled.messages, strategy, budget)) if "dropped" in view.fates else view
    )


def _gone(history: Sequence[Message], before: View | None) -> set[str]:
    """What the view before left out of the same history."""
    known = zip(history, before.history, before.fates, strict=False) if before else ()
    return {message.id for message, was, fate in known if fate == "dropped" and (message is was or message == was)}


def _left_out(view: View, offered: Sequence[Message], strategy: Strategy, budget: Budget) -> dict[str, str]:
    """Why each dropped message is not in the view: `offered` is what the strategy left to `fit`."""
    fitted = {message.id for message in offered}
    size = budget.size(offered)
    by_fit = (
        f"the strategy left {size:,} tokens for {budget.limit:,}: the oldest went, a quarter of the budget at a time"
    )
    return {
        message.id: by_fit if message.id in fitted else _said(strategy, message)
        for message, fate in view.fated
        if fate == "dropped"
    }


def _said(strategy: Strategy, message: Message) -> str:
    """The strategy's own rule for what it left out; one that cannot tell must not cost the answer."""
    rule: Callable[[Message], object] | None = getattr(strategy, "why", None)
    try:
        return str(rule(message) or "") if rule else ""
    except Exception as error:
        return f"its why() failed: {type(error).__name__}: {error}"


def measure(
    history: Sequence[Message],
    messages: Sequence[Message],
    budget: Budget,
    before: View | None = None,
    warm: bool = True,
    notes: Sequence[str] = (),
) -> View:
    """Compare a view with its history and with the view before it. Nothing is taken from the strategy's word."""
    fates = _fates(history, messages)
    known = {message.id for message in history}
    tokens = budget.size(messages)
    shared = common_prefix(messages, before.messages) if before else 0
    warm = warm and before is not None and before.overhead == budget.overhead
    prefill = sum(map(budget.count, messages[shared:])) if warm and shared else tokens
    earlier = chain(before.fates if before else (), repeat(None))
    changed = (fate for fate, was in zip(fates, earlier, strict=False) if fate not in ("kept", was))
    return View(
        messages=tuple(messages),
        fates=fates,
        inserted=tuple(index for index, message in enumerate(messages) if message.id not in known),
        tokens=tokens,
        history_tokens=budget.size(history),
        limit=budget.limit,
        overhead=budget.overhead,
        cached=tokens - prefill,
        prefill=prefill,
        edited=before is not None and shared < before.settled,
        acted=Tally(changed),
        notes=tuple(notes),
        warm=warm,
        history=history,
    )


def _fates(history: Sequence[Message], messages: Sequence[Message]) -> tuple[Fate, ...]:
    shown = {message.id: message for message in messages}
    covered = {covered for message in messages for covered in message.covers}

    def fate(message: Message) -> Fate:
        copy = shown.get(message.id)
        if copy is None:
            return "summarised" if message.id in covered else "dropped"
        if copy is message or copy.same(message):
            return "kept"
        if copy.ref:
            return "offloaded"
        if message.id in copy.covers:
            return "summarised"
        return "shortened" if _shares_an_end(copy.content, message.content) else "masked"

    return tuple(map(fate, history))


def _shares_an_end(copy: str, original: str, at_least: int = 8) -> bool:
    """Whether a copy still begins or ends as the original does: then it was shortened, not masked."""
    return bool(original) and (copy[:at_least] == original[:at_least] or copy[-at_least:] == original[-at_least:])
