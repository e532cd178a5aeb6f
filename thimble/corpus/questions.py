"""Questions about the library with known answers and their proofs: `questions.yaml`, read and checked."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError, with_config

from thimble.agent.errors import UsageError
from thimble.corpus.reading import read_text

QUESTIONS_FILE = Path(__file__).parent / "questions.yaml"
QUESTIONS_BYTES = 5_000_000
Kind = Literal[
    "single",
    "several",
    "comparison",
    "file",
    "unanswerable",
    "dialogue",
    "definition",
    "explanation",
    "advice",
    "difference",
    "summary",
    "listing",
    "filefact",
    "followup",
    "offtopic",
    "neartopic",
    "talk",
]
NATURAL = ("definition", "explanation", "advice", "difference", "summary", "listing", "filefact", "followup")
"""Kinds of questions in the words of people who do not know the articles: any good wording of a fact is accepted."""
DECLINED_KINDS = ("unanswerable", "offtopic", "neartopic")
DIALOGUE_KINDS = ("dialogue", "followup")
STRICT = ConfigDict(extra="forbid", str_strip_whitespace=True, str_min_length=1)


@with_config(STRICT)
@dataclass(frozen=True, slots=True)
class Proof:
    """The place of an answer: an article by its slug, a line of a file, or an exchange of the dialogue."""

    sentence: str
    article: str | None = None
    file: str | None = None
    line: int | None = None
    exchange: int | None = None

    def __post_init__(self) -> None:
        places = (self.article, self.file, self.exchange)
        if sum(place is not None for place in places) != 1 or (self.file is None) != (self.line is None):
            raise ValueError("a proof names an article, or a file and its line, or an exchange")

    @property
    def source(self) -> str:
        """The citation that an answer needs: the slug or the path; "" for the user's own words."""
        return self.article or self.file or ""


@with_config(STRICT)
@dataclass(frozen=True, slots=True)
class Fact:
    """A fact that an answer must state.

    Attributes:
        accept: Ways to state it; one is enough. For a natural question, a way is places between blanks: a sentence
            states it if it has a word for each place, in any order. `|` separates words, `_` is a blank.
        proof: Sentences that prove it; an answer may cite any of them.
        beside: A word that must be in the same sentence, so that two values cannot be swapped.
    """

    accept: Annotated[tuple[str, ...], Field(min_length=1)]
    proof: Annotated[tuple[Proof, ...], Field(min_length=1)]
    beside: str | None = None


@with_config(STRICT)
@dataclass(frozen=True, slots=True)
class Exchange:
    """One message of the user, with the facts that the answer must and must not state.

    Attributes:
        question: The words of the user.
        facts: The facts that the answer must state, all of them.
        reject: The likely wrong answers, which it must not state.
        absent: For a question without an answer: words that no section and no line of a file has together.
        leans_on: In a dialogue, the numbers (from 1) of the earlier exchanges that the answer needs.
    """

    question: str
    facts: tuple[Fact, ...] = ()
    reject: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    leans_on: tuple[int, ...] = ()

    @property
    def scored(self) -> bool:
        """Whether the answer is scored; in a dialogue, some messages are not questions."""
        return bool(self.facts or self.absent)


@with_config(STRICT)
@dataclass(frozen=True, slots=True)
class Question:
    """A question of one exchange, or a dialogue of several in one session.

    `held_out` questions were written after the last change of the built-in reader, and have their own score.
    """

    id: str
    kind: Kind
    exchanges: tuple[Exchange, ...]
    held_out: bool = False

    def __post_init__(self) -> None:
        if (len(self.exchanges) > 1) != (self.kind in DIALOGUE_KINDS):
            raise ValueError("a dialogue has several exchanges, any other question one")
        for number, exchange in enumerate(self.exchanges, 1):
            proved = [proof.exchange for fact in exchange.facts for proof in fact.proof]
            if not all(1 <= at < number for at in (*exchange.leans_on, *filter(None, proved))):
                raise ValueError(f"exchange {number} depends on one that is not before it")
            if bool(exchange.facts) == bool(exchange.absent) and self.kind not in (*DIALOGUE_KINDS, "talk"):
                raise ValueError("it needs facts, or words that are absent, and not both")


def _with_exchanges(entry: Any) -> Any:
    """A question of one exchange may be written without it."""
    if not isinstance(entry, dict) or "exchanges" in entry:
        return entry
    about = {key: entry[key] for key in ("id", "kind", "held_out") if key in entry}
    return about | {"exchanges": [{key: value for key, value in entry.items() if key not in about}]}


@with_config(STRICT)
@dataclass(frozen=True, slots=True)
class QuestionSet:
    """All questions. `reader` is the fingerprint of the reader's code when the held-out ones were written."""

    reader: str
    questions: tuple[Annotated[Question, BeforeValidator(_with_exchanges)], ...]


def load_questions(path: Path = QUESTIONS_FILE) -> QuestionSet:
    """Read a file of questions. Raises UsageError with the first error and its place."""
    mend = "see docs/reference/questions.md for its form"
    try:
        data = yaml.load(read_text(path, QUESTIONS_BYTES), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        found = TypeAdapter(QuestionSet).validate_python(data)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", "name a file of questions") from error
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{path}: {_place(data, first['loc'])}: {first['msg']}", mend) from error
    except (yaml.YAMLError, ValueError) as error:
        raise UsageError(f"{path}: {error}", mend) from error
    ((often, times),) = Counter(question.id for question in found.questions).most_common(1) or [("", 0)]
    if times > 1:
        raise UsageError(f"{path}: {often}: two questions have this id", mend)
    return found


def _place(data: Any, where: tuple[int | str, ...]) -> str:
    """A place in the file, by the id of its question."""
    match where:
        case ("questions", int(at), *rest) if isinstance(data["questions"][at], dict):
            where = (data["questions"][at].get("id", at), *rest)
    return " ".join(map(str, where)) or "top level"
