"""Keys and tokens in a text: known by their form, each replaced by `[masked: kind]`."""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import partial
from typing import Any

FORMS = {
    "private key": r"-----BEGIN[ A-Z]*PRIVATE KEY-----(?:(?s:.{0,9000}?)-----END[ A-Z]*PRIVATE KEY-----|[\w+/=\\\s]*)",
    "AWS key": r"(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    "GitHub token": r"(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{30,})",
    "GitLab token": r"glpat-[\w-]{20,}",
    "Anthropic key": r"sk-ant-[\w-]{20,}",
    "OpenAI key": r"sk-(?:proj-|svcacct-)?(?=[\w-]*\d)[\w-]{20,}",
    "Google key": r"AIza[\w-]{35}",
    "Slack token": r"xox[abeoprs]-[\w-]{10,}",
    "Hugging Face token": r"hf_[A-Za-z0-9]{30,}",
    "npm token": r"npm_[A-Za-z0-9]{36}",
    "PyPI token": r"pypi-[\w-]{50,}",
    "Stripe key": r"[sr]k_(?:live|test)_\w{16,}",
    "SendGrid key": r"SG\.[\w-]{16,}\.[\w-]{16,}",
    "JSON web token": r"eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]+",
    "password in a URL": r"://(?P<value>[^\s:/@\"'<>]+:[^\s/@\"'<>]{3,})(?=@)",
    "authorization": r"(?:[Bb]earer|[Bb]asic) (?P<value>[\w+/=.~-]{16,})",
    "value of a key": r"(?i:key|secret|token|passw(?:or)?d)\w{0,12}\\?[\"']?\s{0,2}[:=]\s{0,2}\\?[\"']?"
    r"(?P<value>[\w+/=.~-]{16,})",
}
"""A pattern for each kind of secret. Each starts with literal letters, which are fast to search for."""
PATTERNS = {kind: re.compile(form) for kind, form in FORMS.items()}
INSIDE = re.compile(r"(?<!\\)[\w-]\Z")
"""A word that starts before the match. After a backslash, a letter is an escape: arguments are JSON in JSON."""
LEAST_BITS = 3.5
"""Least entropy, in bits per character, of a value without a pattern of its own: words have less."""


def mask_secrets(value: Any, found: Counter[str]) -> Any:
    """The same value with every key and token in its texts masked, each counted by its kind."""
    if isinstance(value, str):
        for kind, pattern in PATTERNS.items():
            value = pattern.sub(partial(_mask, kind, found), value)
        return value
    if isinstance(value, list):
        return [mask_secrets(one, found) for one in value]
    return {key: mask_secrets(one, found) for key, one in value.items()} if isinstance(value, dict) else value


def _mask(kind: str, found: Counter[str], match: re.Match[str]) -> str:
    text, secret = match[0], match.groupdict().get("value", match[0])
    begun = secret == text and INSIDE.search(match.string, max(0, match.start() - 2), match.start())
    guessed = kind == "value of a key"
    if begun or (guessed and (_entropy_bits(secret) < LEAST_BITS or not re.search(r"\d", secret))):
        return text
    found[kind] += 1
    return text[: -len(secret)] + f"[masked: {kind}]"


def _entropy_bits(text: str) -> float:
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())
