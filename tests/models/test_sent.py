"""What real servers send, a row a report: the bytes, and what is right; and whatever else may come.

The reports are issues and pull requests on GitHub, as owner/repository#number.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import ollama_wire, openai_wire
from tests.support.both_servers import SERVERS
from tests.support.histories import is_sound
from tests.support.ollama_wire import Chunks
from tests.support.openai_wire import CHAT, SYSTEM, USER
from tests.support.schemas import schema
from tests.support.scripted_loop import Acts
from thimble.agent.agent import Agent
from thimble.agent.errors import ModelError
from thimble.agent.loop import run
from thimble.agent.printed_call import ends_with_call
from thimble.agent.reply import Reply
from thimble.agent.side import SideModel
from thimble.agent.state import State
from thimble.models.tool_calls.caller import ToolCaller
from thimble.strategies.none import NoManagement

TOOLS = [
    schema("read_file", "", ["path"], path="string"),
    schema("list_files"),
    schema("search", "", ["q"], q="string"),
]
DONE = b"data: [DONE]\n\n"


def event(delta: object = None, finish: str | None = None, **rest: object) -> bytes:
    """A chunk of chat completions."""
    choice = {"index": 0, "delta": {} if delta is None else delta, "finish_reason": finish}
    return b"data: " + json.dumps({"choices": [choice], **rest}).encode() + b"\n\n"


def says(*texts: str, finish: str = "stop") -> bytes:
    """A reply of chat completions in these pieces."""
    return b"".join(event({"content": text}) for text in texts) + event(finish=finish) + DONE


def fragment(name: str | None = None, arguments: object = None, **rest: object) -> dict[str, Any]:
    """A fragment of a tool call."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {"tool_calls": [{**rest, "type": "function", "function": function}]}


def calls(*fragments: dict[str, Any], finish: str = "tool_calls") -> bytes:
    """A reply of chat completions of these fragments of calls."""
    return b"".join(map(event, fragments)) + event(finish=finish) + DONE


def lines(*messages: dict[str, Any], reason: str = "stop") -> bytes:
    """A reply of Ollama."""
    told = [{"message": {"role": "assistant", "content": "", **message}, "done": False} for message in messages]
    last = {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": reason}
    return b"".join(json.dumps(each).encode() + b"\n" for each in [*told, last])


README = '{"path": "README.md"}'
READ, LIST = ("read_file", README), ("list_files", "{}")


class Row(NamedTuple):
    """What a server sent, and what is right: the thought, the text, the calls and the end."""

    report: str
    body: bytes
    thought: str = ""
    text: str = ""
    calls: Sequence[tuple[str, str]] = ()
    finish: str = "stop"
    server: str = "openai"


ROWS = [
    # how a reply ends
    Row("vllm-project/vllm#57082", says("The answer begi", finish="abort"), text="The answer begi", finish="abort"),
    Row("exo-explore/exo#2183", calls(fragment("read_file", '{"pa', index=0, id="a"), finish="error"),
        calls=[("read_file", '{"pa')], finish="error"),
    Row("DeepSeek's API", says("Hm", finish="insufficient_system_resource"), text="Hm",
        finish="insufficient_system_resource"),
    Row("anomalyco/opencode#26170", says("Hm", finish="other"), text="Hm", finish="other"),
    Row("huggingface/text-generation-inference", says("Hm.", finish="eos_token"), text="Hm."),
    Row("an upper-case gateway", says("Hm", finish="MAX_TOKENS"), text="Hm", finish="length"),
    Row("Ollama, an end of its own", lines({"content": "Hm"}, reason="unload"), text="Hm", finish="unload",
        server="ollama"),
    # what is thinking
    Row("vllm-project/vllm#31045", says("the user wants ", "a sum\n</thi", "nk>\n\nIt is 4."),
        thought="the user wants a sum\n", text="It is 4."),
    Row("ggml-org/llama.cpp#12107", says("a sum</think>\n\nIt is 4."), thought="a sum", text="It is 4."),
    Row("QwenLM/qwen-code#6007", event({"reasoning_content": "a sum"}) + says("\n</think>\n\nIt is 4."),
        thought="a sum", text="It is 4."),
    Row("altic-dev/FluidVoice#836", says("<think>a</think>The literal </think> tag\n</think>\nis text."),
        thought="a", text="The literal </think> tag\n</think>\nis text."),
    Row("ggml-org/llama.cpp#12107, in a line", says("a sum </think> It is 4."), thought="a sum ", text="It is 4."),
    Row("a model that writes about tags", says("Close it by `</think>`, then answer."),
        text="Close it by `</think>`, then answer."),
    Row("the same on Ollama", lines({"content": "a sum\n"}, {"content": "</think>\n\n4."}), thought="a sum\n",
        text="4.", server="ollama"),
    # half a character
    Row("elizaOS/eliza#30904", says("So \ud83d", "\ude00."), text="So 😀."),
    Row("Kohaku-Lab/KohakuTerrarium#48", says("So \udcaf", " and \ud83d", "x"), text="So � and �x"),
    Row("UKGovernmentBEIS/inspect_ai#3802", calls(fragment("read_file", '{"path": "\ud83d', index=0, id="a"),
        fragment(None, '\ude00"}', index=0)), calls=[("read_file", '{"path": "😀"}')]),
    Row("half at the end, on Ollama", lines({"thinking": "\ud83d"}, {"content": "4 \ud83d"}), thought="�", text="4 �",
        server="ollama"),
    # how calls are told apart
    Row("vercel/ai#18440", calls(fragment("read_file", README, index=0), fragment("list_files", "{}", index=0)),
        calls=[READ, LIST]),
    Row("su-kaka/gcli2api#406", calls(*(fragment("read_file", f'{{"path": "{n}"}}', index=0) for n in "ab")),
        calls=[("read_file", '{"path": "a"}'), ("read_file", '{"path": "b"}')]),
    Row("ollama/ollama#15457", calls(fragment("read_file", '{"path": ', index=0, id="a"),
        fragment(None, '"README.md"}', index=0, id="a"), fragment("list_files", "{", index=0, id="b"),
        fragment(None, "}", index=0, id="b")), calls=[READ, LIST]),
    Row("google-deepmind/amplio#3", calls(fragment("read_file", README, index=0, id="a"),
        fragment("list_files", "{", index=0, id="b"), fragment(None, "}", index=0)), calls=[READ, LIST]),
    Row("BerriAI/litellm#11407", calls(fragment("read_file", "", index=1, id="a"), fragment(None, README, index=1)),
        calls=[READ]),
    Row("one id for all", calls(fragment("read_file", README, id="0"), fragment("list_files", "{}", id="0")),
        calls=[READ, LIST]),
    Row("a name with each fragment", calls(fragment("read_file", README[:9], index=0),
        fragment("read_file", README[9:], index=0)), calls=[READ]),
    # arguments
    Row("vllm-project/vllm#54964", calls(fragment("read_file", json.dumps(README), index=0, id="a")), calls=[READ]),
    Row("the same in fragments", calls(*(fragment("read_file" if at == 0 else None, part, index=0, id="a")
        for at, part in enumerate((json.dumps(README)[:7], json.dumps(README)[7:])))), calls=[READ]),
    Row("quarkiverse/quarkus-langchain4j#2642", lines({"tool_calls": [{"function": {"name": "read_file",
        "arguments": README}}]}), calls=[READ], server="ollama"),
    Row("a text that is none of JSON", calls(fragment("read_file", '"{hello}"', index=0, id="a")),
        calls=[("read_file", '"{hello}"')]),
    Row("ggml-org/llama.cpp#22072", calls(fragment("read_file", '{"path": "a\nb"}', index=0, id="a")),
        calls=[("read_file", '{"path": "a\\nb"}')]),
    # names
    Row("vllm-project/vllm#32587", calls(fragment("read_file<|channel|>commentary", README, index=0)), calls=[READ]),
    Row("mlc-ai/xgrammar#607", calls(fragment("functions.read_file", README, index=0)), calls=[READ]),
    Row("the whole header", calls(fragment("<|channel|>commentary to=functions.read_file <|constrain|>json", README,
        index=0)), calls=[READ]),
    Row("default_api, of Gemini", calls(fragment("default_api:read_file", README, index=0)), calls=[READ]),
    Row("a tool that nobody has", calls(fragment("functions.rm", "{}", index=0)), calls=[("functions.rm", "{}")]),
    # lines and events
    Row("elizaOS/eliza#19260", b"\xef\xbb\xbf" + says("4"), text="4"),
    Row("langchain-ai/langgraph#2560", says("4", "2").replace(b"\n", b"\r"), text="42"),
    Row("miruamel/xuan#194", says("4", "2").replace(b"\n", b"\r\n"), text="42"),
    Row("no blank lines", says("4", "2").replace(b"\n\n", b"\n"), text="42"),
    Row("nullclaw/nullclaw#509", says("4", "2").replace(b"data: ", b"data:"), text="42"),
    Row("choices that is null", event({"content": "4"}, "stop") + b'data: {"choices":null,"usage":null}\n\n' + DONE,
        text="4"),
    Row("a mark before Ollama's lines", b"\xef\xbb\xbf" + lines({"content": "4"}), text="4", server="ollama"),
    Row("a line break within a text", b'data: {"choices":[{"delta":{"content":"4\t2"},"finish_reason":"stop"}]}\n\n',
        text="4\t2"),
]  # fmt: skip


def read(row: Row, *pieces: bytes) -> tuple[str, str, list[tuple[str, str]], str]:
    """What is read of a row, whole or in these pieces."""
    backend = SERVERS[row.server].backend(Chunks(pieces or [row.body]))
    reply = Reply.of(ToolCaller(backend, "tools").stream([SYSTEM, USER], TOOLS))
    return reply.thinking, reply.text, [(call.name, call.arguments) for call in reply.calls], reply.usage.finish


@pytest.mark.parametrize("row", ROWS, ids=[row.report for row in ROWS])
def test_replies_of_real_servers_are_read(row: Row) -> None:
    assert read(row) == (row.thought, row.text, [*row.calls], row.finish)
    assert read(row, *(row.body[at : at + 1] for at in range(len(row.body)))) == read(row)


UNREADABLE_CALLS = [
    ("ollama", b'{"error":"error parsing tool call: raw=\'{\\"q\\": 1}]\', err=invalid character"}\n'),
    ("ollama", b'{"error parsing tool call":"invalid character \'c\' looking for beginning of value"}\n'),
    ("ollama", (500, b'{"error":"failed to parse JSON: unexpected end of JSON input"}')),
    ("openai", b'data: {"error":{"code":500,"message":"Failed to parse input at pos 37: <tool_call>"}}\n\n'),
    ("openai", event({"content": "Hm"}) + b'data: {"error":{"message":"Failed to parse tool call arguments"}}\n\n'),
    ("openai", (500, b'{"error":{"message":"Failed to parse tool call arguments as JSON"}}')),
]  # ollama/ollama#17638, #11704, #14492; agentscope-ai/QwenPaw#3560


@pytest.mark.parametrize(("server", "sent"), UNREADABLE_CALLS)
def test_a_call_that_its_server_cannot_read_is_asked_for_once_more_by_schema(server: str, sent: Any) -> None:
    by_schema = {"ollama": lines({"content": '{"list_files": {}}'}), "openai": says('{"list_files": {}}')}[server]
    wire = (
        ollama_wire.Wire(chat=[sent, by_schema]) if server == "ollama" else openai_wire.Wire({CHAT: [sent, by_schema]})
    )
    reply = Reply.of(ToolCaller(SERVERS[server].backend(wire)).stream([SYSTEM, USER], TOOLS))
    assert [(call.name, call.arguments) for call in reply.calls] == [LIST]
    assert "tools" not in wire.sent()


# ---- calls that are written as text ----

PRINTED = '{"name": "search", "arguments": {"q": "x"}}'
XML = "<function=search>\n<parameter=q>\nx\n</parameter>\n</function>"


@pytest.mark.parametrize(
    "reply",
    [
        PRINTED,
        f"I look.\n{PRINTED}\n",
        f"[{PRINTED}, {PRINTED}]",
        f"I look.\n\n```json\n{PRINTED}\n```",
        f"<tool_call>\n{PRINTED}\n</tool_call>",
        f"I look.\n<tool_call>{PRINTED}</tool_call>\n<tool_call>{PRINTED}</tool_call>",
        f"<tool_call>{PRINTED[:-1]}</tool_call>",
        f"<tool_call>\n{XML}\n</tool_call>",
        f"I look.\n{XML}",
        "<function=search",
        f"[TOOL_CALLS][{PRINTED}]",
        f"<|python_tag|>{PRINTED}",
        '{"type": "function", "name": "search", "parameters": {}}',
    ],
)
def test_a_reply_that_ends_with_a_call_announces_it(reply: str) -> None:
    assert ends_with_call(reply, {"search"})
    assert not ends_with_call(reply, {"read_file"})


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I will search for it.",
        f"You would write `{PRINTED}`.",
        f"```json\n{PRINTED}\n```\nis how a call is written.",
        f"<tool_call>{PRINTED}</tool_call> is a call.",
        f"{XML}\n\nThat is the form of Qwen3-Coder.",
        f"It is written {PRINTED}",
        '{"name": "Ada", "age": 36}',
        f"Calls:\n- `<function=search>` of Qwen\n- {PRINTED}",
    ],
)
def test_a_call_that_an_answer_quotes_is_an_example(reply: str) -> None:
    assert not ends_with_call(reply, {"search"})


# ---- whatever comes ----

PARTS = st.sampled_from(
    [
        *("<tool_call>", "</tool_call>", "<function=search", "<function=search>", "</function>", "<parameter=q>"),
        *("<think>", "</think>", "\n</think>\n", "```json\n", "\n```", PRINTED, README, '{"search": "', '{"answer": "'),
        *('{"cannot_answer": "', '{"answer": {"a": "', '", "b": "', '"}', '"}}', "\\u", "\\ud83d", "\\u00e9", "\\x"),
        *("\ud83d", "\ude00", "\x1b[31m", "It is so. ", "search", *'{}["\\\x00\x85\n\r\t '),
    ]
)
TEXTS = st.lists(PARTS | st.text(max_size=3), max_size=7).map("".join)
JSON = st.none() | st.booleans() | st.integers(-1, 2) | TEXTS
FUNCTIONS = st.fixed_dictionaries(
    {}, optional={"name": TEXTS | JSON, "arguments": TEXTS | JSON | st.dictionaries(TEXTS, JSON)}
)
CALLED = st.fixed_dictionaries({}, optional={"index": JSON, "id": TEXTS | JSON, "function": FUNCTIONS | JSON})
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "content": TEXTS | JSON,
        "reasoning_content": TEXTS,
        "thinking": TEXTS,
        "tool_calls": st.lists(CALLED | JSON, max_size=3) | JSON,
    },
)
ENDS = st.sampled_from(["stop", "length", "abort", "tool_calls", "", None, 7])


class Replied(NamedTuple):
    """A reply that is nearly valid, from a server that is asked so."""

    server: str
    calls: Any
    body: bytes
    cut: int


@st.composite
def replies(draw: st.DrawFn) -> Replied:
    """A reply as its server would send it, in one of its spellings, whole or cut somewhere."""
    server, messages, end = draw(st.sampled_from([*SERVERS])), draw(st.lists(MESSAGES, max_size=4)), draw(ENDS)
    if server == "ollama":
        body = lines(*messages, reason=end)
    else:
        body = b"".join(event(message) for message in messages) + event(finish=end) + DONE
        body = body.replace(b"\n\n", draw(st.sampled_from([b"\n\n", b"\n", b"\r", b"\r\n\r\n"])))
    whole = draw(st.integers(0, 3)) > 0
    return Replied(
        server,
        draw(st.sampled_from(["tools", "schema"])),
        body,
        len(body) if whole else draw(st.integers(0, len(body))),
    )


def holds(reply: Replied) -> None:
    """An exchange whose every reply is this one ends by itself or by a ModelError, with a sound history."""
    backend = SERVERS[reply.server].backend(Chunks([reply.body[: reply.cut]]))
    tools = {each["function"]["name"]: Acts(each["function"]["name"], lambda _: "16 files") for each in TOOLS}
    caller = ToolCaller(backend, reply.calls)
    agent = Agent(caller, NoManagement(), State(SYSTEM.content), tools, SideModel(caller), max_turns=3, nudges=True)
    with suppress(ModelError):
        assert [*run(agent, "What is there?")]
    assert is_sound(agent.history) == []
    said = [text for one in agent.history for text in (one.content, one.thinking, *(c.arguments for c in one.calls))]
    assert "\x00".join(said).encode(), "no half of a character is left"


@given(replies())
def test_a_nearly_valid_reply_is_read_or_a_model_error(reply: Replied) -> None:
    holds(reply)


@pytest.mark.nightly
@pytest.mark.parametrize("calls", ["tools", "schema"])
@pytest.mark.parametrize("row", ROWS, ids=[row.report for row in ROWS])
def test_each_reply_of_the_table_cut_at_each_byte(row: Row, calls: str) -> None:
    for cut in range(len(row.body)):
        holds(Replied(row.server, calls, row.body, cut))
