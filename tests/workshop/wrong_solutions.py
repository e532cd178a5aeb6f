"""The usual wrong solutions of each exercise: the code, the check that refuses it, and words of the reason."""

from __future__ import annotations

PINNED = "from thimble.agent.turns import pinned\n"
TURNS = "from thimble.agent.messages import turns\n" + PINNED


def function(body: str) -> str:
    """A file with a plain function."""
    return f"{TURNS}\n\ndef prepare(messages, budget):\n    " + body.strip().replace("\n", "\n    ") + "\n"


SHORT = "return [m for m in messages if m in pinned(messages)]"
MASKED = 'm.rewritten("[masked]", "old")'
ACTING = "acting = [turn for turn in turns(messages) if messages[turn.start].calls]"

WRONG: dict[str, list[tuple[str, str, str]]] = {
    "01-count-tokens": [
        (function("return messages"), "as-solution", "is kept, and must be dropped"),
        (function(SHORT), "whole-while-it-fits", "so it fits"),
        (
            function(f"if sum(map(budget.count, messages)) <= budget.limit:\n    return messages\n{SHORT}"),
            "as-solution",
            "the budget counts every token",
        ),
        (
            function(f"if budget.size(messages) < budget.limit:\n    return messages\n{SHORT}"),
            "whole-while-it-fits",
            "so it fits",
        ),
        (
            function(
                "words = sum(len(m.content.split()) for m in messages)\n"
                f"if words <= budget.limit:\n    return messages\n{SHORT}"
            ),
            "as-solution",
            "must be dropped",
        ),
        (function("return messages if not budget.over(messages) else messages[-1:]"), "keeps-pinned", "is missing"),
        (function("return messages if not budget.over(messages) else pinned(messages)"), "keeps-order", "twice"),
    ],
    "02-window": [
        (function("return messages[:1] + messages[-4:]"), "keeps-pinned", "the task is missing"),
        (function("return pinned(messages) + messages[-4:]"), "keeps-order", "twice"),
        (
            function("return [m for at, m in enumerate(messages) if at >= len(messages) - 5 or m in pinned(messages)]"),
            "as-solution",
            "the 4 newest messages stay",
        ),
        (
            function("return [m for at, m in enumerate(messages) if at < 6 or m in pinned(messages)]"),
            "as-solution",
            "the 4 newest messages stay",
        ),
        (
            function("stays = pinned(messages)\nreturn [*[m for m in messages[-4:] if m not in stays], *stays]"),
            "keeps-order",
            "twice",
        ),
    ],
    "03-orphan": [
        (function("return messages[-6:]"), "keeps-pinned", "missing"),
        (function("return [m for m in messages if m.role != 'tool']"), "keeps-pairs", "has no result"),
        (function("return [m for m in messages if not m.calls]"), "keeps-pairs", "orphan"),
        (
            function(
                "newest = turns(messages)[-3:]\nstart = newest[0].start + 1 if newest else 0\n"
                "return [m for at, m in enumerate(messages) if at >= start or m in pinned(messages)]"
            ),
            "keeps-pairs",
            "orphan",
        ),
        (
            function(
                "newest = turns(messages)[-2:]\nstart = newest[0].start if newest else 0\n"
                "return [m for at, m in enumerate(messages) if at >= start or m in pinned(messages)]"
            ),
            "as-solution",
            "the 3 newest turns stay",
        ),
        (
            function("return [m for m in messages if m in pinned(messages)]"),
            "as-solution",
            "the 3 newest turns stay",
        ),
    ],
    "04-masking": [
        (
            function(
                f"old = messages[:-3]\nreturn [{MASKED} if m.role == 'tool' and m in old else m for m in messages]"
            ),
            "as-solution",
            "i < t - 3",
        ),
        (
            function(
                f"{ACTING}\nold = [m for turn in acting[:-3] for m in messages[turn.start : turn.stop]]\n"
                f"return [{MASKED} if m in old else m for m in messages]"
            ),
            "keeps-words",
            "words of the assistant",
        ),
        (
            function(
                f"{ACTING}\nold = [m for turn in acting[:-3] for m in messages[turn.start : turn.stop]]\n"
                "return [m for m in messages if m.role != 'tool' or m not in old]"
            ),
            "keeps-words",
            "this message is gone",
        ),
        (
            function(
                f"{ACTING}\nold = [m for turn in acting[:-2] for m in messages[turn.start : turn.stop]]\n"
                f"return [{MASKED} if m in old and m.role == 'tool' else m for m in messages]"
            ),
            "as-solution",
            "i < t - 3",
        ),
        (
            function(
                "old = [m for turn in turns(messages)[:-3] for m in messages[turn.start : turn.stop]]\n"
                f"return [{MASKED} if m in old and m.role == 'tool' else m for m in messages]"
            ),
            "as-solution",
            "i < t - 3",
        ),
    ],
}
