"""The names that papers and their readers give to strategies, and the short ones for a narrow screen."""

from __future__ import annotations

SHORT_NAMES = {
    "observation-masking": "masking",
    "sliding-window": "window",
    "progressive-summary": "progressive",
    "llm-summary": "llm",
    "critic-summary": "critic",
    "summary-buffer": "buffer",
}
"""Names for little room, by ours; they can be typed."""
PAPER_NAMES = {
    **{short: ours for ours, short in SHORT_NAMES.items()},
    "raw": "none",
    "raw-agent": "none",
    "observation-masking": "observation-masking",
    "llm-summary": "llm-summary",
    "critic-enhanced-summary": "critic-summary",
    "critic-enhanced-llm-summary": "critic-summary",
    "hybrid": "hybrid",
    "comem": "comem",
    "sliding-window": "sliding-window",
}
"""Our name for each, in small letters with `-` for a blank."""


def in_our_names(spec: str) -> str:
    """A SPEC whose parts have our names; every other part stays as it is typed."""
    return "+".join(_in_our_name(part) for part in spec.split("+"))


def short_name(spec: str) -> str:
    """The SPEC where there is little room: `todo+window` for `todo+sliding-window:window=4`."""
    return "+".join(SHORT_NAMES.get(name, name) for name in (part.partition(":")[0] for part in spec.split("+")))


def _in_our_name(part: str) -> str:
    name, colon, settings = part.partition(":")
    ours = PAPER_NAMES.get("-".join(name.lower().split()))
    return ours + colon + settings if ours else part
