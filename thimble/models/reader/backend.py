"""The reader as a backend: looks at the view, decides, and streams its reply."""

from __future__ import annotations

import json
import re
import zlib
from bisect import bisect_right
from collections.abc import Generator, Sequence
from copy import copy
from dataclasses import dataclass, replace

from thimble.agent.budget import Counter
from thimble.agent.messages import Message, Schema, ToolCall
from thimble.agent.protocols import Backend, Delta, Expects, Text
from thimble.models.counting.prefix import PrefixMeter
from thimble.models.hardware import Hardware
from thimble.models.paced import pace_reply
from thimble.models.reader.answer import answer, describe_search, next_step
from thimble.models.reader.request import parse_request
from thimble.models.reader.session import NO_FACTS, SessionFacts, answer_about_session
from thimble.models.reader.summary import asked_summary, summarise
from thimble.models.reader.view import CLOSEST_PASSAGES, I_CANNOT, read_view

PIECE = re.compile(r"\s*\S+|\s+$")


@dataclass(frozen=True, slots=True)
class ReaderReply:
    """The text and the calls of a reply."""

    text: str
    calls: tuple[ToolCall, ...] = ()

    @property
    def finish(self) -> str:
        """The end in the usage: `stop` for an answer or calls, else `refusal`, or `passages` without an answer."""
        endings = {I_CANNOT: "refusal", CLOSEST_PASSAGES: "passages"}
        return next((ending for begins, ending in endings.items() if self.text.startswith(begins)), "stop")


def reply(messages: Sequence[Message], tools: Sequence[Schema], facts: SessionFacts = NO_FACTS) -> ReaderReply:
    """The reader's reply to a view. A pure function: it knows only the messages, the tools and the facts."""
    if wanted := asked_summary(messages, tools):
        return ReaderReply(summarise(messages[:-1], *wanted))
    view = read_view(messages)
    if not view.question:
        return ReaderReply(f"{I_CANNOT} see a question here. Please ask it again.")
    if told := answer_about_session(view, tools, facts):
        return ReaderReply(told)
    asked = parse_request(view)
    step = next_step(asked, view, tools)
    if step is None:
        return ReaderReply(answer(asked, view, bool(tools)))
    why, helpful = step
    calls = []
    for name, given in helpful:
        arguments = json.dumps(given, ensure_ascii=False)
        # Unique in the session, and the same for the same view.
        unique = zlib.crc32(f"{messages[-1].id}|{len(messages)}|{name}|{arguments}".encode())
        calls.append(ToolCall(f"call_{unique:08x}", name, arguments))
    found = dict.fromkeys(describe_search(act.shows) for act in view.acts if act.fresh and act.current)
    return ReaderReply(" ".join([*filter(None, found), why]), tuple(calls))


class Reader(Backend):
    """thimble's built-in default without a model: not a language model, but a deterministic reader.

    It finds, reads and quotes. The same messages and tools always give the same reply; it keeps no state between two
    calls and opens no file by itself. When a strategy removes a passage from the view, the reader no longer knows it.
    """

    name = "reader"
    model = "extractive"

    def __init__(self, counter: Counter, *, pace: Hardware | None = None) -> None:
        """Reply at the pace of a described machine, which loads its model for the first reply; or without delay."""
        self._counter = counter
        self._meter = PrefixMeter(counter)
        self._pace = pace
        self._facts = NO_FACTS

    @property
    def counter(self) -> Counter:
        """Counts tokens; the reader reads no tokens itself, so any counter will do."""
        return self._counter

    def within(self, strategy: str, budget: int) -> Reader:
        """The same reader for one request, with the strategy and the budget of the session."""
        asked = copy(self)  # another thread may ask for another session
        asked._facts = SessionFacts(strategy, budget)
        self._pace = self._pace and replace(self._pace, load_seconds=0)
        return asked

    def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[Schema],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        expects: Expects = "turn",
    ) -> Generator[Delta, None, None]:
        """Stream the reply word by word, then its calls, then the usage; cut at `max_tokens` as a server would.

        The reader follows rules and samples nothing: it ignores the temperature.
        """
        size = self._counter.overhead(tools) + sum(map(self._counter.count, messages))
        said = reply(messages, tools if expects == "turn" else (), self._facts._replace(used=size))
        written = said.text + "".join(call.name + call.arguments for call in said.calls)
        whole = max_tokens is None or self._tokens(written) <= max_tokens
        text = said.text if max_tokens is None else self._cut(said.text, max_tokens)
        deltas: list[Text | ToolCall] = [*map(Text, PIECE.findall(text)), *(said.calls if whole else ())]
        usage = self._meter.usage(messages, tools, written if whole else text)
        usage = replace(usage, finish=said.finish if whole else "length")
        if self._pace is None:
            yield from deltas
            yield usage
        else:
            on, self._pace = self._pace, replace(self._pace, load_seconds=0)
            yield from pace_reply(deltas, usage, on)

    def _tokens(self, text: str) -> int:
        """Tokens of a text, the markers around a message not counted."""
        count = self._counter.count
        return count(Message("draft", "assistant", text)) - count(Message("draft", "assistant"))

    def _cut(self, text: str, most: int) -> str:
        """The longest run of whole words from the start with at most this many tokens."""
        pieces = PIECE.findall(text)
        ends = range(len(pieces) + 1)
        kept = bisect_right(ends, most, key=lambda end: self._tokens("".join(pieces[:end])))
        return "".join(pieces[: kept - 1])
