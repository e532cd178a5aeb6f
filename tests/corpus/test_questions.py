"""The questions: each is provable from the library, scored as it should be, and unknown to the reader."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from thimble.agent.errors import UsageError
from thimble.corpus.library import Library, load_library
from thimble.corpus.markdown import strip_markup
from thimble.corpus.normalise import has_words, states_answer
from thimble.corpus.questions import NATURAL, Exchange, Fact, Proof, Question, load_questions
from thimble.corpus.score import score_answer
from thimble.corpus.search import Search
from thimble.corpus.words import STOPWORDS

FILES = ROOT / "thimble" / "corpus" / "files"
QUESTIONS = load_questions().questions
KINDS = ("single", "several", "comparison", "file", "unanswerable", "dialogue")
REFUSAL = "I cannot answer that from these articles."


each_kind = pytest.mark.parametrize("kind", KINDS)
each_natural = pytest.mark.parametrize("kind", NATURAL)


def of(kind: str) -> list[Question]:
    return [question for question in QUESTIONS if question.kind == kind]


def exchanges(kind: str) -> list[tuple[Question, Exchange]]:
    return [(question, exchange) for question in of(kind) for exchange in question.exchanges]


@cache
def library() -> Library:
    return load_library()


@cache
def article(slug: str) -> str:
    found = library().get(slug)
    text = "\n\n".join((found.title, found.summary, *(section.text for section in found.sections)))
    return squeezed(f"{text}\n{strip_markup(text)}")


@cache
def search() -> Search:
    return Search(library())


@cache
def sections_and_lines() -> list[str]:
    sections = [strip_markup(section.text) for found in library().articles for section in found.sections]
    files = [path for path in FILES.rglob("*") if path.is_file()]
    return sections + [line for path in files for line in path.read_text().splitlines()]


def squeezed(text: str) -> str:
    return " ".join(text.split())


def place(proof: Proof, question: Question) -> str:
    if proof.article:
        return article(proof.article)
    if proof.file:
        assert proof.line is not None
        return squeezed((FILES / proof.file).read_text().splitlines()[proof.line - 1])
    assert proof.exchange is not None
    return squeezed(question.exchanges[proof.exchange - 1].question)


def proved(facts: tuple[Fact, ...]) -> str:
    """The answer that quotes the first proof of each fact and cites it."""
    proofs = dict.fromkeys(fact.proof[0] for fact in facts)
    return " ".join(f"{proof.sentence} [{proof.source or 'you said so'}]" for proof in proofs)


def answers(text: str, exchange: Exchange) -> bool:
    return all(states_answer(text, word) for word in exchange.absent)


def test_no_question_is_asked_twice() -> None:
    asked = Counter(squeezed(q.exchanges[0].question).casefold() for q in QUESTIONS if len(q.exchanges) == 1)
    assert [question for question, times in asked.items() if times > 1] == []


@each_kind
def test_every_accepted_answer_stands_in_its_cited_sentence(kind: str) -> None:
    for question, exchange in exchanges(kind):
        for fact in exchange.facts:
            for proof in fact.proof:
                assert squeezed(proof.sentence) in place(proof, question), (question.id, proof)
                assert any(states_answer(proof.sentence, answer) for answer in fact.accept), (question.id, proof)
                assert fact.beside is None or states_answer(proof.sentence, fact.beside), (question.id, proof)
            for answer in fact.accept:
                assert any(states_answer(proof.sentence, answer) for proof in fact.proof), (question.id, answer)


@each_kind
def test_the_proof_is_a_right_answer_and_little_else_is(kind: str) -> None:
    for question, exchange in exchanges(kind):
        if not exchange.facts:
            continue
        right = proved(exchange.facts)
        assert score_answer(exchange, right).why == "", question.id
        wrong = [f"{right} Or is it {other}?" for other in exchange.reject]
        for answer in (REFUSAL, f"{REFUSAL} {right}", exchange.question, *wrong):
            assert not score_answer(exchange, answer).right, (question.id, answer)
        for slug in {proof.article for fact in exchange.facts for proof in fact.proof if proof.article}:
            assert score_answer(exchange, f"{article(slug)} {right}").why.startswith("too long"), question.id


@each_natural
def test_each_proof_of_a_natural_question_states_its_fact(kind: str) -> None:
    for question, exchange in exchanges(kind):
        assert exchange.facts, question.id
        for fact in exchange.facts:
            for proof in fact.proof:
                assert squeezed(proof.sentence) in place(proof, question), (question.id, proof)
                said = f"{proof.source} {proof.sentence}" if kind == "listing" else proof.sentence
                assert kind == "listing" or any(has_words(said, way) for way in fact.accept), (question.id, proof)
        assert not score_answer(exchange, REFUSAL, kind).right, question.id


ABSENT = [e for kind in (*KINDS, "offtopic", "neartopic") for _, e in exchanges(kind) if e.absent]


def test_an_answer_that_is_absent_is_not_found() -> None:
    for exchange in ABSENT:
        assert score_answer(exchange, REFUSAL).right, exchange.question
        for hit in search().find(exchange.question, limit=10):
            assert not answers(hit.text, exchange), exchange.question


@pytest.mark.nightly
def test_an_answer_that_is_absent_stands_nowhere() -> None:
    for text in sections_and_lines():  # the outer loop, so that a text is taken apart once
        assert [exchange.question for exchange in ABSENT if answers(text, exchange)] == []


def test_the_reader_knows_no_article_and_no_question() -> None:
    """Its code has no slug, and no five words in a row of a question or a proof of which three carry meaning."""
    code = " ".join(path.read_text() for path in sorted((ROOT / "thimble" / "models" / "reader").glob("*.py")))
    said = " ".join(re.findall(r"\w\w+", code.casefold()))
    assert [article.slug for article in library().articles if "-" in article.slug and article.slug in code] == []
    for question in (question for question in QUESTIONS if question.kind != "talk"):
        for exchange in question.exchanges:
            proofs = [proof.sentence for fact in exchange.facts for proof in fact.proof]
            for text in (exchange.question, *proofs):
                words = re.findall(r"\w\w+", text.casefold())
                runs = (words[at : at + 5] for at in range(len(words) - 4))
                telling = (" ".join(run) for run in runs if len(set(run) - STOPWORDS) >= 3)
                assert [run for run in telling if f" {run} " in said] == []


def write(path: Path, questions: str) -> Path:
    path.write_text(f"reader: abc\nquestions:\n{questions}")
    return path


ONE = "  - {id: q1, kind: single, question: Why?, facts: [{accept: [a], proof: [{sentence: a, article: x}]}]}\n"


def test_a_question_of_one_exchange_is_written_without_it(tmp_path: Path) -> None:
    (question,) = load_questions(write(tmp_path / "q.yaml", ONE)).questions
    proof = Proof("a", article="x")
    assert question == Question("q1", "single", (Exchange("Why?", (Fact(("a",), (proof,)),)),))


@pytest.mark.parametrize(
    ("questions", "what"),
    [
        ("  - {id: q1, kind: single}\n", "q1 exchanges 0 question"),
        (ONE.replace("single", "riddle"), "q1 kind"),
        (ONE.replace("accept", "acept"), "q1 exchanges 0 facts 0"),
        (ONE.replace("[a]", "[]"), "q1 exchanges 0 facts 0 accept: Tuple should have at least 1 item"),
        (ONE.replace(", article: x", ""), "a proof names an article"),
        (ONE.replace("article: x", "file: x"), "a proof names an article"),
        (ONE.replace("article: x", "exchange: 1"), "depends on one that is not before it"),
        (ONE.replace("single", "dialogue"), "a dialogue has several exchanges"),
        (ONE.replace("facts", "absent: [b], facts"), "and not both"),
        (ONE + ONE, "two questions have this id"),
        ("  - just words\n", "questions 0"),
        ("  - [\n", "while parsing"),
    ],
)
def test_a_mistake_in_the_file_is_named(tmp_path: Path, questions: str, what: str) -> None:
    with pytest.raises(UsageError, match=what):
        load_questions(write(tmp_path / "q.yaml", questions))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        load_questions(tmp_path / "none.yaml")
