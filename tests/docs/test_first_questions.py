"""The questions that the pages show, or that the reader itself suggests, are answered well."""

from __future__ import annotations

import re

import pytest

from tests.support.paths import ROOT
from thimble.agent.events import Answered
from thimble.models.reader.view import I_CANNOT
from thimble.session.session import Session
from thimble.session.settings import Settings

SHOWN = ("README.md", "docs/tutorial/1-first-look.md")
"""The pages whose questions a person types first. The first screen suggests none: it names /help."""
GOOD = {
    "Why are old tool results masked?": ("one-line placeholder", "prompt short", "[observation-masking]"),
    "Read the article about context windows": ("[context-windows]", "tokens", "prompt and reply"),
    "Now read the article about testing LLM applications": ("[testing-llm-applications]", "exact tests", "evaluation"),
}
"""Each question that these pages show, and some words that a good answer has."""
OFFERED = {
    "which articles are there?": ("56 articles", "[agent-memory]"),
    "which articles there are": ("56 articles", "[agent-memory]"),
    "Ask which articles there are.": ("56 articles", "[agent-memory]"),
    "list the articles": ("56 articles", "[agent-memory]"),
    "what files do you have?": ("16 files", "meetings/2026-04-02.md"),
    "who are you?": ("built-in reader", "not a language model"),
    "Are you a language model?": ("built-in reader", "not a language model"),
    "thanks!": ("built-in reader", "which articles or files there are"),
}
"""What the reader's own words invite a person to type."""
PLAIN = {
    "What is an AI agent?": ("loop", "tools", "[what-is-an-ai-agent]"),
    "What is a token?": ("smallest unit of text", "[glossary]"),
    "Why do language models make things up?": ("likely", "[hallucination]"),
    "What is observation masking?": ("placeholder", "[observation-masking]"),
    "Summarise the piece on context rot": ("longer", "middle", "[context-rot]"),
}
"""Questions to which any change of the search must leave the answer."""


def shown() -> set[str]:
    """The questions in the commands and tables of the pages."""
    texts = ((ROOT / name).read_text() for name in SHOWN)
    typed = re.findall(r'-p "([^"]+)"|^\| `([^`]+[^`/])` \|', "\n".join(texts), re.MULTILINE)
    return {words for pair in typed for words in pair if words and not words.startswith("/")}


def answer(question: str) -> str:
    """The reader's answer in a new session that keeps the whole history."""
    session = Session(Settings(backend="reader", strategy="none"))
    return next(event.text for event in session.ask(question) if isinstance(event, Answered))


def test_every_question_on_the_pages_is_known_here() -> None:
    assert shown() == set(GOOD)


@pytest.mark.parametrize("question", [*GOOD, *OFFERED, *PLAIN])
def test_a_question_that_is_shown_is_answered_well(question: str) -> None:
    said = answer(question)
    assert not said.startswith(I_CANNOT)
    assert [words for words in (GOOD | OFFERED | PLAIN)[question] if words not in said] == []


def test_what_no_article_has_a_word_of_is_refused() -> None:
    said = answer("was ist ein KI-Agent?")
    assert said.startswith(I_CANNOT)
    assert "which articles there are" in said
