"""An entry: a strategy whose code runs in a jail, gets copies, and can only reply with a view.

Dialogues and measurements stay on this side: the jail gets a message when it enters the history, and the reply of the
strategy is only ever read as a view.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.machinery import all_suffixes
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from thimble.agent.budget import Budget
from thimble.agent.errors import UsageError
from thimble.agent.messages import Message
from thimble.agent.protocols import Strategy
from thimble.agent.side import SideModel
from thimble.lab.replay.fake_model import FakeModel
from thimble.models.counting.vocabulary import counter_for
from thimble.session.jail import Jail
from thimble.session.step_worker import StepWorker
from thimble.strategies.spec import make_strategy

FORBIDDEN = (
    *("ctypes.", "gc.", "os.exec", "os.fork", "os.kill", "os.link", "os.posix_spawn", "os.rename", "os.symlink"),
    *("os.system", "pty.", "socket.", "sqlite3.", "subprocess."),
)
"""Prefixes of Python's audit events that computing a view does not need."""
Sent = Annotated[list[int | Message], Field(max_length=20_000)]
"""Messages as the jail sends them: an index into the history, or a message of the strategy's own."""
Prompts = Annotated[list[tuple[Sent, int]], Field(max_length=100)]
"""Prompts to a model, each with the tokens of its reply."""
BEGUN = TypeAdapter(tuple[int, bool, bool])
"""The number of a play, and the strategy's `fitted` and `priced`."""
PREPARED = TypeAdapter(tuple[Sent, Prompts, Prompts])
"""A view, and the strategy's prompts to its models: to the one that it waits for, and to the background one."""


@dataclass(eq=False)
class Entry(Strategy):
    """A strategy in a jail, with fresh state.

    Its prompts to a model are repeated to `side`, so that they count as cost. Hiding them would gain nothing: the
    model's replies are meaningless.
    """

    jail: Jail
    side: SideModel
    fitted: bool = field(default=True, init=False)
    priced: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._number, self.fitted, self.priced = self._ask(BEGUN, None)
        self._sent = 0

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """The view from the jail; indices into the history become our own messages."""
        asked = self._number, messages[self._sent :], budget.limit, budget.overhead, budget.prices
        view, at_once, late = self._ask(PREPARED, asked)
        self._sent = len(messages)

        def read(sent: Sent) -> list[Message]:
            return [messages[one] if isinstance(one, int) else one for one in sent]

        for prompt, tokens in at_once:
            self.side.ask(read(prompt), "", tokens)
        for prompt, tokens in late:
            self.side.begin(read(prompt), "", tokens).run()
        return read(view)

    def _ask(self, expected: TypeAdapter[Any], request: object) -> Any:
        try:
            return expected.validate_json(self.jail.ask(request))
        except ValueError as error:
            raise UsageError("its process sent something other than a view", "do not write to pipes") from error


@dataclass
class EntryServer:
    """In the jail: starts a play of a strategy, or asks it for the next view. Its model writes `summary_tokens`."""

    spec: str
    summary_tokens: int
    plays: list[Any] = field(default_factory=list)

    def __call__(self, request: tuple[Any, ...] | None) -> bytes:
        """Answer a request. Raises UsageError if the strategy fails."""
        if request is None:
            return self._begin()
        number, new, limit, overhead, prices = request
        strategy, counter, models, history = self.plays[number]
        history += new
        view = strategy.prepare([*history], Budget(limit, counter, overhead, prices))
        places = {id(message): at for at, message in enumerate(history)}

        def sent(messages: Sequence[Message]) -> Sent:
            return [places.get(id(message), message) for message in messages]

        at_once, late = ([(sent(prompt), tokens) for prompt, tokens in model.drain()] for model in models)
        return PREPARED.dump_json((sent(view), at_once, late))

    def _begin(self) -> bytes:
        counter = counter_for("")
        if not self.plays:
            warnings.simplefilter("ignore")  # a SyntaxWarning of the file is not a print
            counter.tokens("")  # loads the vocabulary now: reading files is forbidden below
            forbid_all_but_computing()
        models = [FakeModel(counter, self.summary_tokens, model=name) for name in ("server", "memory")]
        strategy = make_strategy(self.spec, SideModel(models[0], None, models[1], StepWorker()))
        self.plays.append((strategy, counter, models, []))
        return BEGUN.dump_json((len(self.plays) - 1, bool(strategy.fitted), bool(strategy.priced)))


def forbid_all_but_computing() -> None:
    """Forbid this process to read files except Python code, to write files, and to start or reach other processes.

    The judge's command line, which has the seed, and the dialogues could otherwise be read as files. This stops
    accidents, not attacks: malicious code can get around it, other code gets an error that says what is not allowed.
    """
    code, writes = tuple(all_suffixes()), os.O_WRONLY | os.O_RDWR | os.O_CREAT

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if type(path) is str and path.endswith(code) and not flags & writes:
                return
        elif not event.startswith(FORBIDDEN):
            return
        raise PermissionError(f"{event} is not allowed: a strategy in a contest only computes")

    sys.addaudithook(refuse)
