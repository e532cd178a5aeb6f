"""Recitals: words put behind the view for one call alone. The prefix stays as it is, so they cost what they are."""

from __future__ import annotations

from collections.abc import Sequence

from agent.messages import Message, pending
from agent.prompts import RECITAL_TAG


def recited(view: Sequence[Message], name: str, text: str, why: str) -> list[Message]:
    """The view with these words at its end, as the user's; the view alone while calls at its end wait for results."""
    return [*view] if pending(view) else [*view, Message(name, "user", f"{RECITAL_TAG}\n{text}", why=why)]
