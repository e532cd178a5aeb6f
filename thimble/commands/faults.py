"""Faults: texts that the next action requests again or quotes, and that were not in its view."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from thimble.agent import foreign
from thimble.agent.messages import Message, ToolCall
from thimble.agent.view import View

MIN_QUOTED_LINE = 25
"""A line of a result counts as quoted in an action if it has at least this many characters."""
LINE_NUMBER_CHARACTERS = "0123456789:|→ \t"
"""The characters that tools print before a line."""
POSSIBLE_NAME = re.compile(r"\w[\w./-]{8,}\w")
"""A possible name, such as a path. Without a digit, `_`, `/` or `.` it is a word."""
Holders = dict[str, list[str]]
"""Texts, each with the ids of results that hold it."""
Needs = Mapping[int, tuple[Holders, Holders]]
"""By the index of each action in a history: the texts that it quotes, and the results that it requests again."""


@dataclass(slots=True)
class Faults:
    """Lines and names that actions quote, and those that are missing from their views.

    `again`: calls that request an earlier result, by the same arguments or by `recall`. `repeats`: those of them whose
    view does not have it whole.
    """

    quoted: int = 0
    quoted_lost: int = 0
    again: int = 0
    repeats: int = 0

    def add(self, needs: Needs, view: View) -> None:
        """Count the action after this view, if any, by searching the view for its texts."""
        quoted, again = needs.get(len(view.history), ({}, {}))
        kept = {message.id for message, fate in view.fated if fate == "kept"}
        hidden = [text for text, ids in (quoted | again).items() if kept.isdisjoint(ids)]
        shown = [*map(_words_of, view.messages)] if hidden else []
        lost = {text for text in hidden if not any(text in one for one in shown)}
        self.quoted += len(quoted)
        self.quoted_lost += len(lost & quoted.keys())
        self.again += len(again)
        self.repeats += len(lost & again.keys())


def needs_of(history: Sequence[Message]) -> Needs:
    """The needs of all actions of a sound history: the same under every strategy."""
    needs, holders, openings = dict[int, tuple[Holders, Holders]](), Holders(), dict[str, set[str]]()
    made, results = dict[str, ToolCall](), dict[tuple[str, str], Message]()
    for at, message in enumerate(history):
        if message.role == "tool" and (call := made.get(message.call_id)):
            results[call.name, call.arguments] = results["recall", message.id] = message
            lines = {line.lstrip(LINE_NUMBER_CHARACTERS).rstrip() for line in message.content.split("\n")}
            lines = {line for line in lines if len(line) >= MIN_QUOTED_LINE}
            for line in lines:
                openings.setdefault(line[:MIN_QUOTED_LINE], set()).add(line)
            for text in lines | _find_names(message.content):
                holders.setdefault(text, []).append(message.id)
        elif message.role == "assistant":
            words = _words_of(message)
            starts = ((at, openings.get(words[at : at + MIN_QUOTED_LINE], ())) for at in range(len(words)))
            quoted = {line for at, lines in starts for line in lines if words.startswith(line, at)}
            for line in quoted:
                words = words.replace(line, "\n")
            again = [result for call in message.calls if (result := results.get(_result_key(call)))]
            quoted |= _find_names(words) & holders.keys()
            needs[at] = {text: holders[text] for text in quoted}, {one.content: [one.id] for one in again}
            made |= {call.id: call for call in message.calls}
    return needs


def _result_key(call: ToolCall) -> tuple[str, str]:
    """The key of the result that a call requests: for `recall` the message that it names, else the equal call."""
    return call.name, next(foreign.iter_strings(call.arguments), "") if call.name == "recall" else call.arguments


def _words_of(message: Message) -> str:
    """Its words, thinking, and the texts in its calls, without the escapes of JSON."""
    calls = [text for call in message.calls for text in foreign.iter_strings(call.arguments)]
    return "\n".join([message.content, message.thinking, *calls])


def _find_names(text: str) -> set[str]:
    return {name for name in POSSIBLE_NAME.findall(text) if not name.replace("-", "").isalpha()}
