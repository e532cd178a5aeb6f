"""The JSON document holds all of a session: what it was can be made of it again."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.branched_sessions import run
from tests.support.exported import export, read
from tests.support.sessions import ask, scripted
from thimble.agent.messages import Message, ToolCall
from thimble.repl.commands.export.page import embed_json
from thimble.session import jsonl
from thimble.session.jsonl import to_json
from thimble.session.session import Session
from thimble.session.story import read_stories

NASTY = st.text(st.characters() | st.sampled_from("<>&\x7f\u2028\u2029\ud800\x1b\u202e"))
SPECS = ["none", "observation-masking:window=1", "sliding-window", "hybrid", "notes+offload"]


def message(of: dict[str, Any]) -> Message:
    """A message of the document."""
    calls = tuple(ToolCall(**call) for call in of.get("calls", ()))
    texts = {name: of[name] for name in ("thinking", "call_id", "name", "why", "ref") if name in of}
    return Message(of["id"], of["role"], of["content"], calls=calls, covers=tuple(of.get("covers", ())), **texts)


def whole_session(session: Session, folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(export(session, "json", folder))
    return document


def views_of(branch: dict[str, Any]) -> list[list[Message]]:
    """What each call of a branch was sent, as docs/reference/formats.md says that it is put together."""
    messages = {each["id"]: message(each) for each in branch["messages"]}
    prepared = [event for event in branch["events"] if event["type"] == "prepared"]
    return [[messages[one] if isinstance(one, str) else message(one) for one in event["sent"]] for event in prepared]


@pytest.mark.parametrize("spec", SPECS)
def test_every_view_of_every_branch_can_be_made_of_it_again(spec: str, tmp_path: Path) -> None:
    session = read(spec=spec)
    for command in ("/fork none", "/undo", "/reset"):
        run(session, command)
        ask(session, f"What is a token, after {command}?")
    document = whole_session(session, tmp_path)
    assert document["session"]["branch"] == 4
    assert [(one["branch"], one["parent"]) for one in document["branches"]] == [(1, None), (2, 1), (3, 2), (4, 1)]
    told = {one.branch: one for one in read_stories(*session.journal.read())}
    for branch in document["branches"]:
        then = told[branch["branch"]]
        assert [message(each) for each in branch["messages"]] == then.past.history
        calls = [call for exchange in then.exchanges for call in exchange.calls]
        views = [call.prepared.view for call in calls]
        assert [[asdict(one) for one in sent] for sent in views_of(branch)] == [
            [asdict(one) for one in view.messages] for view in views
        ]
        prepared = [event for event in branch["events"] if event["type"] == "prepared"]
        assert [event["fates"] for event in prepared] == [list(view.fates) for view in views]
        replies = [event["cached"] for event in branch["events"] if event["type"] == "replied"]
        assert replies == [asdict(call.spent.cached) for call in calls if call.spent]


def test_the_session_of_the_document_is_the_last_line_of_json(tmp_path: Path) -> None:
    session = read(spec="hybrid")
    document = whole_session(session, tmp_path)
    assert {**document["session"], **jsonl.session_fields(session)} == document["session"]
    kinds = {event["type"] for event in document["branches"][0]["events"]}
    assert kinds >= {"opened", "asked", "prepared", "replied", "tool_called", "tool_returned", "answered"}


@given(NASTY)
def test_a_text_comes_back_as_it_was(text: str) -> None:
    for written in (to_json(text), embed_json(text)):
        assert json.loads(written) == text
        assert written.isascii()
        assert written.isprintable()
    assert not set("<>&") & set(embed_json(text))


def test_an_exchange_of_the_page_took_until_its_answer_whatever_was_typed_after_it(tmp_path: Path) -> None:
    session = scripted("So.")
    ask(session, "One?")
    session.use_budget(3_000)
    at = {type(line.record).__name__: line.at for line in session.journal.read()[0]}
    assert at["Changed"] >= at["Answered"]
    assert re.findall(r'"took":([\d.e-]+)', export(session, "html", tmp_path)) == [str(at["Answered"] - at["Asked"])]
