"""Histories to break things with: builders, Hypothesis strategies, and the laws that a view must keep."""

from __future__ import annotations

import json
from collections import Counter as Tally
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar

from hypothesis import strategies as st

from thimble.agent.budget import Budget, Counter
from thimble.agent.messages import Message, Role, ToolCall, common_prefix
from thimble.agent.turns import task

# --- counting ---------------------------------------------------------------------------------------------------------


@dataclass
class TinyCounter(Counter):
    """Four characters are a token and a message costs four more: exact for a model that does not exist."""

    exact: bool = True
    calibrated: list[tuple[int, int]] = field(default_factory=list)

    def count(self, message: Message) -> int:
        """Tokens of one message."""
        letters = len(message.content or "") + len(message.thinking)
        for call in message.calls:
            letters += len(call.name) + len(call.arguments)
        return 4 + letters // 4

    def overhead(self, tools: Sequence[Any]) -> int:
        """Tokens of the tools."""
        return 3 + 20 * len(tools)

    def calibrate(self, counted: int, reported: int) -> bool:
        """Record the counts, so that a test can look at them."""
        self.calibrated.append((counted, reported))
        return True


def budget(limit: int = 8000, overhead: int = 0) -> Budget:
    """A budget that counts with the tiny counter."""
    return Budget(limit, TinyCounter(), overhead)


# --- builders ---------------------------------------------------------------------------------------------------------

FILLERS = ("lorem ipsum dolor ", "日本語の文 ", "🙂👍🏽 ", "\n\n", '{"a": [1, "b"]}, ', "[masked: ")


def words(tokens: int, tag: str = "", filler: str = FILLERS[0]) -> str:
    """Text of about `tokens` tokens that starts with the tag; empty for 0."""
    length = 4 * tokens
    return f"{tag} {filler * (length // len(filler) + 1)}"[:length]


class Story:
    """Builds a sound history, message by message: `Story().ask("…").turn(600, 600).answer("…").messages`."""

    def __init__(self, system: str | None = "You are a test.", filler: str = FILLERS[0]) -> None:
        self.messages: list[Message] = []
        self._filler = filler
        self._calls = 0
        if system is not None:
            self._add("system", system)

    def ask(self, text: str) -> Story:
        """A question of the user."""
        return self._add("user", text)

    def turn(self, *observations: int, says: int = 12, pending: int = 0) -> Story:
        """A turn of parallel calls with results of these sizes in tokens; the last `pending` results are missing."""
        first = self._calls + 1
        self._calls += len(observations)
        calls = tuple(
            ToolCall(f"c{number}", "read_article", f'{{"slug": "s{number}"}}')
            for number in range(first, self._calls + 1)
        )
        self._add("assistant", words(says, f"step {first}:", self._filler), calls=calls)
        for call, tokens in list(zip(calls, observations, strict=True))[: len(calls) - pending]:
            text = words(tokens, f"result {call.id}", self._filler)
            self._add("tool", text, call_id=call.id, name=call.name)
        return self

    def note(self, text: str, result: str = "Saved note 1: found") -> Story:
        """A turn that writes a note; an error as its result says that it was not kept."""
        self._calls += 1
        call = ToolCall(f"c{self._calls}", "save_note", json.dumps({"title": "found", "text": text}))
        self._add("assistant", "I note it.", calls=(call,))
        return self._add("tool", result, call_id=call.id, name=call.name)

    def recall(self, id_: str, tokens: int) -> Story:
        """A turn that brings an older result back."""
        self._calls += 1
        call = ToolCall(f"c{self._calls}", "recall", json.dumps({"id": id_}))
        self._add("assistant", "I look again.", calls=(call,))
        return self._add("tool", words(tokens, f"result {call.id}", self._filler), call_id=call.id, name=call.name)

    def answer(self, text: str) -> Story:
        """A turn that calls nothing."""
        return self._add("assistant", text)

    def _add(self, role: Any, content: str, **rest: Any) -> Story:
        self.messages.append(Message(f"m{len(self.messages) + 1}", role, content, **rest))
        return self


def react_history(steps: int, tokens: int = 600, at_once: int = 1) -> list[Message]:
    """One question and `steps` tool steps, each with `at_once` parallel results of `tokens`."""
    story = Story().ask("Which of the forty articles says what a prefix cache costs?")
    for _ in range(steps):
        story.turn(*[tokens] * at_once, says=40)
    return story.messages


def react40() -> list[Message]:
    """One question, 40 tool steps: 82 messages, about 27k tokens."""
    return react_history(40)


def calls_of(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """The history at each of its model calls, and at the next: every prefix without open calls."""
    open_calls = 0
    for index, message in enumerate(messages):
        open_calls = open_calls - 1 if message.role == "tool" else len(message.calls)
        asks = message.role == "user" or (message.role == "tool" and not open_calls)
        if asks:
            yield list(messages[: index + 1])


# --- laws -------------------------------------------------------------------------------------------------------------


def is_sound(messages: Sequence[Message]) -> list[str]:
    """The objections of a chat server: law 1, and of law 2 that the system message is first and unique."""
    wrong = []
    ids = Tally(message.id for message in messages)
    wrong += [f"{id_!r} {times} times" for id_, times in ids.items() if times > 1]
    wrong += ["a message without an id"] if "" in ids else []
    wrong += [f"system at {at}" for at, message in enumerate(messages) if message.role == "system" and at]
    unanswered: list[str] = []
    for message in messages:
        if message.role == "tool":
            if message.call_id in unanswered:
                unanswered.remove(message.call_id)
            else:
                wrong.append(f"result {message.id!r} answers no call before it")
        else:
            wrong += [f"call {id_!r} has no result" for id_ in unanswered]
            unanswered = [call.id for call in message.calls]
            if len(set(unanswered)) < len(unanswered) or "" in unanswered:
                wrong.append(f"calls of {message.id!r} without an id of their own")
        if message.calls and message.role != "assistant":
            wrong.append(f"a {message.role} message that calls")
    return wrong


def is_faithful(view: Sequence[Message], history: Sequence[Message], fitted: bool = False) -> list[str]:
    """The objections of the user: laws 2 and 4. The history is a sound one.

    In a view that was made to fit, a task of several messages may have lost all but its last.
    """
    wrong = []
    shown = {message.id: message for message in view}
    asked = [message for message in history if message.role == "user" and not message.why]
    if history and history[0].role == "system" and not common_prefix(view[:1], history[:1]):
        wrong.append("the system message is not first, byte for byte")
    lost = {one.id for one in asked if one.id not in shown or not one.same(shown[one.id])}
    if asked and asked[-1].id in lost:
        wrong.append("the current question is not there verbatim")
    if any(one.id in lost for one in task(history)[-fitted:]):
        wrong.append("the first task is not there")
    place = {message.id: index for index, message in enumerate(history)}
    places = [place[message.id] for message in view if message.id in place]
    if any(a >= b for a, b in pairwise(places)):
        wrong.append("the order of the history is lost, or something is doubled")
    return wrong


def pending_calls(messages: Sequence[Message]) -> list[str]:
    """Ids of the calls at the tail that have no result yet."""
    tail = len(messages)
    while tail and messages[tail - 1].role == "tool":
        tail -= 1
    answered = {message.call_id for message in messages[tail:]}
    return [call.id for call in messages[tail - 1].calls if call.id not in answered] if tail else []


Made = TypeVar("Made")

# --- Hypothesis: each strategy is made once, and draws few bytes at a time: drawing takes most of a law's time --------

SOME_BYTES = st.binary(min_size=5, max_size=5)
SIZES = st.one_of(st.integers(0, 12), st.integers(0, 60), st.integers(40, 900))
SYSTEMS = ("You are a test.", "", None)
HUGE, PENDING = (2_500, 15_000, 60_000), st.lists(SIZES, min_size=1, max_size=3)
TOKENS = (0, 1, 3, 6, 9, 12, 20, 30, 45, 60, 90, 150, 300, 450, 600, 900)


def tell_step(story: Story, step: int) -> None:
    """Add one step to a story, given by a number below 256."""
    kind, size = divmod(step, 16)
    tokens = TOKENS[size]
    match kind:
        case 5:
            story.recall(f"m{size}", tokens)
        case 6 | 7:
            story.note(words(tokens // 8, f"note {size}"), "Saved." if size % 4 else "Error: the notes are full")
        case 8 | 9:
            story.turn(tokens, tokens)
        case 10:
            story.turn(tokens, 0, 60, says=0)
        case 11:
            story.turn(*[tokens] * 4, says=40)
        case 12 | 13:
            story.ask(words(tokens // 8, "question"))
        case 14:
            story.answer(words(tokens // 8, "answer"))
        case 15:
            story.answer(words(tokens // 8, "answer")).ask("and?")
        case _:
            story.turn(tokens, says=TOKENS[kind])


@cache
def _steps(most: int) -> st.SearchStrategy[bytes]:
    return st.one_of(st.binary(max_size=most // 3), st.binary(min_size=most // 3, max_size=most))


@cache
@st.composite
def sound_histories(draw: st.DrawFn, most_turns: int = 20) -> list[Message]:
    """A history that a loop could have made: exchanges of turns with parallel calls, maybe pending at the tail."""
    system, filler, task, kind, end = draw(SOME_BYTES)
    story = Story(SYSTEMS[system % 3], FILLERS[filler % 6])
    if kind % 10:
        story.ask(words(task % 61, "task"))
    for step in draw(_steps(most_turns)):
        tell_step(story, step)
    match end % 20:
        case 19 | 18:
            story.turn(HUGE[kind % 3])
        case 17 | 16:
            story.turn(*draw(PENDING), pending=1)
        case 15:
            story.turn(60_000, 60, pending=2)
    return story.messages


CALL_IDS = ("", "x", "y", "z", "x.1", "a.1")
TEXTS = ("", "a", "a system", "[masked: a]", "日本語", "word " * 30)
ANY_ROLE: tuple[Role, ...] = ("system", "user", "assistant", "assistant", "tool", "tool")


@cache
def messages() -> st.SearchStrategy[Message]:
    """Any message at all, from so few ids that they collide."""
    return SOME_BYTES.map(_message)


def _message(drawn: bytes) -> Message:
    number = int.from_bytes(drawn)

    def one(choices: Sequence[Made]) -> Made:
        nonlocal number
        number, at = divmod(number, len(choices))
        return choices[at]

    role, id_, content = one(ANY_ROLE), one(("", "a", "b", "c", "d", "a~2", "x.none")), one(TEXTS)
    if role == "tool":
        return Message(id_, role, content, call_id=one(CALL_IDS), name=one(("", "read")))
    many = one(range(4)) if role == "assistant" else 0
    return Message(
        id_, role, content, calls=tuple(ToolCall(one(CALL_IDS), one(("read", "")), one(TEXTS)) for _ in range(many))
    )


ACCIDENTS = ("lose", "double", "move", "no ids", "same call ids", "empty", "cut")


@cache
@st.composite
def damaged_histories(draw: st.DrawFn) -> list[Message]:
    """A sound history after an accident: messages lost, doubled, moved, stripped of their ids or of their text."""
    broken = draw(sound_histories(most_turns=5))
    drawn = draw(st.binary(min_size=3, max_size=12))
    for kind, one, other in zip(drawn[::3], drawn[1::3], drawn[2::3], strict=False):
        if not broken:
            break
        at, to = one % len(broken), other % len(broken)
        match ACCIDENTS[kind % 7]:
            case "lose":
                del broken[at]
            case "double":
                broken.insert(to, broken[at])
            case "move":
                broken.insert(to, broken.pop(at))
            case "no ids":
                broken[at] = _with_calls_named(broken[at], "")
            case "same call ids":
                broken = [_with_calls_named(message, "x") for message in broken]
            case "empty":
                broken[at] = replace(broken[at], content="")
            case "cut":
                broken = broken[:at]
    return broken


def _with_calls_named(message: Message, call_id: str) -> Message:
    calls = tuple(replace(call, id=call_id) for call in message.calls)
    return replace(message, calls=calls, call_id=call_id if message.role == "tool" else "")


@cache
def broken_histories() -> st.SearchStrategy[list[Message]]:
    """Lists that no loop would make."""
    return st.one_of(st.lists(messages(), max_size=14), damaged_histories())


@cache
def nasty_histories() -> st.SearchStrategy[list[Message]]:
    """Anything that a strategy may meet."""
    return st.one_of(sound_histories(), sound_histories(most_turns=40), broken_histories())


LIMITS = st.one_of(st.integers(200, 2_000), st.integers(2_000, 12_000))
