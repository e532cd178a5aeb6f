"""/context prompt: nothing of the prompt is lost, and nothing in it steers the terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from hypothesis import given

from tests.repl.screen.test_sanitise import FORBIDDEN, NASTY
from tests.support.histories import TinyCounter
from tests.support.scripted import Scripted
from tests.support.sessions import Paper, ask, scripted, tool_call
from thimble.agent.messages import Message, Schema
from thimble.repl.commands.context.request import escaped
from thimble.repl.commands.table import run_command
from thimble.session.session import Session


def chatml(messages: Sequence[Message], tools: Sequence[Schema] = ()) -> str:
    """As the templates of Qwen write it, tools behind the system message."""
    parts = []
    for place, message in enumerate(messages):
        said = message.content + (f"\n<tools>\n{json.dumps(list(tools))}\n</tools>" if tools and not place else "")
        for call in message.calls:
            said += f'\n<tool_call>\n{{"name": "{call.name}", "arguments": {call.arguments}}}\n</tool_call>'
        parts.append(f"<|im_start|>{message.role}\n{said}<|im_end|>\n")
    return "".join([*parts, "<|im_start|>assistant\n"])


class Telling(Scripted):
    """A model whose server tells how it reads a prompt."""

    def rendered(self, messages: Sequence[Message], tools: Sequence[Schema]) -> str | None:
        return chatml(messages, tools)


def told(*steps: Any) -> Session:
    session = scripted()
    session.agent.use(Telling(steps, TinyCounter()))
    return session


def shown(session: Session) -> list[str]:
    paper = Paper(drawn=False)
    run_command(session, "/context prompt", paper.console)
    assert not FORBIDDEN.search(paper.text.replace("\n", ""))
    return paper.text.split("\n")


def test_nothing_of_the_prompt_is_lost() -> None:
    session = told([tool_call("read_article", 1, slug="observation-masking")], "It hides\n\nold results.")
    ask(session, "What is masking?")
    last = session.agent.ledger.prepared
    assert last is not None
    head, *lines = shown(session)
    assert head.startswith("last call: turn 2 of exchange 1, as scripted/scripted reads it: ")
    assert "\n".join(lines).rstrip("\n") == chatml(last.view.messages, last.tools).rstrip("\n")


@given(NASTY)
def test_what_a_message_says_steers_nothing_and_is_all_there(text: str) -> None:
    session = told("Fine.")
    ask(session, f"What? {text}")
    said, seen = (re.sub(r"[ \t]+", " ", each) for each in (escaped(f"What? {text}"), "\n".join(shown(session))))
    assert said.strip() in seen, "a tab is drawn as blanks"
