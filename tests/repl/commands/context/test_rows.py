"""Rows: every message once, in order, and tokens that add up, whatever the history and the strategy."""

from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.repl.screen.test_sanitise import FORBIDDEN
from tests.support.histories import TinyCounter, damaged_histories, messages, react_history, sound_histories
from tests.support.sessions import Paper
from tests.support.views import SPECS, viewed, xray_of
from thimble.agent.errors import UsageError
from thimble.agent.messages import Message
from thimble.repl.commands.context.listing import fold_rows, group_name, show_list
from thimble.repl.commands.context.message import describe_message
from thimble.repl.commands.context.rows import rows_of

HISTORIES = sound_histories() | damaged_histories() | st.lists(messages(), max_size=12)
MOST_ROWS = 38
LIMITS = st.sampled_from([300, 1_000, 4_000, 20_000])


@given(HISTORIES, st.sampled_from(SPECS), LIMITS, st.floats(0.5, 2.0))
def test_every_message_has_one_row_and_tokens_add_up(
    history: list[Message], spec: str, limit: int, ratio: float
) -> None:
    view = viewed(history, spec, limit)
    if view is None:
        return
    rows = rows_of(view, TinyCounter().count)
    assert [row.before for row in rows if row.before] == list(view.history)
    assert [row.after for row in rows if row.after] == list(view.messages)
    assert [row.name for row in rows if row.before] == [str(place + 1) for place in range(len(view.history))]
    assert [row.name for row in rows if not row.before] == [f"+{n + 1}" for n in range(len(view.inserted))]
    assert sum(row.tokens_before for row in rows) + view.overhead == view.history_tokens
    assert sum(row.tokens_after for row in rows) + view.overhead == view.tokens
    assert all(row.tokens_before == row.tokens_after for row in rows if row.fate == "kept")
    cached = [row.cached for row in rows if row.after]
    assert cached == sorted(cached, reverse=True), "the cached messages are a prefix"
    if view.cached:
        assert sum(row.tokens_after for row in rows if row.cached) + view.overhead == view.cached
    learnt = rows_of(view, lambda message: round(ratio * TinyCounter().count(message)))
    assert sum(row.tokens_before for row in learnt) + view.overhead == view.history_tokens
    assert sum(row.tokens_after for row in learnt) + view.overhead == view.tokens


@given(sound_histories(most_turns=60), st.sampled_from(SPECS), LIMITS, st.integers(8, 60))
def test_a_list_is_bounded_and_loses_nothing(history: list[Message], spec: str, limit: int, most: int) -> None:
    view = viewed(history, spec, limit)
    if view is None:
        return
    rows = rows_of(view, TinyCounter().count)
    groups = fold_rows(rows, most)
    assert len(groups) <= most
    assert [*chain(*groups)] == rows
    assert all(groups)
    paper = Paper()
    show_list(xray_of(view), groups, paper.console)
    assert len(paper.lines) <= most + 2
    assert all(len(row.name) for row in rows)


def test_on_a_low_screen_what_changed_has_a_row() -> None:
    view = viewed(react_history(4), "observation-masking:when=always", 8_000)
    assert view is not None
    groups = fold_rows(rows_of(view, TinyCounter().count), 8)
    masked = [row.name for row in rows_of(view, TinyCounter().count) if row.fate == "masked"]
    assert masked == ["4", "6"]
    assert {*masked} <= {group_name(group) for group in groups}
    assert len(groups) <= 8


def test_wide_letters_fit() -> None:
    history = [
        Message("m1", "system", "系统" * 50),
        Message("m2", "user", "日本語の文 " * 400),
        Message("m3", "assistant", "\x1b[2J" + "wide 日本 " * 40),
        Message("m4", "user", "And?"),
    ]
    view = viewed(history, "none", 400)
    assert view is not None
    paper = Paper(60)
    show_list(xray_of(view), fold_rows(xray_of(view).rows, MOST_ROWS), paper.console)
    assert not FORBIDDEN.search(paper.text.replace("\n", ""))
    assert max(map(cell_len, paper.lines)) <= 60


@given(sound_histories(), st.sampled_from(SPECS), LIMITS)
def test_every_message_has_a_rule(history: list[Message], spec: str, limit: int) -> None:
    view = viewed(history, spec, limit)
    if view is None:
        return
    xray = xray_of(view)
    for place, row in enumerate(xray.rows):
        said = describe_message(xray, place)
        assert said.startswith(f"message {row.name} (")
        assert f", {row.fate}, {row.tokens_before:,} → {row.tokens_after:,} tokens: " in said
        assert said.endswith(".")
        assert "\n" not in said
        assert xray.find(row.name) == place
    with pytest.raises(UsageError, match=f"there is no message {len(view.history) + 1}"):
        xray.find(str(len(view.history) + 1))
