"""Count the facts left in view: read articles until the first one must leave, then search the view for its facts.

    python -m scripts.facts                                            # under each strategy
    python -m scripts.facts retrieval:passages=1 compress+offload      # under these

The facts are the answers to the questions of one fact (`corpus/questions.yaml`). For each, its article is read first,
then eight others at random, then the question is asked; no model is called. A fact is left if the view has an accepted
answer, letter for letter; a model might still not find it there. The second table has the excerpt of each page of
the library by itself, as `compress` makes it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from functools import cache
from random import Random
from statistics import mean

from tests.support.scripted import Scripted
from thimble.agent.budget import Budget, Counter
from thimble.agent.errors import ToolError, UsageError
from thimble.agent.messages import Message, ToolCall
from thimble.agent.prompts import SYSTEM_PROMPT
from thimble.agent.side import SideModel
from thimble.agent.view import prepare
from thimble.corpus.library import ARTICLES, Library, load_library
from thimble.corpus.questions import Fact, load_questions
from thimble.lab.exit_code import exit_code
from thimble.models.counting.vocabulary import counter_for
from thimble.strategies.compression.excerpt import make_excerpt
from thimble.strategies.spec import make_strategy
from thimble.tools.articles import ArticleTools

STRATEGIES = ("sliding-window", "observation-masking", "retrieval", "compress")
RATIOS = (0.7, 0.5, 0.35, 0.25, 0.15)
OTHERS, BUDGET, MODEL = (2, 4, 8), 8_000, "qwen2.5:7b"


@cache
def library() -> Library:
    """The project's articles."""
    return load_library(ARTICLES)


@cache
def pages(slug: str) -> list[str]:
    """An article as the model reads it, page by page."""
    tools, found = ArticleTools(library()), list[str]()
    try:
        while True:
            found.append(tools.read_article(slug, page=len(found) + 1))
    except ToolError:
        return found


@cache
def facts() -> list[tuple[str, str, Fact]]:
    """The fact of each one-fact question, with its article's slug, if the article has an accepted answer verbatim."""
    found = []
    for question in load_questions().questions:
        if question.kind == "single" and (slug := question.exchanges[0].facts[0].proof[0].article):
            fact = question.exchanges[0].facts[0]
            if stands(fact, pages(slug)):
                found.append((question.exchanges[0].question, slug, fact))
    return found


def stands(fact: Fact, texts: Sequence[str]) -> bool:
    """Whether one of the texts has an accepted answer."""
    return any(answer.casefold() in text.casefold() for answer in fact.accept for text in texts)


def session(slugs: Sequence[str], question: str) -> list[Message]:
    """A history in which the articles are read one after the other, a page per turn, and then the question is asked."""
    history = [Message("system", "system", SYSTEM_PROMPT), Message("task", "user", "Get to know the library.")]
    for slug in slugs:
        for number, page in enumerate(pages(slug), 1):
            call = ToolCall(f"{slug}-{number}", "read_article", json.dumps({"slug": slug, "page": number}))
            history.append(Message(f"call-{call.id}", "assistant", "I read on.", calls=(call,)))
            history.append(Message(f"result-{call.id}", "tool", page, call_id=call.id, name=call.name))
    return [*history, Message("done", "assistant", "I have read them."), Message("question", "user", question)]


def left_in_view(spec: str, others: int, limit: int, counter: Counter) -> str:
    """Two cells of the first table: the facts left in the view, and its tokens."""
    lot, sizes, left = Random(others), [], []
    slugs = [article.slug for article in library().articles]
    for question, slug, fact in facts():
        history = session([slug, *lot.sample([other for other in slugs if other != slug], others)], question)
        view = prepare(history, make_strategy(spec, SideModel(Scripted([], counter))), Budget(limit, counter))
        left.append(stands(fact, [message.content for message in view.messages if message.id != "question"]))
        sizes.append(view.tokens)
    return f"{sum(left)} · {mean(sizes):,.0f}"


def left_in_excerpts(ratio: float, counter: Counter) -> str:
    """A row of the second table."""
    whole = {article.slug: pages(article.slug) for article in library().articles}
    short = {slug: [make_excerpt(page, round(ratio * len(page))) for page in found] for slug, found in whole.items()}
    tokens = [
        sum(counter.count(Message("", "tool", page)) for found in of.values() for page in found)
        for of in (short, whole)
    ]
    left = [stands(fact, short[slug]) for _, slug, fact in facts()]
    return f"| {ratio} | {tokens[0] / tokens[1]:.0%} | {sum(left)} of {len(left)} |"


def check(spec: str, counter: Counter) -> None:
    """Raise UsageError for an invalid SPEC, or a strategy that asks a model, which this script does not have."""
    strategy = make_strategy(spec, SideModel(Scripted([], counter)))
    if any(hasattr(part, "model") for part in getattr(strategy, "parts", [strategy])):
        raise UsageError(f"{spec} asks a model, and this script has none", "give a strategy that does not ask one")


def show(specs: Sequence[str], limit: int) -> None:
    """Print both tables. Raises UsageError for a strategy that is not possible here."""
    counter = counter_for(MODEL)
    for spec in specs:
        check(spec, counter)
    print(f"Facts left in the view, of {len(facts())}, and the tokens of the view, after\n")
    print(f"| strategy | {' | '.join(f'{others} more articles' for others in OTHERS)} |")
    print(f"|---|{'--:|' * len(OTHERS)}")
    for spec in specs:
        print(f"| {spec} | {' | '.join(left_in_view(spec, others, limit, counter) for others in OTHERS)} |")
    print("\n| ratio | tokens left | facts left |\n|--:|--:|--:|")
    for ratio in RATIOS:
        print(left_in_excerpts(ratio, counter))


if __name__ == "__main__":
    sys.exit(exit_code("scripts.facts", lambda: show(sys.argv[1:] or list(STRATEGIES), BUDGET)))
