"""Is an answer right? It must state the facts, cite their sources, be short, and state nothing wrong."""

from __future__ import annotations

import re
from dataclasses import dataclass

from thimble.corpus.markdown import split_sentences
from thimble.corpus.normalise import has_words, states_answer
from thimble.corpus.questions import NATURAL, Exchange, Fact

ANSWER_WORDS = 120
JUDGED_WORDS = {"summary": 150}
"""Words from the start of an answer to a natural question that are judged, by kind; 80 of any other."""
CITED_SOURCE = re.compile(r"\[([^\[\]]+)\](?!\()")
REFUSAL = re.compile(
    r"\b(?:cannot|can['’]?t|can not|could not|couldn['’]t|unable to|not able to)\b[^.!?]{0,40}?"
    r"\b(?:answer|find|found|tell|say|said|determine|locate|see)"
    r"|\b(?:no|not any|nothing)\b[^.!?]{0,60}\b(?:articles?|files?|library|corpus|sources?|passages?|here)\b"
    r"|\b(?:do|does|did|is|are|was|were)(?: not|n['’]t)\b[^.!?]{0,40}"
    r"\b(?:answer|cover|contain|give|given|include|mention|report|say|state|available|provide|specif|in the|here)",
    re.IGNORECASE,
)
"""Words of an answer that declines."""


@dataclass(frozen=True, slots=True)
class Score:
    """Whether an answer is right; if not, `why` gives the reason in a few words."""

    right: bool
    why: str = ""


def score_answer(exchange: Exchange, answer: str, kind: str = "") -> Score:
    """Score one answer; `kind` is that of the question.

    An answer is right when it states every fact, cites a source of each, has at most 120 words (citations not counted),
    states nothing rejected and does not start by declining. A question without an answer in the library must be
    declined in the first sentence.

    Of an answer to a natural question only the first 80 words are judged, 150 of a summary: a sentence of them must
    state each fact, in any wording that its ways allow. Small talk is answered without a citation.
    """
    if kind == "talk":
        return Score(not (cited_sources(answer) or is_refusal(answer) or not answer.strip()), "cited, or declined")
    if kind in NATURAL and exchange.facts:
        said = answer.replace("[", " ").replace("]", " ") if kind == "listing" else CITED_SOURCE.sub("", answer)
        return _score_natural(exchange, said, JUDGED_WORDS.get(kind, 80))
    said = CITED_SOURCE.sub(" ", answer)
    why = _find_fault(exchange, said) or next(
        filter(None, (_find_missing(fact, answer, said) for fact in exchange.facts)), ""
    )
    return Score(not why, why)


def shows_facts(exchange: Exchange, passages: str, kind: str) -> bool:
    """Whether passages state every fact, however long they are; nothing else is judged."""
    said = [one for line in CITED_SOURCE.sub("", passages).split("\n") for one in split_sentences(line)]
    states_ = has_words if kind in NATURAL else states_answer
    return bool(exchange.facts) and all(
        any(states_(one, way) for one in said for way in fact.accept) for fact in exchange.facts
    )


def _score_natural(exchange: Exchange, answer: str, most: int) -> Score:
    if is_refusal(answer):
        return Score(False, "declined")
    judged = [one for line in _first_words(answer, most).split("\n") for one in split_sentences(line)]
    if wrong := next((phrase for phrase in exchange.reject if any(states_answer(one, phrase) for one in judged)), ""):
        return Score(False, f"states something wrong: {wrong}")
    for fact in exchange.facts:
        if not any(has_words(one, way) for one in judged for way in fact.accept):
            return Score(False, f"does not say: {fact.accept[0]}")
    return Score(True)


def _first_words(text: str, most: int) -> str:
    words = list(re.finditer(r"\S+", text))
    return text[: words[most - 1].end()] if len(words) >= most else text


def _find_fault(exchange: Exchange, said: str) -> str:
    """The fault of an answer as a whole."""
    if not said.strip():
        return "no answer"
    if (length := len(said.split())) > ANSWER_WORDS:
        return f"too long: {length} words"
    if wrong := next((phrase for phrase in exchange.reject if states_answer(said, phrase)), ""):
        return f"states something wrong: {wrong}"
    if exchange.facts and is_refusal(said):
        return "declined"
    if not exchange.facts and not is_refusal(said):
        return "not declined"
    return ""


def _find_missing(fact: Fact, answer: str, said: str) -> str:
    """The missing part of a fact in an answer: the fact itself, or its source."""
    places = [one for one in split_sentences(said) if states_answer(one, fact.beside)] if fact.beside else [said]
    if not any(states_answer(place, phrase) for place in places for phrase in fact.accept):
        return f"does not say: {fact.accept[0]}"
    sources = {proof.source for proof in fact.proof}
    if "" not in sources and not sources & cited_sources(answer):
        return f"does not cite: {min(sources)}"
    return ""


def is_refusal(text: str) -> bool:
    """Whether a text starts by declining to answer."""
    return bool(REFUSAL.search("".join(split_sentences(text.strip())[:1])))


def cited_sources(answer: str) -> set[str]:
    """The slugs and paths that an answer cites: `[slug]`, `[path:line]`, several in one bracket with `,` or `;`."""
    names = (name.strip() for inside in CITED_SOURCE.findall(answer) for name in re.split(r"[,;]", inside))
    return {re.sub(r":\d+(?:[-–]\d+)?$", "", name) for name in names}
