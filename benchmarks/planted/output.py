"""A tool output with planted facts: the questions that a person at work would ask, and the words of their answers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fact:
    """A question about an output, and the words that its answer needs.

    `needles`: all must be in the model's view. Each is a part of one line: a number, an id, a name, two or three words.
    `plain`: the fact is an ordinary line in the middle. Otherwise it is conspicuous to people who work with such
    outputs: an error and its cause, the slowest, the changed value, a signature.
    """

    question: str
    needles: tuple[str, ...]
    plain: bool


@dataclass(frozen=True, slots=True)
class Output:
    """The result of one tool call. `arguments` is JSON text; `text` has 2,500 to 25,000 characters."""

    kind: str
    tool: str
    arguments: str
    text: str
    facts: tuple[Fact, ...]


def marked(question: str, *needles: object) -> Fact:
    """Make a conspicuous fact."""
    return Fact(question, tuple(map(str, needles)), plain=False)


def plain(question: str, *needles: object) -> Fact:
    """Make an inconspicuous fact."""
    return Fact(question, tuple(map(str, needles)), plain=True)


def stands(fact: Fact, text: str) -> bool:
    """Whether the text has all needles; any run of whitespace counts as one space."""
    squeezed = " ".join(text.split())
    return all(needle in squeezed for needle in fact.needles)


def alone(fact: Fact, text: str) -> bool:
    """Whether the text has all needles, and one of them only once, so that no other line can be mistaken for it."""
    squeezed = " ".join(text.split())
    return stands(fact, text) and min(map(squeezed.count, fact.needles)) == 1
