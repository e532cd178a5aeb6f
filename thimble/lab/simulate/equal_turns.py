"""Make a run of equal turns: from given sizes, or from the means of recorded runs (Eq. 7)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from thimble.agent.budget import Counter
from thimble.agent.errors import UsageError
from thimble.agent.messages import Message, ToolCall
from thimble.commands.trajectories import Trajectory

TASK = "Find the fault and mend it."
TOOL = "read"


@dataclass(frozen=True, slots=True)
class MeanTurn:
    """The tokens of a turn: reasoning, action and observation, chat template included."""

    reasoning: int
    action: int
    observation: int


def mean_of_turns(runs: Sequence[Trajectory], counter: Counter) -> MeanTurn:
    """The rounded means over all turns of all runs, each with the same weight (Eq. 7).

    A turn is an assistant message; its calls are the action, and the results up to the next turn the observation.
    """
    turns = sum(run.turns for run in runs)
    if not turns:
        raise UsageError("the files have no turns", "give runs with assistant messages")
    said = [run.messages[at] for run in runs for at in run.calls]
    whole = sum(map(counter.count, said))
    words = sum(counter.count(replace(message, calls=())) for message in said)
    seen = sum(counter.count(message) for run in runs for message in run.messages if message.role == "tool")
    return MeanTurn(round(words / turns), round((whole - words) / turns), round(seen / turns))


def make_run(of: MeanTurn, turns: int, counter: Counter) -> Trajectory:
    """Make a run of a task and this many turns, each of this size.

    Raises:
        UsageError: a size is smaller than the chat template around an empty message.
    """

    def act(turn: int, words: int) -> Message:
        call = ToolCall(f"c{turn}", TOOL, f'{{"part": "{turn:05}"}}')
        return Message(f"a{turn}", "assistant", f"step {turn:05}{' on' * words}", calls=(call,))

    def see(turn: int, words: int) -> Message:
        return Message(f"o{turn}", "tool", f"part {turn:05}{' of' * words}", call_id=f"c{turn}", name=TOOL)

    said = _count_words_that_fit(
        of.reasoning + of.action, lambda words: counter.count(act(1, words)), "--reasoning and --action"
    )
    seen = _count_words_that_fit(of.observation, lambda words: counter.count(see(1, words)), "--observation")
    messages = [Message("task", "user", TASK)]
    for turn in range(1, turns + 1):
        messages += [act(turn, said), see(turn, seen)]
    return Trajectory(f"{turns} turns", messages)


def _count_words_that_fit(tokens: int, size: Callable[[int], int], flags: str) -> int:
    """The maximum words that fit into a message of this many tokens."""
    least = size(0)
    if tokens < least:
        raise UsageError(f"{flags} cannot be {tokens} tokens a turn", f"give at least {least}, for the chat template")
    return bisect_right(range(tokens + 1), tokens, key=size) - 1
