"""The view: what one model call is sent, and what became of every message of the history, measured from outside."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from agent.budget import Budget
from agent.chunked import Chunked
from agent.errors import UsageError
from agent.fit import Fitted, fitted
from agent.history import History, pinned
from agent.marks import is_mask
from agent.messages import HERE, Message
from agent.own_code import guarded, in_line
from agent.prefix_cache import shared as shared_messages
from agent.protocols import Stage, Strategy
from agent.repair import repair
from agent.settle import messages_of, settle

FIT = "fit"
"""The name of `fit` among those who change a message."""
Fate = Literal["kept", "tidied", "masked", "shortened", "summarised", "offloaded", "dropped"]


@dataclass(frozen=True, slots=True)
class Step:
    """One change of a message on its way into a view: who made it, its fate then, why, its tokens before and then.

    `by` is the name of a part of the strategy, `tidy`, `fit`, or "" for the strategy as a whole.
    """

    by: str
    fate: Fate
    why: str
    before: int
    tokens: int


@dataclass(frozen=True, slots=True)
class View:
    """What one model call is sent, beside the history that it was made from. All sizes are tokens.

    `fates` has one entry a message of the history, `inserted` the positions in `messages` that are not in it.
    `overhead` belongs to no message (tool schemas, template). `cached` is the longest beginning that it shares with a
    prompt that the server can still hold; `prefill` the rest. `edited` says that the strategy changed the prefix:
    something of the view before is not where it was. `acted` counts the messages whose fate is new in this view.
    `without`: what it would have, had nothing been done anew: the view before and what is new in the history. `warm`
    says that the server could use the prompt before at all: the same model with the same tools. `history` is the one
    beside it, repaired. `left_out` says by message id why a dropped message is not here, as the strategy or `fit`
    has it. `steps` has by message id what changed it, in order; nothing where that is lost. `fit` is where the next
    call goes on from. `sizes`: the tokens of the prompt after each who made it, by the names of `Step.by`.
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
    sizes: Sequence[tuple[str, int]] = ()
    history: Sequence[Message] = field(default=(), compare=False, repr=False)
    left_out: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    steps: Mapping[str, Sequence[Step]] = field(default_factory=dict, compare=False, repr=False)
    fit: Fitted | None = field(default=None, compare=False, repr=False)

    @property
    def fated(self) -> Iterator[tuple[Message, Fate]]:
        """Every message of the history with its fate."""
        return zip(self.history, self.fates, strict=True)

    @property
    def saved(self) -> int:
        """What its new deeds save in this call; negative where more comes back."""
        return self.without - self.tokens

    @property
    def taken(self) -> Mapping[str, int]:
        """Tokens of the history that each who made the view took out; negative for one that put more in."""
        found, before = Tally[str](), self.history_tokens
        for by, tokens in self.sizes:
            found[by] += before - tokens
            before = tokens
        return found

    @property
    def settled(self) -> int:
        """How many messages stand before what was put at the end for this call alone: to take that away is no edit."""
        return _settled(self.messages, self.inserted)


def prepare(
    history: Sequence[Message],
    strategy: Strategy,
    budget: Budget,
    before: View | None = None,
    warm: bool = True,
    held: Iterable[Sequence[Message]] = (),
) -> View:
    """The one road from history to view: repair, the strategy, the laws, `fit`, measurement.

    `before` is the view of the call before, whose prefix `fit` keeps to; `warm` says that its server would still know
    it, and `held` are the other prompts that it may know. As far as this call's history and answer are the same objects
    as that one's, nothing is looked at again.

    Raises:
        BudgetError: the system message, the task, the question and the last turn alone are over budget.
        TypeError: the strategy did not return messages.
    """
    sound = repair(history, before.history if before else ())
    proposed = messages_of(strategy.prepare(sound.messages, budget))
    settled = settle(proposed, sound.messages, before.fit.offered if before and before.fit else ())
    fit = Fitted(settled.messages, settled.messages)
    if getattr(strategy, "fitted", True) and budget.over(settled.messages):
        fit = _fitted(settled.messages, sound.messages, budget, before)
    view = measure(sound.messages, fit.messages, budget, before, warm, (*sound.notes, *settled.notes), held)
    made = getattr(strategy, "stages", ()) or [Stage("", ())]
    stages = [*made[:-1], Stage(made[-1].by, settled.messages), Stage(FIT, fit.messages)]
    left_out = LeftOut(view, stages, strategy, budget)
    sizes = tuple((by, budget.size(messages)) for by, messages in stages)
    return replace(view, fit=fit, left_out=left_out, steps=Steps(view, stages, left_out, budget), sizes=sizes)


def _fitted(view: History, history: History, budget: Budget, before: View | None) -> Fitted:
    stays = {message.id for message in pinned(history)}
    if before and before.fit and view.rewrites(history) and history.shared(before.history) == len(before.history):
        grown = before.fit.grown(view, budget, stays)
        if grown:
            return grown
    return fitted(view, budget, stays, _left(view, history, before) if before else None)


def _left(view: History, history: History, before: View) -> list[int]:
    """The places of a view without what the view before left out of the same history."""
    same = history.shared(before.history)

    def gone(place: int | None) -> bool:
        if place is None or place >= len(before.fates) or before.fates[place] != "dropped":
            return False
        return place < same or history[place] == before.history[place]

    if not view.rewrites(history):
        return [at for at, message in enumerate(view) if not gone(history.place(message.id))]
    shown = {id_ for message in before.messages for id_ in (message.id, *message.covers)}
    early = sorted(at for id_ in shown if (at := view.place(id_)) is not None and at < same)
    return [*early, *(at for at in range(same, len(view)) if not gone(at))]


class LeftOut(Mapping[str, str]):
    """Why each dropped message is not in the newest view, by id: worked out when somebody looks."""

    def __init__(self, view: View, stages: Sequence[Stage], strategy: Strategy, budget: Budget) -> None:
        self._view, self._stages, self._strategy, self._budget = view, stages, strategy, budget

    @cached_property
    def _whys(self) -> dict[str, str]:
        stages = [(stage.by, History.of(stage.messages)) for stage in self._stages]
        size, limit = self._budget.size(stages[-2][1]), self._budget.limit
        over = f"the view was {size:,} of {limit:,} tokens: the oldest went, a quarter of the budget at a time"

        def said(message: Message) -> str:
            by = next(by for by, view in stages if view.place(message.id) is None)
            reason = over if by == FIT else _said(self._strategy, message)
            return f"{by} left it out ({reason})" if by and reason else reason

        return {message.id: said(message) for message, fate in self._view.fated if fate == "dropped"}

    def __getitem__(self, id_: str) -> str:
        return self._whys[id_]

    def __iter__(self) -> Iterator[str]:
        return iter(self._whys)

    def __len__(self) -> int:
        return len(self._whys)


class Steps(Mapping[str, Sequence[Step]]):
    """What changed each message of a view that is not kept, by id: worked out for those that somebody looks at."""

    def __init__(self, view: View, stages: Sequence[Stage], left_out: Mapping[str, str], budget: Budget) -> None:
        self._view, self._stages, self._left_out, self._budget = view, stages, left_out, budget

    @cached_property
    def _views(self) -> Sequence[tuple[str, History]]:
        return [(by, History.of(messages)) for by, messages in self._stages]

    @cached_property
    def _covering(self) -> Mapping[str, Message]:
        return {id_: message for _, view in self._views for message in view.covering for id_ in message.covers}

    @cached_property
    def _history(self) -> History:
        return History.of(self._view.history)

    def __getitem__(self, id_: str) -> Sequence[Step]:
        place = self._history.place(id_)
        if place is None or self._view.fates[place] == "kept":
            raise KeyError(id_)
        original = now = self._history[place]
        steps: list[Step] = []
        for by, view in self._views:
            copy = view.named(id_)
            if copy is None and steps and not steps[-1].tokens:
                continue
            if copy is None or not copy.same(now):
                steps.append(self._step(by, original, now, copy))
            now = copy or original
        return steps

    def _step(self, by: str, original: Message, now: Message, copy: Message | None) -> Step:
        covering, before = self._covering.get(original.id), self._budget.count(now)
        if copy:
            return Step(by, _fate(original, copy, covering is not None), copy.why, before, self._budget.count(copy))
        if covering:
            return Step(by, "summarised", covering.why, before, 0)
        return Step(by, "dropped", self._left_out.get(original.id, ""), before, 0)

    def __iter__(self) -> Iterator[str]:
        return (message.id for message, fate in self._view.fated if fate != "kept")

    def __len__(self) -> int:
        return sum(fate != "kept" for fate in self._view.fates)


def _said(strategy: Strategy, message: Message) -> str:
    """The strategy's own rule for what it left out; one that cannot tell must not cost the answer."""

    def said() -> str:
        rule: Callable[[Message], object] | None = getattr(strategy, "why", None)
        return in_line(str(rule(message) or "")) if rule else ""

    try:
        return guarded(said, "its why() failed")
    except UsageError as error:
        return error.what


def measure(
    history: Sequence[Message],
    messages: Sequence[Message],
    budget: Budget,
    before: View | None = None,
    warm: bool = True,
    notes: Sequence[str] = (),
    held: Iterable[Sequence[Message]] = (),
) -> View:
    """Compare a view with its history and with prompts before it. Nothing is taken from the strategy's word."""
    history, messages = History.of(history), History.of(messages)
    fates, acted = _fates(history, messages, before)
    tokens = budget.size(messages)
    inserted = () if messages.rewrites(history) else tuple(_inserted(history, messages))
    shared = shared_messages(messages, before.messages) if before else 0
    warm = warm and before is not None
    kept = max([shared if warm else 0, *(shared_messages(messages, one) for one in held)])
    prefill = sum(map(budget.count, messages[kept:])) if kept else tokens
    return View(
        messages=messages,
        fates=fates,
        inserted=inserted,
        tokens=tokens,
        history_tokens=budget.size(history),
        limit=budget.limit,
        overhead=budget.overhead,
        cached=tokens - prefill,
        prefill=prefill,
        edited=before is not None and shared < before.settled,
        acted=acted,
        without=_without(history, messages, inserted, shared, budget, before),
        notes=tuple(notes),
        warm=warm,
        history=history,
    )


def _settled(messages: Sequence[Message], inserted: Iterable[int]) -> int:
    added = set(inserted)
    return next((at + 1 for at in reversed(range(len(messages))) if at not in added), 0)


def _without(
    history: History, messages: History, inserted: Iterable[int], same: int, budget: Budget, before: View | None
) -> int:
    """Tokens of the view before with what is new in the history, and with what is added for this call alone.

    The first `same` messages are those of the view before.
    """
    own = _settled(messages, inserted) if inserted else len(messages)
    if before is None:
        return budget.size(history) + sum(map(budget.count, messages[own:]))
    same, new = min(same, own, before.settled), history[len(before.history) :]
    if history.shared(before.history) < len(before.history):
        known = {message.id for message in before.history}
        new = [message for message in history if message.id not in known]
    would = [*before.messages[same : before.settled], *new]
    return budget.size(messages) - sum(map(budget.count, messages[same:own])) + sum(map(budget.count, would))


def _inserted(history: History, messages: History) -> Iterator[int]:
    return (at for at, message in enumerate(messages) if history.place(message.id) is None)


def _fates(history: History, messages: History, before: View | None) -> tuple[Sequence[Fate], Mapping[Fate, int]]:
    """What became of each message, and how many fates of each kind are new.

    Where the history has only grown since the view before, the fates are those of that view, but for what only one of
    the two views shows.
    """
    was: Sequence[Fate] = before.fates if before else ()
    old: Chunked[Fate] = was if isinstance(was, Chunked) else Chunked(was)
    if before and len(was) == len(before.history) == history.shared(before.history):
        same = messages.shared(before.messages)
        differ = [*messages[same:], *before.messages[same:]]
        ids = {id_ for message in differ for id_ in (message.id, *message.covers)}
        places = sorted(at for id_ in ids if (at := history.place(id_)) is not None and at < len(was))
    else:
        old, places = Chunked(), []
    covered = {id_ for message in messages.covering for id_ in message.covers}
    fates: dict[int, Fate] = {}
    for at in (*places, *range(len(old), len(history))):
        message = history[at]
        fates[at] = _fate(message, messages.named(message.id), message.id in covered)
    new = [fate for at, fate in fates.items() if fate not in ("kept", was[at] if at < len(was) else None)]
    changed = {at: fates[at] for at in places if fates[at] != old[at]}
    return old.with_entries(changed, *[*fates.values()][len(places) :]), Tally(new)


def _fate(message: Message, copy: Message | None, covered: bool) -> Fate:
    if copy is None:
        return "summarised" if covered else "dropped"
    if copy is message or copy.same(message):
        return "kept"
    if copy.ref:
        return "tidied" if copy.ref == HERE else "offloaded"
    if message.id in copy.covers:
        return "summarised"
    if is_mask(copy):
        return "masked"
    return "shortened" if "\n" in copy.content or _shares_an_end(copy.content, message.content) else "masked"


def _shares_an_end(copy: str, original: str, at_least: int = 8) -> bool:
    """Whether a copy still begins or ends as the original does: then it was shortened, not masked."""
    return bool(original) and (copy[:at_least] == original[:at_least] or copy[-at_least:] == original[-at_least:])
