"""The members of a large family of cases: one is in every run, the others in the nightly one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def family(members: Iterable[Any]) -> list[Any]:
    """The parameters of a test, each a value or a tuple of them; the first represents the others by day."""
    first, *others = members
    return [first, *(pytest.param(*_values(each), marks=pytest.mark.nightly) for each in others)]


def _values(member: Any) -> tuple[Any, ...]:
    return member if isinstance(member, tuple) else (member,)
