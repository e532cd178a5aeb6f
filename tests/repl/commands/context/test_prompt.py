"""/context prompt: nothing of the prompt is lost, each line names its message, and nothing in it steers."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agent.errors import UsageError
from agent.messages import Message, Schema
from models.scripted import Scripted
from repl.commands.context.prompt import linked
from repl.commands.context.rows import Row
from repl.commands.table import obey
from repl.screen.sanitise import STEERS, clean
from session.session import Session
from tests.repl.screen.test_sanitise import FORBIDDEN, NASTY
from tests.support.histories import TinyCounter
from tests.support.sessions import Paper, ask, scripted, tool_call


def chatml(messages: Sequence[Message], tools: Sequence[Schema] = ()) -> str:
    """As the templates of Qwen write it, tools behind the system message."""
    parts = []
    for place, message in enumerate(messages):
        said = message.content + (f"\n<tools>\n{json.dumps(list(tools))}\n</tools>" if tools and not place else "")
        for call in message.calls:
            said += f'\n<tool_call>\n{{"name": "{call.name}", "arguments": {call.arguments}}}\n</tool_call>'
        parts.append(f"<|im_start|>{message.role}\n{said}<|im_end|>\n")
    return "".join([*parts, "<|im_start|>assistant\n"])


def mistral(messages: Sequence[Message], tools: Sequence[Schema] = ()) -> str:
    """In one line, what a tool said as JSON."""
    forms = {"user": "[INST] {} [/INST]", "assistant": " {}</s>", "tool": "[TOOL_RESULTS] {} [/TOOL_RESULTS]"}
    said = [(message, message.content) for message in messages]
    texts = [json.dumps(text) if message.role == "tool" else text for message, text in said]
    return "<s>" + "".join(forms.get(m.role, "{}").format(text) for m, text in zip(messages, texts, strict=True))


class Telling(Scripted):
    """A model whose server tells how it reads a prompt."""

    template = staticmethod(chatml)

    def rendered(self, messages: Sequence[Message], tools: Sequence[Schema]) -> str | None:
        return self.template(messages, tools)


def told(*steps: Any, template: Any = chatml) -> Session:
    session = scripted()
    backend = Telling(steps, TinyCounter())
    backend.template = template
    session.agent.use(backend)
    return session


def shown(session: Session, drawn: bool = False, width: int = 80) -> list[str]:
    paper = Paper(width, drawn)
    obey(session, "/context prompt", paper.console)
    assert not FORBIDDEN.search(paper.text.replace("\n", ""))
    return paper.text.split("\n")


def looked_up(template: Any = chatml) -> Session:
    session = told(
        [tool_call("read_article", 1, slug="observation-masking")], "It hides\n\nold results.", template=template
    )
    ask(session, "What is masking?")
    return session


def body(session: Session) -> list[tuple[str, str]]:
    """The lines of the prompt as they are shown, each with what stands left of it."""
    _, _, *lines = shown(session)
    pairs = (line.partition("| ") for line in lines if "| " in line)
    return [(name.strip(), words) for name, _, words in pairs]


def test_each_line_names_its_message() -> None:
    session = looked_up()
    lines = body(session)
    assert shown(session)[0].startswith("last call: turn 2 of exchange 1, as scripted/scripted reads it: ")
    assert lines[0] == ("", "⟦<|im_start|>⟧system")
    assert lines[1][0] == "1"
    assert ("2", "What is masking?⟦<|im_end|>⟧") in lines
    assert [name for name, words in lines if '"name": "read_article", "arguments"' in words] == ["3"]
    called = lines.index(("", "⟦<|im_start|>⟧tool"))
    assert lines[called + 1][0] == "4"
    assert lines[-2:] == [("", "⟦<|im_start|>⟧assistant"), ("", "")]
    assert not any("not found" in line for line in shown(session))


@pytest.mark.parametrize("template", [chatml, mistral])
def test_nothing_of_the_prompt_is_lost(template: Any) -> None:
    session = looked_up(template)
    last = session.agent.ledger.prepared
    assert last is not None
    said = "\n".join(words for _, words in body(session))
    assert re.sub("[⟦⟧]", "", said) == template(last.view.messages, last.tools)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_line_is_wider_than_the_screen(width: int) -> None:
    assert max(map(len, shown(looked_up(), True, width)[2:])) <= width


def test_what_is_escaped_or_in_one_line_is_found_too() -> None:
    lines = body(looked_up(mistral))
    assert lines[0][1].startswith("⟦<s>⟧You are")
    assert lines[-1][0] == "1–4"
    assert "⟦[INST]⟧ What is masking? ⟦[/INST]⟧" in lines[-1][1]


def test_what_is_not_found_is_said() -> None:
    session = told("Fine.", template=lambda messages, tools: chatml(messages).upper())
    ask(session, "What is masking?")
    assert shown(session)[-2].endswith("as the template changes them: 1, 2")


CONTENTS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), min_size=1, max_size=6)


@given(CONTENTS, st.booleans())
def test_a_content_is_linked_where_it_stands(contents: list[str], tools: bool) -> None:
    glue = set(re.findall(r"\w+|\W", chatml([Message("m", role) for role in ("user", "assistant", "tool")])))
    assume(not any(set(re.findall(r"\w+|\W", text.strip())) <= glue for text in contents))
    roles = ["system", *["user", "assistant", "tool"] * 2]
    messages = [Message(f"m{n}", role, text) for n, (role, text) in enumerate(zip(roles, contents, strict=False))]  # type: ignore[arg-type]
    rows = [Row(message.id, "kept", message, message, 1, 1, False) for message in messages]
    prompt, at = chatml(messages), 0
    spans = {span.name: span for span in linked(prompt, rows)}
    for message in messages:
        start = prompt.index(f"<|im_start|>{message.role}\n", at) + len(f"<|im_start|>{message.role}\n")
        text = message.content.strip()
        lead = message.content.index(text)
        assert (spans[message.id].start, spans[message.id].end) == (start + lead, start + lead + len(text))
        at = start + len(message.content)


@given(NASTY)
def test_what_a_message_says_steers_nothing_and_is_all_there(text: str) -> None:
    session = told("Fine.")
    ask(session, f"What? {text}")
    said = re.sub("[⟦⟧]", "", "\n".join(words for _, words in body(session)))
    assert clean(STEERS.sub(lambda found: f"\\u{ord(found[0]):04x}", re.sub("[⟦⟧]", "", text))).strip() in said


def test_what_cannot_be_shown_says_what_to_do() -> None:
    session = scripted("Fine.")
    with pytest.raises(UsageError, match="nothing was sent yet"):
        obey(session, "/context prompt", Paper().console)
    ask(session)
    with pytest.raises(UsageError, match="nothing tells how scripted/scripted reads a prompt"):
        obey(session, "/context prompt", Paper().console)
    session.use_model("reader")
    with pytest.raises(UsageError, match="is not the model now"):
        obey(session, "/context prompt", Paper().console)
