"""tidy: each tool result in the smallest form that says the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from agent.budget import Budget
from agent.history import History
from agent.messages import Message, pending
from strategies import json_table, terminal_text
from strategies.rewriting import Rewriting
from strategies.state import Stateful

Form = Literal["minified", "table", "text"]
FORMS: tuple[Form, ...] = ("minified", "table", "text")
LEAST = 200
"""Characters of a result that is worth a look."""


@lru_cache(maxsize=2048)
def written(message: Message, form: Form) -> Message:
    """A copy in this form, which depends on nothing but the message; itself where it has no such form."""
    if form == "text":
        text, went = terminal_text.tidied(message.content)
        what = ", ".join(f"{count:,} {name}" for name, count in went.items())
        head = f'[tidied, {what}: recall(id="{message.id}") shows the original]'
        return message.rewritten(f"{head}\n{text}", f"tidied: {what}", ref=message.id) if went else message
    json = json_table.found(message.content)
    if not json:
        return message
    text = json.minified if form == "minified" else json.table or message.content
    why = "its JSON without blanks" if form == "minified" else "its JSON as tables, nothing left out"
    return message.rewritten(text, why, ref=message.id)


def smallest(message: Message, budget: Budget) -> tuple[Message, Form | None]:
    """The copy with the fewest tokens, and its form; the message itself where none saves a tenth."""
    if message.role != "tool" or message.why or message.name == "recall" or len(message.content or "") < LEAST:
        return message, None
    tokens, form = min((budget.count(written(message, form)), form) for form in FORMS)
    return (written(message, form), form) if tokens <= 0.9 * budget.count(message) else (message, None)


@dataclass
class Forms:
    """The form in which each result is written, by id."""

    forms: dict[str, Form] = field(default_factory=dict)


@dataclass
class Tidy(Stateful):
    """Write each tool result smaller when it comes, with nothing lost. Put it before others: `tidy+thrifty`.

    JSON with lists of objects becomes tables, and other JSON loses its blanks: the value is the same, digit by digit.
    Any other text loses terminal sequences, redrawn progress bars, blanks at the end of lines, repeated lines and walls
    of base64. A line says how many of each, and `recall` shows the original. A form must save a tenth of the tokens,
    else the result stays as it is.

    A copy depends only on its result and is made when that comes, so the prefix never changes. Over the budget it hides
    nothing: the next strategy, or `fit`, makes room.
    """

    tools = ("recall",)

    memory: Forms = field(default_factory=Forms)
    _view: Rewriting = field(default_factory=lambda: Rewriting(written), init=False, repr=False, compare=False)

    def prepare(self, messages: Sequence[Message], budget: Budget) -> Sequence[Message]:
        """The history with each result in its smallest form; see the class. A form stays."""
        history = History.of(messages)
        self._view.goes_on(history, budget, self.memory.forms, lambda message: smallest(message, budget)[0])
        offers = self._view.offers(0, len(history) - len(pending(history)))
        forms = ((one.id, smallest(one, budget)[1]) for _, one, _ in offers)
        self._view.choose({id_: form for id_, form in forms if form})
        return self._view.view
