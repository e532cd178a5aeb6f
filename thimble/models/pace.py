"""Paces by name, and the hardware that a user's settings files describe."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import fields

from thimble.agent.errors import UsageError
from thimble.models.hardware import HARDWARE, Hardware

Pace = Hardware | None
"""How fast a model replies; None for no delay."""
MAX_RATE = 10_000
"""The highest pace that is a number, in tokens a second."""
LEGAL = {"prefill": (0.1, 1e9), "token_seconds": (0.0, 60.0), "slope": (0.0, 1.0), "load_seconds": (0.0, 600.0)}
"""The lowest and highest value of each number of a row; the units are those of `Hardware`."""
NEEDED = ("prefill", "token_seconds")
NAME = re.compile(r"[a-z][a-z0-9.-]{0,39}")
PACE_WORDS = ("inf", "infinity", "nan", "key", "original")
"""Names that mean something else as a pace."""


def parse_machines(text: str, rows: Mapping[str, Hardware]) -> tuple[Hardware, Hardware] | None:
    """The machines of the agent's model and of the memory model, if a pace names one of these rows, or two."""
    names = [name.strip() for name in text.split(",")]
    return (rows[names[0]], rows[names[-1]]) if len(names) <= 2 and rows.keys() >= {*names} else None


def parse_paces(text: str, rows: Mapping[str, Hardware] = HARDWARE) -> tuple[Pace, Pace]:
    """The paces of the agent's model and of the memory model, from the value of `--pace`.

    A number of tokens a second (the prompt then takes no time; at 0 the reply does not either), a name of these rows,
    or two names with a comma. One name is for both models.

    Raises:
        ValueError: the value has another form.
    """
    if named := parse_machines(text, rows):
        return named
    rate = float(text)
    if not 0 <= rate <= MAX_RATE:
        raise ValueError
    pace = Hardware(math.inf, 1 / rate) if rate else None
    return pace, pace


def read_hardware(table: object, called: str) -> dict[str, Hardware]:
    """The rows `[hardware.NAME]` of a settings file; `called` is its name in errors.

    Raises:
        UsageError: a row is not valid hardware, or has the name of a built-in row.
    """
    if not isinstance(table, dict):
        raise UsageError(f"hardware cannot be {table!r:.40} ({called})", "write a table [hardware.NAME]")
    return {name: _row(name, row, called) for name, row in table.items()}


def _row(name: str, row: object, called: str) -> Hardware:
    if not NAME.fullmatch(name) or name in (*PACE_WORDS, *HARDWARE):
        taken = f"not one of {', '.join((*PACE_WORDS, *HARDWARE))}"
        fix = f"use lower-case letters, digits, - and ., starting with a letter, {taken}"
        raise UsageError(f"hardware cannot be called {name!r:.42} ({called})", fix)
    row = {key.replace("-", "_"): value for key, value in row.items()} if isinstance(row, dict) else {}
    known = [field.name for field in fields(Hardware)]
    strange = next((key for key in row if key not in known), None)
    if strange is not None:
        raise UsageError(
            f"[hardware.{name}] has an unknown key {strange!r:.40} ({called})", f"known: {', '.join(known)}"
        )
    missing = next((key for key in NEEDED if key not in row), None)
    if missing:
        raise UsageError(f"[hardware.{name}] has no {missing} ({called})", f"it needs {' and '.join(NEEDED)}")
    return Hardware(**{key: _number(name, key, value, called) for key, value in row.items()})


def _number(name: str, key: str, value: object, called: str) -> float:
    least, most = LEGAL[key]
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        what = f"{key} of [hardware.{name}] cannot be {value!r:.40} ({called})"
        raise UsageError(what, f"it takes a number, {least:g} to {most:,.0f}")
    return float(value)
