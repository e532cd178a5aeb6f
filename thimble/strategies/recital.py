"""Recitals: text added after the view for one call only. The prefix stays, so a recital costs only its own tokens."""

from __future__ import annotations

from collections.abc import Sequence

from thimble.agent.messages import Message
from thimble.agent.prompts import SUMMARY_TAG


def make_recital(name: str, text: str, why: str) -> Message:
    """A user message with this text, to append to a view; not while calls there wait for results."""
    return Message(name, "user", f"{SUMMARY_TAG}\n{text}", why=why)


def without_recital(view: Sequence[Message], history: Sequence[Message]) -> list[Message]:
    """The view up to its last message that is in the history."""
    known = {message.id for message in history}
    end = next((at + 1 for at in reversed(range(len(view))) if view[at].id in known), 0)
    return list(view[:end])
