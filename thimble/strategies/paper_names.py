"""The names that papers and their readers give to strategies, and the short ones for a narrow screen."""

from __future__ import annotations

from collections.abc import Mapping

SHORT_NAMES = {
    "observation-masking": "masking",
    "sliding-window": "window",
    "progressive-summary": "progressive",
    "llm-summary": "llm",
    "critic-summary": "critic",
    "summary-buffer": "buffer",
}
"""Short names by ours, for little room; they can be typed, too."""
PAPER_NAMES = {
    **{name: ours for ours, short in SHORT_NAMES.items() for name in (ours, short)},
    "raw": "none",
    "raw-agent": "none",
    "critic-enhanced-summary": "critic-summary",
    "critic-enhanced-llm-summary": "critic-summary",
    "hybrid": "hybrid",
    "comem": "comem",
}
"""Our name for each, in small letters with `-` for a blank."""


def use_our_names(spec: str) -> str:
    """A SPEC whose parts have our names; every other part stays as typed."""
    return _renamed(spec, PAPER_NAMES)


def short_name(spec: str) -> str:
    """The SPEC in short names: `todo+window:window=4` for `todo+sliding-window:window=4`."""
    return _renamed(spec, SHORT_NAMES)


def _renamed(spec: str, names: Mapping[str, str]) -> str:
    parts = [part.partition(":") for part in spec.split("+")]
    keyed = [("-".join(name.lower().split()), name, colon + rest) for name, colon, rest in parts]
    return "+".join(names.get(key, name) + rest for key, name, rest in keyed)
