"""Why: the rule that decided the fate of a message, in one sentence."""

from __future__ import annotations

from thimble.agent.messages import YOU, Message, pending_turn
from thimble.agent.steps import DROPPED
from thimble.agent.turns import question, task
from thimble.agent.view import View

NO_REASON = "the strategy gave no reason"


def why(view: View, place: int, strategy: str = "the strategy", sent: int | None = None) -> str:
    """The reason for the fate of the message at this place of the view's history, with its numbers.

    The strategy's own words, if it gave a reason; else a reason from the laws and the view. If parts of the strategy,
    `fit` or the user changed it, each step names its maker and the tokens after it, scaled to the tokens `sent` if
    given.
    """
    message, fate = view.history[place], view.fates[place]
    if fate == "kept":
        return "you pinned it" if message.id in list_overridden(view) else _explain_kept(view, message)
    if fate == "dropped":
        return view.left_out.get(message.id, "") or NO_REASON
    steps = view.steps.get(message.id, ())
    if any(step.by for step in steps) and steps[-1].tokens:
        scale = 1 if sent is None else sent / steps[-1].tokens
        return "; ".join(
            f"{step.by or strategy} made it {step.tokens * scale:,.0f} tokens ({step.why or NO_REASON})"
            for step in steps
        )
    copies = (copy for copy in view.messages if copy.id == message.id or message.id in copy.covers)
    return next((copy.why for copy in copies if copy.why), NO_REASON)


def list_overridden(view: View) -> set[str]:
    """The ids of the messages that the user has pinned, dropped or edited in this view."""
    dropped = (id_ for id_, reason in view.left_out.items() if reason == DROPPED)
    return {*dropped, *(message.id for message in view.messages if message.ref == YOU)}


def _explain_kept(view: View, message: Message) -> str:
    history = view.history
    pinned = (
        (history[:1], "the system message is first in every view, byte for byte"),
        ((question(history),), "the current question stays in every view, word for word"),
        (task(history), "the first task stays in every view, word for word"),
        (pending_turn(history), "its turn still waits for results, and stays whole"),
    )
    law = next((rule for messages, rule in pinned if any(one is message for one in messages)), "")
    return law or f"the strategy left it as it was; the view is {view.tokens:,} of {view.limit:,} tokens"
