"""tidy: each tool result in the smallest form that says the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, get_args

from thimble.agent.budget import Budget
from thimble.agent.messages import LOSSLESS, MAX_CONTENT_CHARACTERS, Message, pending_turn
from thimble.strategies.compression import json_table, terminal_text
from thimble.strategies.state import Stateful

Form = Literal["minified", "table", "text"]
TIDY_FORMS: tuple[Form, ...] = get_args(Form)
MIN_RESULT_CHARACTERS = 200
"""The least characters of a result that may be rewritten."""


@lru_cache(maxsize=16_384)
def rewrite_result(message: Message, form: Form) -> Message:
    """A copy in this form, which depends on nothing but the message; the message itself if it has no such form."""
    if form == "text":
        text, went = terminal_text.tidy_terminal_text(message.content)
        what = ", ".join(f"{count:,} {name}{'s' * (count != 1)}" for name, count in went.items())
        return message.rewritten(f"[left out: {what}]\n{text}", f"without {what}", ref=LOSSLESS) if went else message
    json = json_table.find_json(message.content)
    if not json or not json.stands_alone:
        return message
    text = json.minified if form == "minified" else json.table or message.content
    why = "its JSON without blanks" if form == "minified" else "its JSON as tables"
    return message.rewritten(text, f"{why}, nothing left out", ref=LOSSLESS) if text != message.content else message


@lru_cache(maxsize=16_384)
def forms_of(message: Message) -> Sequence[Form]:
    """The forms that change the text of a result."""
    if (
        message.why
        or message.attached
        or message.name == "recall"
        or not MIN_RESULT_CHARACTERS <= len(message.content or "") <= MAX_CONTENT_CHARACTERS
    ):
        return ()
    return [form for form in TIDY_FORMS if rewrite_result(message, form) is not message]


def smallest_form(message: Message, budget: Budget) -> Form | None:
    """The form of a result with the fewest tokens; None if no form saves a tenth."""
    forms = ((budget.count(rewrite_result(message, form)), form) for form in forms_of(message))
    tokens, form = min(forms, default=(0, None))
    return form if tokens <= 0.9 * budget.count(message) else None


@dataclass
class Forms:
    """The form in which each result is written, by id."""

    forms: dict[str, Form] = field(default_factory=dict)


@dataclass
class Tidy(Stateful):
    """Write each tool result smaller when it arrives, with nothing lost. Put it before others: `tidy+thrifty`.

    JSON with lists of objects becomes tables, and other JSON loses its blanks: the value is the same, digit by digit.
    Any other text loses colours and redrawn progress bars, and a repeated line is written once, with its count.
    Everything else stays, letter by letter (docs/reference/tidied.md). A result stays unchanged if its smaller form
    does not save at least a tenth of its tokens, or if it has more than 400,000 characters.

    A copy depends only on its result and is made when that arrives, so the prefix never changes. It hides nothing when
    the view is over the budget: the next strategy makes room, or else `fit` (/help budget).
    """

    memory: Forms = field(default_factory=Forms)

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """The history with each result in its smallest form; see the class. A result keeps its form."""
        forms = self.memory.forms
        for message in messages[: len(messages) - len(pending_turn(messages))]:
            if message.role == "tool" and message.id not in forms and (form := smallest_form(message, budget)):
                forms[message.id] = form
        return [rewrite_result(message, forms[message.id]) if message.id in forms else message for message in messages]
