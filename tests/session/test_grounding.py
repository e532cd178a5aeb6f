"""Grounding: which names an answer cites, and which of them a tool has shown."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import broken_histories, nasty_histories
from tests.support.scripted_loop import agent, call, goes_on, says
from tests.support.sessions import ask, scripted, tool_call
from thimble.agent.events import Answered
from thimble.agent.loop import run
from thimble.agent.messages import CANCELLED, Message, ToolCall
from thimble.agent.prompts import CANNOT_ANSWER, SYSTEM_PROMPT
from thimble.agent.protocols import Text, Usage
from thimble.corpus.library import load_library
from thimble.corpus.search import Search
from thimble.models import READER
from thimble.repl.cli.recordings import SHIPPED
from thimble.session.grounding import (
    NOT_READ,
    Prose,
    find_citations,
    ground_answer,
    mark_unread,
    shown_by_tools,
    unread_names,
)
from thimble.session.journal.lines import read_lines
from thimble.session.journal.state import SavedState
from thimble.session.session import Session
from thimble.session.settings import Settings

SLUGS = st.from_regex(r"[a-z]{2,8}(-[a-z0-9]{1,8}){0,3}", fullmatch=True)
PATHS = st.from_regex(r"([a-z]{1,8}/){0,2}[A-Za-z]{1,8}\.(md|txt|json)", fullmatch=True)
NAMES = SLUGS | PATHS
LINES = st.sampled_from(["", ":7", ":7-12", ":7–12", ":L7"])
WORDS = st.text(st.sampled_from("AB \n.,;(){}!?'\"0123\u00e9"), max_size=30)
"""Text between citations: no name, no bracket, no code."""


def names(text: str) -> list[str]:
    return [cited.name for cited in find_citations(text)]


def told(result: str, tool: str = "search_articles", **arguments: Any) -> list[Message]:
    """The messages of one call and its result."""
    made = ToolCall("c1", tool, json.dumps(arguments))
    return [Message("m2", "assistant", calls=(made,)), Message("m3", "tool", result, call_id="c1", name=tool)]


# ---- laws ----


@given(st.lists(st.tuples(NAMES, LINES), min_size=1, max_size=4), WORDS, st.sampled_from([", ", "; ", ",", ";"]))
def test_what_is_written_as_a_citation_is_one_and_ends_where_it_stands(
    cited: list[tuple[str, str]], words: str, between: str
) -> None:
    text = f"{words} [{between.join(map(''.join, cited))}]. {words}"
    assert names(text) == [name for name, _ in cited]
    for found, (name, line) in zip(find_citations(text), cited, strict=True):
        assert text[: found.end].endswith(name + line)


@given(NAMES, LINES, WORDS, WORDS)
def test_what_a_result_shows_is_never_called_invented(name: str, line: str, before: str, after: str) -> None:
    history = told(f"{before} {name} {after}")
    grounds = ground_answer(f"It is so [{name}{line}].", history, 0)
    assert (grounds.read, grounds.invented, grounds.looked_up) == ((name,), (), True)
    assert mark_unread(f"So [{name}{line}].", history) == f"So [{name}{line}]."


@given(NAMES, LINES, nasty_histories() | broken_histories())
def test_what_stands_nowhere_is_always_called_invented(name: str, line: str, history: list[Message]) -> None:
    name = f"zq{name}"
    grounds = ground_answer(f"It is so [{name}{line}].", history, len(history))
    assert (grounds.read, grounds.invented, grounds.looked_up, grounds.from_memory) == ((), (name,), False, True)
    assert mark_unread(f"So [{name}{line}].", history) == f"So [{name}{line}{NOT_READ}]."


@given(NAMES, WORDS, st.sampled_from(["`{}`", "``a ` {}``", "```\n{}\n```", "~~~ py\n\n{}", "> ```py\n> {}\n> ```"]))
def test_code_is_never_searched(name: str, words: str, code: str) -> None:
    words = words.replace("\n", " ")
    text = f"{words}\n{code.format(f'{words}[{name}]')}"
    assert names(text) == []
    assert mark_unread(text, []) == text


@given(st.text(st.sampled_from("a`~[]\n >1"), max_size=60), st.text(st.sampled_from("ab:,; "), max_size=9))
def test_taking_the_marks_out_gives_the_text(text: str, more: str) -> None:
    answer = f"{text} [{more}] [b-c]"
    assert mark_unread(answer, []).replace(NOT_READ, "") == answer
    prose = Prose()
    assert "".join(mark_unread(line, [], prose) for line in answer.splitlines(keepends=True)) == mark_unread(answer, [])


@pytest.mark.nightly
@given(SLUGS, st.integers(0, 12))
def test_a_search_that_quotes_its_query_shows_nothing_of_it(name: str, more: int) -> None:
    query = " ".join([name, *["word"] * more])
    session = Session(Settings(backend=READER))
    (tool,) = [tool for tool in session.agent.tools.values() if tool.schema["function"]["name"] == "search_articles"]
    result = tool.run({"query": f"zq{query}"})
    assert f"zq{name}" in result
    assert unread_names([f"zq{name}"], told(result, query=f"zq{query}")) == {f"zq{name}"}


# ---- what is a citation ----


@pytest.mark.parametrize(
    "text",
    [
        "[1] [12-14] [2024-05-01] [0, 1]",
        "[x] done, [ ] to do",
        "[the article](http://a.b) ![attention](a.png)",
        "messages[start] and \\[attention\\]",
        "[INST] [Unreleased] [Anthropic]",
        "[see the article] [...] [] [[]]",
        "[a\nb]",
    ],
)
def test_brackets_that_are_not_citations(text: str) -> None:
    assert names(text) == []


def test_citations_as_models_write_them() -> None:
    text = "One[attention] no, but [attention], [./notes/a.md:3-5; b_c.JSON] **[kv-cache]**.[a.md#top][Makefile:12]"
    assert names(text) == ["attention", "notes/a.md", "b_c.JSON", "kv-cache", "a.md", "Makefile"]
    assert names("[latency, section Queues]") == ["latency"]
    assert names("[slug: prefix_cache] [path: a.md:3] [path:line] [note: this]") == ["prefix_cache", "a.md"]
    assert names("说明[注意力-机制]。") == ["注意力-机制"]


# ---- what was read ----


def test_a_name_is_a_word_of_its_own_or_the_end_of_a_path() -> None:
    history = told("1. prompt-caching — notes/Plan.md:7 and a.md.")
    assert unread_names(["prompt-caching", "plan.md", "notes/Plan.md", "a.md", "prompt-caching.md"], history) == set()
    assert unread_names(["caching", "prompt", "notes", "plan", "lan.md", "prompt-caching-2"], history) == {
        "caching", "prompt", "notes", "lan.md", "prompt-caching-2",
    }  # fmt: skip


def test_an_argument_of_a_call_that_succeeded_is_read_and_of_one_that_failed_is_not() -> None:
    assert unread_names(["made-up"], told("the text", "own_tool", name="made-up")) == set()
    assert unread_names(["made-up"], told("Error: there is no article 'made-up'", "read_article", slug="made-up"))
    assert unread_names(["made-up"], told(CANCELLED, "read_article", slug="made-up"))
    assert unread_names(["made-up"], told('No results for "made-up".\nNearest: attention', query="made-up"))
    assert unread_names(["attention"], told('2 results for "attention"\n1. attention — …', query="attention")) == set()


def test_every_tool_of_articles_and_files_shows_the_names_that_it_reads() -> None:
    session = scripted(
        [tool_call("read_article", 1, slug="latency"), tool_call("read_article", 2, slug="late-ncy")],
        [tool_call("search_files", 3, query="budget"), tool_call("list_files", 4)],
        "So it is [latency], not [late-ncy].",
    )
    answered = ask(session)[-1]
    assert isinstance(answered, Answered)
    assert answered.invented == ("late-ncy",)
    assert answered.from_memory is False


# ---- the loop ----


def test_an_answer_from_memory() -> None:
    session = scripted(
        "Forty two.", [tool_call("list_articles")], "Fifty-six.", "It is [attention].", "It is [atention]."
    )
    found = [ask(session)[-1] for _ in range(4)]
    assert [(one.from_memory, one.invented) for one in found if isinstance(one, Answered)] == [
        (True, ()),
        (False, ()),
        (False, ()),
        (True, ("atention",)),
    ]
    assert [answer.from_memory for answer in session.agent.ledger.answers] == [True, False, False, True]
    assert [answer.invented for answer in session.agent.ledger.answers] == [0, 0, 0, 1]


def test_where_code_names_the_source_an_answer_is_from_memory_if_they_stand_in_nothing_that_was_ever_read() -> None:
    words = "A thimble guards the finger that pushes the needle."
    history = [*told(f"[thimbles] Use: {words}", "search", query="thimble"), Message("m9", "user", "again?")]
    for answer, from_memory in ((words, False), (f"{words} [thimbles]", False), ("It was banned in 1911.", True)):
        assert ground_answer(answer, history, len(history), Search(load_library())).from_memory is from_memory
    assert ground_answer(words, told("Error: no such thing"), 0, Search(load_library())).from_memory


@pytest.mark.parametrize(
    "text", ["That cannot be answered from here.", "It CAN'T be answered\nfrom here.", "can’t be answered from here",
             "It can not be answered from here [made-up]."]
)  # fmt: skip
def test_a_model_that_says_so_has_declined(text: str) -> None:
    assert ground_answer(text, [], 0).declined
    session = agent(says(text))
    answered = list(run(session, "?"))[-1]
    assert isinstance(answered, Answered)
    assert (answered.ending, answered.from_memory, answered.invented) == ("refused", False, ())
    goes_on(session)


def test_one_that_cites_what_it_read_has_answered() -> None:
    text = f"The price {CANNOT_ANSWER}, but the size is 7 [latency]."
    session = scripted([tool_call("read_article", slug="latency")], text)
    assert ask(session)[-1] == Answered(text, "answered")
    assert not ground_answer("I can answer that from here: it cannot be.", [], 0).declined


def test_what_is_no_answer_is_from_nowhere() -> None:
    session = agent([Text("I may not [made-up]."), Usage(finish="refusal")], says(" "))
    for ending in ("refused", "empty"):
        answered = list(run(session, "?"))[-1]
        assert isinstance(answered, Answered)
        assert (answered.ending, answered.from_memory, answered.invented) == (ending, False, ())


def test_calls_that_were_not_run_looked_nothing_up() -> None:
    session = agent([call(1), Text("It is so.")], max_turns=1)
    answered = list(run(session, "?"))[-1]
    assert isinstance(answered, Answered)
    assert (answered.ending, answered.from_memory) == ("turn-limit", True)
    assert [*shown_by_tools(session.history)] == []


def test_the_system_prompt_asks_for_the_words_that_are_looked_for() -> None:
    assert ground_answer(SYSTEM_PROMPT, [], 0).declined
    assert f"say that it {CANNOT_ANSWER}." in SYSTEM_PROMPT


# ---- the reader ----


@pytest.mark.parametrize("path", sorted((SHIPPED / READER).glob("*.jsonl")), ids=lambda path: path.stem)
def test_every_answer_of_a_shipped_recording_cites_what_was_read(path: Any) -> None:
    past, answers = SavedState(), 0
    for line in read_lines(path.read_bytes())[0]:
        record = past.read(line, whole=False)
        if isinstance(record, Answered):
            grounds = ground_answer(record.text, past.history, len(past.history))
            assert grounds.read
            assert grounds.invented == record.invented == ()
            answers += 1
    assert answers == 5


def test_the_reader_answers_from_nothing_but_what_it_read() -> None:
    session = Session(Settings(backend=READER))
    for question in ("hello", "Which articles are there?", "Compare rlhf and grpo", "My name is Bo.", "list the files"):
        answered = ask(session, question)[-1]
        assert isinstance(answered, Answered)
        assert (answered.from_memory, answered.invented) == (False, ())


def test_it_needs_the_standard_library_only() -> None:
    imported = "{name.split('.')[0] for name in sys.modules} - sys.stdlib_module_names"
    code = f"import sys, thimble.session.grounding; print(*{imported})"
    found = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True).stdout
    assert set(found.split()) <= {"thimble", "__main__", "__mp_main__"}
