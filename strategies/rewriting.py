"""Rewriting: the history with copies in place of some messages, updated from call to call."""

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
"""An observation that a copy may replace: its place, itself, and the tokens saved."""


class Rewriting:
    """The history with a copy in place of each chosen message; `chosen` has the input of each copy, by id.

    Each call continues from the last one and reads only new messages; if the counter changed, it reads all again.
    """

    def __init__(self, copy: Callable[[Message, Any], Message]) -> None:
        """`copy` makes the copy of a message from its entry in `chosen`."""
        self._copy = copy
        self._begin({}, None)

    def _begin(self, chosen: dict[str, Any], counted: object) -> None:
        self.history = self.view = History()
        self._chosen, self._counted = chosen, counted
        self._offers: list[Offer] = []

    def goes_on(
        self, history: History, budget: Budget, chosen: dict[str, Any], trial: Trial | None = None, given: object = None
    ) -> bool:
        """Add the new messages of the history; False if its beginning or the counter has changed.

        `trial` makes a copy of an observation to see how many tokens it would save; it also depends on `given`.
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
        """The observations between these places that are not chosen yet and have a smaller copy, oldest first."""
        first, last = (bisect_left(self._offers, at, key=itemgetter(0)) for at in (start, stop))
        return self._offers[first:last]

    def choose(self, new: Mapping[str, Any]) -> None:
        """Replace these messages by copies too, by id."""
        if not new:
            return
        self._chosen.update(new)
        there = filter(None, map(self.history.named, new))
        self.view = self.view.rewritten(self._copy(message, new[message.id]) for message in there)
        self._offers = [offer for offer in self._offers if offer[1].id not in new]
