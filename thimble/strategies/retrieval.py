"""retrieval: old observations are masked, and the passages that a turn needs are quoted after the view."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from math import log
from typing import TYPE_CHECKING, Literal

from thimble.agent.budget import Budget
from thimble.agent.errors import ModelError, UsageError
from thimble.agent.messages import MAX_CONTENT_CHARACTERS, Message, differences, pending_turn
from thimble.agent.protocols import Embedder
from thimble.agent.turns import question
from thimble.corpus.markdown import shorten
from thimble.corpus.words import STOPWORDS, content_words, split_words, stem
from thimble.strategies.masks import Masks
from thimble.strategies.observation_masking import ObservationMasking
from thimble.strategies.parameter import parameter
from thimble.strategies.recital import make_recital
from thimble.strategies.sliding_window import SlidingWindow, WindowState
from thimble.strategies.state import Stateful

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PASSAGES_HEADER = "Passages of earlier results that may help now, quoted verbatim."
PASSAGE_TEXT = re.compile(
    r"(?s)\S(?:.{200,599}(?=\n\s*\n)|.{200,599}(?=\n)|.{200,599}(?<=[.!?])(?=\s)|.{0,599}(?!\S)|.{599})"
)
"""At most 600 characters (about 150 tokens), cut after a paragraph, else a line, a sentence, a word, anywhere."""
MAX_QUERY_TERMS = 12
"""The most words of a query: the rarest ones."""
K1, B = 1.2, 0.75
"""BM25: how soon repeating a word stops counting, and how much a long passage is discounted."""
MIN_COSINE = 0.4
"""The least cosine of a passage that shares too few words with the query."""
HOW_TO_EMBED = "pip install --no-deps wordllama, or a server's: --embeddings ollama:all-minilm; or take by=words"


@dataclass
class HiddenResults:
    """The masks, and the sliding window applied afterwards."""

    masks: Masks = field(default_factory=Masks)
    window: WindowState = field(default_factory=WindowState)


@dataclass
class Retrieval(Stateful):
    """Mask old observations, and quote the few passages that this turn needs after the view. A miss shows nothing.

    Just-in-time retrieval. Over the budget, observations are masked (observation-masking); if masks are not enough, the
    oldest turns go (sliding-window). At each call, the query is the question and the assistant's newest words and
    calls; BM25 ranks the passages of the hidden observations (Robertson and Zaragoza, The Probabilistic Relevance
    Framework, 2009). The passages follow the view for that call only, so the prefix stays. They use only free room, and
    are chosen again at each call.

    With `by=meaning` the score of a passage is its share of the best BM25 plus the cosine of its vector with that of
    the query: 0 to 2. If the embedder fails, words alone rank until the next question.
    """

    window: int = parameter(2, "newest turns whose observations stay")
    target: float = parameter(0.4, "share of the budget to come down to when over it", 0.1, 1)
    passages: int = parameter(4, "most passages quoted", 1, 100)
    share: float = parameter(0.1, "share of the budget that they may use at most", 0.01, 1)
    by: Literal["words", "meaning"] = parameter("words", "what ranks passages; meaning adds embeddings to the words")
    embedder: Embedder | None = field(default=None, repr=False, compare=False)
    memory: HiddenResults = field(default_factory=HiddenResults)
    _vectors: Vectors = field(default_factory=lambda: Vectors(), init=False, repr=False, compare=False)
    _index: PassageIndex = field(default_factory=lambda: PassageIndex(), init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.by == "meaning" and self.embedder is None:
            raise UsageError("retrieval:by=meaning needs embeddings", HOW_TO_EMBED)

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """The shortened history, with the passages after it; see the class."""
        view = self._shorter(messages, budget)
        shown = {message.id: message for message in view}
        hidden = [one for one in messages if one.role == "tool" and shown.get(one.id) is not one]
        size = budget.size(view)
        room = min(self.share * budget.limit, budget.limit - size, budget.size(messages) - size)
        if not hidden or room <= 0 or pending_turn(messages):
            return view
        whole = view
        self._index.read(hidden)
        ranking = self._ranked(messages)
        alone = f" (by words alone: {self._vectors.error})" if self._vectors.error else ""
        for passages in self._choices(ranking, view):
            why = f"what fits this turn best of {len(hidden)} hidden results, in passages: {len(passages)}"
            quoted = make_recital("retrieved", _quote_passages(passages, messages), why + alone)
            if budget.count(quoted) > room:
                break
            whole = [*view, quoted]
        return whole

    def why(self, message: Message) -> str:
        """The rule by which the newest view leaves a message out."""
        return self.memory.window.why

    def _shorter(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        masking = ObservationMasking(self.window, target=self.target, memory=self.memory.masks)
        sliding = SlidingWindow(self.target, memory=self.memory.window)
        view = sliding.prepare(masking.prepare(messages, budget), budget)
        self.memory.masks, self.memory.window = masking.memory, sliding.memory
        return view

    def _ranked(self, messages: Sequence[Message]) -> list[ResultPassage]:
        """The passages that fit this turn, best first; by words alone if there are no vectors."""
        near: Sequence[float] = ()
        if self.by == "meaning" and self.embedder:
            texts = [passage.text for passage in self._index.passages]
            near = self._vectors.near(turn_query(messages), texts, question(messages), self.embedder)
        return rank_passages(self._index, stem_query(messages), near)

    def _choices(self, ranking: Sequence[ResultPassage], view: Sequence[Message]) -> Iterator[list[ResultPassage]]:
        """The best passage, the two best and so on, without passages already in the view."""
        said = [message.content for message in view if message.role == "tool"]
        chosen: list[ResultPassage] = []
        for passage in ranking:
            if len(chosen) == self.passages:
                return
            if not any(passage.text in text for text in said):
                said.append(passage.text)
                chosen.append(passage)
                yield chosen


@dataclass(frozen=True, slots=True)
class ResultPassage:
    """A piece of a result, and how often each word occurs in it: stems, without stop words."""

    text: str
    counts: Mapping[str, int]
    length: int
    result: Message


@lru_cache(maxsize=8192)
def split_result(result: Message) -> tuple[ResultPassage, ...]:
    """The passages of a result, cut and counted once; none if it is too long."""
    if len(result.content) > MAX_CONTENT_CHARACTERS:
        return ()
    texts = [match[0].rstrip() for match in PASSAGE_TEXT.finditer(result.content)]
    counts = [Counter(_stem(word) for word in split_words(text) if word not in STOPWORDS) for text in texts]
    return tuple(ResultPassage(text, count, count.total(), result) for text, count in zip(texts, counts, strict=True))


@dataclass
class PassageIndex:
    """The passages of results, and for each word the indices of the passages in which it occurs."""

    results: Sequence[Message] = ()
    passages: list[ResultPassage] = field(default_factory=list)
    places: dict[str, list[int]] = field(default_factory=dict)

    def __deepcopy__(self, memo: object) -> PassageIndex:
        places = {word: [*places] for word, places in self.places.items()}
        return PassageIndex(self.results, [*self.passages], places)

    def read(self, results: Sequence[Message]) -> None:
        """Index the passages of these results; only new results are read if the earlier ones are unchanged."""
        before, self.results = self.results, ()  # until all are read: Ctrl-C may come
        if not before or next(differences(before, results), len(results)) < len(before):
            self.passages, self.places, before = [], {}, ()
        for passage in chain.from_iterable(map(split_result, results[len(before) :])):
            for word in passage.counts:
                self.places.setdefault(word, []).append(len(self.passages))
            self.passages.append(passage)
        self.results = results


class Vectors:
    """The vectors of passages and queries, each made once. Copies share them: a text has one vector.

    `error` says why there are none for the newest question, or is "".
    """

    def __init__(self) -> None:
        self.error = ""
        self._made: dict[str, NDArray[np.float32]] = {}
        self._failed: Message | None = None

    def __deepcopy__(self, memo: object) -> Vectors:
        return self

    def near(self, query: str, texts: Sequence[str], asked: Message | None, embedder: Embedder) -> list[float]:
        """The cosine of each text with the query; [] after a failure, for the rest of the question."""
        new = [text for text in dict.fromkeys([query, *texts]) if text not in self._made]
        if new and self.error and asked is self._failed:
            return []
        try:
            self._made |= zip(new, embedder.embed(new) if new else (), strict=True)
        except ModelError as error:
            self.error, self._failed = error.what, asked
            return []
        self.error = ""
        return [float(self._made[text] @ self._made[query]) for text in texts]


_stem = lru_cache(maxsize=65_536)(stem)


def turn_query(messages: Sequence[Message]) -> str:
    """The query of this turn: the question, and the assistant's newest words and calls since."""
    asked = question(messages)
    since = next(((m for m in reversed(messages) if m is asked or m.role == "assistant")), None)
    said = f"{since.content} {' '.join(call.arguments for call in since.calls)}" if since else ""
    return f"{asked.content if asked else ''} {said}"


def stem_query(messages: Sequence[Message]) -> list[str]:
    """The query of this turn, as stems."""
    return list(dict.fromkeys(map(_stem, content_words(turn_query(messages)))))


def rank_passages(index: PassageIndex, wanted: Sequence[str], near: Sequence[float] = ()) -> list[ResultPassage]:
    """The passages that fit the query, best first, down to half the score of the best.

    By words, those that share two telling words with it, scored by BM25. With the cosines of `near`, also those that
    are close; the score is then the share of the best BM25 plus the cosine, 0 to 2.
    """
    scores = score_by_words(index, wanted)
    if near:
        most = max(scores.values(), default=1)
        scores = {
            place: scores.get(place, 0) / most + max(cosine, 0)
            for place, cosine in enumerate(near)
            if place in scores or cosine >= MIN_COSINE
        }
    best = max(scores.values(), default=0)
    good = [place for place, score in scores.items() if 2 * score >= best]
    return [index.passages[place] for place in sorted(good, key=lambda place: (-scores[place], place))]


def score_by_words(index: PassageIndex, wanted: Sequence[str]) -> dict[int, float]:
    """The BM25 of each passage that shares two telling words with the query, by its place.

    A telling word occurs in fewer than half of all passages; if there is only one, it is enough. The score is the sum
    over the words of idf · tf · (k1 + 1) / (tf + k1 · (1 - b + b · length / average length)), with
    idf = ln((N - n + 0.5) / (n + 0.5)) for a word in n of N passages.
    """
    total = len(index.passages)
    average = max(1, sum(passage.length for passage in index.passages) / max(1, total))
    held = {word: len(index.places.get(word, ())) for word in wanted}
    rarest = sorted(filter(held.__getitem__, wanted), key=held.__getitem__)[:MAX_QUERY_TERMS]
    idf = {word: log((total - held[word] + 0.5) / (held[word] + 0.5)) for word in rarest if 2 * held[word] < total}
    shared = Counter(chain.from_iterable(map(index.places.__getitem__, idf)))
    scores = {}
    for place in (place for place, telling in shared.items() if telling >= min(2, len(idf))):
        passage = index.passages[place]
        often = {word: passage.counts[word] for word in idf if word in passage.counts}
        longer = K1 * (1 - B + B * passage.length / average)
        scores[place] = sum(idf[word] * times * (K1 + 1) / (times + longer) for word, times in often.items())
    return scores


def _quote_passages(passages: Sequence[ResultPassage], messages: Sequence[Message]) -> str:
    return "\n\n".join(
        [PASSAGES_HEADER, *(f"From {_describe_source(one.result, messages)}:\n{one.text}" for one in passages)]
    )


def _describe_source(result: Message, messages: Sequence[Message]) -> str:
    """The call that a result answers: the tool and its arguments."""
    before = messages[: next((at for at, one in enumerate(messages) if one.id == result.id), 0)]
    caller = next((one for one in reversed(before) if one.role != "tool"), result)
    arguments = [call.arguments for call in caller.calls if call.id == result.call_id]
    return shorten(" ".join([result.name, *arguments]), 200)
