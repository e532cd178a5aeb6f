"""Load stored sets of outputs, made by people who did not know how any strategy shortens a text."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from benchmarks.planted.output import Fact, Output

FOLDER = Path(__file__).parent
KEPT = ("held-out", "seen")
"""The names of the sets. The authors of the excerpt saw only figures of the first, but lost facts of the second."""


def kept(name: str, seed: int) -> list[Output]:
    """The outputs of a set for a seed: 0, 1 or 2; no other seed has any."""
    with gzip.open(FOLDER / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        entries = [entry for entry in map(json.loads, lines) if entry.pop("seed") == seed]
    return [Output(**entry | {"facts": tuple(map(_fact, entry["facts"]))}) for entry in entries]


def _fact(entry: dict[str, object]) -> Fact:
    return Fact(**entry | {"needles": tuple(entry["needles"])})
