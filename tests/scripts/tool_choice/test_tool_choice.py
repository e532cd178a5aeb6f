"""The made-up libraries: what is learnt from them can be called and answered, and nothing of the held-out questions."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest

from benchmarks import tool_choice
from scripts.tool_choice.decisions import example, talk
from scripts.tool_choice.made_up import MadeUp, words
from thimble.agent.messages import ToolCall
from thimble.agent.protocols import Text
from thimble.corpus.library import ARTICLES, load_library
from thimble.models.tool_calls.schema import Turn
from thimble.tools import small_model_tools

SEEDS = range(12)
TOOLS = [tool.schema for tool in small_model_tools(load_library(), Path(), None, list).values()]
talked = cache(talk)


def pairs(seed: int) -> list[tuple[str, str]]:
    """Each reply that is to be learnt, with all that stands before it."""
    texts = talked(seed, None)
    before = ["\n".join(text["content"] for text in texts[:at]) for at in range(len(texts))]
    return [(before[at], text["content"]) for at, text in enumerate(texts) if text["role"] == "assistant"]


def read(reply: str) -> list[ToolCall | str]:
    """A reply as a session reads it: a call, or words."""
    turn = Turn(TOOLS)
    deltas = [*turn.add_delta(Text(reply)), *turn.finish()]
    return [delta.text if isinstance(delta, Text) else delta for delta in deltas if isinstance(delta, Text | ToolCall)]


@pytest.mark.parametrize("seed", SEEDS)
def test_calls_and_answers_take_turns(seed: int) -> None:
    kinds = [type(read(reply)[0]) for _, reply in pairs(seed)]
    assert kinds == [ToolCall, str] * (len(kinds) // 2)


def test_what_is_not_there_is_declined_and_what_is_there_is_answered_from_it(tmp_path: Path) -> None:
    for seed in SEEDS:
        folder = tmp_path / str(seed)
        folder.mkdir()
        one = MadeUp(seed, folder)
        text = " ".join(section.text for article in one.library.articles for section in article.sections)
        text += " ".join(path.read_text() for path in folder.rglob("*.*"))
        for wanted in [one.wanted() for _ in range(20)]:
            assert (wanted.fact.sentence in text) is wanted.answerable, wanted


def test_every_tool_is_wanted_and_a_tenth_to_a_third_of_the_replies_decline(tmp_path: Path) -> None:
    made_up = MadeUp(0, tmp_path)
    assert {made_up.wanted().tool for _ in range(300)} == {tool["function"]["name"] for tool in TOOLS}
    ends = [reply for seed in SEEDS for _, reply in pairs(seed)][1::2]
    assert 0.1 < sum("cannot_answer" in json.loads(reply) for reply in ends) / len(ends) < 0.35


def test_nothing_is_learnt_of_the_subjects_that_the_held_out_questions_are_about() -> None:
    slugs = " ".join(path.stem for path in ARTICLES.glob("*.md"))
    subjects = [name for group in words()["subjects"].values() for name, *_ in group]
    shared = {*re.findall(r"\w+", slugs)} & {*re.findall(r"\w+", " ".join(subjects))}
    assert shared == {"tuning", "practice"}, "tuning forks and practice rooms are about something else"
    held_out = {one.question for one in tool_choice.questions()}
    asked = {text["content"] for seed in SEEDS for text in talked(seed, None) if text["role"] == "user"}
    assert not held_out & asked


class Chat:
    """A tokenizer that writes a conversation as its template does."""

    eos_token = "<end>"

    def apply_chat_template(self, texts: list[dict[str, str]], *, add_generation_prompt: bool, tokenize: bool) -> str:
        assert not tokenize
        said = "".join(f"<{text['role']}>{text['content']}{self.eos_token}" for text in texts)
        return said + "<assistant>" * add_generation_prompt


def test_an_example_is_the_conversation_with_each_reply_to_be_learnt() -> None:
    made = example(3, None, Chat())
    parts = [made, *made.then]
    assert [part.completion for part in parts] == [reply for _, reply in pairs(3)]
    whole = "".join(part.prompt + part.completion + Chat.eos_token for part in parts)
    assert whole == Chat().apply_chat_template(talked(3, None), add_generation_prompt=False, tokenize=False)


def test_a_question_is_marked_by_its_first_call_its_end_and_its_source() -> None:
    one = tool_choice.Asked("definition", "what is a token", ["tokenisers"], ["search {}"], "A piece. [tokenisers]")
    assert (one.right_call, one.right_end, one.right_article) == (True, True, True)
    one.calls, one.answer, one.declined = ["list {}"], "It cannot be answered from here: no.", True
    assert (one.right_call, one.right_end, one.right_article) == (False, False, False)
    one.sources = []
    assert one.right_end
