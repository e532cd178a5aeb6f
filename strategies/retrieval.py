"""retrieval: old observations give way, and the passages of them that a turn needs come back behind the view."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from math import log
from typing import Any

from agent.budget import Budget
from agent.history import question
from agent.messages import Message, pending
from corpus.markdown import shorten
from corpus.words import STOPWORDS, content_words, stem, words
from strategies.observation_masking import ObservationMasking
from strategies.parameter import parameter
from strategies.recital import recited
from strategies.sliding_window import SlidingWindow

HEADER = "Passages of earlier results that may help now, quoted as they were."
PASSAGE = re.compile(
    r"(?s)\S(?:.{200,599}(?=\n\s*\n)|.{200,599}(?=\n)|.{200,599}(?<=[.!?])(?=\s)|.{0,599}(?!\S)|.{599})"
)
"""At most 600 characters (some 150 tokens), cut behind a paragraph, else a line, a sentence, a word, anywhere."""
TERMS = 12
"""Words that are searched for at most: the rarest ones."""
K1, B = 1.2, 0.75
"""BM25: how soon more of a word counts no more, and how much a long passage is discounted."""


@dataclass
class Retrieval:
    """Hide old observations, and quote behind the view the few passages of them that this turn needs. A miss is silent.

    Just-in-time retrieval. Over the budget, observations are masked (observation-masking), and where masks are not
    enough the oldest turns go (sliding-window). At each call the question and the assistant's newest words and calls
    are the query, and the passages of what is hidden are ranked by BM25 (Robertson and Zaragoza, The Probabilistic
    Relevance Framework, 2009). What comes back stands behind the view for that call alone, so that the prefix stays as
    it is; it takes only room that is left, and is computed anew at each call.
    """

    window: int = parameter(2, "newest turns whose observations stay")
    target: float = parameter(0.4, "share of the budget to come down to when over it", 0.1, 1)
    passages: int = parameter(4, "most passages that come back", 1, 100)
    share: float = parameter(0.1, "most of the budget that they may take", 0.01, 1)
    state: dict[str, Any] = field(default_factory=dict)

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """The shortened history, with the passages behind it; see the class."""
        view = self._shorter(messages, budget)
        shown = {message.id: message for message in view}
        hidden = tuple(one for one in messages if one.role == "tool" and shown.get(one.id) is not one)
        size = budget.size(view)
        room = min(self.share * budget.limit, budget.limit - size, budget.size(messages) - size)
        if not hidden or room <= 0 or pending(messages):
            return view
        whole = view
        for passages in self._choices(ranked(index(hidden), need(messages)), view):
            why = f"what fits this turn best of {len(hidden)} hidden results, in passages: {len(passages)}"
            longer = recited(view, "retrieved", _quoted(passages, messages), why)
            if budget.count(longer[-1]) > room:
                break
            whole = longer
        return whole

    def why(self, message: Message) -> str:
        """The rule by which the newest view leaves a message out."""
        why: str = self.state["window"].get("why", "")
        return why

    def _shorter(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        masking = ObservationMasking(self.window, target=self.target, state=self.state.setdefault("masks", {}))
        sliding = SlidingWindow(self.target, state=self.state.get("window", {}))
        view = sliding.prepare(masking.prepare(messages, budget), budget)
        self.state["window"] = sliding.state
        return view

    def _choices(self, ranking: Iterable[Passage], view: Sequence[Message]) -> Iterator[list[Passage]]:
        """The best passage, the two best and so on, without those that stand in the view anyway."""
        said = [message.content for message in view if message.role == "tool"]
        chosen: list[Passage] = []
        for passage in ranking:
            if len(chosen) == self.passages:
                return
            if not any(passage.text in text for text in said):
                said.append(passage.text)
                chosen.append(passage)
                yield chosen


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a result, and how often each word stands in it: stems, stop words left out."""

    text: str
    counts: Mapping[str, int]
    length: int
    result: Message


@lru_cache(maxsize=8192)
def cut(result: Message) -> tuple[Passage, ...]:
    """A result in passages, cut and counted once."""
    texts = [match[0].rstrip() for match in PASSAGE.finditer(result.content)]
    counts = [Counter(_stem(word) for word in words(text) if word not in STOPWORDS) for text in texts]
    return tuple(Passage(text, count, count.total(), result) for text, count in zip(texts, counts, strict=True))


@dataclass(frozen=True, slots=True)
class Index:
    """All passages, and for each word what it weighs in those that it stands in, by their number."""

    passages: Sequence[Passage]
    weights: Mapping[str, Mapping[int, float]]


@lru_cache(maxsize=2)
def index(results: tuple[Message, ...]) -> Index:
    """The passages of these results, weighed: tf · (k1 + 1) / (tf + k1 · (1 - b + b · length / average length))."""
    passages = [passage for result in results for passage in cut(result)]
    average = sum(passage.length for passage in passages) / max(1, len(passages))
    weights: dict[str, dict[int, float]] = defaultdict(dict)
    for number, passage in enumerate(passages):
        for word, tf in passage.counts.items():
            weights[word][number] = tf * (K1 + 1) / (tf + K1 * (1 - B + B * passage.length / average))
    return Index(passages, dict(weights))


_stem = lru_cache(maxsize=65_536)(stem)


def need(messages: Sequence[Message]) -> list[str]:
    """What this turn is about, as stems: the question, and what the assistant has said and called last since."""
    asked = question(messages)
    since = next(((m for m in reversed(messages) if m is asked or m.role == "assistant")), None)
    said = f"{since.content} {' '.join(call.arguments for call in since.calls)}" if since else ""
    return list(dict.fromkeys(map(_stem, content_words(f"{asked.content if asked else ''} {said}"))))


def ranked(found: Index, wanted: Sequence[str]) -> list[Passage]:
    """The passages that share two telling words with what is wanted, best first, down to half the score of the best.

    Telling is a word that stands in fewer than half of all passages; if there is only one, it is enough. The score is
    the sum over the words of idf · weight, with idf = ln((N - n + 0.5) / (n + 0.5)) for one that n of N passages have.
    """
    total = len(found.passages)
    known = sorted((word for word in wanted if word in found.weights), key=lambda word: len(found.weights[word]))
    telling = [found.weights[word] for word in known[:TERMS] if 2 * len(found.weights[word]) < total]
    scores: dict[int, float] = defaultdict(float)
    for weights in telling:
        idf = log((total - len(weights) + 0.5) / (len(weights) + 0.5))
        for number, weight in weights.items():
            scores[number] += idf * weight
    shared = Counter(chain.from_iterable(telling))
    relevant = [number for number in scores if shared[number] >= min(2, len(telling))]
    best = max((scores[number] for number in relevant), default=0)
    good = [number for number in relevant if 2 * scores[number] >= best]
    return [found.passages[number] for number in sorted(good, key=lambda number: (-scores[number], number))]


def _quoted(passages: Sequence[Passage], messages: Sequence[Message]) -> str:
    return "\n\n".join([HEADER, *(f"From {_source(one.result, messages)}:\n{one.text}" for one in passages)])


def _source(result: Message, messages: Sequence[Message]) -> str:
    """The call that a result answers: the tool and its arguments."""
    place = next(index for index, message in enumerate(messages) if message.id == result.id)
    caller = next((message for message in reversed(messages[:place]) if message.role != "tool"), None)
    arguments = [call.arguments for call in caller.calls if call.id == result.call_id] if caller else []
    return shorten(" ".join([result.name, *arguments]), 200)
