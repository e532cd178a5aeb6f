"""retrieval: old observations are masked, and the passages that a turn needs are quoted after the view."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from math import log
from typing import TYPE_CHECKING, Literal

from agent.budget import Budget
from agent.errors import ModelError, UsageError
from agent.messages import LONGEST, Message, pending
from agent.protocols import Embedder, Mapper
from agent.turns import question
from corpus.markdown import shorten
from corpus.words import STOPWORDS, content_words, stem, words
from strategies.masks import Masks
from strategies.observation_masking import ObservationMasking
from strategies.parameter import parameter
from strategies.recital import recital
from strategies.sliding_window import Slid, SlidingWindow
from strategies.state import Stateful

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

HEADER = "Passages of earlier results that may help now, quoted as they were."
PASSAGE = re.compile(
    r"(?s)\S(?:.{200,599}(?=\n\s*\n)|.{200,599}(?=\n)|.{200,599}(?<=[.!?])(?=\s)|.{0,599}(?!\S)|.{599})"
)
"""At most 600 characters (about 150 tokens), cut after a paragraph, else a line, a sentence, a word, anywhere."""
TERMS = 12
"""The most words of a query: the rarest ones."""
K1, B = 1.2, 0.75
"""BM25: how soon repeating a word stops counting, and how much a long passage is discounted."""
CLOSE = 0.4
"""The least cosine of a passage that shares too few words with the query."""
EMBEDDINGS = "pip install --no-deps wordllama, or a server's: --embeddings ollama:all-minilm; or take by=words"


MAP = "library-map"
"""The id of the message with the map."""
FILLED = 0.5
"""The share of the budget that a view with a new map may fill: the next edit must not come much earlier for it."""
MAP_HEADER = "Map of the library for the question, when older results were hidden. Read articles by these names."


@dataclass(frozen=True)
class Drawn:
    """The text of the map, and the id of the message that it follows."""

    text: str = ""
    after: str = ""


@dataclass
class Hidden:
    """The masks, and the sliding window applied afterwards; and the map drawn when they changed."""

    masks: Masks = field(default_factory=Masks)
    window: Slid = field(default_factory=Slid)
    map: Drawn = field(default_factory=Drawn)

    @property
    def edits(self) -> tuple[int, Slid]:
        """What an edit changes."""
        return len(self.masks.masked), self.window


@dataclass
class Retrieval(Stateful):
    """Mask old observations, and quote the few passages that this turn needs after the view. A miss shows nothing.

    Just-in-time retrieval. Over the budget, observations are masked (observation-masking); if masks are not enough, the
    oldest turns go (sliding-window). At each call, the query is the question and the assistant's newest words and
    calls; BM25 ranks the passages of the hidden observations (Robertson and Zaragoza, The Probabilistic Relevance
    Framework, 2009). The passages follow the view for that call only, so the prefix stays as it is. They use only free
    room, and are chosen again at each call.

    With `by=meaning` the score of a passage is its share of the best BM25 plus the cosine of its vector with that of
    the query: 0 to 2. An embedder that fails leaves the words, and is asked again with the next question.

    With `map`, an edit also draws a map of the library for the question: where hidden things can be read again, and
    what else there is. It follows the newest message of that call and stays there, word for word, until the next edit,
    which changes the prefix anyway. So it is computed once an edit, not at every call.
    """

    window: int = parameter(2, "newest turns whose observations stay")
    target: float = parameter(0.4, "share of the budget to come down to when over it", 0.1, 1)
    passages: int = parameter(4, "most passages quoted", 1, 100)
    share: float = parameter(0.1, "share of the budget that they may use at most", 0.01, 1)
    by: Literal["words", "meaning"] = parameter("words", "what ranks passages; meaning adds embeddings to the words")
    map: float = parameter(0, "share of the budget for a map of the library, fitted to the question; 0: none", 0, 0.5)
    embedder: Embedder | None = field(default=None, repr=False, compare=False)
    mapper: Mapper | None = field(default=None, repr=False, compare=False)
    memory: Hidden = field(default_factory=Hidden)
    _masking: ObservationMasking = field(init=False, repr=False, compare=False)
    _index: Index = field(default_factory=lambda: Index(), init=False, repr=False, compare=False)
    _vectors: Vectors = field(default_factory=lambda: Vectors(), init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.by == "meaning" and self.embedder is None:
            raise UsageError("retrieval:by=meaning needs embeddings", EMBEDDINGS)
        self._masking = ObservationMasking(self.window, target=self.target)

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """The shortened history, with the passages after it; see the class."""
        history = [*messages]
        view = self._shorter_with_map(history, budget) if self.map else self._shorter(history, budget, self.target)
        self._index.goes_on(history, view)
        size = budget.size(view)
        room = min(self.share * budget.limit, budget.limit - size, budget.size(history) - size)
        if not self._index.results or room <= 0 or pending(history):
            return view
        whole = view
        near = self._near(history)
        alone = f" (by words alone: {self._vectors.error})" if self._vectors.error else ""
        for passages in self._choices(ranked(self._index, need(history), near), view):
            why = f"what fits this turn best of {self._index.results} hidden results, in passages: {len(passages)}"
            quoted = recital("retrieved", _quoted(passages, history), why + alone)
            if budget.count(quoted) > room:
                break
            whole = [*view, quoted]
        return whole

    def why(self, message: Message) -> str:
        """The rule by which the newest view leaves a message out."""
        return self.memory.window.why

    def _shorter_with_map(self, history: list[Message], budget: Budget) -> list[Message]:
        """The shorter history with the map in its place; the map goes if it has no room any more.

        The map counts against the budget and the target: an edit hides as much more as the map may take, so that the
        next edit comes hardly earlier.
        """
        edits, said = self.memory.edits, self._said(history)
        taken = min(budget.count(said), int(self.map * budget.limit)) if said else 0
        goal = max(0, self.target - self.map) * budget.limit
        left = replace(budget, limit=budget.limit - taken)
        view = self._shorter(history, left, goal / max(1, left.limit))
        if said and budget.count(said) > self._room(view, history, budget, budget.limit):
            self.memory.map, said = Drawn(), None
            view = self._shorter(history, budget, goal / max(1, budget.limit))
        if self.memory.edits != edits:
            self.memory.map = self._draw(view, history, budget)
            said = self._said(history)
        if not said or (place := _place(view, self.memory.map.after)) is None:
            return view
        return [*view[: place + 1], said, *view[place + 1 :]]

    def _said(self, history: list[Message]) -> Message | None:
        """The message with the map; None if there is none, or not in this history."""
        drawn = self.memory.map
        if not drawn.text or _place(history, drawn.after) is None or _place(history, MAP) is not None:
            return None
        return _map_of(drawn.text)

    def _room(self, view: list[Message], history: list[Message], budget: Budget, most: float) -> float:
        """The most tokens for a map: the view with it must not be larger than `most` or than the history."""
        size = budget.size(view)
        return min(self.map * budget.limit, most - size, budget.size(history) - size)

    def _draw(self, view: list[Message], history: list[Message], budget: Budget) -> Drawn:
        room = self._room(view, history, budget, max(self.target, FILLED) * budget.limit)
        asked = question(history)
        if not self.mapper or room <= 0 or pending(history):
            return Drawn()
        text = self.mapper(asked.content if asked else "", room, lambda text: budget.count(_map_of(text)))
        return Drawn(text, view[-1].id) if text else Drawn()

    def _shorter(self, history: list[Message], budget: Budget, target: float) -> list[Message]:
        self._masking.memory, self._masking.target = self.memory.masks, target
        sliding = SlidingWindow(target, memory=self.memory.window)
        view = sliding.prepare(self._masking.prepare(history, budget), budget)
        self.memory.window = sliding.memory
        return view

    def _near(self, history: list[Message]) -> dict[Place, float]:
        """The cosine of each passage with the query; nothing by words, or where no vectors can be had."""
        if self.by == "words" or self.embedder is None:
            return {}
        return self._vectors.near(query(history), self._index.passages, question(history), self.embedder)

    def _choices(self, ranking: Iterable[Passage], view: Sequence[Message]) -> Iterator[list[Passage]]:
        """The best passage, the two best and so on, without passages already in the view."""
        said = [message.content for message in view if message.role == "tool"]
        chosen: list[Passage] = []
        for passage in ranking:
            if len(chosen) == self.passages:
                return
            if not any(passage.text in text for text in said):
                said.append(passage.text)
                chosen.append(passage)
                yield chosen


Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a result, and how often each word occurs in it: stems, without stop words."""

    text: str
    counts: Mapping[str, int]
    length: int
    result: Message


@lru_cache(maxsize=8192)
def cut(result: Message) -> tuple[Passage, ...]:
    """The passages of a result, cut and counted once; of one that is too long, none."""
    if len(result.content) > LONGEST:
        return ()
    texts = [match[0].rstrip() for match in PASSAGE.finditer(result.content)]
    counts = [Counter(_stem(word) for word in words(text) if word not in STOPWORDS) for text in texts]
    return tuple(Passage(text, count, count.total(), result) for text, count in zip(texts, counts, strict=True))


class Index:
    """The passages of all hidden results, by the place of the result and their number in the result.

    `words` has for each word the number of times it occurs in each passage. Each call continues from the last one: only
    newly hidden results are read.
    """

    def __init__(self) -> None:
        self._history, self._shown = list[Message](), list[int]()
        self.results, self.length = 0, 0
        self.passages: dict[Place, Passage] = {}
        self.words: dict[str, dict[Place, int]] = defaultdict(dict)

    def __deepcopy__(self, memo: object) -> Index:
        return Index()  # a copy rebuilds its index from the history

    def goes_on(self, history: list[Message], view: list[Message]) -> None:
        """Add the results of the history that the view hides or changes."""
        if history[: len(self._history)] != self._history:
            self.__init__()  # type: ignore[misc]
        new = enumerate(history[len(self._history) :], len(self._history))
        seen = [*self._shown, *(at for at, message in new if message.role == "tool")]
        self._history = history
        shown = {message.id: message for message in view}
        self._shown = [at for at in seen if shown.get(history[at].id) is history[at]]
        for at in sorted(set(seen).difference(self._shown)):
            self._add(at, history[at])

    def _add(self, at: int, result: Message) -> None:
        self.results += 1
        for number, passage in enumerate(cut(result)):
            place = at, number
            self.passages[place] = passage
            self.length += passage.length
            for word, times in passage.counts.items():
                self.words[word][place] = times

    def weights(self, word: str) -> Iterator[tuple[Place, float]]:
        """The weight of a word in each passage: tf · (k1 + 1) / (tf + k1 · (1 - b + b · length / average length))."""
        average = self.length / max(1, len(self.passages))
        for place, tf in self.words[word].items():
            yield place, tf * (K1 + 1) / (tf + K1 * (1 - B + B * self.passages[place].length / average))


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

    def near(
        self, query: str, passages: Mapping[Place, Passage], asked: Message | None, embedder: Embedder
    ) -> dict[Place, float]:
        """The cosine of each passage with the query; nothing for the rest of a question for which it failed once."""
        texts = {place: passage.text for place, passage in passages.items()}
        new = [text for text in dict.fromkeys([query, *texts.values()]) if text not in self._made]
        if new and self.error and asked is self._failed:
            return {}
        try:
            self._made |= zip(new, embedder.embed(new) if new else (), strict=True)
        except ModelError as error:
            self.error, self._failed = error.what, asked
            return {}
        self.error = ""
        return {place: float(self._made[text] @ self._made[query]) for place, text in texts.items()}


_stem = lru_cache(maxsize=65_536)(stem)


def query(messages: Sequence[Message]) -> str:
    """The query of this turn: the question, and the assistant's newest words and calls since."""
    asked = question(messages)
    since = next(((m for m in reversed(messages) if m is asked or m.role == "assistant")), None)
    said = f"{since.content} {' '.join(call.arguments for call in since.calls)}" if since else ""
    return f"{asked.content if asked else ''} {said}"


def need(messages: Sequence[Message]) -> list[str]:
    """The query of this turn, as stems."""
    return list(dict.fromkeys(map(_stem, content_words(query(messages)))))


def ranked(found: Index, wanted: Sequence[str], near: Mapping[Place, float] | None = None) -> list[Passage]:
    """The passages that fit the query, best first, down to half the score of the best.

    By words, those that share two telling words with it, scored by BM25. With the cosines of `near`, also those that
    are close; the score is then the share of the best BM25 plus the cosine, 0 to 2.
    """
    scores = by_words(found, wanted)
    if near:
        most = max(scores.values(), default=1)
        close = {place: max(cosine, 0) for place, cosine in near.items() if place in scores or cosine >= CLOSE}
        scores = {place: scores.get(place, 0) / most + cosine for place, cosine in close.items()}
    best = max(scores.values(), default=0)
    good = [place for place in scores if 2 * scores[place] >= best]
    return [found.passages[place] for place in sorted(good, key=lambda place: (-scores[place], place))]


def by_words(found: Index, wanted: Sequence[str]) -> dict[Place, float]:
    """The BM25 of each passage that shares two telling words with the query.

    A telling word occurs in fewer than half of all passages; if there is only one, it is enough. The score is the sum
    over the words of idf · weight, with idf = ln((N - n + 0.5) / (n + 0.5)) for a word in n of N passages.
    """
    total = len(found.passages)
    known = sorted((word for word in wanted if word in found.words), key=lambda word: len(found.words[word]))
    telling = [word for word in known[:TERMS] if 2 * len(found.words[word]) < total]
    scores: dict[Place, float] = defaultdict(float)
    for word in telling:
        held = len(found.words[word])
        idf = log((total - held + 0.5) / (held + 0.5))
        for place, weight in found.weights(word):
            scores[place] += idf * weight
    shared = Counter(chain.from_iterable(found.words[word] for word in telling))
    return {place: score for place, score in scores.items() if shared[place] >= min(2, len(telling))}


@lru_cache(maxsize=64)
def _map_of(text: str) -> Message:
    return recital(MAP, f"{MAP_HEADER}\n\n{text}", "what the library holds for the question, since results were hidden")


def _place(messages: Sequence[Message], id_: str) -> int | None:
    return next((at for at, message in enumerate(messages) if message.id == id_), None)


def _quoted(passages: Sequence[Passage], history: list[Message]) -> str:
    return "\n\n".join([HEADER, *(f"From {_source(one.result, history)}:\n{one.text}" for one in passages)])


def _source(result: Message, history: list[Message]) -> str:
    """The call that a result answers: the tool and its arguments."""
    place = _place(history, result.id) or 0
    while place and history[place].role == "tool":
        place -= 1
    caller = history[place]
    arguments = [call.arguments for call in caller.calls if call.id == result.call_id]
    return shorten(" ".join([result.name, *arguments]), 200)
