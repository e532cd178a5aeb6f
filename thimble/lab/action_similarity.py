"""The similarity of two actions of an agent, from 0 to 1: the measure in Eq. 9 of CoMem, which the paper leaves open.

An action is an assistant message: its text and its tool calls. If either of the two calls a tool, the calls weigh 0.9
and the texts 0.1; otherwise only the texts count. Each call is paired with the most similar call of the same tool: the
name is half of a pair's similarity, the arguments the other half. A call without a partner counts as 0.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from thimble.agent.messages import Message
from thimble.models.text_observations import write_as_text

CALLS, SAME_TOOL = 0.9, 0.5
"""The weight of the calls against the text, and that of the tool's name in a pair of calls."""
STRIPPED_CHARACTERS = " \t.,;:!?()[]{}\"'`*"
"""Characters that are stripped from both ends of a word."""


@dataclass(frozen=True, slots=True)
class Action:
    """The text of an assistant message, and its calls: the name of each tool, and its arguments as JSON."""

    text: str = ""
    calls: Sequence[tuple[str, str]] = ()

    @classmethod
    def of(cls, message: Message) -> Action:
        """The action of an assistant message."""
        return cls(message.content or "", tuple((call.name, call.arguments) for call in write_as_text(message).calls))


def similarity(one: Action, other: Action) -> float:
    """The similarity of two actions: 1 if they are equal, and independent of their order."""
    words = _words_alike(one.text, other.text)
    if not one.calls and not other.calls:
        return words
    return CALLS * _calls_alike(one.calls, other.calls) + (1 - CALLS) * words


def next_actions_alike(ours: Sequence[Action], theirs: Sequence[Action]) -> Iterator[float]:
    """The similarity of each action to that of the other run, as long as both have the same history.

    Stops at the first pair that differs: after it, the two runs have different histories.
    """
    for one, other in zip(ours, theirs, strict=False):
        alike = similarity(one, other)
        yield alike
        if alike < 1:
            return


def _calls_alike(ours: Sequence[tuple[str, str]], theirs: Sequence[tuple[str, str]]) -> float:
    pairs = [
        (SAME_TOOL + (1 - SAME_TOOL) * _arguments_alike(one[1], other[1]), at, place)
        for (at, one), (place, other) in product(enumerate(ours), enumerate(theirs))
        if one[0] == other[0]
    ]
    total, taken, given = 0.0, set[int](), set[int]()
    for alike, at, place in sorted(pairs, reverse=True):
        if at not in taken and place not in given:
            total += alike
            taken.add(at)
            given.add(place)
    return total / max(len(ours), len(theirs))


def _arguments_alike(one: str, other: str) -> float:
    """The mean similarity over all argument names; an argument that only one of them has counts as 0."""
    ours, theirs = _arguments(one), _arguments(other)
    names = ours.keys() | theirs.keys()
    both = ours.keys() & theirs.keys()
    return sum(_words_alike(ours[name], theirs[name]) for name in both) / len(names) if names else 1.0


def _arguments(text: str) -> Mapping[str, str]:
    """The arguments by name, each as text; if they are not a JSON object, the whole text under the name ""."""
    try:
        found: Any = json.loads(text or "{}")
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        return {"": text}
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in found.items()}


def _words_alike(one: str, other: str) -> float:
    """F1 of the words of two texts, ignoring order and case; only equal texts reach 1."""
    if one == other:
        return 1.0
    ours, theirs = (
        Counter(word.strip(STRIPPED_CHARACTERS).casefold() for word in text.split()) for text in (one, other)
    )
    whole = ours.total() + theirs.total()
    return min(0.99, 2 * (ours & theirs).total() / whole) if whole else 0.99
