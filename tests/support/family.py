"""The members of a large family of cases: one is in every run, the others in the nightly one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def family(members: Iterable[Any], *by_day: Any) -> list[Any]:
    """The parameters of a test, each a value or a tuple of them; those named, or the first, represent the others."""
    members = list(members)
    day = by_day or members[:1]
    assert all(each in members for each in day)
    return [each if each in day else pytest.param(*_values(each), marks=pytest.mark.nightly) for each in members]


def _values(member: Any) -> tuple[Any, ...]:
    return member if isinstance(member, tuple) else (member,)
