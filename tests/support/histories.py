"""The histories of the laws (`thimble.strategies.laws.histories`), and what becomes of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from thimble.agent.errors import ThimbleError
from thimble.strategies.laws.histories import *  # noqa: F403

Made = TypeVar("Made")


def outcome(make: Callable[[], Made]) -> Made | ThimbleError:
    """What is made, or the error that says why it cannot be."""
    try:
        return make()
    except ThimbleError as error:
        return error
