"""`lab replay --act`: the next action on each view against the recorded one (CoMem, Eq. 9)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from thimble.agent.errors import UsageError
from thimble.agent.prompts import SUMMARY_TAG
from thimble.lab.experiment_flags import settings_of
from thimble.lab.replay.command import main
from thimble.models import READER, chat
from thimble.session.session import Session


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A run of the built-in reader, with its tools."""
    session = Session(settings_of(READER, budget=64_000))
    for asked in ("What is observation masking?", "And what does it cost?", "What is a prefix cache?", "Who uses it?"):
        list(session.ask(asked))
    messages = [chat.write(message) for message in session.agent.history]
    path = tmp_path_factory.mktemp("runs") / "run.json"
    path.write_text(json.dumps({"id": "one", "messages": messages, "tools": session.agent.schemas()}))
    return str(path)


def rows(capsys: pytest.CaptureFixture[str], *flags: str) -> list[dict[str, Any]]:
    main([*flags, "--json", "--jobs", "1"], "replay")
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found


def test_the_agent_itself_agrees_with_its_own_run_and_less_so_where_it_sees_less(
    recorded: str, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = (recorded, "--act", READER, "--strategy", "none", "comem:k=1,summary=none", "comem:k=1")
    raw, window, comem = rows(capsys, *flags)
    assert raw["agreement"] == pytest.approx(1)
    assert 0 <= window["agreement"] < 1
    assert 0 <= comem["agreement"] <= 1
    main([recorded, "--act", READER, "--strategy", "none", "--jobs", "1"], "replay")
    assert "Agreement of the next action" in capsys.readouterr().out


def test_without_an_actor_there_is_no_agreement(recorded: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "agreement" not in rows(capsys, recorded, "--strategy", "none")[0]
    with pytest.raises(UsageError, match="'qwen' names no model"):
        main([recorded, "--act", "qwen"], "replay")


def test_the_actor_writes_the_summaries(recorded: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    views = tmp_path / "views.jsonl"
    main(
        [recorded, "--act", READER, "--strategy", "llm-summary:every=1,tail=0", "--views", str(views), "--jobs", "1"],
        "replay",
    )
    summaries = [
        message["content"]
        for line in views.read_text().splitlines()
        for message in json.loads(line)["messages"]
        if message["content"].startswith(SUMMARY_TAG)
    ]
    assert summaries
    assert not any("what was found so far" in text for text in summaries)
    assert any("masking" in text for text in summaries)
