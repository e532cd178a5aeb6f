"""The made-up libraries that the tiny model is asked about."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from tests.servers.tiny import corpora
from tests.servers.tiny.words import Split, draw, is_new, seen
from thimble.agent.agent import Agent
from thimble.agent.events import Answered, ToolCalled
from thimble.agent.loop import run
from thimble.agent.prompts import CLOSING
from thimble.agent.side import SideModel
from thimble.agent.state import State
from thimble.corpus.library import load
from thimble.models import make
from thimble.strategies.spec import parse
from thimble.tools import toolbox
from thimble.tools.notebook import Notebook

SEEDS = st.integers(0, 2**32)
SPLITS: st.SearchStrategy[Split] = st.sampled_from(["seen", "new"])


def test_words_seen_and_new_ones_are_disjoint() -> None:
    assert not any(map(is_new, seen()))
    assert all(map(is_new, draw(Random(3), "new", 200)))
    assert set(draw(Random(3), "seen", 200)) <= set(seen())


def test_words_of_the_plain_text_are_not_made_up() -> None:
    plain = " ".join([*corpora.FILLERS, *corpora.QUESTIONS, *corpora.KINDS, *corpora.GROUPS, CLOSING]).split()
    assert set(seen()).isdisjoint(plain)


@given(SEEDS, SPLITS, st.integers(1, 3))
def test_each_article_states_its_facts_and_each_question_has_its_answer_there(
    seed: int, split: Split, facts: int
) -> None:
    random = Random(seed)
    written = corpora.articles(random, split, 4, facts)
    library = corpora.library(written)
    assert len({one.subject for one in written}) == 4
    assert {article.slug for article in library.articles} == {one.slug for one in written}
    for one in written:
        asked = corpora.question(random, one, random.choice(["subject", "group"]))
        text = library.get(asked.slug).sections[0].text
        assert all(value in text for value in one.facts.values())
        assert 1 <= len(one.facts) <= facts
        assert asked.answer in text
        assert asked.attribute in text
        assert asked.subject in asked.text
        assert asked.slug in toolbox(library, Path(), Notebook())["list_articles"].run({"topic": asked.topic})
        made_up = {asked.subject, one.subject, *(value for value in one.facts.values() if value.isalpha())}
        assert all(is_new(word) is (split == "new") for word in made_up)


def test_a_session_of_the_reader_over_a_written_library_makes_the_calls_of_a_dialogue(tmp_path: Path) -> None:
    for seed in range(5):
        folder = tmp_path / str(seed)
        for question in corpora.corpus(folder, seed):
            reader, tools = make("reader"), toolbox(load(folder), folder, Notebook())
            agent = Agent(reader, parse("none", None), State("none"), tools, SideModel(reader))
            events = list(run(agent, question.text))
            calls = [event.call for event in events if isinstance(event, ToolCalled)]
            assert [call.name for call in calls] == ["list_articles", "read_article"]
            assert json.loads(calls[1].arguments) == {"slug": question.slug}
            (answered,) = [event for event in events if isinstance(event, Answered)]
            assert question.answer in answered.text
            assert f"[{question.slug}]" in answered.text
