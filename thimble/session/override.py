"""Override: the user pins, drops or edits a message of the history, or takes that back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thimble.agent.errors import UsageError
from thimble.agent.messages import blocks
from thimble.agent.override import Decision, Override
from thimble.agent.turns import task

if TYPE_CHECKING:
    from thimble.session.session import Session


def override_message(session: Session, place: int, deed: Decision, text: str = "") -> list[int]:
    """Override the message at this place of the history, counted from 1, from the next prompt on.

    If a summary covers a message that is dropped or edited, the strategy starts afresh and the summary is forgotten.

    Returns:
        The places of its turn, which stays or goes whole.

    Raises:
        UsageError: there is no such message, or the laws keep it in every view. Nothing has changed.
    """
    agent, history = session.agent, session.agent.history
    if not 1 <= place <= len(history):
        what = f"there is no message {place:,}: the history has {len(history):,}"
        raise UsageError(what, "/context next lists them, once you have asked something")
    message, first = history[place - 1], [*history[:1], *task(history)]
    if message in first:
        what = "the system prompt" if message.role == "system" else "the first task"
        fix = "choose another one; /reset starts over with another task"
        raise UsageError(f"message {place} is {what}, which is in every prompt, word for word", fix)
    turn = next(block for block in blocks(history) if place - 1 in block)
    ids, overrides = [history[at].id for at in turn], agent.state.overrides
    view = agent.ledger.view
    told = {id_ for sent in view.messages for id_ in sent.covers if id_ != sent.id} if view else set[str]()
    if deed in ("dropped", "edited") and told.intersection(ids):
        session.use_strategy(session.spec, watch=session.watched is not None)
    for id_ in ids:
        if id_ in overrides and (not deed or "dropped" in (deed, overrides[id_].deed)):
            agent.enter(Override(id_))
    agent.enter(Override(message.id, deed, text))
    return [at + 1 for at in turn]
