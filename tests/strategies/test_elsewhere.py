"""docs/reference/elsewhere.md: what our SPECs have in common with other libraries, where those are installed."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.support.histories import budget, calls_of, react40
from tests.support.specs import build
from thimble.agent.messages import Message
from thimble.agent.view import prepare
from thimble.strategies.parameter import parameters_of
from thimble.strategies.spec import parse_spec
from thimble.strategies.table import STRATEGIES

PAGE = (Path(__file__).resolve().parents[2] / "docs/reference/elsewhere.md").read_text("utf-8")
NOT_OURS = "–"
Shown = dict[str, bool]
"""The results in a view by call id: whether it shows the result, or a placeholder."""


def shown(view: Sequence[Message]) -> Shown:
    return {one.call_id: one.content.startswith("result c") for one in view if one.role == "tool"}


def ours(spec: str) -> list[Shown]:
    """What each view of react40 shows under our strategy."""
    strategy, before, made = build(spec), None, []
    for history in calls_of(react40()):
        before = prepare(history, strategy, budget(), before)
        made.append(shown(before.messages))
    return made


def theirs(package: str, make: Callable[[Any], Any]) -> list[Shown]:
    """The same under the strategy of a package; `make` gets our module for it, and makes a session."""
    pytest.importorskip("pydantic_ai_harness" if package == "pydantic_ai" else package)

    async def run() -> list[Shown]:
        session, heard, made = make(import_module(f"benchmarks.rivals.{package}")), 0, []
        for history in calls_of(react40()):
            session.hear(history[heard:])
            heard = len(history)
            made.append(shown(session.read(await session.call())))
        return made

    return asyncio.run(run())


def after_edits(views: Sequence[Shown]) -> list[int]:
    """How many of the newest turns each edit leaves, where they are the newest and whole; else -1."""
    left = []
    for steps, view in enumerate(views):
        if steps and len(view) <= len(views[steps - 1]):
            newest = [f"c{number}" for number in range(steps - len(view) + 1, steps + 1)]
            left.append(len(view) if list(view) == newest and all(view.values()) else -1)
    return left


def test_pydantic_ai_clears_as_masking_does_at_every_call() -> None:
    def make(rival: Any) -> Any:
        return rival.compacting(rival.ClearToolResults(max_tokens=8_000, tokenizer=rival.four_characters))

    assert theirs("pydantic_ai", make) == ours("observation-masking:window=3,target=0.1")


def test_langchain_clears_as_masking_by_age_does_once_it_is_over_the_trigger() -> None:
    cleared, masked = theirs("langchain", lambda rival: rival.clear()), ours("observation-masking:window=3,when=always")
    begins = next(at for at, view in enumerate(cleared) if not all(view.values()))
    assert cleared[begins:] == masked[begins:]
    assert begins > 10


@pytest.mark.parametrize(
    ("package", "make"),
    [
        ("langchain", lambda rival: rival.summarise(keep=("messages", 6), trim_tokens_to_summarize=None)),
        (
            "pydantic_ai",
            lambda rival: rival.compacting(
                rival.SummarizingCompaction(max_tokens=8_000, keep_messages=6, tokenizer=rival.four_characters)
            ),
        ),
    ],
    ids=["langchain", "pydantic-ai"],
)
def test_a_summary_leaves_as_many_turns_as_in_a_summary_buffer(package: str, make: Callable[[Any], Any]) -> None:
    """Six messages are three turns here."""
    assert set(after_edits(theirs(package, make))) == {3} == set(after_edits(ours("summary-buffer:buffer=3,target=0")))


@pytest.mark.parametrize(
    ("package", "make", "spec"),
    [
        ("langchain", lambda rival: rival.trim(), "truncate"),
        (
            "pydantic_ai",
            lambda rival: rival.compacting(rival.SlidingWindowCompaction(**rival.SHORT)),
            "sliding-window:target=0.4",
        ),
        (
            "agent_framework",
            lambda rival: rival.compacting(
                rival.TruncationStrategy(max_n=8_000, compact_to=3_200, tokenizer=rival.TOKENIZER)
            ),
            "sliding-window:target=0.4",
        ),
    ],
    ids=["langchain", "pydantic-ai", "agent-framework"],
)
def test_an_edit_leaves_the_newest_turns_and_one_more_or_less_than_ours(
    package: str, make: Callable[[Any], Any], spec: str
) -> None:
    """Each counts tokens in its own way."""
    there, here = set(after_edits(theirs(package, make))), set(after_edits(ours(spec)))
    assert min(there) > 0
    assert min(here) > 0
    assert max(there | here) - min(there | here) <= 1


# --- the page ---------------------------------------------------------------------------------------------------------


def rows(heading: str) -> list[list[str]]:
    """The cells of the table below a heading."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.split("\n") if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines[1:]]


def test_each_spec_on_the_page_is_one() -> None:
    found = [spec for row in rows("Names elsewhere") for spec in re.findall(r"`([^`]+)`", row[2])]
    assert len(found) > 12
    for spec in found:
        build(spec)


def test_the_page_has_every_parameter_of_a_paper() -> None:
    told = {(row[0].strip("`"), row[1].strip("`")): row[2:4] for row in rows("The paper and our defaults")}
    expected = {
        (name, one.name): [one.written(one.paper), one.shown]
        for name, kind in STRATEGIES.items()
        for one in parameters_of(kind)
        if one.paper is not None and one.paper != one.default
    }
    assert {key: [paper.strip("`"), default.strip("`")] for key, (paper, default) in told.items()} == expected
    assert all(len(parse_spec(f"{name}:paper")) == 1 for name, _ in told)
