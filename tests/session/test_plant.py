from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.repl.screen.test_sanitise import NASTY
from tests.support.scripted_loop import agent, call, goes_on, says
from tests.support.specs import build
from thimble.agent.errors import UsageError
from thimble.agent.loop import run
from thimble.agent.repair import repair
from thimble.agent.state import State
from thimble.agent.view import prepare
from thimble.session.plant import MAX_FACT_CHARACTERS, plant_fact
from thimble.strategies.table import STRATEGIES
from thimble.tools.files import file_tools

LINES = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp"]), max_size=MAX_FACT_CHARACTERS
)
FACTS = LINES.map(str.strip).filter(bool)


@given(FACTS)
def test_the_result_is_what_read_file_gives_for_a_file_of_that_line(fact: str) -> None:
    planted = plant_fact(agent(), fact)
    with TemporaryDirectory() as folder:
        Path(folder, planted.path).write_text(f"{fact}\n", "utf-8")
        read_file = next(tool for tool in file_tools(Path(folder)) if tool.name == "read_file")
        assert planted.holder.content == read_file.run({"path": planted.path})


@given(st.lists(st.one_of(FACTS, NASTY), max_size=4), st.booleans())
def test_the_history_is_sound_and_only_the_result_holds_the_fact(facts: list[str], asked: bool) -> None:
    session = agent([call(1), *says("I look.")], says("Found."))
    if asked:
        list(run(session, "What is masking?"))
    for fact in facts:
        before, history = len(session.history), [*session.history]
        try:
            planted = plant_fact(session, fact)
        except UsageError:
            assert session.history == history
            continue
        assert session.history[-4:] == [*planted.messages]
        assert len(session.history) - before == (4 if before else 5)
        assert fact.strip() in planted.holder.content
    assert repair(session.history).notes == []
    goes_on(session)


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_takes_it_as_any_other_turn(name: str) -> None:
    session = agent()
    for number in range(1, 30):
        plant_fact(session, f"Fact {number}: {'word ' * 80}")
    tools = session.budget(session.schemas())
    for limit in (900, 2_000, 20_000):
        session.state.budget = limit
        assert prepare(session.history, build(name), session.budget(session.schemas())).notes == ()
    assert tools.size(session.history) > 2_000


@pytest.mark.parametrize(
    "fact", ["", "  \n ", "x" * (MAX_FACT_CHARACTERS + 1), "one\ntwo", "one\x0btwo", "one\u2028two"]
)
def test_what_cannot_be_planted_changes_nothing(fact: str) -> None:
    session = agent()
    with pytest.raises(UsageError) as raised:
        plant_fact(session, fact)
    assert "/plant" in raised.value.fix
    assert session.history == []


def test_ctrl_c_plants_all_or_nothing() -> None:
    class Stopped(State):
        def new_ids(self) -> Iterator[str]:
            yield from islice(super().new_ids(), 2)
            raise KeyboardInterrupt

    session = agent(says("Found."))
    session.state = Stopped("none")
    with pytest.raises(KeyboardInterrupt):
        plant_fact(session, "The launch code is 4711.")
    assert session.history == []
