"""The one way to write figures: `?` is unknown, `~` an estimate, `≥` the known part of an unknown sum."""

from __future__ import annotations

from thimble.agent.ledger import Amount
from thimble.tools.wording import count_noun


def format_tokens(count: int | None, exact: bool = True) -> str:
    """Tokens in full: `6,812`, `~6,812`, `?`."""
    return "?" if count is None else f"{'' if exact else '~'}{count:,}"


def format_amount(of: Amount) -> str:
    """An amount of the ledger in full: `6,812`, `~6,812`, `≥~6,812`, `?`."""
    return f"≥{format_tokens(of.least, of.exact)}" if of.least else format_tokens(of.tokens, of.exact)


def format_short(count: int | None, exact: bool = True) -> str:
    """Tokens in at most five characters and the mark: `812`, `~2.1k`, `214k`, `1.2M`, `?`."""
    if count is None:
        return "?"
    for unit, size in (("M", 1_000_000), ("k", 1_000)):
        if count >= size * 0.99995:
            scaled = count / size
            return f"{'' if exact else '~'}{scaled:.{0 if scaled >= 99.95 else 1}f}{unit}"
    return format_tokens(count, exact)


def format_share(count: int | None, of: int) -> str:
    """A share in per cent: `85%`, `?`. Only a count over the whole is above 100%."""
    if count is None or of <= 0:
        return "?"
    percent = round(100 * count / of)
    return f"{max(percent, 101) if count > of else min(percent, 100)}%"


def format_budget_use(count: int | None, limit: int, exact: bool) -> str:
    """Tokens against the budget: `~6,812/8,000 85%`, `9,120/8,000 114% OVER`, `?/8,000 ?`."""
    over = " OVER" if count is not None and count > limit else ""
    return f"{format_tokens(count, exact)}/{limit:,} {format_share(count, limit)}{over}"


def describe_overflow(calls: int, most: int, exact: bool) -> str:
    """The phrase for calls that were larger than the budget: `2 calls over the budget, by up to ~2,249 tokens`."""
    return (
        f"{count_noun(calls, 'call')} over the budget, by {'up to ' * (calls > 1)}{format_tokens(most, exact)} tokens"
    )


def format_duration(seconds: float) -> str:
    """A time: `4 ms`, `0.4 s`, `2 min 5 s`."""
    if seconds < 0.1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 99.95:
        return f"{seconds:.1f} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60} s"


def format_age(seconds: float) -> str:
    """A time in the past: `just now`, `5 min ago`, `3 h ago`, `12 days ago`."""
    for unit, size, most in (("min", 60, 60), ("h", 3600, 48)):
        if seconds < size * most:
            return f"{int(seconds / size)} {unit} ago" if seconds >= size else "just now"
    return f"{int(seconds / 86_400)} days ago"
