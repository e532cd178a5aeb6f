"""The data that the tiny model is trained on; none of it needs torch."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from random import Random

from hypothesis import assume, given
from hypothesis import strategies as st

from tests.servers.tiny import corpora
from tests.servers.tiny.dialogues import Dialogue, dialogue
from tests.servers.tiny.template import FOLDER, SOURCE
from tests.servers.tiny.words import Split, draw, is_new, seen
from tests.support.scripted import Scripted
from thimble.agent.agent import Agent
from thimble.agent.events import Answered, ToolCalled
from thimble.agent.loop import run
from thimble.agent.messages import Message
from thimble.agent.prompts import CLOSING
from thimble.agent.protocols import Text
from thimble.agent.repair import is_sound
from thimble.agent.side import SideModel
from thimble.agent.state import State
from thimble.corpus.library import load
from thimble.models import chat, make
from thimble.strategies.spec import parse
from thimble.tools import toolbox
from thimble.tools.notebook import Notebook

WORDS = re.compile(r"[a-z]+-[a-z]+|\w+")
SAID = """
    Ask me about the articles, and I will look for an answer. I will look among the articles about an article.
    I found and will read it. For The of is cannot be answered from here. topic slug"""
PLAIN = set(WORDS.findall(f"{SAID} {corpora.GROUPS}"))
"""What the assistant says of its own."""
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


@given(SEEDS, SPLITS, st.integers(1, 3))
def test_a_dialogue_is_sound_and_the_same_for_the_same_seed(seed: int, split: Split, facts: int) -> None:
    one = dialogue(Random(seed), split, facts)
    assert one == dialogue(Random(seed), split, facts)
    messages = _messages(one)
    assert is_sound(messages)
    assert messages[0].role == "user"
    assert messages[-1].role == "assistant"
    assert not messages[-1].calls
    for message in messages:
        assert message.content.strip()
        assert all(json.loads(call.arguments) for call in message.calls)
        assert all(call.name in ("list_articles", "read_article") for call in message.calls)


@given(SEEDS)
def test_what_is_to_be_learnt_stands_in_view(seed: int) -> None:
    """Made-up words, slugs and numbers that the assistant says were shown before, else it learnt to make things up."""
    one = dialogue(Random(seed), "new", 3)
    for at, entry in enumerate(one.entries):
        if entry["role"] == "assistant" and "given" not in entry:
            before = set(WORDS.findall(" ".join(other["content"] for other in one.entries[:at])))
            calls = [call["function"]["arguments"] for call in entry.get("tool_calls", ())]
            copied = set(WORDS.findall(" ".join([entry["content"], *calls]))) - PLAIN
            assert copied <= before


@given(SEEDS)
def test_the_results_in_a_dialogue_are_those_of_a_session_in_which_the_model_says_the_same(seed: int) -> None:
    one = dialogue(Random(seed), "seen", 2, most_questions=1)
    messages = [message for message in _messages(one) if message.content != CLOSING]
    assume(sum(message.role == "user" for message in messages) == 1)
    replies = [message for message in messages if message.role == "assistant"]
    model = Scripted([[Text(reply.content), *reply.calls] for reply in replies])
    tools = toolbox(one.library, Path(), Notebook())
    agent = Agent(model, parse("none", None), State("none", 100_000), tools, SideModel(model))
    for _ in run(agent, messages[0].content):
        pass
    model.assert_done()
    for message, told in zip(agent.history[1:], messages, strict=True):
        assert (message.role, message.content, message.calls) == (told.role, told.content, told.calls)


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


def test_the_weights_are_small_and_come_with_the_template_that_they_were_trained_on() -> None:
    files = {path.name: path for path in FOLDER.iterdir()}
    assert sum(path.stat().st_size for path in files.values()) < 8_000_000
    assert json.loads(files["tokenizer_config.json"].read_text("utf-8"))["chat_template"] == SOURCE
    assert json.loads(files["config.json"].read_text("utf-8"))["architectures"] == ["Qwen2ForCausalLM"]
    assert len(corpora.sound_seeds()) > 1


def test_nothing_of_it_loads_torch() -> None:
    script = (
        "import sys, tests.servers.tiny.dialogues, tests.servers.tiny.template;"
        "print('torch' in sys.modules or 'jinja2' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout == b"False\n"


def _messages(one: Dialogue) -> list[Message]:
    entries = []
    for number, entry in enumerate(one.entries):
        calls = [{**call, "id": f"c{number}"} for call in entry.get("tool_calls", [])]
        fields = {**entry, **({"tool_calls": calls} if calls else {})}
        if entry["role"] == "tool":
            fields["tool_call_id"] = f"c{number - 1}"
        entries.append(fields)
    return chat.read(entries)
