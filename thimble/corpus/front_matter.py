"""Front matter: the YAML block at the head of an article, every value of it read as text."""

from __future__ import annotations

import re
from collections.abc import Sequence

FRONT_MATTER_CHARACTERS = 10_000  # libyaml's recursion crashes the process on tens of thousands of open brackets


def split(text: str) -> tuple[dict[str, object], str]:
    """The fields of the YAML block at the start of a text, if there is one, and the rest. Raises ValueError."""
    block = re.match(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", text, re.DOTALL | re.MULTILINE)
    if not block:
        return {}, text
    if len(block[1]) > FRONT_MATTER_CHARACTERS:
        raise ValueError(f"its front matter is longer than {FRONT_MATTER_CHARACTERS:,} characters")
    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # every scalar stays text, as written
    try:
        meta = yaml.load(block[1], loader)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 2}" if mark else ""
        problem = getattr(error, "problem", "") or "it cannot be read"
        raise ValueError(f"its front matter is broken{where}: {problem}") from error
    if isinstance(meta, dict):
        return meta, text[block.end() :]
    return ({}, text) if meta else ({}, text[block.end() :])


def one(meta: dict[str, object], field: str) -> str:
    """A field of one text, "" without it. Raises ValueError for anything else."""
    value = meta.get(field) or ""
    if not isinstance(value, str):
        raise ValueError(f"its front matter is broken: {field} must be one text")
    return " ".join(value.split())


def many(meta: dict[str, object], field: str, separator: str | None = None) -> tuple[str, ...]:
    """A field of several texts, or one text cut at `separator`. Raises ValueError for anything else."""
    value = meta.get(field) or []
    if isinstance(value, str):
        value = value.split(separator) if separator else [value]
    items = [_item(item) for item in value] if isinstance(value, Sequence) else [None]
    if None in items:
        raise ValueError(f"its front matter is broken: {field} must be a list of texts")
    return tuple(" ".join(item.split()) for item in items if item and item.strip())


def _item(item: object) -> str | None:
    """An item of a list as text; `a: b` without quotes arrives as a mapping."""
    if isinstance(item, dict) and all(isinstance(value, str) for value in item.values()):
        return ", ".join(f"{key}: {value}" for key, value in item.items())
    return item if isinstance(item, str) else None
