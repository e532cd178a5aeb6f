"""Compact: fold old turns into the strategy's summary now, and read the memory files again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from thimble.agent.errors import UsageError
from thimble.agent.events import Changed, Preparing, SideCalled
from thimble.agent.messages import turns
from thimble.agent.override import apply_overrides
from thimble.session.totals import add_up

if TYPE_CHECKING:
    from thimble.session.session import Session


@dataclass(frozen=True, slots=True)
class Compacted:
    """The outcome: whether anything was folded, the cost of the model's calls, and the new system prompt.

    `failed` is the error of a call, "" if none failed. Tokens are those of the calls; None if unknown.
    """

    folded: bool
    failed: str
    calls: int
    prompt: int
    written: int | None
    system: str


def compact_session(session: Session, words: str) -> Compacted:
    """Fold everything before the newest turn into the summary; the words say what it should keep above all.

    A strategy that does not summarise gets compaction in front of it from then on. The prefix is lost anyway, so
    changes to the memory files take effect now.

    Raises:
        UsageError: there is nothing to fold, or a memory file cannot be read.
    """
    from thimble.strategies.by_hand import NOTHING_TO_SUMMARISE, has_summary

    if not has_summary(session.agent.strategy):
        if len(turns(session.agent.history)) < 2:
            raise UsageError(*NOTHING_TO_SUMMARISE)
        session.use_strategy(f"compaction:when=asked+{session.spec}")
    done = session.ask_aside(("compact", words), Compacted, lambda: _fold_turns(session, words))
    if done.folded and done.system != session.agent.state.system:
        session.agent.enter(Changed("system", done.system))
    return done


def _fold_turns(session: Session, words: str) -> Compacted:
    from thimble.strategies.by_hand import fold_now

    agent, system = session.agent, session.system(session.agent)
    tools = agent.schemas()
    agent.side.remember_tools(tools, agent.examples, agent.backend)
    before = len(agent.ledger.calls)
    try:
        history = apply_overrides(agent.history, agent.state.overrides)[0]
        folded = fold_now(agent.strategy, history, agent.budget(tools), words)
    finally:
        if paid := [*agent.side.drain_events()]:
            agent.enter(Preparing(1, agent.strategy_name, agent.limit))
        for event in paid:
            agent.enter(event)
    sums = add_up(agent.ledger.calls[before:])
    return Compacted(
        folded=folded,
        failed=next((one.error for one in paid if isinstance(one, SideCalled) and one.error), ""),
        calls=sums.calls,
        prompt=sums.prompt.tokens or sums.prompt.least,
        written=sums.output.tokens,
        system=system,
    )
