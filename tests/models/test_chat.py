"""The chat-completions form: what is read is written again as it was, and what cannot be read says so."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from tests.support.conversations import Entry, conversations, entries, objections
from tests.support.estimate import EstimateCounter
from tests.support.histories import sound_histories
from thimble.agent.errors import UsageError
from thimble.agent.messages import Message, ToolCall
from thimble.agent.repair import repair
from thimble.models import chat

USER: Entry = {"role": "user", "content": "?"}
CALL: Entry = {"id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"}}

# --- laws -------------------------------------------------------------------------------------------------------------


@given(sound_histories())
def test_written_messages_are_read_again(history: list[Message]) -> None:
    written = [chat.write_message(message) for message in history]
    assert objections(written) == []
    assert chat.read_messages(json.loads(json.dumps(written))) == history


@given(sound_histories())
def test_a_valid_entry_is_written_as_it_was(history: list[Message]) -> None:
    for entry in (chat.write_message(message) for message in history):
        entry |= {"refusal": None, "x": {"y": 1}}
        (message,) = chat.read_messages([entry])
        assert json.dumps(chat.write_message(message, entry)) == json.dumps(entry)


@given(conversations())
def test_a_repaired_conversation_is_valid_and_stays_as_it_is(conversation: list[Entry]) -> None:
    own = {message.id: entry for message, entry in zip(chat.read_messages(conversation), conversation, strict=True)}
    written = [
        chat.write_message(message, own.get(message.id))
        for message in repair(chat.read_messages(conversation)).messages
    ]
    assert objections(written) == []
    assert [
        chat.write_message(message, entry) for message, entry in zip(chat.read_messages(written), written, strict=True)
    ] == written


@given(entries())
def test_writing_changes_neither_what_was_read_nor_its_unknown_keys(entry: Entry) -> None:
    before = json.dumps(entry)
    (message,) = chat.read_messages([entry])
    written = chat.write_message(message.rewritten("[gone]", "a test"), entry)
    assert json.dumps(entry) == before
    assert written["content"] == "[gone]"
    known = ("role", "content", "tool_calls", "tool_call_id")
    assert {key: entry[key] for key in entry if key not in known} == {
        key: written[key] for key in written if key in entry and key not in known
    }


@given(entries())
def test_thinking_is_written_as_it_came_or_not_at_all(entry: Entry) -> None:
    (message,) = chat.read_messages([entry])
    assert chat.read_messages([chat.write_message(message, entry)])[0].thinking == message.thinking
    assert (
        chat.read_messages([chat.write_message(message.rewritten("[gone]", "a test"), entry)])[0].thinking
        == message.thinking
    )
    silent = chat.write_message(replace(message, thinking=""), entry)
    assert "hm" not in json.dumps(silent) or "hm" in message.content
    assert chat.read_messages([silent])[0].thinking == ""


# --- forms that programs write ----------------------------------------------------------------------------------------


def content_of(content: Any) -> str:
    (message,) = chat.read_messages([{"role": "user", "content": content}])
    return message.content


def test_parts_of_a_content_are_its_text() -> None:
    text, image = {"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "data:,"}}
    assert content_of([text, image, text]) == "see\n[image_url]\nsee"
    assert content_of([{"type": "refusal", "refusal": "no"}]) == "no"
    assert content_of(["bare", {"text": "no type"}]) == "bare\nno type"
    assert content_of([]) == content_of("") == ""


WORDS = "the rule of this house " * 50
THINKING: list[Entry] = [
    {"reasoning_content": WORDS},
    {"reasoning": WORDS, "reasoning_content": WORDS},
    {"thinking": WORDS},
    {"reasoning_details": [{"type": "reasoning.summary", "summary": WORDS}]},
    {"thinking_blocks": [{"type": "thinking", "thinking": WORDS, "signature": "x"}]},
    {"content": [{"type": "thinking", "thinking": WORDS}, {"type": "text", "text": "I look."}]},
    {"content": [{"type": "redacted_thinking", "data": WORDS}, {"type": "text", "text": "I look."}]},
]


@pytest.mark.parametrize("thinking", THINKING)
def test_thinking_is_read_under_every_key_and_passes(thinking: Entry) -> None:
    entry = {"role": "assistant", "content": "I look.", "tool_calls": [CALL], **thinking}
    (message,) = chat.read_messages([entry])
    assert (message.thinking, message.content) == (WORDS, "I look.")
    assert chat.write_message(message, entry) == entry
    assert WORDS.strip() not in json.dumps(chat.write_message(replace(message, thinking=""), entry))


@pytest.mark.parametrize(
    "entry",
    [
        {"content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo"}}]},
        {"content": [{"type": "input_image", "image_url": "https://x.org/a.png"}]},
        {"content": [{"type": "image", "source": {"type": "base64", "data": "iVBORw0KGgo"}}]},
        {"content": "see", "images": ["iVBORw0KGgo"]},
    ],
)
def test_an_image_has_the_tokens_of_a_large_one_and_passes(entry: Entry) -> None:
    entry = {"role": "user", **entry}
    (message,) = chat.read_messages([entry])
    assert message.attached == chat.IMAGE_TOKENS
    counter = EstimateCounter()
    assert counter.count(message) == counter.count(replace(message, attached=0)) + chat.IMAGE_TOKENS
    assert chat.write_message(message, entry) == entry
    assert message.rewritten("[masked: an image]", "a test").attached == 0
    with pytest.raises(TypeError, match="attached"):
        replace(message, attached=-1)


def test_no_content_is_written_where_a_server_takes_it() -> None:
    calling: Entry = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    assert chat.write_message(*chat.read_messages([calling]), calling) == calling
    for words in ({"thinking": "hm"}, {"refusal": "no"}):
        entry = {"role": "assistant", "content": None, "tool_calls": [], **words}
        written = chat.write_message(*chat.read_messages([entry]), entry)
        assert written["content"] == words.get("refusal", "")
        assert "tool_calls" not in written


def test_the_old_form_of_function_calls_is_written_in_the_new_one() -> None:
    old: list[Entry] = [
        {"role": "assistant", "content": None, "function_call": {"name": "read", "arguments": "{}"}},
        {"role": "function", "name": "read", "content": "text"},
    ]
    found = chat.read_conversation({"messages": old, "functions": [{"name": "read", "parameters": {}}]})
    assert found.tools == [{"type": "function", "function": {"name": "read", "parameters": {}}}]
    written = [chat.write_message(message, entry) for message, entry in zip(found.repaired.messages, old, strict=True)]
    assert objections(written) == []
    assert "function_call" not in written[0]
    assert (written[1]["role"], written[1]["content"]) == ("tool", "text")


# --- whole conversations ----------------------------------------------------------------------------------------------


def test_a_system_beside_the_messages_goes_first() -> None:
    for system in ("Be kind.", [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}]):
        found = chat.read_conversation({"system": system, "messages": [{"role": "user", "content": "?"}]})
        assert [(one.role, one.content) for one in found.repaired.messages] == [("system", "Be kind."), ("user", "?")]
        assert found.entries[0]["content"] == system


@pytest.mark.parametrize(
    ("given_", "sent"),
    [
        ('{"a": "b"', '{"_raw": "{\\"a\\": \\"b\\""}'),
        ("ls -la", '{"_raw": "ls -la"}'),
        ('["ls"]', '{"_raw": "[\\"ls\\"]"}'),
        ('{"a": NaN}', '{"_raw": "{\\"a\\": NaN}"}'),
        ("", "{}"),
        ('{"_raw":"x"}', '{"_raw":"x"}'),
    ],
)
def test_arguments_that_no_server_reads_are_mended_with_a_note(given_: str, sent: str) -> None:
    call = {**CALL, "function": {"name": "read", "arguments": given_}}
    entries = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "text"},
    ]
    found = chat.read_conversation(entries)
    written = chat.write_message(found.repaired.messages[0], entries[0])
    assert written["tool_calls"][0]["function"]["arguments"] == sent
    assert found.repaired.notes == ([chat.UNREADABLE_ARGUMENTS] if "_raw" in sent and "_raw" not in given_ else [])


@pytest.mark.parametrize(
    ("document", "what"),
    [
        ({"contents": [{"role": "user", "parts": [{"text": "?"}]}]}, "an object without `messages`; it has contents"),
        ({"model": "m", "input": "?"}, "an object without `messages`; it has model, input"),
        ({}, "an object without `messages`; it has no keys"),
        ("?", "the messages are not a list"),
        ({"messages": [], "tools": "f"}, "tools is not a list of objects"),
    ],
)
def test_a_document_without_messages_is_refused(document: object, what: str) -> None:
    with pytest.raises(UsageError) as caught:
        chat.read_conversation(document)
    assert caught.value.what == what


def test_the_traj_of_a_run_is_its_messages() -> None:
    found = chat.read_conversation({"task_id": 1, "traj": [{"role": "user", "content": "?"}]})
    assert [one.content for one in found.repaired.messages] == ["?"]


# --- careless forms ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("arguments", "text"), [({"a": "é"}, '{"a": "é"}'), (None, "{}"), ({}, "{}")])
def test_arguments_that_are_an_object_are_written_as_text(arguments: object, text: str) -> None:
    entry: Entry = {
        "role": "assistant",
        "tool_calls": [{"index": 0, "function": {"name": "f", "arguments": arguments}}],
    }
    (message,) = chat.read_messages([entry])
    assert message.calls == (ToolCall("", "f", text),)
    call = {"index": 0, "function": {"name": "f", "arguments": text}, "id": "", "type": "function"}
    assert chat.write_message(message, entry)["tool_calls"] == [call]


def test_a_developer_message_is_a_system_message_and_stays_one() -> None:
    entry = {"role": "developer", "content": "Be brief."}
    (message,) = chat.read_messages([entry])
    assert message.role == "system"
    assert chat.write_message(message, entry) == entry


def test_a_result_is_named_after_its_call() -> None:
    calling = {"role": "assistant", "tool_calls": [CALL]}
    results = [{"role": "tool", "content": "", "tool_call_id": id_, "name": "given"} for id_ in ("a", "b")]
    assert [message.name for message in chat.read_messages([calling, *results])] == ["", "read", "given"]


def test_ids_that_are_missing_come_from_repair_and_are_written() -> None:
    call = {"function": {"name": "read", "arguments": "{}"}}
    conversation: list[Entry] = [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "content": "text"}]
    repaired = repair(chat.read_messages(conversation)).messages
    asked, answered = (
        chat.write_message(message, entry) for message, entry in zip(repaired, conversation, strict=True)
    )
    assert asked["tool_calls"][0]["id"] == answered["tool_call_id"] == "m1.1"


def user(**entry: object) -> list[Entry]:
    return [{"role": "user", **entry}]


def calling(calls: object, **entry: object) -> list[Entry]:
    return [{"role": "assistant", "tool_calls": calls, **entry}]


REFUSED: dict[str, list[object]] = {
    "the messages are not a list": [{"role": "user"}, "user: hello", None],
    "message 1 is not an object": [["hello"]],
    "message 1 has the role 'None': the roles are system": [[{}]],
    "message 1 has the role \"['user']\"": [[{"role": ["user"]}]],
    "message 2 has the role 'bot'": [[USER, {"role": "bot"}]],
    "message 1 has neither content nor calls; it has role": [
        user(), calling([], content=None), [{"role": "tool", "tool_call_id": "a", "output": "17"}]],
    "message 1 has neither content nor calls; it has role, text": [user(text="hello")],
    "message 1 has parts, which is not of the chat-completions form": [
        user(parts=[{"text": "?"}]),
        user(content="", parts=[{}]),
    ],
    "message 1 has audio": [[{"role": "assistant", "content": "", "audio": {"transcript": "?"}}]],
    "message 1 has a content that is neither text nor a list": [user(content=3), user(content=[3])],
    "message 1 has a part '' without text": [user(content={"x": "x"})],
    "message 1 has tool_result": [user(content=[{"type": "tool_result"}])],
    "message 1 has a part 'file' without": [user(content=[{"type": "file", "file": {}}])],
    "message 1 has a part 'input_audio'": [user(content=[{"type": "input_audio"}])],
    "message 1 has a tool call without a function name": [calling("f"), calling(["f"]), calling([{"function": {}}])],
}  # fmt: skip
"""What cannot be read, by what is said of it."""


@pytest.mark.parametrize("what", REFUSED)
def test_a_refusal_names_the_message(what: str) -> None:
    for given_ in REFUSED[what]:
        with pytest.raises(UsageError) as caught:
            chat.read_messages(given_)
        assert caught.value.what.startswith(what)
        assert ("tool_call_id" if "tool_result" in what else "chat-completions") in caught.value.fix
