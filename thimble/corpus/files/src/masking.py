"""The masking rule of Wick: which observations stand in a prompt in full, and which as one line.

masking-10 keeps the newest ten and moves its line at every turn. masking-10-step-5 lets the line stand until it can
move by five, so between two moves a prompt only grows at its end and the server's prefix cache stays warm.
"""

from __future__ import annotations

from collections.abc import Sequence

KEEP = 10
STEP = 5


def masked(observations: int, keep: int = KEEP, step: int = STEP) -> int:
    """How many of the oldest observations are masked when so many stand in the history.

    At least `keep` stay whole and at most `keep + step - 1`; the number masked is a multiple of `step`.

    >>> [masked(n, keep=10, step=1) for n in (10, 11, 12)]
    [0, 1, 2]
    >>> [masked(n, keep=10, step=5) for n in (14, 15, 19, 20)]
    [0, 5, 5, 10]
    >>> [masked(n, keep=10, step=10) for n in (19, 20, 29, 30)]
    [0, 10, 10, 20]
    """
    if keep < 0 or step < 1:
        raise ValueError("keep must be 0 or more, and step 1 or more")
    return max(0, observations - keep) // step * step


def moves(turns: int, keep: int = KEEP, step: int = STEP) -> list[int]:
    """The turns at which the line moves in a run of so many turns; the prompt of turn t holds t - 1 observations.

    Each move is one prefix mismatch in logs/server.log.

    >>> moves(28, keep=10, step=5)
    [16, 21, 26]
    >>> moves(28, keep=10, step=10)
    [21]
    """
    return [turn for turn in range(2, turns + 1) if masked(turn - 1, keep, step) > masked(turn - 2, keep, step)]


def placeholder(turn: int) -> str:
    """The line that stands for a masked observation.

    >>> placeholder(3)
    '[turn 3: observation hidden; call the tool again to see it]'
    """
    return f"[turn {turn}: observation hidden; call the tool again to see it]"


def mask(observations: Sequence[str], keep: int = KEEP, step: int = STEP) -> list[str]:
    """The observations as a prompt shows them, oldest first; a text shorter than its placeholder stays.

    >>> mask(["42 kg", "a page of yields " * 40, "a page of fees " * 40], keep=1, step=1)[:2]
    ['42 kg', '[turn 2: observation hidden; call the tool again to see it]']
    """
    hidden = masked(len(observations), keep, step)
    return [
        min(placeholder(turn), text, key=len) if turn <= hidden else text for turn, text in enumerate(observations, 1)
    ]
