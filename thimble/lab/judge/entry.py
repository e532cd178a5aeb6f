"""An entry: a strategy whose code runs in a jail. It gets copies, and all that it can answer is a view.

The dialogues and everything that is measured stay on this side: the jail gets a message when the history has it, and no
word of the strategy is taken for more than its view.
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
from thimble.strategies.spec import parse

FORBIDDEN = (
    *("ctypes.", "gc.", "os.exec", "os.fork", "os.kill", "os.link", "os.posix_spawn", "os.rename", "os.symlink"),
    *("os.system", "pty.", "socket.", "sqlite3.", "subprocess."),
)
"""How the audit events of Python begin that computing a view does not raise."""
Sent = Annotated[list[int | Message], Field(max_length=20_000)]
"""Messages as the jail sends them: the place of one in the history, or one of the strategy's own."""
Prompts = Annotated[list[tuple[Sent, int]], Field(max_length=100)]
"""What a model was asked, with the tokens of each reply."""
BEGUN = TypeAdapter(tuple[int, bool, bool])
"""The number of a play, and whether its strategy is fitted and priced."""
PREPARED = TypeAdapter(tuple[Sent, Prompts, Prompts])
"""A view, and what was asked for it, at once and in the background."""


@dataclass(eq=False)
class Entry(Strategy):
    """A strategy in a jail, with fresh state.

    What it asked a model, `side` is asked again, so that it costs. To keep that back would win nothing: the model's
    words mean nothing.
    """

    jail: Jail
    side: SideModel
    fitted: bool = field(default=True, init=False)
    priced: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._number, self.fitted, self.priced = self._ask(BEGUN, None)
        self._sent = 0

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """The view that the jail sends, with our own message wherever it names one of the history."""
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
            raise UsageError("its process sent something other than a view", "write to no pipe") from error


@dataclass
class EntryServer:
    """In the jail: begins a play of a strategy, or asks it for the next view. Its model writes so many tokens."""

    spec: str
    summary_tokens: int
    plays: list[Any] = field(default_factory=list)

    def __call__(self, request: tuple[Any, ...] | None) -> bytes:
        """The reply. Raises UsageError if the strategy fails."""
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
            warnings.simplefilter("ignore")  # Python warns of the text of a file, which is not a print
            counter.tokens("")  # reads the vocabulary, which is forbidden from now on
            forbid_all_but_computing()
        models = [FakeModel(counter, self.summary_tokens, model=name) for name in ("server", "memory")]
        strategy = parse(self.spec, SideModel(models[0], None, models[1], StepWorker()))
        self.plays.append((strategy, counter, models, []))
        return BEGUN.dump_json((len(self.plays) - 1, bool(strategy.fitted), bool(strategy.priced)))


def forbid_all_but_computing() -> None:
    """From now on this process reads no file but Python's code, writes none, and starts and reaches no other process.

    The seed on the judge's command line and the file of the dialogues are files, too. Code that wants to can get around
    this; code that does not want to has a line that says what is not allowed.
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
