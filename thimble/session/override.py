"""Override: the user pins, drops or edits a message of the history, or takes that back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thimble.agent.errors import UsageError
from thimble.agent.messages import blocks
from thimble.agent.override import Deed, Override, overridden
from thimble.agent.turns import task

if TYPE_CHECKING:
    from thimble.session.session import Session

MOST_PINNED = 0.75
"""The share of the budget for what stands in every prompt: the rest is for the question and what it needs."""


def override(session: Session, place: int, deed: Deed, text: str = "") -> list[int]:
    """Decide about the message at this place of the history, counted from 1, from the next prompt on.

    A summary that tells of a message which is dropped or edited is forgotten: the strategy begins anew.

    Returns:
        The places of its turn, which stays or goes whole.

    Raises:
        UsageError: there is no such message, the laws decide about it, nothing is to take back, or the pinned messages
            would fill the budget. Nothing has changed.
    """
    agent, history = session.agent, session.agent.history
    if not 1 <= place <= len(history):
        there = f"the history has the messages 1 to {len(history):,}; /context next lists them"
        raise UsageError(f"there is no message {place:,}", there if history else "ask something first")
    message, first = history[place - 1], [*history[:1], *task(history)]
    if message in first:
        what = "the system prompt" if message.role == "system" else "the first task"
        fix = "choose another one; /reset begins with another task"
        raise UsageError(f"message {place} is {what}, which stands in every prompt, word for word", fix)
    turn = next(block for block in blocks(history) if place - 1 in block)
    ids, overrides = [history[at].id for at in turn], agent.state.overrides
    others = {id_: overrides[id_] for id_ in ids if id_ in overrides and id_ != message.id}
    undone = [Override(id_) for id_, its in others.items() if not deed or "dropped" in (deed, its.deed)]
    if not (deed or undone or message.id in overrides):
        what = f"message {place} is neither pinned, dropped nor edited"
        raise UsageError(what, "/context next says “by you” of those that are")
    one, budget = Override(message.id, deed, text), agent.budget(agent.schemas())
    needed = budget.size([*first, *overridden(history, {**overrides, message.id: one}).whole])
    if deed in ("pinned", "edited") and needed > MOST_PINNED * budget.limit:
        what = (
            f"with it {needed:,} of {budget.limit:,} tokens would stand in every prompt, and a quarter must stay free"
        )
        raise UsageError(what, "raise the budget with /budget N, shorten it with /edit N TEXT, or take another back")
    view = agent.ledger.view
    told = {id_ for sent in view.messages for id_ in sent.covers if id_ != sent.id} if view else set[str]()
    if deed in ("dropped", "edited") and told.intersection(ids):
        session.use_strategy(session.spec, watch=session.watched is not None)
    for each in (*undone, one):
        agent.enter(each)
    return [at + 1 for at in turn]
