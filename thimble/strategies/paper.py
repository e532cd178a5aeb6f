"""The turn counts of The Complexity Trap, and how they scale to the budget of a session.

Its agents run 250 turns in windows of 122,000 tokens. A session has 12 turns a question and 8,000 tokens: a summary
after 31 turns would never come.
"""

from __future__ import annotations

from thimble.agent.budget import Budget

M, N, N_HYBRID = 10, 21, 43
"""Newest turns that stay unchanged; turns folded at a time by its summaries, and by its hybrid."""
TURN = 1_000
"""Tokens of the budget for each of the N + M = 31 turns."""


def scale_turns(given: int | None, papers: int, budget: Budget, least: int = 1) -> int:
    """A count of turns: the given one, else the paper's, times the budget over 31,000 tokens.

    At least `least`, and never more than the paper's.
    """
    if given is not None:
        return given
    return max(least, min(papers, round(papers * budget.limit / (TURN * (N + M)))))
