"""Leaning: a question needs the one before if it is half a sentence, or has a pronoun and names no subject."""

from __future__ import annotations

import pytest

from thimble.corpus.question_form import leans


@pytest.mark.parametrize(
    ("question", "leaning"),
    [
        ("And how large is it?", True),
        ("what about Saint Bride?", True),
        ("How many of them are active?", True),
        ("does the first one make it solve fewer tasks?", True),
        ("has that ever really happened?", True),
        ("why?", True),
        ("What is attention?", False),
        (
            "Why does a chat get more expensive the longer it goes on, and does prompt caching help with it?",
            False,
        ),
        ("why does attention need so much more work when the text gets twice as long?", False),
        (
            "What should I tell an agent to put in its notes about the sources, the budget and the open questions?",
            False,
        ),
        ("throughput vs goodput?", False),
        ("keyword search and vector search, what is different between them?", False),
        ("How do I cut up a document before I put it in a search index?", False),
        ("ok, new topic, mixture of experts. what is it", False),
    ],
)
def test_half_a_sentence_and_a_pronoun_lean_and_a_question_that_names_its_subject_does_not(
    question: str, leaning: bool
) -> None:
    assert leans(question) == leaning
