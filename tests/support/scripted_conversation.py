"""A conversation with a script, for a PTY: `python -m tests.support.scripted_conversation [--plain]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tests.support.payloads import ALL, OPEN
from tests.support.scripted import Step
from tests.support.sessions import scripted, tool_call
from thimble.agent.budget import Budget
from thimble.agent.errors import ModelError
from thimble.agent.messages import Message
from thimble.agent.protocols import Strategy, Text, Thinking
from thimble.repl.conversation import converse

HOSTILE = "evil \x1b[2Jclear \x1b]0;title\x07 [bold]markup[/bold] \x9b31mred"
STEPS = (
    [
        Thinking("A long thought about it."),
        Text("I look."),
        tool_call("read_article", slug="kv-cache-and-prefix-caching"),
    ],
    "# Found\n\nA **prefix** breaks where it differs.\n\n- one\n- two\n",
    HOSTILE,
    ModelError("the server \x1b[31mhas gone", "start it again"),
    "slow " * 400,
    "And it went on.",
    "And on.",
    "And on.",
)


class Bug(Strategy):
    """A strategy that somebody is writing right now."""

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """Fails."""
        raise ZeroDivisionError("\x1b[31mof mine")


def main() -> int:
    """Converse."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--stage", action="store_true")
    parser.add_argument("--corpus-of-payloads", action="store_true")
    parser.add_argument("--numbered", action="store_true")
    parser.add_argument("--echo", action="store_true")
    parser.add_argument("--pace", type=float, default=0)
    given = parser.parse_args()
    steps: list[Step] = [*STEPS]
    if given.corpus_of_payloads:
        steps = ["\n\n".join(ALL), *OPEN]
    if given.echo:
        steps = [lambda messages, tools: f"`{messages[-1].content!r}`"]
    if given.numbered:
        words = [f"w{number:04d}" for number in range(600)]
        steps = ["\n\n".join(" ".join(words[at : at + 100]) for at in range(0, 600, 100))]
    return converse(scripted(*steps, plain=given.plain, stage=given.stage, pace=given.pace))


if __name__ == "__main__":
    sys.exit(main())
