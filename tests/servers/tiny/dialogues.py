"""What is to be learnt: conversations in which the real tools answer over a made-up library."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.servers.tiny.corpora import KINDS, QUESTIONS, Question, articles, library, question
from tests.servers.tiny.words import Split, draw
from thimble.agent.errors import ToolError
from thimble.agent.messages import CANCELLED, Message
from thimble.agent.prompts import CLOSING
from thimble.corpus.library import Library
from thimble.strategies.masks import mask
from thimble.tools.articles import ArticleTools

GREETINGS = ("Hello.", "Hi there!", "Good morning.", "Thank you.", "Thanks!", "Who are you?", "What can you do?")
Entry = dict[str, Any]
"""A message in the chat-completions form."""


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A conversation about a library, without a system prompt.

    A message of the assistant with the key `given` is not to be learnt: it is a mistake, or what it was said from is
    no longer in view.
    """

    entries: list[Entry]
    library: Library


def dialogue(random: Random, split: Split = "seen", most_facts: int = 1, most_questions: int = 3) -> Dialogue:
    """One to `most_questions` questions about one library; now and then something goes wrong or is forgotten."""
    written = articles(random, split, random.choice((1, 2, 3, 4, 5, 6, 7)), most_facts)
    books = library(written)
    tools = ArticleTools(books)
    said: list[Entry] = []
    for number in range(min(most_questions, random.choice((1, 1, 1, 2, 2, 3)))):
        if number and random.random() < 0.5:
            said = random.choice((masked, masked, dropped))(said)
        if random.random() < 0.06:
            said += interrupted(random, question(random, random.choice(written)), tools)
        asked = question(random, random.choice(written), random.choice(("group", "subject")))
        exchange = random.choices((answered, missing, mistaken, closed, greeted), (20, 2, 2, 2, 0.5))[0]
        said += exchange(random, asked, tools, split)
        if said[-2]["content"] == CLOSING:
            break
    return Dialogue(said, books)


def answered(random: Random, asked: Question, tools: ArticleTools, split: Split) -> list[Entry]:
    """List, read, answer."""
    return [_user(asked.text), *_listed(asked, tools), *_read(asked, tools), answer(asked)]


def missing(random: Random, asked: Question, tools: ArticleTools, split: Split) -> list[Entry]:
    """There is no article about it."""
    absent = next(word for word in draw(random, split, 20) if tools.list_articles(word).startswith("No articles"))
    text = random.choice(QUESTIONS).format(subject=absent, attribute=asked.attribute)
    other = Question(text, "", "", absent, asked.attribute, absent, asked.group)
    return [_user(text), *_listed(other, tools), cannot(other)]


def mistaken(random: Random, asked: Question, tools: ArticleTools, split: Split) -> list[Entry]:
    """A slug that does not exist, and the error that names the nearest."""
    wrong = random.choice((asked.subject, f"{asked.subject}-{random.choice(KINDS)}"))
    call = {**_call(f"I found {wrong} and will read it.", "read_article", slug=wrong), "given": True}
    said = [_user(asked.text), call, _result(tools, call)]
    return [*said, *([] if wrong == asked.slug else _read(asked, tools)), answer(asked)]


def closed(random: Random, asked: Question, tools: ArticleTools, split: Split) -> list[Entry]:
    """The tools are withdrawn, before or after the article was read."""
    listed = [_user(asked.text), *_listed(asked, tools)]
    if random.random() < 0.5:
        return [*listed, _user(CLOSING), cannot(asked)]
    return [*listed, *_read(asked, tools), _user(CLOSING), answer(asked)]


def greeted(random: Random, asked: Question, tools: ArticleTools, split: Split) -> list[Entry]:
    """Nothing was asked."""
    return [_user(random.choice(GREETINGS)), _assistant("Ask me about the articles, and I will look for an answer.")]


def interrupted(random: Random, asked: Question, tools: ArticleTools) -> list[Entry]:
    """A question that was stopped before its answer."""
    call, _ = _listed(asked, tools)
    result = {"role": "tool", "tool_call_id": "call", "content": CANCELLED, "name": "list_articles"}
    return [_user(asked.text), *random.choice(([], [{**call, "given": True}, result]))]


def masked(said: list[Entry]) -> list[Entry]:
    """What was said, with a mask over each result, as observation masking sends it."""
    return [_mask(entry) if entry["role"] == "tool" else {**entry, "given": True} for entry in said]


def dropped(said: list[Entry]) -> list[Entry]:
    """Only the first question of what was said, as a sliding window sends it."""
    return said[:1]


def answer(asked: Question) -> Entry:
    """The answer to a question whose article was read."""
    return _assistant(f"For {asked.subject}, the {asked.attribute} is {asked.answer} [{asked.slug}].")


def cannot(asked: Question) -> Entry:
    """That there is no answer."""
    return _assistant(f"The {asked.attribute} of {asked.subject} cannot be answered from here.")


def _listed(asked: Question, tools: ArticleTools) -> Iterator[Entry]:
    why = f"I will look for an article about {asked.subject}."
    if asked.topic != asked.subject:
        why = f"I will look among the articles about {asked.topic} for {asked.subject}."
    call = _call(why, "list_articles", topic=asked.topic)
    yield from (call, _result(tools, call))


def _read(asked: Question, tools: ArticleTools) -> Iterator[Entry]:
    call = _call(f"I found {asked.slug} and will read it.", "read_article", slug=asked.slug)
    yield from (call, _result(tools, call))


def _user(content: str) -> Entry:
    return {"role": "user", "content": content}


def _assistant(content: str) -> Entry:
    return {"role": "assistant", "content": content}


def _call(content: str, name: str, **arguments: str) -> Entry:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {**_assistant(content), "tool_calls": [{"id": "call", "type": "function", "function": function}]}


def _result(tools: ArticleTools, call: Entry) -> Entry:
    """What the tool says to a call, as the loop puts it."""
    function = call["tool_calls"][0]["function"]
    try:
        observation = getattr(tools, function["name"])(**json.loads(function["arguments"]))
    except ToolError as error:
        observation = f"Error: {error.what}"
    return {"role": "tool", "tool_call_id": "call", "content": observation, "name": function["name"]}


def _mask(entry: Entry) -> Entry:
    return {**entry, "content": mask(Message("", "tool", entry["content"], name=entry["name"])).content}
