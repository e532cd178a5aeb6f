"""An output of a tool with facts planted in it: what somebody at work would ask of it, and where the answer stands."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fact:
    """A question about an output, and the words that its answer needs.

    `needles`: all must stand in what the model sees. Each is a plain piece of one line: a number, an id, a name, two or
    three words. `plain`: nothing marks the fact, it is an ordinary line in the middle. Otherwise it stands out to
    somebody who works with such outputs: an error and its cause, the slowest, the changed value, a signature.
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
    """A fact that stands out."""
    return Fact(question, tuple(map(str, needles)), plain=False)


def plain(question: str, *needles: object) -> Fact:
    """A fact that nothing marks."""
    return Fact(question, tuple(map(str, needles)), plain=True)


def stands(fact: Fact, text: str) -> bool:
    """Whether the answer stands in the text, where any run of blanks is one blank."""
    squeezed = " ".join(text.split())
    return all(needle in squeezed for needle in fact.needles)


def alone(fact: Fact, text: str) -> bool:
    """Whether the answer stands there, and a needle of it only once: no other line can be taken for it."""
    squeezed = " ".join(text.split())
    return stands(fact, text) and min(map(squeezed.count, fact.needles)) == 1
