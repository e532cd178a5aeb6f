"""The simulation conserves tokens, agrees with closed forms where nobody shares a server, and keeps its order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from simpy import AllOf, Environment, Event

from tests.support.histories import budget, calls_of, react_history
from tests.support.specs import Summariser, build
from tests.support.timing import Timed
from thimble.lab.comem.agent_runs import MAX_STEPS, AgentRun, MeanSizes, TurnSize, draw_runs
from thimble.lab.comem.hosts import A100, GLM_4_7, QWEN3_4B, QWEN3_32B, USABLE, Gpu, Host, Model
from thimble.lab.comem.pipeline import COMEM_STRATEGIES, Deployment, Strategy, simulate_agents
from thimble.lab.comem.simulated_server import Counts, PromptRequest, SimulatedServer

MODEL = Model("small", parameters=1_000, active=1_000, width=2, kv=64)
GPU = Gpu("old", memory=1e9, bandwidth=1e5, pcie=1e4, operations={2: 1e7}, chunk=16)
AMPLE = 100_000
TURNS = st.builds(TurnSize, st.integers(1, 20), st.integers(0, 60))
RUNS = st.builds(AgentRun, st.integers(1, 50), st.lists(TURNS, min_size=1, max_size=9))
BATCHES = st.lists(RUNS, min_size=1, max_size=5)
MODELS = st.sampled_from([MODEL, replace(MODEL, active=300, chosen=0.1)])


def host(room: int = AMPLE, model: Model = MODEL, gpu: Gpu = GPU) -> Host:
    """A host whose cache holds so many tokens."""
    memory = (model.weights + (room + 0.5) * model.kv) / USABLE
    return Host(model, replace(gpu, memory=memory), 1)


def largest(run: AgentRun, summary: int) -> int:
    """Tokens that no request of the run passes, under any strategy."""
    return run.head + summary + sum(turn.size for turn in run.turns) + summary


@st.composite
def scenes(draw: st.DrawFn, batches: st.SearchStrategy[list[AgentRun]] = BATCHES) -> tuple[list[AgentRun], Deployment]:
    """Runs and two servers, mostly with too little room for all of them."""
    runs = draw(batches)
    summary = draw(st.integers(1, 60))
    least = max(largest(run, summary) for run in runs)
    agent, memory = (host(least + draw(st.integers(0, least)), draw(MODELS)) for _ in range(2))
    strategy = draw(st.sampled_from(COMEM_STRATEGIES))
    tool = draw(st.sampled_from([0.0, 0.01, 1.0]))
    return runs, Deployment(agent, memory, strategy, draw(st.integers(1, 3)), draw(st.booleans()), tool, summary)


ALONE = scenes(RUNS.map(lambda run: [run]))

# --- an oracle, written apart: the prompts as lists of tokens, and an agent alone on both servers ---------------------


def tokens(run: AgentRun, first: int, last: int) -> list[object]:
    """The turns of a run from `first` to before `last`, token by token."""
    return [(at, place) for at in range(first, last) for place in range(run.turns[at].size)]


def shared(one: list[object], other: list[object]) -> int:
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def serving(at: Host, prompt: int, cached: int, output: int) -> float:
    """Seconds of a request that is alone on its server."""
    rate, bandwidth = at.prefill, at.bandwidth

    def linear(tokens: int) -> float:
        return max(at.model.read(tokens) / bandwidth, tokens / rate)

    left, seconds = prompt - min(cached, prompt - 1), 0.0
    while left > 0:
        seconds += linear(min(left, at.gpu.chunk))
        left -= at.gpu.chunk
    return seconds + sum(linear(1) + (prompt + done) * at.model.kv / bandwidth for done in range(output))


@dataclass
class Alone:
    """What one agent did on empty servers with room for everything: its prompts, its seconds, and those of waiting."""

    prompts: list[list[object]] = field(default_factory=list)
    now: float = 0.0
    waited: float = 0.0


def alone(run: AgentRun, setting: Deployment) -> Alone:
    """The run, with the rules of `comem` by hand: (turns, when) of each summary that was asked for, oldest first."""
    done, k = Alone(), setting.k
    head: list[object] = [("head", place) for place in range(run.head)]
    left: list[object] = []
    summaries: list[tuple[int, float]] = []
    used, since = 0, 0
    for step, turn in enumerate(run.turns):
        done.now += setting.tool if step else 0
        if setting.strategy in ("synchronous", "k-step-off"):
            come = [covers for covers, when in summaries if when <= done.now]
            if come and come[-1] > used and (not used or step - since >= k):
                used, since = come[-1], step
            if used == (summaries[-1][0] if summaries else 0) and step - k >= used + k:
                read = [run.head + len(tokens(run, 0, covers)) for covers in (used, step - k)]
                seconds = serving(setting.memory, read[1], read[0] if used else 0, setting.summary)
                summaries.append((step - k, done.now + seconds))
                if setting.strategy == "synchronous":
                    done.waited += seconds
                    done.now += seconds
                    used, since = step - k, step
        elif setting.strategy == "no summary":
            used = max(0, step - k)
        says = used and setting.strategy != "no summary"
        summary: list[object] = [("summary", used, place) for place in range(setting.summary)] if says else []
        prompt = head + summary + tokens(run, used, step)
        done.prompts.append(prompt)
        done.now += serving(setting.agent, len(prompt), shared(left, prompt), turn.output)
        left = prompt + [(step, place) for place in range(turn.output)]
    return done


# --- laws -------------------------------------------------------------------------------------------------------------


@given(scenes())
def test_every_reply_is_decoded_once_and_every_prompt_token_is_cached_fetched_or_prefilled(
    scene: tuple[list[AgentRun], Deployment],
) -> None:
    runs, setting = scene
    found = simulate_agents(runs, setting)
    assert found.agent.requests == sum(len(run.turns) for run in runs)
    assert found.agent.decoded == sum(turn.output for run in runs for turn in run.turns)
    under_way = len(runs) if setting.strategy == "k-step-off" else 0  # the last summary of an agent is for nothing
    ended = setting.summary * (found.memory.requests - under_way)
    assert ended <= found.memory.decoded <= setting.summary * found.memory.requests
    if setting.strategy != "k-step-off":  # when a summary comes says how long the next prompts are
        prompts = [len(prompt) for run in runs for prompt in alone(run, setting).prompts]
        assert found.agent.cached + found.agent.fetched + found.agent.prefilled == sum(prompts)
    assert (found.memory.requests > 0) <= (setting.strategy in ("synchronous", "k-step-off"))
    assert (found.waited > 0) <= (setting.strategy == "synchronous")


@given(ALONE)
def test_an_agent_alone_takes_the_time_of_the_closed_form(scene: tuple[list[AgentRun], Deployment]) -> None:
    (run,), setting = scene
    found, by_hand = simulate_agents([run], setting), alone(run, setting)
    assert (found.seconds, found.waited) == pytest.approx((by_hand.now, by_hand.waited))
    assert found.agent.cached + found.agent.fetched + found.agent.prefilled == sum(map(len, by_hand.prompts))


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("name", ["background", "waited", "none"])
def test_the_window_is_that_of_the_strategy(name: str, k: int) -> None:
    """The memory model is done before the next call, here and there: the same turns stand in each prompt."""
    worker, sizes = Timed(), []
    strategy, history = build(f"comem:k={k},summary={name}", Summariser(), worker), react_history(12)
    for messages in calls_of(history):
        worker.end()
        view = strategy.prepare(messages, budget(100_000))
        sizes.append((sum(message.role == "assistant" for message in view), any(message.covers for message in view)))
    called: dict[str, Strategy] = {"background": "k-step-off", "waited": "synchronous", "none": "no summary"}
    run = AgentRun(100, [TurnSize(1, 6)] * len(sizes))
    found = simulate_agents([run], Deployment(host(), host(), called[name], k, offload=False, tool=1_000.0, summary=50))
    sent = found.agent.cached + found.agent.prefilled
    assert sent == sum(100 + 7 * stand + 50 * summarised for stand, summarised in sizes)


@given(scenes())
def test_offload_prefills_only_what_is_new(scene: tuple[list[AgentRun], Deployment]) -> None:
    runs, setting = scene
    assume(setting.strategy != "k-step-off")  # its prompts depend on the time
    copies = simulate_agents(runs, replace(setting, offload=True)).agent
    ample = simulate_agents(runs, replace(setting, agent=host(model=setting.agent.model), offload=False)).agent
    assert copies.prefilled == ample.prefilled


@st.composite
def chains(draw: st.DrawFn) -> tuple[list[PromptRequest], Host]:
    """Requests of a few owners, each asked when the one before is done, and a host with room for the largest."""
    sizes: dict[int, int] = {}
    requests = []
    for _ in range(draw(st.integers(4, 12))):
        owner, output = draw(st.integers(0, 3)), draw(st.integers(1, 30))
        shared = sizes.get(owner, 0) - draw(st.integers(0, sizes.get(owner, 0) // 4))
        requests.append(PromptRequest(owner, shared + draw(st.integers(1, 60)), shared, output))
        sizes[owner] = requests[-1].size
    return requests, host(max(request.size for request in requests) + draw(st.integers(0, 120)), draw(MODELS))


def in_turn(requests: list[PromptRequest], at: Host, offload: bool) -> tuple[float, Counts]:
    env = Environment()
    server = SimulatedServer(env, at, offload)
    for request in requests:
        env.run(server.ask(request))
    return env.now, server.counts


def one_by_one(asked: list[tuple[float, PromptRequest]], at: Host) -> float:
    """When the last reply ends, if every iteration is counted by itself and no cache is used again."""
    now = 0.0
    waiting, prefilling, decoding = sorted(asked, key=lambda each: each[0]), [], []
    while waiting or prefilling or decoding:
        work = [request for request, _ in prefilling + decoding]
        if waiting and waiting[0][0] <= now and sum(r.size for r in work) + waiting[0][1].size <= at.room:
            prefilling.append((waiting[0][1], waiting.pop(0)[1].prompt))
            continue
        if not work:
            now = waiting[0][0]
            continue
        budget = at.gpu.chunk - len(decoding)
        before, prefilling = prefilling, []
        read = sum(request.prompt + done for request, done in decoding)
        replies = len(decoding)
        decoding = [(request, done + 1) for request, done in decoding if done + 1 < request.output]
        left = budget
        for request, missing in before:
            taken = min(left, missing)
            left -= taken
            (prefilling if missing > taken else decoding).append((request, missing - taken))
        now += at.iteration(replies + budget - left) + read * at.attention
    return now


ASKED = st.tuples(
    st.floats(0, 3), st.builds(PromptRequest, st.just(0), st.integers(1, 60), st.just(0), st.integers(1, 30))
)


@given(st.lists(ASKED, min_size=1, max_size=8), st.integers(0, 200), MODELS)
def test_iterations_together_take_the_time_of_each_by_itself(
    asked: list[tuple[float, PromptRequest]], more: int, model: Model
) -> None:
    asked = [(at, replace(request, owner=owner)) for owner, (at, request) in enumerate(asked)]
    at = host(max(request.size for _, request in asked) + more, model)
    env = Environment()
    server = SimulatedServer(env, at, offload=False)

    def owner(start: float, request: PromptRequest) -> Iterator[Event]:
        yield env.timeout(start)
        yield server.ask(request)

    env.run(AllOf(env, [env.process(owner(*each)) for each in asked]))
    assert env.now == pytest.approx(one_by_one(asked, at))


@given(chains())
def test_the_least_recently_used_goes_first_and_its_end_before_its_beginning(
    chain: tuple[list[PromptRequest], Host],
) -> None:
    requests, at = chain
    held: list[tuple[int, int]] = []  # owner and place; the first is the next to go
    cached = seconds = 0.0
    for request in requests:
        begins = request.shared if request.shared < request.prompt else request.prompt - 1
        found = len({(request.owner, place) for place in range(begins)} & set(held))
        held = [token for token in held if token[0] != request.owner]
        held = held[max(0, request.size + len(held) - at.room) :] if request.size < at.room else []
        held += [(request.owner, place) for place in reversed(range(request.size))]
        cached += found
        seconds += serving(at, request.prompt, found, request.output)
    time, counts = in_turn(requests, at, offload=False)
    assert counts.cached == cached
    assert time == pytest.approx(seconds)


def test_one_link_brings_back_one_prompt_after_the_other() -> None:
    at = host(200, gpu=replace(GPU, pcie=100))
    env = Environment()
    server = SimulatedServer(env, at, offload=True)
    for request in (PromptRequest(0, 80, 0, 10), PromptRequest(1, 80, 0, 10), PromptRequest(2, 190, 0, 10)):
        env.run(server.ask(request))
    start = env.now
    env.run(AllOf(env, [server.ask(PromptRequest(owner, 95, 90, 5)) for owner in (0, 1)]))
    assert server.counts.fetched == 180
    assert env.now - start > 180 * at.fetch


# --- examples ---------------------------------------------------------------------------------------------------------


def test_drawn_runs_have_the_means_that_were_asked_for() -> None:
    runs = draw_runs(128, 34.39, MeanSizes(2_000, 1_000, 640), 0)
    turns = [turn for run in runs for turn in run.turns]
    assert len(turns) / 128 == pytest.approx(34.39, rel=0.02)
    assert sum(turn.output for turn in turns) / len(turns) == pytest.approx(1_000, rel=0.02)
    assert sum(turn.observation for turn in turns) / len(turns) == pytest.approx(640, rel=0.02)
    assert max(len(run.turns) for run in runs) <= MAX_STEPS
    assert draw_runs(8, 10, MeanSizes(100, 80, 120), 1) == draw_runs(8, 10, MeanSizes(100, 80, 120), 1)
    assert draw_runs(8, 10, MeanSizes(100, 80, 120), 1) != draw_runs(8, 10, MeanSizes(100, 80, 120), 2)


def test_facts_agree_with_the_paper() -> None:
    assert QWEN3_32B.kv * 2**16 == 16 * 2**30  # 64K tokens take 16 GB (2.2)
    assert QWEN3_4B.kv / QWEN3_32B.kv == pytest.approx(0.5, abs=0.1)  # roughly half of the space (2.2)
    assert Host(QWEN3_32B, A100, 1).prefill == pytest.approx(3_000)  # (3.3)
    assert GLM_4_7.read(1) == pytest.approx(GLM_4_7.active * GLM_4_7.width)
    assert GLM_4_7.read(10_000) == pytest.approx(GLM_4_7.weights)
