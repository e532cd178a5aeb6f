"""Leaning: a question needs the one before if it is half a sentence, or has a pronoun and names no subject."""

from __future__ import annotations

import pytest

from thimble.corpus.question_form import needs_context


@pytest.mark.parametrize(
    "question",
    [
        "And how large is it?",
        "what about Saint Bride?",
        "How many of them are active?",
        "does the first one make it solve fewer tasks?",
        "has that ever really happened?",
        "why?",
    ],
)
def test_half_a_sentence_and_a_pronoun_lean(question: str) -> None:
    assert needs_context(question)


@pytest.mark.parametrize(
    "question",
    [
        "What is attention?",
        "Why does a chat get more expensive the longer it goes on, and does prompt caching help against that price?",
        "why does attention need so much more work when the text gets twice as long?",
        "What should I tell an agent to put in its notes about the sources, the budget and the open questions?",
        "throughput vs goodput?",
    ],
)
def test_a_question_that_names_its_subject_does_not(question: str) -> None:
    assert not needs_context(question)
