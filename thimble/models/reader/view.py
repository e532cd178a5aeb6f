"""The view as the reader sees it: the question, the calls made so far, and the parts of their results in view."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from thimble.agent.messages import Message, ToolCall
from thimble.agent.prompts import CLOSING_PROMPT, SUMMARY_TAG
from thimble.corpus.markdown import split_sentences
from thimble.corpus.observations import SLUG, USER, Quote, Result, parse_observation

I_CANNOT = "I cannot"
"""The beginning of an answer that declines."""
CLOSEST_PASSAGES = "I am no language model; the closest passages are:"
"""The beginning of a reply that shows passages instead of an answer."""
NEXT_PAGE = "ask me for the next page."
"""The end of an answer that shows a page of a list."""
NOTHING_SHOWN = Result("gone", whole=False)
Call = tuple[str, Mapping[str, Any]]
"""The name of a tool, and its arguments."""
LEAD = (
    r"^\W*(?:(?:and|now|then|next|first|please|ok|okay|also|so|well|hi|hello|can you|could you|would you|i want you to|"
    r"i['’]d like you to|let us|let['’]s)\W+)*"
)
"""Words that may come before a request."""
ASKS = re.compile(
    rf"\?|{LEAD}(?:how|what|which|who|when|where|why|tell|show|give|explain|read|find|list|compare|summari[sz]e|search|"
    r"note|remember|define|describe|back to|is|are|am|do|does|did|can|could|will|would|has|have)\b"
    r"|\b(?:how|what|which|whether|why|should|please|any (?:way|idea)|worth)\b"
    r"|\b(?:want|need|like) to (?:know|learn|understand|see)\b|[.!,;:]\s+(?:is|are|do|does|did|has|have|will|would)\b",
    re.IGNORECASE,
)
"""A sentence that asks for something."""
USER_STATES = re.compile(r"^\W*(?:(?:\w+,? ){0,4}?)(?:i|we|my|our)\b", re.IGNORECASE)
"""The beginning of a user's statement about themselves."""
CITATION = re.compile(rf"(?<!\w)\[({SLUG}|[^\[\]\s:]+:\d{{1,9}})\]")
"""Brackets directly after a word are not a citation: `web[2]`."""
LEAD_IN = re.compile(r"^(?:(?:[-*•]|\d+[.)])\s+|Found: |Perhaps: )?(?:“[^“”]+”(?: — [^\[\]:]{0,200})?(?:: |$))?")
"""The text before a quotation: the sign of a list, or its title."""


@dataclass(frozen=True, slots=True)
class Act:
    """A call in view, with the part of its result that is in view.

    `current`: made for the newest question. `fresh`: no reply has followed its result yet.
    """

    name: str
    arguments: Mapping[str, Any]
    shows: Result
    current: bool
    fresh: bool = False

    def text(self, argument: str) -> str:
        """An argument as text, "" if it is missing."""
        return str(self.arguments.get(argument, "")).strip()


@dataclass(frozen=True, slots=True)
class ReaderView:
    """All that one call of the reader knows.

    `earlier` are the questions before `question`, `told` the user's statements in them. `own` are the reader's quotes
    before the newest question, `thoughts` its quotes since, and `said` its last answer. `titles` are the titles of the
    articles in view, by slug. `at_hand` is the article that the last answer cites, `file` the file that it quotes, up
    to `line`; "" if there is none.
    """

    question: str
    earlier: tuple[str, ...]
    acts: tuple[Act, ...]
    statements: tuple[Quote, ...]
    own: tuple[Quote, ...]
    thoughts: tuple[Quote, ...]
    said: str
    titles: Mapping[str, str]
    at_hand: str
    file: str
    line: int

    def current(self, *names: str) -> list[Act]:
        """The calls of these tools that were made for the newest question."""
        return [act for act in self.acts if act.current and act.name in names]

    def hidden(self, name: str) -> bool:
        """Whether this tool was called for the newest question, and the result of a call is not in view."""
        return any(self.shows((name, act.arguments)).form == "gone" for act in self.current(name))

    def title(self, slug: str) -> str:
        """The title of an article; its slug if the title is not in view."""
        return self.titles.get(slug, slug)

    def pages(self, slug: str) -> list[Result]:
        """The pages of an article that are in view."""
        return [act.shows for act in self.acts if act.shows.form == "page" and act.shows.entries[0].slug == slug]

    def shows(self, call: Call) -> Result:
        """The result of the newest identical call that is in view or can be recalled."""
        made = [act.shows for act in reversed(self.acts) if (act.name, act.arguments) == call]
        return next((shows for shows in made if shows.more or shows.form != "gone"), NOTHING_SHOWN)


def real_question(message: Message) -> bool:
    """Whether a message is the user's own words, and not a nudge or an inserted summary."""
    asked = message.role == "user" and not is_summary(message) and CLOSING_PROMPT not in message.content
    return asked and bool(message.content.strip())


def is_summary(message: Message) -> bool:
    """Whether a strategy put a message in: a summary or a recital."""
    return bool(message.why) and message.content.startswith(SUMMARY_TAG)


def is_statement(text: str) -> bool:
    """Whether the words state something about the user and ask nothing."""
    return bool(USER_STATES.match(text)) and not ASKS.search(text)


def read_view(messages: Sequence[Message]) -> ReaderView:
    """The reader's view of these messages."""
    asked = [index for index, message in enumerate(messages) if real_question(message)]
    start = asked[-1] if asked else len(messages)
    acts = tuple(_iter_acts(messages, start))
    answers = [m for m in messages[:start] if not m.calls and (m.role == "assistant" or is_summary(m))]
    cited = [found for m in answers if not m.content.startswith(I_CANNOT) and (found := CITATION.findall(m.content))]
    sources = cited[-1] if cited else [""]
    file, _, line = sources[-1].rpartition(":")
    return ReaderView(
        question=messages[asked[-1]].content.strip() if asked else "",
        earlier=tuple(messages[index].content.strip() for index in asked[:-1]),
        acts=acts,
        statements=tuple(dict.fromkeys(_user_statements(messages[:start]))),
        own=_quoted(messages[:start]),
        thoughts=_quoted(messages[start:]),
        said=answers[-1].content if answers else "",
        titles={entry.slug: entry.title for act in acts for entry in act.shows.entries},
        at_hand=next((source for source in sources if ":" not in source), ""),
        file=file,
        line=int(line) if file else 0,
    )


def _quoted(messages: Sequence[Message]) -> tuple[Quote, ...]:
    """The quotes in the assistant's words, or in a summary of them."""
    spoken = (one.content for one in messages if one.role == "assistant" or is_summary(one))
    return tuple(dict.fromkeys(one for text in spoken for one in own_sentences(text)))


def _iter_acts(messages: Sequence[Message], start: int) -> Iterator[Act]:
    """Each call with its result. A recalled result is that of the original call."""
    copies: dict[str, Act] = {}
    results = {message.call_id: message for message in messages if message.role == "tool"}
    last = max((index for index, message in enumerate(messages) if message.role == "assistant"), default=0)
    for index, message in enumerate(messages):
        for call in message.calls:
            act = Act(call.name, _arguments(call), NOTHING_SHOWN, index > start, index == last)
            recalls = call.name == "recall"
            of = copies.get(act.text("id"), act) if recalls else act
            if result := results.get(call.id):
                copy = result.id if result.why else ""
                shows = parse_observation(result.content, of.name, of.text("path"), copy)
                of = replace(of, shows=shows, current=act.current, fresh=act.fresh)
            if recalls and of.name != "recall" and of.shows.form != "error":
                yield replace(of, shows=replace(of.shows, more=""))  # recalling it again adds nothing
                of = replace(act, shows=replace(NOTHING_SHOWN, whole=of.shows.whole))
            elif of.shows.more:
                copies[of.shows.more] = of
            yield replace(act, shows=of.shows)


def _arguments(call: ToolCall) -> dict[str, Any]:
    with suppress(ValueError, RecursionError):
        arguments = json.loads(call.arguments or "{}")
        return arguments if isinstance(arguments, dict) else {}
    return {}


def _user_statements(messages: Sequence[Message]) -> Iterator[Quote]:
    """The user's statements, in their own words or kept in a summary."""
    for message in messages:
        if message.role == "user" and CLOSING_PROMPT not in message.content:
            for line in message.content.split("\n"):
                said = split_sentences(line.strip().removeprefix("- "))
                ours = any(USER_STATES.match(sentence) for sentence in said)
                yield from (Quote(sentence, USER) for sentence in said if ours and not ASKS.search(sentence))


@lru_cache(maxsize=512)
def own_sentences(text: str) -> tuple[Quote, ...]:
    """The quotes in a text of the assistant, or in a summary: each run of sentences with its citation."""
    said: list[Quote] = []
    if text.startswith(I_CANNOT):
        return ()
    for line in text.replace("\r\n", "\n").split("\n"):
        start = 0
        for cite in CITATION.finditer(line):
            run = LEAD_IN.sub("", line[start : cite.start()].lstrip(" .;,").rstrip(" ;,"))
            start = cite.end()
            said += [Quote(run, cite[1])] if run else []
    return tuple(said)
