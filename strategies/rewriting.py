"""Rewriting: a view that is the history with copies in place of some messages, and goes on from call to call."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any

from agent.budget import Budget
from agent.history import History
from agent.messages import Message

Trial = Callable[[Message], Message]
Offer = tuple[int, Message, int]
"""An observation that may give way to a copy: its place, itself, and the tokens that this saves."""


class Rewriting:
    """The history with a copy in place of each message that was chosen; `chosen` says by id what the copy is made from.

    Each call goes on from the one before it: only what is new in the history is looked at. All is looked at again where
    it is counted otherwise.
    """

    def __init__(self, copy: Callable[[Message, Any], Message]) -> None:
        """`copy` makes the copy of a message from what was chosen for it."""
        self._copy = copy
        self._begin({}, None)

    def _begin(self, chosen: dict[str, Any], counted: object) -> None:
        self.history = self.view = History()
        self._chosen, self._counted = chosen, counted
        self._offers: list[Offer] = []

    def goes_on(
        self, history: History, budget: Budget, chosen: dict[str, Any], trial: Trial | None = None, given: object = None
    ) -> bool:
        """Take in what is new in the history; False where it does not begin as it did, or is counted otherwise.

        `trial` makes a copy of an observation to see what it would save, and depends on `given` beside it.
        """
        counted = budget.tokens, given
        known, shared = len(self.history), history.shared(self.history)
        if self._chosen is not chosen or self._counted != counted:
            self._begin(chosen, counted)
            shared = 0
        elif shared < known:
            self.history, self.view = self.history.upto(shared), self.view.upto(shared)
            self._offers = self.offers(0, shared)
        new = history[shared:]
        self.history, self.view = history, history.begun(self.view)
        self.view = self.view.rewritten(self._copy(one, chosen[one.id]) for one in new if one.id in chosen)
        for place, message in enumerate(new, shared):
            if trial and message.role == "tool" and message.id not in chosen:
                saved = budget.count(message) - budget.count(trial(message))
                if saved > 0:
                    self._offers.append((place, message, saved))
        return shared == known

    def offers(self, start: int, stop: int) -> list[Offer]:
        """The observations between these places that a copy makes smaller and that are not chosen yet, oldest first."""
        first, last = (bisect_left(self._offers, at, key=itemgetter(0)) for at in (start, stop))
        return self._offers[first:last]

    def choose(self, new: Mapping[str, Any]) -> None:
        """Put copies in place of these messages too, by id."""
        if not new:
            return
        self._chosen.update(new)
        there = filter(None, map(self.history.named, new))
        self.view = self.view.rewritten(self._copy(message, new[message.id]) for message in there)
        self._offers = [offer for offer in self._offers if offer[1].id not in new]
