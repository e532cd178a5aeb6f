"""A value that is made when it is first asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Made = TypeVar("Made")


class Once(Generic[Made]):
    """A value that is made once, by whichever thread asks first; the others wait for it."""

    def __init__(self, make: Callable[[], Made]) -> None:
        self._make = make
        self._made: list[Made] = []
        self._lock = threading.RLock()

    def __call__(self) -> Made:
        """The value; an error in making it is raised, and the next call tries again."""
        with self._lock:
            if not self._made:
                self._made.append(self._make())
            return self._made[0]

    @property
    def is_made(self) -> bool:
        """Whether it is made, so that a call would not wait."""
        return bool(self._made)
