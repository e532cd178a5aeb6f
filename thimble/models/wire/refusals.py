"""Refusals of servers, recognised by their words: a table of examples, patterns and advice for each server."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from thimble.agent.errors import ModelError


@dataclass(frozen=True, slots=True)
class Refusal:
    """One kind of refusal, in the words of servers and in ours.

    `what` and `fix` may name the {model} and quote the {error}.
    """

    examples: tuple[str, ...]
    """Wordings of real servers, which `pattern` matches and no other row's pattern does."""

    pattern: str
    what: str
    fix: str
    kind: type[ModelError] = ModelError


def recognised(table: Sequence[Refusal], error: str, model: str) -> ModelError | None:
    """The error to raise for a server's words about a model; None if no row of the table matches them."""
    for row in table:
        if re.search(row.pattern, error, re.IGNORECASE):
            return row.kind(row.what.format(model=model, error=error), row.fix.format(model=model))
    return None
