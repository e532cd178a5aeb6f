"""Replay recorded runs under strategies: the view of each call, and the tokens that a server would compute for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from statistics import fmean
from typing import Any

from thimble.agent.budget import Budget, Counter, Prices
from thimble.agent.errors import BudgetError, UsageError
from thimble.agent.fit import fit
from thimble.agent.messages import Message, Schema
from thimble.agent.protocols import UNKNOWN_MODEL, Backend, Strategy
from thimble.agent.reply import Reply
from thimble.agent.side import SideModel
from thimble.agent.turns import pinned, task
from thimble.agent.view import View
from thimble.commands.as_recorded import as_recorded
from thimble.commands.replay import AS_RECORDED, Replayed, ReplayedCall
from thimble.commands.replay import replay_strategy as replay_history
from thimble.commands.trajectories import Trajectory
from thimble.lab.action_similarity import Action, similarity
from thimble.lab.experiment_flags import settings_of
from thimble.lab.replay.fake_model import AnsweredPrompt, FakeModel
from thimble.models.counting.vocabulary import counter_for
from thimble.models.embeddings.static import static_embedder
from thimble.session.session import Session
from thimble.session.step_worker import StepWorker
from thimble.strategies.spec import make_strategy

Make = Callable[[str, SideModel], Strategy]
"""Makes the strategy of a SPEC with fresh state; it asks the given model."""


@dataclass(frozen=True, slots=True)
class ReplaySetting:
    """The settings of a replay. `model` is the tokenizer, "" a generic one; a summary has `summary_tokens`.

    `side_cache`: the agent and the strategy's own calls share a prefix cache. A background call goes to a server of its
    own, and is done when the agent has prepared `lag` calls without it. `actor`: the model that proposes the next
    action on each view, and writes the summaries; "" for none.
    """

    strategy: str
    limit: int
    prices: Prices
    model: str
    summary_tokens: int
    side_cache: bool = True
    lag: int = 0
    actor: str = ""


@dataclass(frozen=True, slots=True)
class RecordedCall(ReplayedCall):
    """One call of the recorded agent.

    `prompts`: the prompts of the strategy's own calls, each with the tokens of its reply. `agreement`: the similarity
    of the action that the actor proposes on this view to the recorded one, from 0 to 1 (CoMem, Eq. 9).
    """

    turn: int = 0
    prompts: Sequence[AnsweredPrompt] = ()
    agreement: float | None = None


def replay_run(run: Trajectory, setting: ReplaySetting, make: Make = make_strategy) -> Iterator[RecordedCall]:
    """The calls of a recorded run under a strategy; calls that cannot fit the budget have no view under any strategy.

    Raises:
        UsageError: the strategy fails.
    """
    counter, writer = counter_of(setting.model), actor_of(setting.actor)
    budget = Budget(setting.limit, counter, counter.overhead(run.tools), setting.prices)
    server, memory = (
        FakeModel(counter, setting.summary_tokens, setting.side_cache, writer, name) for name in ("server", "memory")
    )
    side = SideModel(server, static_embedder(), memory, StepWorker(setting.lag))
    model = server.id if setting.side_cache else UNKNOWN_MODEL  # another id means another prefix cache
    if setting.strategy == AS_RECORDED:
        views = enumerate(as_recorded(run, budget, model), 1)
        yield from (RecordedCall(view, None, asked, turn) for turn, (view, asked) in views)
        return
    strategy = make(setting.strategy, side)
    sent = [at for at in run.calls if can_be_sent(run.messages[:at], budget)]
    calls = replay_history(run.messages, strategy, budget, run.tools, side, model, sent)
    for turn, at in enumerate(run.calls, 1):
        try:
            call = next(calls) if at in sent else ReplayedCall()
        except (Exception, SystemExit) as error:
            said = " ".join(str(error).split())
            said = said if isinstance(error, UsageError) else f"{type(error).__name__}: {said}"
            what = f"{setting.strategy} failed on {run.name}, turn {turn}: {said}"
            raise UsageError(what, "fix the strategy, or leave it out") from error
        agreement = _agreement(call.view, run, run.messages[at], writer) if call.view and writer else None
        prompts = [*server.drain(), *memory.drain()]
        yield RecordedCall(call.view, call.error, call.events, turn, prompts, agreement)


@cache
def actor_of(model: str) -> Backend | None:
    """The model of this name, one for each process, at temperature 0; None for "". Raises ThimbleError."""
    return Session(settings_of(model, temperature=0.0)).agent.backend if model else None


def _agreement(view: View, run: Trajectory, action: Message, actor: Backend) -> float:
    return similarity(proposed_action(actor, view.messages, run.tools), Action.of(action))


def proposed_action(actor: Backend, messages: Sequence[Message], tools: Sequence[Schema]) -> Action:
    """The model's next action on these messages. Raises ModelError."""
    reply = Reply.of(actor.stream(messages, tools))
    return Action.of(Message("", "assistant", reply.text, calls=tuple(reply.calls)))


@cache
def counter_of(model: str) -> Counter:
    """The counter of a model, one for each process, so that counts are remembered."""
    return counter_for(model)


def decides_by_price(spec: str, model: str, make: Make = make_strategy) -> bool:
    """Whether the views of a strategy depend on the price card. Raises UsageError if there is no such strategy."""
    if spec == AS_RECORDED:
        return False
    return bool(getattr(make(spec, SideModel(FakeModel(counter_of(model), 0), static_embedder())), "priced", False))


def can_be_sent(history: Sequence[Message], budget: Budget) -> bool:
    """Whether the smallest possible view fits; if not, the call is left out under every strategy, even `none`."""
    if not budget.over(history):
        return True
    try:
        fit(history, budget, pinned(history), early={*task(history)[:-1]})
    except BudgetError:
        return False
    return True


def run_figures(run: Trajectory, calls: Sequence[RecordedCall], counter: Counter) -> dict[str, Any]:
    """The sums of one run, in tokens unless the name says otherwise.

    `prompt_tokens`, `prefill_tokens` and `over_budget` count the agent's calls, `side_…` the strategy's own, and
    `refused` those that cannot fit. `agreement` is the mean over the `acted` calls, for which an action was proposed.
    `history_tokens` and `observation_tokens` count the recorded run. The last four are `Faults`.
    """
    found = Replayed("")
    for call in calls:
        found.add(call, run.needs)
    asked = [side for side in found.asked if not side.error]
    reported = [(side.shared, side.usage.cached_tokens) for side in asked]  # a reported count beats ours
    alike = [call.agreement for call in calls if call.agreement is not None]
    return {
        "calls": len(calls) - found.refused,
        "refused": found.refused,
        "prompt_tokens": found.prompt,
        "prefill_tokens": found.prefill,
        "over_budget": found.over,
        "edits": sum(call.view.edited for call in calls if call.view),
        "side_calls": len(asked),
        "side_prompt_tokens": sum(side.prompt_tokens for side in asked),
        "side_cached_tokens": sum((shared if cached is None else cached) or 0 for shared, cached in reported),
        "side_output_tokens": sum(side.usage.output_tokens or 0 for side in asked),
        "history_tokens": sum(map(counter.count, run.messages)),
        "observation_tokens": sum(counter.count(message) for message in run.messages if message.role == "tool"),
        "acted": len(alike),
        "agreement": fmean(alike) if alike else None,
        **asdict(found.faults),
    }


def run_cost(of: Mapping[str, Any], prices: Prices) -> float:
    """The total cost of a run with these sums, in computed prompt tokens."""
    cached = of["prompt_tokens"] - of["prefill_tokens"] + of["side_cached_tokens"]
    prompt = prices.prompt(of["prompt_tokens"] + of["side_prompt_tokens"], cached)
    whole: float = prompt + prices.output * of["side_output_tokens"]
    return whole
