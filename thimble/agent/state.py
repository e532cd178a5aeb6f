"""The state of a session, computed from its events one by one, live or from a journal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count

from thimble.agent.events import (
    CHANGEABLE,
    Answered,
    Asked,
    Cancelled,
    Changed,
    Entry,
    Planted,
    PutIn,
    QuestionWithdrawn,
    Replied,
    ReplyCancelled,
    ReplyDiscarded,
    ToolReturned,
)
from thimble.agent.ledger import Ledger
from thimble.agent.messages import Message, without_thinking
from thimble.agent.override import Override
from thimble.agent.prompts import SYSTEM_PROMPT


@dataclass
class State:
    """The state after all events so far. Only events change the history, which is a new list each time.

    A message keeps its thinking for as long as that is sent back to the model.

    `strategy`: the SPEC in use. `budget`: the tokens of prompt that a call may use. `system`: the first message of a
    history. `planted`: the facts planted in it, oldest first. `overrides`: the user's decisions about messages, by id.
    `model`: the model that answers, as `backend/name`; "" if unknown.
    """

    strategy: str = ""
    budget: int = 4000
    system: str = SYSTEM_PROMPT
    history: list[Message] = field(default_factory=list)
    ledger: Ledger = field(default_factory=Ledger)
    planted: tuple[Planted, ...] = ()
    overrides: Mapping[str, Override] = field(default_factory=dict)
    model: str = ""

    @property
    def settings(self) -> dict[str, str | int]:
        """The value of each setting that can change while a session runs, as in `Changed`."""
        return {name: getattr(self, name) for name in CHANGEABLE}

    def apply(self, event: Entry) -> None:
        """Apply one event. The cost of a reply whose view is lost, as in a damaged journal, is unknown."""
        if self.ledger.prepared or not isinstance(event, Replied | ReplyCancelled):
            self.ledger.add(event)
        match event:
            case Asked(message):
                self._forget_thinking()
                self._append(message)
            case Answered():
                self._forget_thinking()
            case Replied(message=message):
                self._append(message if event.returns_thinking else without_thinking(message))
            case ToolReturned(message=message):
                self._append(message)
            case Cancelled(messages) | PutIn(messages):
                self._append(*messages)
            case Planted(messages=messages):
                self._append(*messages)
                self.planted = (*self.planted, event)
            case Override(id_):
                newest = {**self.overrides, id_: event}
                self.overrides = {other: one for other, one in newest.items() if one.deed}
            case QuestionWithdrawn(message) | ReplyDiscarded(message):
                if self.history and self.history[-1].id == message.id:
                    self.history = self.history[:-1]
            case Changed(setting, value):
                setattr(self, setting, value)
                if setting == "system" and self.history and self.history[0].role == "system":
                    self.history = [replace(self.history[0], content=self.system), *self.history[1:]]

    def new_ids(self) -> Iterator[str]:
        """New ids for the next messages: none is in the history or reserved for a system message."""
        taken = {message.id for message in self.history}
        numbers = count(max(1, len(self.history)) + 1)
        return (fresh for number in numbers if (fresh := f"m{number}") not in taken)

    def copy(self) -> State:
        """An independent copy of the state."""
        own = {"history": [*self.history], "ledger": self.ledger.copy(), "planted": self.planted}
        return State(**self.settings, **own, overrides=self.overrides)  # type: ignore[arg-type]

    def _forget_thinking(self) -> None:
        """Remove the thinking once a question is answered: several servers require it before and reject it after."""
        if any(message.thinking for message in self.history):
            self.history = [*map(without_thinking, self.history)]

    def _append(self, *messages: Message) -> None:
        system = () if self.history else (Message("m1", "system", self.system),)
        self.history = [*self.history, *system, *messages]
