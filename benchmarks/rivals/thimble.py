"""Ours: every strategy of the table, in the full pipeline: repair, strategy, laws, fit, measurement."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from benchmarks.judging import BUDGET, SUMMARY
from benchmarks.rivals.session import Entry, Session
from tests.support.histories import TinyCounter
from tests.support.scripted import Scripted
from thimble.agent.budget import Budget
from thimble.agent.messages import Message
from thimble.agent.side import SideModel
from thimble.agent.view import View, prepare
from thimble.lab.replay.fake_model import newest_name
from thimble.strategies.spec import make_strategy
from thimble.strategies.table import STRATEGIES, asks_a_model

TUNED = ["observation-masking:window=1,when=always"]
"""Close to the peers' own settings for a small budget: always mask all results except the newest turn's."""


def entries() -> list[Entry]:
    """Every strategy with its defaults, and the tuned ones."""
    asking = {name for name, kind in STRATEGIES.items() if asks_a_model(kind)}
    return [Entry(spec, partial(start, spec), spec in asking) for spec in (*STRATEGIES, *TUNED)]


def start(spec: str) -> Session:
    """A conversation under a SPEC; if that asks a model, the reply is always the same summary."""
    side = SideModel(Scripted([lambda messages, tools: f"{newest_name(messages)} {SUMMARY}"] * 999, TinyCounter()))
    strategy, budget = make_strategy(spec, side), Budget(BUDGET, TinyCounter())
    before: View | None = None

    async def manage(history: list[Message]) -> Sequence[Message]:
        nonlocal before
        before = prepare(history, strategy, budget, before)
        return before.messages

    return Session(manage, list, lambda message: [message])
