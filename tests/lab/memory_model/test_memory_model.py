"""The steps, rewards and tables of the memory model's training; the training itself is in tests/servers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.servers.memory_runs import memory_run, memory_runs
from tests.support.estimate import EstimateCounter
from tests.support.scripted import Scripted
from thimble.agent.budget import UNLIMITED, Budget
from thimble.agent.messages import Message, turns
from thimble.agent.protocols import Backend, Delta, Text
from thimble.agent.side import SideModel
from thimble.commands.trajectories import Trajectory, read_trajectories
from thimble.lab.action_similarity import Action
from thimble.lab.memory_model.command import main
from thimble.lab.memory_model.frozen_agent import FrozenAgent
from thimble.lab.memory_model.grpo import GROUP, LENGTH_WEIGHT, WINDOW, SummaryRewards
from thimble.lab.memory_model.held_out import NO_SUMMARY, findings, make_memories, measure_memories
from thimble.lab.memory_model.memory_steps import MemoryStep, MemoryTask
from thimble.lab.memory_model.summaries import own_words, target_summary
from thimble.lab.replay.fake_model import newest_name
from thimble.lab.store import Store
from thimble.models import make_reader
from thimble.session.step_worker import StepWorker
from thimble.strategies.comem import Comem, Summaries
from thimble.strategies.spec import make_strategy
from thimble.strategies.summary import find_names

RUNS = 12


@dataclass
class Says(Backend):
    """A model that always says the same, and keeps what it was asked."""

    text: str
    asked: list[Sequence[Message]] = field(default_factory=list)
    counter = EstimateCounter()
    name = model = "says"

    def stream(self, messages: Sequence[Message], tools: Any, **more: Any) -> Generator[Delta, None, None]:
        self.asked.append(messages)
        yield Text(self.text)


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Trajectory]:
    path = tmp_path_factory.mktemp("runs") / "runs.jsonl"
    path.write_text("\n".join(memory_runs(RUNS)), "utf-8")
    return read_trajectories([path])


def agent_of(spec: str = "comem:k=1,words=60,suggestions=off") -> FrozenAgent:
    reader = make_reader()
    strategy = make_strategy(spec, SideModel(reader))
    assert isinstance(strategy, Comem)
    return FrozenAgent(reader, MemoryTask(strategy, reader.counter))


@pytest.fixture(scope="module")
def agent() -> FrozenAgent:
    return agent_of()


@pytest.fixture(scope="module")
def steps(runs: list[Trajectory], agent: FrozenAgent) -> list[MemoryStep]:
    return list(agent.task.steps(runs))


def founded(text: str, step: MemoryStep, task: MemoryTask) -> str:
    """The text with a name of what it replaces, without which it would be refused."""
    stays = {message.id for message in task.newest_turns(step)}
    found = [
        name for message in step.history if message.id not in stays for name in sorted(find_names(message.content))
    ]
    return " ".join([text, *found[:1]])


def needed(steps: list[MemoryStep], agent: FrozenAgent) -> list[MemoryStep]:
    return [step for step in steps if agent.without(step) < 1]


# --- steps ------------------------------------------------------------------------------------------------------------


def test_a_run_is_the_same_for_the_same_seed_and_returns_to_each_question() -> None:
    one = memory_run(3)
    assert one == memory_run(3) != memory_run(4)
    asked = [entry["content"] for entry in one["messages"] if entry["role"] == "user"]
    assert all(asked.count(text) == 2 for text in asked)


@pytest.mark.parametrize("spec", ["comem:k=1,words=60", "comem:k=2,words=60,suggestions=off"])
def test_the_memory_model_is_asked_as_in_a_session(runs: list[Trajectory], spec: str) -> None:
    """A strategy that lives through the run asks in the same words, whenever it asks."""
    task = agent_of(spec).task
    for run in runs[:3]:
        asked = {step.at: tuple(task.prompt(step)) for step in task.steps([run])}
        model = Scripted(["A short summary."] * len(asked), task.counter)
        side = SideModel(model, worker=StepWorker())
        alive = replace(task.strategy, model=side, summary="waited", memory=Summaries())
        for at, message in enumerate(run.messages):
            if message.role == "assistant":
                before = len(model.requests)
                alive.prepare(run.messages[:at], Budget(UNLIMITED, task.counter))
                assert [request.messages for request in model.requests[before:]] in ([], [asked.get(at)])
        assert model.requests


@pytest.mark.parametrize("k", [1, 2])
def test_a_view_has_the_summary_and_the_k_newest_turns(runs: list[Trajectory], k: int) -> None:
    task = agent_of(f"comem:k={k},words=60").task
    for step in task.steps(runs[:3]):
        view = task.view(step, founded("Hardness is nine.", step, task))
        assert view
        (summary,) = [message for message in view if message.covers]
        assert "Hardness is nine." in summary.content
        assert len(turns(view)) == k == len(turns(task.newest_turns(step)))
        assert view[-1] == step.history[-1]
        assert {*summary.covers} | {message.id for message in view} >= {message.id for message in step.history}


def test_steps_come_before_what_was_done(runs: list[Trajectory], steps: list[MemoryStep]) -> None:
    by_name = {run.name: run for run in runs}
    assert steps
    for step in steps:
        run = by_name[step.run]
        assert step.taken == Action.of(run.messages[step.at])
        assert list(step.history) == list(run.messages[: step.at])
        assert step.tools == run.tools
    assert len({step.key for step in steps}) == len(steps)


def test_runs_of_one_id_stay_together(runs: list[Trajectory], agent: FrozenAgent) -> None:
    for run in runs:
        one, other = (next(agent.task.steps([replace(run, name=name)])) for name in (run.name, f"{run.name}~2"))
        assert one.held_out is other.held_out


def test_a_run_without_tools_has_those_that_it_called(runs: list[Trajectory], agent: FrozenAgent) -> None:
    for run in runs[:3]:
        made = [call for message in run.messages for call in message.calls]
        wanted = {name: {key for call in made if call.name == name for key in json.loads(call.arguments)}
                  for name in {call.name for call in made}}  # fmt: skip
        for step in agent.task.steps([replace(run, tools=())]):
            offered = [tool["function"] for tool in step.tools]
            assert {tool["name"]: {*tool["parameters"]["properties"]} for tool in offered} == wanted


def test_whole_runs_are_held_out(runs: list[Trajectory], steps: list[MemoryStep]) -> None:
    held = {step.run for step in steps if step.held_out}
    assert held.isdisjoint(step.run for step in steps if not step.held_out)
    assert held < {run.name for run in runs}
    assert held


# --- rewards ----------------------------------------------------------------------------------------------------------


def test_the_agent_acts_as_recorded_with_everything_in_view_and_not_without_a_summary(
    agent: FrozenAgent, steps: list[MemoryStep]
) -> None:
    assert all(agent.alike(step, step.history) == 1 for step in steps)
    assert len(needed(steps, agent)) >= RUNS


def test_a_summary_that_says_what_was_said_earns_all_and_one_that_does_not_little(
    agent: FrozenAgent, steps: list[MemoryStep]
) -> None:
    for step in needed(steps, agent):
        assert agent.reward(step, own_words(step, agent.task)) == 1
        assert agent.reward(step, founded("Two questions were asked.", step, agent.task)) < 0.2


@pytest.mark.parametrize("summary", ["", " \n", "word " * 2_000, "Nothing of note."])
def test_a_summary_that_is_refused_earns_nothing(agent: FrozenAgent, steps: list[MemoryStep], summary: str) -> None:
    """The strategy then leaves everything in view, with which the agent acts as recorded."""
    step = needed(steps, agent)[0]
    assert agent.task.view(step, summary) is None
    assert agent.reward(step, summary) == 0


def test_the_agent_is_asked_once_for_each_prompt(steps: list[MemoryStep]) -> None:
    counted = Says("So it is.")
    frozen = FrozenAgent(counted, agent_of().task)
    for _ in range(3):
        frozen.reward(steps[0], founded("The hardness is nine.", steps[0], frozen.task))
        frozen.reward(steps[0], founded("The hardness is ten.", steps[0], frozen.task))
    assert len(counted.asked) == 2


def trainer() -> SimpleNamespace:
    return SimpleNamespace(global_step=7, max_steps=100)


def test_a_longer_summary_earns_less_and_one_that_is_cut_nothing(agent: FrozenAgent, steps: list[MemoryStep]) -> None:
    step = needed(steps, agent)[0]
    earned, said = SummaryRewards({"p": step}, agent), own_words(step, agent.task)
    most = agent.task.most_tokens
    tokens = [[5] * 10, [5] * 100, [5] * most, []]
    short, long, cut, nothing = earned.rewards(["p"] * 4, [said, said, said, ""], tokens, trainer())
    assert short == pytest.approx(1 - LENGTH_WEIGHT * 10 / most)
    assert long == pytest.approx(1 - LENGTH_WEIGHT * 100 / most)
    assert cut == nothing == 0


def test_a_summary_in_circles_earns_nothing(agent: FrozenAgent, steps: list[MemoryStep]) -> None:
    said = own_words(needed(steps, agent)[0], agent.task)
    assert agent.reward(needed(steps, agent)[0], said) == 1
    assert agent.reward(needed(steps, agent)[0], said + "\nThat is all." * 40) == 0


def test_training_stops_where_most_groups_say_nothing(agent: FrozenAgent, steps: list[MemoryStep]) -> None:
    """All summaries of a group that earn the same, before their length counts, give nothing to learn."""
    step = needed(steps, agent)[0]
    good, bad = own_words(step, agent.task), "Nothing of note."
    earned = SummaryRewards({"p": step}, agent)

    def group(texts: list[str]) -> int:
        state = trainer()
        earned.rewards(["p"] * GROUP, texts, [[5] * number + [2] for number in range(GROUP)], state)
        return int(state.max_steps)

    half = WINDOW // 2
    assert [group([good, *[bad] * (GROUP - 1)]) for _ in range(half)] == [100] * half
    assert [group([bad] * GROUP) for _ in range(half)] == [100] * half
    assert group([bad] * GROUP) == 7


# --- summaries to learn and to compare --------------------------------------------------------------------------------


def test_what_is_learnt_lets_the_agent_act_at_least_as_well_as_nothing(
    agent: FrozenAgent, steps: list[MemoryStep]
) -> None:
    for step in steps:
        learnt = target_summary(step, agent, make_reader())
        assert not learnt or agent.reward(step, learnt) >= agent.without(step)
    step = needed(steps, agent)[0]
    assert target_summary(step, agent, Says("Nothing.")) == own_words(step, agent.task)
    first = next(step for step in steps if not own_words(step, agent.task))
    assert target_summary(first, agent, Says("")) == ""


def test_own_words_have_as_much_room_as_a_summary(runs: list[Trajectory]) -> None:
    task = agent_of("comem:k=1,words=20").task
    for step in task.steps(runs):
        assert task.counter.count(Message("", "user", own_words(step, task))) <= task.most_tokens + 8


class Silent(Says):
    """A model that names something, so that its summaries are not refused, and says nothing of it."""

    def stream(self, messages: Sequence[Message], tools: Any, **more: Any) -> Generator[Delta, None, None]:
        yield from super().stream(messages, tools)
        yield Text(f" {newest_name(messages)}")


def test_each_memory_is_measured_once_and_the_table_has_the_full_context_above(
    agent: FrozenAgent, steps: list[MemoryStep], tmp_path: Path
) -> None:
    silent = Silent("Nothing of note.")
    kinds = make_memories(agent.task, {"silent": silent})
    for _ in range(2):
        with closing(Store(tmp_path / "held-out.jsonl", write=True)) as store:
            records = list(measure_memories(steps, agent, kinds, store))
    assert len(silent.asked) == len(steps)
    (table,) = findings(records).tables
    rows = {row[0]: row for row in table.rows}
    assert list(rows) == ["full context", NO_SUMMARY, "compress", "the agent's own words", "silent"]
    assert rows["full context"][1] == "1.000 [1.000, 1.000]"
    assert rows[NO_SUMMARY][2] == "+0.000 [+0.000, +0.000]"
    assert rows["the agent's own words"][3] == "1.000"
    assert float(rows["silent"][3]) == pytest.approx(float(rows[NO_SUMMARY][3]), abs=0.05)
    assert rows["silent"][5] == "0%"
    kept = [json.loads(line) for line in (tmp_path / "held-out.jsonl").read_text().splitlines()]
    assert len(kept) == len(rows) * len(steps)


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "what", "fix"),
    [
        (["--strategy", "thrifty"], "thrifty does not use a memory model", "--strategy comem:k=1"),
        (["--sft-steps", "0"], "--sft-steps 0 is not valid", "it takes 1 to"),
        (["--base", "none"], "there is no model 'none'", "name a file"),
        (["--lowest", "3"], "--lowest only applies to LoRA", "add --rank"),
    ],
)
def test_a_mistake_of_a_user_is_one_line_and_how_to_mend_it(
    tmp_path: Path, flags: list[str], what: str, fix: str
) -> None:
    file = tmp_path / "runs.jsonl"
    file.write_text("\n".join(memory_runs(4)), "utf-8")
    with pytest.raises(Exception, match=what) as raised:
        main([str(file), "--base", "x.gguf", "--out", str(tmp_path / "out"), *flags], "lab memory-model")
    assert fix in getattr(raised.value, "fix", "")


def test_nothing_of_it_loads_torch_before_it_trains() -> None:
    script = "import sys, thimble.lab.memory_model.command; print({'torch', 'trl', 'transformers'} & {*sys.modules})"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout == b"set()\n"
