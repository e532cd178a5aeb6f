"""Worked examples of the tools of `everyday`, for a small model: what it does with a question, as messages."""

from __future__ import annotations

from collections.abc import Iterator

from thimble.agent.messages import Message, ToolCall
from thimble.agent.prompts import CANNOT

WHY = "a worked example: how to look up, answer and decline"
EXAMPLE_DIALOGUES = (
    (
        "Who won the chess world cup?",
        '{"query": "Who won the chess world cup?"}',
        'Nothing fits "Who won the chess world cup?" well. The nearest:\n'
        "[garden-games] Croquet: The winner is the first to reach the peg.",
        f"It {CANNOT}: the results are about croquet, not about chess.",
    ),
    (
        "how often do tomatoes want water",
        '{"query": "How often do tomatoes want water?"}',
        "[notes/may.md:3] watered twice\n"
        "[garden-soil] Clay: Clay holds water for a week.\n"
        "[growing-tomatoes] Water: Deep watering wets the soil down to the roots. Tomatoes want it every two or three "
        "days; in hot weeks daily. Wet leaves bring mould.",
        "Tomatoes want it every two or three days; in hot weeks daily. [growing-tomatoes]",
    ),
    (
        "and why should the leaves stay dry?",
        '{"query": "Why should the leaves of tomatoes stay dry?"}',
        "[garden-soil] Leaves: Old leaves make good soil in a year.\n"
        "[growing-tomatoes] Water: Deep watering wets the soil down to the roots. Wet leaves bring mould.",
        "Wet leaves bring mould. [growing-tomatoes]",
    ),
)
"""Question, arguments of its search, result and answer; the last question leans on the one before."""


def examples() -> Iterator[Message]:
    """The examples as messages, each with an id of its own and the reason why it is there."""
    for number, (question, arguments, result, answer) in enumerate(EXAMPLE_DIALOGUES, 1):
        call = ToolCall(f"example-{number}", "search", arguments)
        yield Message(f"example-{number}-asked", "user", question, why=WHY)
        yield Message(f"example-{number}-called", "assistant", calls=(call,), why=WHY)
        yield Message(f"example-{number}-found", "tool", result, call_id=call.id, name=call.name, why=WHY)
        yield Message(f"example-{number}-answered", "assistant", answer, why=WHY)
