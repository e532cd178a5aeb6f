"""The chat-completions form: what is read is written again as it was, and what cannot be read says so."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from tests.support.conversations import Entry, conversations, entries, objections
from tests.support.histories import sound_histories
from thimble.agent.errors import UsageError
from thimble.agent.messages import Message, ToolCall
from thimble.agent.repair import repair
from thimble.models import chat

CALL: Entry = {"id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"}}

# --- laws -------------------------------------------------------------------------------------------------------------


@given(sound_histories())
def test_what_is_written_is_read_again(history: list[Message]) -> None:
    written = [chat.write(message) for message in history]
    assert objections(written) == []
    assert chat.read(json.loads(json.dumps(written))) == history


@given(sound_histories())
def test_a_valid_entry_is_written_as_it_was(history: list[Message]) -> None:
    for entry in (chat.write(message) for message in history):
        entry |= {"refusal": None, "x": {"y": 1}}
        (message,) = chat.read([entry])
        assert json.dumps(chat.write(message, entry)) == json.dumps(entry)


@given(conversations())
def test_a_repaired_conversation_is_valid_and_stays_as_it_is(conversation: list[Entry]) -> None:
    own = {message.id: entry for message, entry in zip(chat.read(conversation), conversation, strict=True)}
    written = [chat.write(message, own.get(message.id)) for message in repair(chat.read(conversation)).messages]
    assert objections(written) == []
    assert [chat.write(message, entry) for message, entry in zip(chat.read(written), written, strict=True)] == written


@given(entries())
def test_writing_changes_neither_what_was_read_nor_its_unknown_keys(entry: Entry) -> None:
    before = json.dumps(entry)
    (message,) = chat.read([entry])
    written = chat.write(message.rewritten("[gone]", "a test"), entry)
    assert json.dumps(entry) == before
    assert written["content"] == "[gone]"
    known = ("role", "content", "tool_calls", "tool_call_id")
    assert {key: entry[key] for key in entry if key not in known} == {
        key: written[key] for key in written if key not in known
    }


# --- forms that programs write ----------------------------------------------------------------------------------------


def content_of(content: Any) -> str:
    (message,) = chat.read([{"role": "user", "content": content}])
    return message.content


def test_parts_of_a_content_are_its_text() -> None:
    text, image = {"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "data:,"}}
    assert content_of([text, image, text]) == "see\n[image_url]\nsee"
    assert content_of([{"type": "refusal", "refusal": "no"}]) == "no"
    assert content_of(["bare", {}]) == "bare\n[part]"
    assert content_of([]) == content_of(None) == ""


def test_no_content_is_written_where_a_server_takes_it() -> None:
    calling: Entry = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    assert chat.write(*chat.read([calling]), calling) == calling
    for role in ("system", "user", "assistant", "tool"):
        entry = {"role": role, "content": None, "tool_calls": []}
        written = chat.write(*chat.read([entry]), entry)
        assert written["content"] == ""
        assert "tool_calls" not in written


def test_arguments_that_are_an_object_are_written_as_text() -> None:
    entry: Entry = {
        "role": "assistant",
        "tool_calls": [{"index": 0, "function": {"name": "f", "arguments": {"a": "é"}}}],
    }
    (message,) = chat.read([entry])
    assert message.calls == (ToolCall("", "f", '{"a": "é"}'),)
    call = {"index": 0, "function": {"name": "f", "arguments": '{"a": "é"}'}, "id": "", "type": "function"}
    assert chat.write(message, entry)["tool_calls"] == [call]


@pytest.mark.parametrize("arguments", [None, {}])
def test_no_arguments_are_an_empty_object(arguments: object) -> None:
    (message,) = chat.read([{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": arguments}}]}])
    assert message.calls[0].arguments == "{}"


def test_a_developer_message_is_a_system_message_and_stays_one() -> None:
    entry = {"role": "developer", "content": "Be brief."}
    (message,) = chat.read([entry])
    assert message.role == "system"
    assert chat.write(message, entry) == entry


def test_a_result_is_named_after_its_call() -> None:
    calling = {"role": "assistant", "tool_calls": [CALL]}
    results = [{"role": "tool", "tool_call_id": id_, "name": "given"} for id_ in ("a", "b")]
    assert [message.name for message in chat.read([calling, *results])] == ["", "read", "given"]


def test_ids_that_are_missing_come_from_repair_and_are_written() -> None:
    call = {"function": {"name": "read", "arguments": "{}"}}
    conversation: list[Entry] = [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "content": "text"}]
    repaired = repair(chat.read(conversation)).messages
    asked, answered = (chat.write(message, entry) for message, entry in zip(repaired, conversation, strict=True))
    assert asked["tool_calls"][0]["id"] == answered["tool_call_id"] == "m1.1"


@pytest.mark.parametrize(
    ("given_", "what", "fix"),
    [
        ({"role": "user"}, "the messages are not a list", "chat-completions"),
        ("user: hello", "the messages are not a list", "chat-completions"),
        (None, "the messages are not a list", "chat-completions"),
        (["hello"], "message 1 is not an object", "chat-completions"),
        ([{}], "message 1 has the role 'None'", "system, developer, user, assistant, tool"),
        ([{"role": ["user"]}], "message 1 has the role \"['user']\"", "system, developer, user"),
        ([{"role": "user"}, {"role": "bot"}], "message 2 has the role 'bot'", "system, developer, user"),
        ([{"role": "function", "name": "f"}], "message 1 is in the old form of function calls", "tool_call_id"),
        (
            [{"role": "assistant", "function_call": {"name": "f"}}],
            "message 1 is in the old form of function calls",
            "tool_call_id",
        ),
        ([{"role": "user", "content": 3}], "message 1: content is neither text nor a list", "chat-completions"),
        ([{"role": "user", "content": {"text": "x"}}], "message 1: content is neither text nor a list", "chat"),
        ([{"role": "user", "content": [3]}], "message 1 has a content that is no text", "chat-completions"),
        ([{"role": "user", "content": [{"type": "tool_result"}]}], "message 1 holds a tool_result", "tool_call_id"),
        ([{"role": "assistant", "tool_calls": "f"}], "message 1: tool_calls is no list", "chat-completions"),
        ([{"role": "assistant", "tool_calls": ["f"]}], "message 1 has a tool call without a function name", "chat"),
        ([{"role": "assistant", "tool_calls": [{"function": {}}]}], "message 1 has a tool call without", "chat"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_place(given_: object, what: str, fix: str) -> None:
    with pytest.raises(UsageError) as caught:
        chat.read(given_)
    assert caught.value.what.startswith(what)
    assert fix in caught.value.fix
