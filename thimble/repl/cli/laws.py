"""`thimble laws SPEC`: test a strategy against the laws.

For each broken law it shows, as /context does, the smallest history that breaks it and the strategy's view of it.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from functools import partial
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from thimble.agent.errors import ThimbleError, UsageError
from thimble.agent.repair import repair
from thimble.agent.side import SideModel
from thimble.agent.view import measure_view
from thimble.models import make_reader
from thimble.repl.commands.context.context import show_call
from thimble.repl.commands.context.rows import Xray, estimate_cached, rows_of
from thimble.repl.screen.theme import console_for, say
from thimble.session.step_worker import StepWorker
from thimble.strategies.own_code import limit_seconds
from thimble.strategies.spec import make_strategy

if TYPE_CHECKING:
    from thimble.agent.budget import Budget
    from thimble.agent.messages import Message
    from thimble.agent.protocols import Backend, Strategy

LONGEST_SECONDS = 5.0
"""The time limit of one call of the strategy; the histories are small."""
EXAMPLES = 50
"""Histories on which each law is tested."""
HOLD, BROKEN = 0, 1
"""Exit codes."""


@limit_seconds(LONGEST_SECONDS)
def run_laws(words: Sequence[str]) -> int:
    """Test the strategy of a SPEC against every law; return HOLD or BROKEN.

    Raises:
        UsageError: there is no such strategy, or Hypothesis is not installed.
    """
    if len(words) != 1 or words[0].startswith("-"):
        raise UsageError("thimble laws needs one strategy", "run thimble laws ./mine.py, or with any other SPEC")
    (spec,) = words
    make_strategy(spec, SideModel(make_reader()))
    try:
        import hypothesis
    except ModuleNotFoundError as error:
        raise UsageError(
            "thimble laws needs Hypothesis, which generates the histories", "pip install hypothesis"
        ) from error
    from thimble.strategies.laws.laws import BY_HAND, TRIED

    with TemporaryDirectory() as folder:
        hypothesis.configuration.set_hypothesis_home_dir(folder)
        trial = Trial(spec)
        laws = [(law.__name__, partial(trial.on_histories, law)) for law in TRIED]
        laws += [(law.__name__, partial(law, trial.strategy)) for law in BY_HAND]
        for name, law in laws:
            trial.test_law(name, law)
    return BROKEN if trial.broken else HOLD


class Trial:
    """Tests one strategy against the laws; remembers its last call, and prints for each law whether it holds."""

    def __init__(self, spec: str) -> None:
        self.spec = spec
        self.broken: set[str] = set()
        self._console = console_for(plain=False, file=sys.__stdout__)
        self._last: tuple[Sequence[Message], Sequence[Message], Budget] | None = None

    def strategy(self, backend: Backend | None = None) -> Strategy:
        """A fresh instance, whose calls are remembered; `backend` is the model that it may ask."""
        from thimble.strategies.laws.subjects import Summariser

        strategy = make_strategy(self.spec, SideModel(backend or Summariser(), worker=StepWorker()))
        prepare = strategy.prepare

        def remembered(messages: Sequence[Message], budget: Budget) -> Sequence[Message]:
            self._last = messages, (), budget
            try:
                view = prepare(messages, budget)
            except ThimbleError as error:
                if "TimedOut" in error.what:
                    self._tell(error)
                    os._exit(BROKEN)  # the strategy may catch any exception, and shrinking would take an hour
                raise
            self._last = messages, view, budget
            return view

        strategy.prepare = remembered  # type: ignore[method-assign]
        return strategy

    def on_histories(self, law: Callable[..., None]) -> None:
        """Test a law on generated histories; if it is broken, the last history tried is the smallest that breaks it."""
        from hypothesis import HealthCheck, Verbosity, given, settings, strategies

        from thimble.strategies.laws.subjects import SUMMARISERS, Summariser

        answers = strategies.sampled_from(sorted(SUMMARISERS))

        def subject(data: strategies.DataObject) -> Callable[[], Strategy]:
            answer = SUMMARISERS[data.draw(answers)]
            return lambda: self.strategy(Summariser(answer))

        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            derandomize=True,
            database=None,
            report_multiple_bugs=False,
            verbosity=Verbosity.quiet,
            suppress_health_check=[*HealthCheck],
        )
        @given(strategies.data())
        def tried(data: strategies.DataObject) -> None:
            law(subject, data)

        tried()

    def test_law(self, name: str, law: Callable[[], None]) -> None:
        """Test a law and print whether it holds. Of laws with the same number only the first broken one is shown."""
        name = name.replace("_", " ")
        number = " ".join(name.split()[:2])
        try:
            with redirect_stdout(io.StringIO()):  # drop the output of the strategy
                law()
        except Exception as error:
            if number in self.broken:
                self._say(f"BROKEN  {name}: see above")
                return
            self.broken.add(number)
            self._say(f"BROKEN  {name}: by this history, the smallest found", "over")
            self._show(error)
        else:
            self._say(f"holds   {name}")

    def _show(self, error: Exception) -> None:
        """Print the last call, as /context does, and the faults of its view."""
        from thimble.strategies.laws.histories import is_faithful, is_sound

        if isinstance(error, ThimbleError):
            self._tell(error)
        if self._last is None:
            return
        messages, view, budget = self._last
        history = repair(messages).messages
        for wrong in [] if isinstance(error, ThimbleError) else [*is_sound(view), *is_faithful(view, history)]:
            self._say(f"        {wrong}")
        of = measure_view(history, view, budget)
        cached, prefill = estimate_cached(of)
        rows = rows_of(of, budget.count)
        show_call(Xray(of, rows, "the call", self.spec, True, cached, prefill, tools=False), self._console)
        self._say("")

    def _say(self, text: str, style: str = "") -> None:
        say(self._console, text, style)

    def _tell(self, error: ThimbleError) -> None:
        self._say(f"{error.what}\nfix: {error.fix}", "error")
