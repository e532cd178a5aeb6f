"""The JSON document holds all of a session: what it was can be made of it again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.branched_sessions import run, session_in
from tests.support.exported import export, read
from tests.support.sessions import ask, scripted, tool_call
from thimble.agent.messages import Message, ToolCall
from thimble.repl.commands.export.page import embedded
from thimble.repl.commands.export.transcript import difference, transcripts
from thimble.repl.screen.gantt import name_of
from thimble.session.jsonl import to_json
from thimble.session.lagged import Lagged
from thimble.session.session import Session
from thimble.session.timeline import timeline

NASTY = st.text(st.characters() | st.sampled_from("<>&\x7f\u2028\u2029\ud800\x1b\u202e"))
SPECS = ["none", "observation-masking:window=1", "sliding-window", "hybrid", "notes+offload"]


def message(of: dict[str, Any]) -> Message:
    """A message of the document."""
    calls = tuple(ToolCall(**call) for call in of.get("calls", ()))
    texts = {name: of[name] for name in ("thinking", "call_id", "name", "why", "ref") if name in of}
    return Message(of["id"], of["role"], of["content"], calls=calls, covers=tuple(of.get("covers", ())), **texts)


LISTS = ("tools", "history", "fates", "sent")


def lists_of(document: dict[str, Any]) -> Iterator[dict[str, list[Any]]]:
    """The lists of each call, as docs/reference/formats.md says that they are put together."""
    lists: dict[str, list[Any]] = {name: [] for name in LISTS}
    for call in document["calls"]:
        for name, was in lists.items():
            start, new, end = call[name]
            lists[name] = [*was[:start], *new, *was[len(was) - end :]]
        yield dict(lists)


def whole_session(session: Session, folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(export(session, "json", folder))
    return document


@pytest.mark.parametrize("spec", SPECS)
def test_every_view_can_be_made_of_it_again(spec: str, tmp_path: Path) -> None:
    session = read(spec=spec)
    document = whole_session(session, tmp_path)
    assert [message(each) for each in document["messages"]] == session.agent.history
    told = transcripts(session)[0].calls
    assert len(document["calls"]) == len(told) == sum(call.purpose == "answer" for call in session.agent.ledger.calls)
    history = {each["id"]: message(each) for each in document["messages"]}
    copies = [message(each) for each in document["copies"]]
    for call, lists, made in zip(document["calls"], lists_of(document), told, strict=True):
        view = made.prepared.view
        sent = [history[one] if isinstance(one, str) else copies[one] for one in lists["sent"]]
        assert [asdict(one) for one in sent] == [asdict(one) for one in view.messages]
        assert lists["history"] == [one.id for one in view.history]
        assert lists["fates"] == list(view.fates)
        assert lists["tools"] == list(made.prepared.tools)
        assert sum(times for _, times in call["left_out"]) == view.fates.count("dropped")
    assert len(set(map(json.dumps, document["copies"]))) == len(copies), "each copy stands there once"


def test_the_ledger_is_the_sessions(tmp_path: Path) -> None:
    session = read(spec="hybrid")
    document = whole_session(session, tmp_path)
    calls = session.agent.ledger.calls
    assert [row["prompt"]["tokens"] for row in document["ledger"]] == [call.prompt.tokens for call in calls]
    assert document["totals"]["raw_prompt"] == sum(call.raw_prompt for call in calls)
    assert document["totals"]["exchanges"] == 2
    assert [one["ending"] for one in document["exchanges"]] == [one.ending for one in transcripts(session)[0].exchanges]


def test_the_timeline_is_in_page_and_document(tmp_path: Path) -> None:
    session = session_in(strategy="comem:k=1")
    session.agent.side.worker = Lagged(1)
    for question in ("What?", "And?", "So?"):
        ask(session, question)
    of = timeline(session.agent.ledger)
    told = whole_session(session, tmp_path)["timeline"]
    places = [(span.kind, span.what, round(span.began - of.began, 6), span.seconds) for span in of.spans]
    assert [(one["kind"], one["what"], one["began"], one["seconds"]) for one in told["spans"]] == places
    assert [told["busy"][role] for role in ("agent", "memory")] == [of.busy("agent"), of.busy("memory")]
    assert of.busy("memory") == sum(call.seconds for call in session.agent.ledger.calls if call.lag is not None) > 0
    page = export(session, "html", tmp_path)
    (drawn,) = re.findall(r'"timeline":(\{.*?\}),"exchanges"', page)
    data = json.loads(drawn)
    assert data["lanes"] == [*map(name_of, of.lanes())]
    assert [(kind, seconds) for _, kind, _, seconds, _ in data["spans"]] == [
        (span.kind, round(span.seconds, 6)) for span in of.spans
    ]
    assert all(f"{name}: " in data["spoken"] for name in data["lanes"])
    assert {*data["begins"]} == {"1", "2", "3"}


@pytest.mark.parametrize("spec", SPECS)
def test_every_branch_is_there_as_it_was(spec: str, tmp_path: Path) -> None:
    """What it says of a branch is what it said while that was in use, but for the places of the copies."""
    session = read(spec=spec)
    before = []
    for command in ("/fork none", "/undo", "/reset"):
        before.append(whole_session(session, tmp_path))
        run(session, command)
        ask(session, f"What is a token, after {command}?")
    document = whole_session(session, tmp_path)
    assert document["session"]["branch"] == 4
    told = {one["session"]["branch"]: one for one in document["branches"]}
    assert [*told] == [3, 2, 1]
    assert [told[number]["session"]["parent"] for number in told] == [2, 1, None]
    for then in before:
        now = told[then["session"]["branch"]]
        for name in ("messages", "exchanges", "ledger", "totals", "timeline"):
            assert now[name] == then[name]
        for call, was, lists, old in zip(now["calls"], then["calls"], lists_of(now), lists_of(then), strict=True):
            assert {**call, "sent": 0} == {**was, "sent": 0}
            copies = [
                [one if isinstance(one, str) else all_["copies"][one] for one in sent["sent"]]
                for all_, sent in ((document, lists), (then, old))
            ]
            assert copies[0] == copies[1]


@given(NASTY)
def test_a_text_comes_back_as_it_was(text: str) -> None:
    for written in (to_json(text), embedded(text)):
        assert json.loads(written) == text
        assert written.isascii()
        assert written.isprintable()
    assert not set("<>&") & set(embedded(text))


@given(st.lists(st.integers(0, 3)), st.lists(st.integers(0, 3)))
def test_a_difference_leads_from_one_list_to_the_other(before: list[int], after: list[int]) -> None:
    start, between, end = difference(before, after)
    assert [*before[:start], *between, *before[len(before) - end :]] == after


def test_what_was_stopped_and_what_failed_is_told(tmp_path: Path) -> None:
    session = scripted([tool_call("search_articles", 1, query="x"), tool_call("nothing", 2)], "So.", "Half of it.")
    ask(session)
    events = session.ask("And then?")
    next(events)
    events.close()
    document = whole_session(session, tmp_path)
    assert [one["ending"] for one in document["exchanges"]] == ["answered", "unfinished"]
    assert [result["ok"] for result in document["calls"][0]["results"]] == [True, False]


def test_exchanges_have_the_numbers_of_stats_in_every_format(tmp_path: Path) -> None:
    session = scripted("So.", "And so.")
    ask(session, "One?")
    session.plant("The vault opens at 7.")
    ask(session, "Two?")
    assert [one["number"] for one in whole_session(session, tmp_path)["exchanges"]] == [1, None, 2]
    page = export(session, "html", tmp_path)
    assert re.findall(r'"number":(\d+),"question"', page) == ["1", "0", "2"]
    assert "2 exchanges" in page
    assert re.findall("^## (.*)", export(session, "md", tmp_path), re.M) == [
        "Exchange 1", "A planted fact", "Exchange 2", "Calls",
    ]  # fmt: skip


def test_the_temperature_and_the_seed_are_on_record(tmp_path: Path) -> None:
    for settings, drawn in (({"temperature": 0.0, "seed": 7}, True), ({}, False)):
        session = scripted("So.", **settings)
        ask(session)
        assert whole_session(session, tmp_path)["session"]["sampling"] == settings
        for kind in ("md", "html"):
            assert ("seed 7" in re.sub("&#32;", " ", export(session, kind, tmp_path))) == drawn
