"""The names that papers and their readers give to strategies."""

from __future__ import annotations

PAPER_NAMES = {
    "raw": "none",
    "raw-agent": "none",
    "masking": "observation-masking",
    "observation-masking": "observation-masking",
    "llm-summary": "llm-summary",
    "critic-enhanced-summary": "critic-summary",
    "critic-enhanced-llm-summary": "critic-summary",
    "hybrid": "hybrid",
    "comem": "comem",
    "window": "sliding-window",
    "sliding-window": "sliding-window",
}
"""Our name for each, in small letters with `-` for a blank."""


def in_our_names(spec: str) -> str:
    """A SPEC whose parts have our names; every other part stays as it is typed."""
    return "+".join(_in_our_name(part) for part in spec.split("+"))


def _in_our_name(part: str) -> str:
    name, colon, settings = part.partition(":")
    ours = PAPER_NAMES.get("-".join(name.lower().split()))
    return ours + colon + settings if ours else part
