"""A small session in each form, made here. Each has one call of a tool, its result and a last answer."""

import json
from typing import Any

ASK, THOUGHT, OUTPUT, ANSWER = (
    "How many pages has the report?",
    "I look it up.",
    "42 pages\nof paper",
    "It has 42 pages.",
)
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"page": "report"}'}}
TIME = "2026-01-02T03:04:0{}.000Z"


def lines(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def document(value: Any) -> bytes:
    return json.dumps(value, indent=1).encode()


def claude(kind: str, uuid: str, parent: str | None, content: Any = "", **more: Any) -> dict[str, Any]:
    """A line of Claude Code; `id` is that of the model's message."""
    message = {"role": kind, "content": content}
    if "id" in more:
        message |= {"id": more.pop("id"), "model": "claude", "usage": more.pop("usage", {})}
    return {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "message": message, **more}


def usage(plain: int, read: int, output: int) -> dict[str, int]:
    return {
        "input_tokens": plain,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": 5,
        "output_tokens": output,
    }


def tool_use(id_: str = "c1") -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": id_, "name": "look", "input": {"page": "report"}}]


def tool_result(id_: str = "c1", text: str = OUTPUT) -> list[dict[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": id_, "content": text}]


CLAUDE = [
    {"type": "summary", "summary": "The title of another session", "leafUuid": "x"},
    claude("user", "u1", None, ASK),
    claude("assistant", "a1", "u1", [{"type": "text", "text": THOUGHT}], id="m1", usage=usage(3, 100, 1)),
    claude("assistant", "a2", "a1", tool_use(), id="m1", usage=usage(3, 100, 9)),
    claude("user", "u2", "a2", tool_result(), toolUseResult={"file": OUTPUT * 9}),
    claude("assistant", "a3", "u2", [{"type": "text", "text": ANSWER}], id="m2", usage=usage(2, 130, 8)),
]


def codex(kind: str, time: int = 1, **payload: Any) -> dict[str, Any]:
    return {"timestamp": TIME.format(time), "type": kind, "payload": payload}


def count(total: int, prompt: int, cached: int) -> dict[str, Any]:
    last = {"input_tokens": prompt, "cached_input_tokens": cached, "output_tokens": 7}
    return codex(
        "event_msg", type="token_count", info={"total_token_usage": {"input_tokens": total}, "last_token_usage": last}
    )


def said(role: str, text: str) -> dict[str, Any]:
    return codex("response_item", 5, type="message", role=role, content=[{"type": "input_text", "text": text}])


CODEX = [
    codex("session_meta", id="s", timestamp=TIME.format(0), base_instructions={"text": "Be brief."}),
    said("developer", "Ask before you write."),
    said("user", "<environment_context>here</environment_context>"),
    said("user", ASK),
    codex("event_msg", type="user_message", message=ASK),
    codex("response_item", 5, type="reasoning", summary=[], encrypted_content="gAAAA" * 50),
    said("assistant", THOUGHT),
    codex("response_item", 5, type="function_call", call_id="c1", name="look", arguments='{"page": "report"}'),
    count(110, 110, 60),
    count(110, 110, 60),
    codex("response_item", 6, type="function_call_output", call_id="c1", output=OUTPUT),
    said("assistant", ANSWER),
    count(240, 130, 100),
]


def pi(id_: str, parent: str | None, **message: Any) -> dict[str, Any]:
    return {"type": "message", "id": id_, "parentId": parent, "timestamp": TIME.format(1), "message": message}


PI_CALL = {"type": "toolCall", "id": "c1", "name": "look", "arguments": {"page": "report"}}
PI = [
    {"type": "session", "id": "s", "timestamp": TIME.format(0), "cwd": "/x", "version": 3},
    pi("1", None, role="user", content=ASK),
    pi(
        "2",
        "1",
        role="assistant",
        content=[{"type": "text", "text": THOUGHT}, PI_CALL],
        usage={"input": 9, "cacheRead": 90},
    ),
    pi("3", "2", role="toolResult", toolCallId="c1", content=[{"type": "text", "text": OUTPUT}]),
    pi("4", "3", role="assistant", content=[{"type": "text", "text": ANSWER}], usage={"input": 30, "cacheRead": 99}),
]


def gemini(id_: str, kind: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"id": id_, "timestamp": TIME.format(1), "type": kind, "content": content, **more}


RESPONSE = {"functionResponse": {"id": "c1", "name": "look", "response": {"output": OUTPUT}}}
GEMINI_CALL = {"id": "c1", "name": "look", "args": {"page": "report"}, "result": [RESPONSE], "resultDisplay": OUTPUT}
TOKENS = {"input": 120, "output": 10, "cached": 100, "thoughts": 5, "tool": 0, "total": 135}
GEMINI_HEADER = {"sessionId": "s", "projectHash": "p", "startTime": TIME.format(0)}
GEMINI = [
    gemini("1", "user", [{"text": ASK}]),
    gemini("2", "gemini", THOUGHT, toolCalls=[GEMINI_CALL], tokens=TOKENS, thoughts=[{"subject": "Pages"}]),
    gemini("3", "info", "Nothing was sent."),
    gemini("4", "gemini", ANSWER, tokens=TOKENS),
]
CHAT = [
    {"role": "user", "content": ASK},
    {"role": "assistant", "content": THOUGHT, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": OUTPUT},
    {"role": "assistant", "content": ANSWER},
]
CHAT_USAGE = {"prompt_tokens": 120, "completion_tokens": 15, "prompt_tokens_details": {"cached_tokens": 100}}


def openhands(id_: int, source: str, metadata: Any = None, **more: Any) -> dict[str, Any]:
    return {"id": id_, "source": source, **({"tool_call_metadata": metadata} if metadata else {}), **more}


MODEL = {"id": "r1", "model": "m", "choices": [{"message": CHAT[1]}], "usage": CHAT_USAGE}
METADATA = {"function_name": "look", "tool_call_id": "c1", "model_response": MODEL}
LAST = {**MODEL, "id": "r2", "choices": [{"message": CHAT[3]}]}
OPENHANDS = [
    openhands(0, "user", action="message", args={"content": ASK}),
    openhands(2, "agent", METADATA, action="run", args={"command": "look report", "thought": THOUGHT}),
    openhands(5, "agent", METADATA, cause=2, observation="run", content=OUTPUT, extras={"command": "look report"}),
    openhands(6, "environment", observation="agent_state_changed", content=""),
    openhands(7, "agent", {"model_response": LAST}, action="message", args={"content": ANSWER}),
]


def second(id_: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"id": id_, "timestamp": TIME.format(1)[:-1], "source": "agent", "kind": kind, **more}


def texts(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}]


OPENHANDS_SECOND = [
    second("1", "MessageEvent", llm_message={"role": "user", "content": texts(ASK)}),
    second(
        "2", "ActionEvent", thought=texts(THOUGHT), tool_call={"id": "c1", **CALL["function"]}, llm_response_id="r1"
    ),
    second("3", "ObservationEvent", tool_call_id="c1", action_id="2", observation={"content": texts(OUTPUT)}),
    second("4", "MessageEvent", llm_message={"role": "assistant", "content": texts(ANSWER)}, llm_response_id="r2"),
]
SWE_AGENT = {
    "info": {"model_stats": {"tokens_sent": 250, "api_calls": 2}},
    "trajectory": [],
    "history": [*CHAT[:2], {"role": "tool", "content": OUTPUT, "tool_call_ids": ["c1"]}, CHAT[3]],
}
INSPECT_CALL = {"id": "c1", "function": "look", "arguments": {"page": "attachment://abc"}}
INSPECT_ASKED = [{"role": "user", "content": "attachment://def"}]
INSPECT_SAID = {"role": "assistant", "content": THOUGHT, "tool_calls": [INSPECT_CALL]}
INSPECT_USAGE = {"input_tokens": 120, "output_tokens": 15, "total_tokens": 135, "input_tokens_cache_read": 100}


def inspect_call(sent: list[Any], reply: Any, **more: Any) -> dict[str, Any]:
    return {
        "event": "model",
        "input": sent,
        "output": {"choices": [{"message": reply}], "usage": INSPECT_USAGE},
        **more,
    }


INSPECT = {
    "version": 2,
    "status": "success",
    "eval": {},
    "samples": [
        {
            "id": 1,
            "epoch": 1,
            "input": ASK,
            "attachments": {"abc": "report", "def": ASK},
            "events": [
                {"event": "state", "changes": []},
                inspect_call(INSPECT_ASKED, INSPECT_SAID),
                inspect_call([*INSPECT_ASKED, INSPECT_SAID, CHAT[2]], CHAT[3]),
                inspect_call([{"role": "user", "content": "Grade it."}], CHAT[3], role="grader"),
            ],
        }
    ],
}
METRICS = {"prompt_tokens": 120, "completion_tokens": 15, "cached_tokens": 100}
ATIF = {
    "schema_version": "ATIF-v1.5",
    "session_id": "s",
    "agent": {"name": "a", "model_name": "m"},
    "steps": [
        {"step_id": 1, "source": "user", "message": ASK},
        {
            "step_id": 2,
            "source": "agent",
            "message": THOUGHT,
            "tool_calls": [{"tool_call_id": "c1", "function_name": "look", "arguments": {"page": "report"}}],
            "observation": {"results": [{"source_call_id": "c1", "content": OUTPUT}]},
            "metrics": METRICS,
        },
        {"step_id": 3, "source": "agent", "message": ANSWER, "metrics": METRICS},
    ],
}


def opencode(id_: str, role: str, created: int, *parts: Any, **more: Any) -> list[Any]:
    message = {"id": id_, "sessionID": "ses", "role": role, "time": {"created": created}, **more}
    return [message, *({"id": f"{id_}p{at}", "messageID": id_, **part} for at, part in enumerate(parts))]


OPENCODE_TOOL = {
    "type": "tool",
    "callID": "c1",
    "tool": "look",
    "state": {"status": "completed", "input": {"page": "report"}, "output": OUTPUT},
}
OPENCODE_TOKENS = {"input": 20, "output": 15, "reasoning": 5, "cache": {"read": 100, "write": 0}}
OPENCODE = [
    *opencode("m1", "user", 1000, *texts(ASK)),
    *opencode("m2", "assistant", 2000, *texts(THOUGHT), OPENCODE_TOOL, {"type": "step-finish"}, tokens=OPENCODE_TOKENS),
    *opencode("m3", "assistant", 3000, *texts(ANSWER), tokens=OPENCODE_TOKENS),
]


def exchange(at: int, messages: list[Any] = CHAT) -> dict[str, Any]:
    """A request of chat completions, and its response."""
    response = {"id": f"r{at}", "choices": [{"message": messages[at]}], "usage": CHAT_USAGE}
    return {"request": {"model": "m", "messages": messages[:at]}, "response": response}


ANTHROPIC = [
    {"role": "user", "content": [{"type": "text", "text": ASK, "cache_control": {"type": "ephemeral"}}]},
    {"role": "assistant", "content": [*texts(THOUGHT), *tool_use()]},
    {"role": "user", "content": tool_result()},
    {"role": "assistant", "content": texts(ANSWER)},
]


def anthropic(at: int) -> dict[str, Any]:
    """A request of Anthropic's API, whose mark of the cache moves, and its response."""
    sent = json.loads(
        json.dumps(ANTHROPIC[:at]).replace(', "cache_control": {"type": "ephemeral"}', "" if at > 1 else " ")
    )
    response = {
        "id": f"r{at}",
        "content": ANTHROPIC[at]["content"],
        "stop_reason": "end_turn",
        "usage": usage(3, 100, 9),
    }
    return {"request": {"model": "m", "system": "Be brief.", "messages": sent}, "response": response}


ITEMS = [
    {"type": "message", "role": "user", "content": ASK},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": THOUGHT}]},
    {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"page": "report"}'},
    {"type": "function_call_output", "call_id": "c1", "output": OUTPUT},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": ANSWER}]},
]
ITEMS_USAGE = {"input_tokens": 120, "output_tokens": 15, "input_tokens_details": {"cached_tokens": 100}}


def responses(previous: str | None, sent: list[Any], output: list[Any], id_: str) -> dict[str, Any]:
    request = {"model": "m", "input": sent, **({"previous_response_id": previous} if previous else {})}
    return {"request": request, "response": {"id": id_, "output": output, "usage": ITEMS_USAGE}}


SAMPLES: dict[str, tuple[str, bytes]] = {
    "claude": ("Claude Code", lines(*CLAUDE)),
    "codex": ("Codex", lines(*CODEX)),
    "pi": ("pi", lines(*PI)),
    "gemini": ("Gemini CLI", document({**GEMINI_HEADER, "messages": GEMINI})),
    "gemini lines": ("Gemini CLI", lines(GEMINI_HEADER, *GEMINI)),
    "opencode": ("opencode", b"\n".join(map(document, OPENCODE))),
    "openhands": ("OpenHands", document(OPENHANDS)),
    "openhands, benchmark": ("OpenHands", lines({"instance_id": "i", "history": OPENHANDS})),
    "openhands, second": ("OpenHands", lines(*OPENHANDS_SECOND)),
    "swe-agent": ("SWE-agent", document(SWE_AGENT)),
    "inspect": ("Inspect", document(INSPECT)),
    "atif": ("ATIF", document(ATIF)),
    "chat requests": ("requests", lines(exchange(1), exchange(3))),
    "anthropic requests": ("requests", lines(anthropic(1), anthropic(3))),
    "responses": (
        "requests",
        lines(responses(None, ITEMS[:1], ITEMS[1:3], "r1"), responses(None, ITEMS[:4], ITEMS[4:], "r2")),
    ),
    "responses, chained": (
        "requests",
        lines(responses(None, ITEMS[:1], ITEMS[1:3], "r1"), responses("r1", ITEMS[3:4], ITEMS[4:], "r2")),
    ),
}
"""Form and bytes of a session in each form."""
