"""Judge the prompt of a model call: is it valid and within the budget, and how much of it must be recomputed?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tests.support.histories import Story, TinyCounter, is_sound, pending_calls, react_history, words
from thimble.agent.messages import Message, ToolCall, common_prefix
from thimble.agent.turns import question, task

BUDGET = 8_000
COUNT = TinyCounter().count
SUMMARY = " ".join(f"{number:05}" for number in range(250))
"""The summary that every fake model writes."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One call: tokens of the prompt, tokens after the first difference from the last prompt, and faults.

    `unread`: a new result is neither in this view, not even in part, nor in a later one.
    """

    tokens: int
    prefill: int
    faults: tuple[str, ...]
    unread: bool

    @property
    def over(self) -> bool:
        """Whether the prompt is larger than the budget."""
        return self.tokens > BUDGET


def judge(view: Sequence[Message], history: Sequence[Message], before: Sequence[Message] = ()) -> Verdict:
    """The verdict on a view of this history that is sent after the view `before`."""
    reused = common_prefix(view, before)
    faults = (*invalid(view), *missing(view, history))
    return Verdict(sum(map(COUNT, view)), sum(map(COUNT, view[reused:])), faults, unread(view, history))


def invalid(view: Sequence[Message]) -> list[str]:
    """Faults that a chat server would reject: a result without its call, a call without its result, no messages."""
    numbered = [replace(message, id=f"v{place}") for place, message in enumerate(view)]
    unanswered = [f"call {id_!r} at the end has no result" for id_ in pending_calls(view)]
    return [*is_sound(numbered), *unanswered, *([] if view else ["no message"])]


def missing(view: Sequence[Message], history: Sequence[Message]) -> list[str]:
    """The missing user messages: the question verbatim; the first task verbatim, or else a summary."""
    said = {message.content for message in view if message.role == "user"}
    asked = question(history)
    lost = ["the question is lost"] if asked and asked.content not in said else []
    if any(first is not asked and first.content not in said for first in task(history)):
        lost += [] if any(SUMMARY.strip() in message.content for message in view) else ["the task is lost"]
    return lost


def unread(view: Sequence[Message], history: Sequence[Message]) -> bool:
    """Whether a result that answers the newest turn is missing from the end of the view, or has no piece left.

    Text that a strategy appends for one call is ignored. A reference to the result counts as the result.
    """
    caller, fresh = _newest_turn(history)
    said = {message.content for message in history}
    end = next((at for at in range(len(view), 0, -1) if view[at - 1].role != "user" or view[at - 1].content in said), 0)
    _, shown = _newest_turn(view[:end])
    copies = {message.call_id: message for message in shown}
    asked = {call.id for call in caller.calls} if caller else set()
    return any(
        result.call_id in asked and not _shows(copies.get(result.call_id), result.content)
        for result in fresh
        if result.content
    )


def _newest_turn(messages: Sequence[Message]) -> tuple[Message | None, Sequence[Message]]:
    """The tool results at the end, and the message before them."""
    start = len(messages)
    while start and messages[start - 1].role == "tool":
        start -= 1
    return (messages[start - 1] if start else None), messages[start:]


def _shows(copy: Message | None, original: str, piece: int = 16) -> bool:
    if copy is None or copy.ref or f'recall(id="{copy.id}")' in copy.content:
        return copy is not None
    starts = range(0, max(1, len(original) - piece + 1), piece)
    return any(original[start : start + piece] in copy.content for start in starts)


# --- the conversations ------------------------------------------------------------------------------------------------


def lists() -> dict[str, list[Message]]:
    """The conversations of the comparison, by name."""
    return {
        "react40": react_history(40),
        "parallel": react_history(40, at_once=3),
        "15k result": _large(),
        "mixed": _mixed(),
        "broken": _broken(),
    }


def _large() -> list[Message]:
    """One question, eleven steps; the sixth result has 15,000 tokens."""
    story = Story().ask("Which of the articles says what a prefix cache costs?")
    for step in range(11):
        story.turn(15_000 if step == 5 else 600, says=40)
    return story.messages


def _mixed() -> list[Message]:
    """Three questions, parallel calls, empty texts and results, Japanese and emoji; ids restart in each turn."""
    story = Story(filler="日本語の文 🙂👍🏽 ").ask(words(60, "the task"))
    for ask in ("and what of the second?", "", "and the third?"):
        story.turn(0, 600, 30, says=0).turn(3_000, says=40).turn(*[400] * 4).turn(600, says=0).turn(0, says=12)
        story.answer(words(100, "answer"))
        if ask:
            story.ask(ask)
    return _with_ids_from_one(story.messages[:-1])


def _with_ids_from_one(messages: Sequence[Message]) -> list[Message]:
    """The same messages, with the calls of each turn numbered from one, as some servers do."""
    number: dict[str, str] = {}
    renamed = []
    for message in messages:
        number.update((call.id, f"call_{place}") for place, call in enumerate(message.calls, 1))
        calls = tuple(ToolCall(number[call.id], call.name, call.arguments) for call in message.calls)
        renamed.append(replace(message, calls=calls, call_id=number.get(message.call_id, "")))
    return renamed


def _broken() -> list[Message]:
    """Twenty steps, of which the third lacks its result and the seventh its call, as after a crash."""
    whole = react_history(20)
    return [message for place, message in enumerate(whole) if place not in (2 + 2 * 2 + 1, 2 + 2 * 6)]
