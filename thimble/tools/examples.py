"""Worked examples of the everyday tools, for a small model: how it lists, reads, searches and declines, as messages."""

from __future__ import annotations

import json
from collections.abc import Iterator

from thimble.agent.messages import Message, ToolCall
from thimble.agent.prompts import CANNOT_ANSWER

EXAMPLE_REASON = "a worked example: how to list, read, search and decline"
EXAMPLE_DIALOGUES = (
    (
        "Which articles are about pears?",
        ("list", "topic", "pears"),
        '2 articles about "pears"\n[old-pears] Pears that keep\n[pear-rust] Rust on pears',
        "There are two: Pears that keep [old-pears] and Rust on pears [pear-rust].",
    ),
    (
        "Read the article on rust",
        ("read", "name", "pear-rust"),
        "# Rust on pears\nslug: pear-rust · page 1 of 1 · 22 words\n\nRust is a fungus that winters on juniper. In May "
        "its spores reach the pears. Cut the juniper, and the leaves stay clean.",
        "Rust is a fungus that winters on juniper. In May its spores reach the pears. [pear-rust]",
    ),
    (
        "how often do tomatoes want water",
        ("search", "query", "How often do tomatoes want water?"),
        "[notes/may.md:3] watered twice\n"
        "[growing-tomatoes] Water: Deep watering wets the soil down to the roots. Tomatoes want it every two or three "
        "days; in hot weeks daily. Wet leaves bring mould.",
        "Tomatoes want it every two or three days; in hot weeks daily. [growing-tomatoes]",
    ),
    (
        "Who won the chess world cup?",
        ("search", "query", "Who won the chess world cup?"),
        'Nothing fits "Who won the chess world cup?" well. The nearest:\n'
        "[garden-games] Croquet: The winner is the first to reach the peg.",
        f"It {CANNOT_ANSWER}: what was found is about croquet, not about chess.",
    ),
)
"""Question, call (tool, parameter, argument), result and answer."""


def examples() -> Iterator[Message]:
    """The examples as messages, each with an id of its own and the reason why it is there."""
    for number, (question, (tool, parameter, argument), result, answer) in enumerate(EXAMPLE_DIALOGUES, 1):
        call = ToolCall(f"example-{number}", tool, json.dumps({parameter: argument}))
        yield Message(f"example-{number}-asked", "user", question, why=EXAMPLE_REASON)
        yield Message(f"example-{number}-called", "assistant", calls=(call,), why=EXAMPLE_REASON)
        yield Message(f"example-{number}-found", "tool", result, call_id=call.id, name=call.name, why=EXAMPLE_REASON)
        yield Message(f"example-{number}-answered", "assistant", answer, why=EXAMPLE_REASON)
