from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from contextlib import closing
from typing import Any, ClassVar

import pytest

from tests.support.histories import TinyCounter, is_sound
from tests.support.sessions import scripted, tool_call
from thimble.agent.budget import Budget
from thimble.agent.events import Answered
from thimble.agent.messages import Message, ToolCall
from thimble.agent.protocols import Strategy
from thimble.repl.conversation import Conversation
from thimble.repl.prompt.interrupts import Interrupts
from thimble.session.session import Session

READ = tool_call("read_article", slug="observation-masking", section="Opening")
EVENTS = 13


def ctrl_c() -> None:
    signal.raise_signal(signal.SIGINT)


def stopped_at(session: Session, moment: int) -> int:
    """Ask, and press Ctrl-C while the event of that number is being shown; how many were shown."""
    shown = 0
    with Interrupts() as interrupts, closing(session.ask("What is masking?")) as events:
        try:
            for shown, _ in enumerate(interrupts.stopping(events), 1):
                if shown == moment:
                    ctrl_c()
        except KeyboardInterrupt:
            pass
    return shown


def goes_on(session: Session) -> bool:
    """Whether the history is sound and the next question is answered."""
    assert is_sound(session.agent.history) == []
    return isinstance(list(session.ask("And now?"))[-1], Answered)


@pytest.mark.parametrize("moment", range(1, EVENTS + 1))
def test_ctrl_c_while_an_event_is_shown_ends_the_exchange_after_it(moment: int) -> None:
    session = scripted([READ, READ], "It hides.", *["So."] * 4)
    assert stopped_at(session, moment) == moment
    session.agent.backend = scripted("So.").agent.backend
    assert goes_on(session)


def test_ctrl_c_while_the_model_answers() -> None:
    def answer(messages: Any, tools: Any) -> str:
        ctrl_c()
        return "never said"

    session = scripted(answer, "So.")
    assert stopped_at(session, -1) == 3
    assert goes_on(session)


def test_ctrl_c_while_a_tool_runs() -> None:
    class Slow(Strategy):
        name = "slow"
        schema: ClassVar[dict[str, Any]] = {}

        def run(self, arguments: Any) -> str:
            ctrl_c()
            return "never returned"

    session = scripted([ToolCall("c1", "slow"), READ], "So.")
    session.agent.tools = {"slow": Slow()}
    stopped_at(session, -1)
    assert [message.content for message in session.agent.history[-2:]] == ["[cancelled before it returned]"] * 2
    assert goes_on(session)


def test_ctrl_c_while_the_strategy_works() -> None:
    class Slow(Strategy):
        def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
            if messages[-1].content == "What is masking?":
                ctrl_c()
            return list(messages)

    session = scripted("So.")
    session.agent.strategy = Slow()
    assert stopped_at(session, -1) == 2
    assert goes_on(session)


def test_a_second_ctrl_c_does_not_disturb_what_the_first_one_began() -> None:
    tidied = []

    def events() -> Any:
        try:
            yield "first"
            ctrl_c()
        finally:
            ctrl_c()
            tidied.append(True)

    with Interrupts() as interrupts, pytest.raises(KeyboardInterrupt):
        list(interrupts.stopping(events()))
    assert tidied == [True]


def test_what_has_caught_ctrl_c_and_goes_on_hears_the_next() -> None:
    heard = []
    with Interrupts() as interrupts, interrupts.allowed():
        for _ in range(3):
            try:
                ctrl_c()
            except KeyboardInterrupt:
                ctrl_c()  # it is being tidied up
                heard.append(True)
    assert heard == [True] * 3


class Dying:
    """What is tidied away just when Ctrl-C comes."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


def test_ctrl_c_in_a_finaliser_is_not_lost() -> None:
    def work() -> None:
        Dying()
        time.sleep(30)

    with Interrupts() as interrupts, pytest.raises(KeyboardInterrupt), interrupts.allowed():
        work()


def test_where_it_is_not_allowed_nothing_is_raised() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Interrupts() as interrupts:
        ctrl_c()
        with pytest.raises(KeyboardInterrupt), interrupts.allowed():
            ctrl_c()
        ctrl_c()
        assert list(interrupts.stopping([])) == []
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("exact", [True, False])
def test_the_first_screen_says_where_tokens_are_estimates(exact: bool, capsys: pytest.CaptureFixture[str]) -> None:
    Conversation(scripted(counter=TinyCounter(exact=exact)), plain=True).print_introduction()
    assert ("tokens are estimates (~)" in capsys.readouterr().out) is not exact
