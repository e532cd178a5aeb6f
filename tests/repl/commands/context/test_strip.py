"""The strip: columns are exact, order is kept, nothing drifts, and what is drawn is what the view says."""

from __future__ import annotations

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import react_history, sound_histories
from tests.support.sessions import Paper
from tests.support.views import SPECS, viewed, xray_of
from thimble.agent.messages import Message
from thimble.repl.commands.context.rows import spread_shares
from thimble.repl.commands.context.strip import (
    FREE,
    Block,
    draw_bar,
    draw_ruler,
    history_blocks,
    show_strip,
    view_blocks,
    widths,
)
from thimble.repl.screen.theme import FATE_LETTERS

SIZES = st.lists(st.integers(0, 70_000), min_size=1, max_size=300)


@given(SIZES, st.integers(1, 240))
def test_columns_are_exact_and_never_drift(sizes: list[int], columns: int) -> None:
    got, whole = widths([Block("K", "█", "", size) for size in sizes], columns), sum(sizes)
    assert sum(got) == columns
    assert len(got) == len(sizes)
    if not whole:
        return
    shares = [columns * size / whole for size in sizes]
    if len(sizes) > columns or min(shares) >= 1:
        assert all(abs(width - share) < 1 for width, share in zip(got, shares, strict=True))
        reached = zip(accumulate(got), accumulate(shares), strict=True)
        assert all(abs(width - share) <= 0.5 + 1e-6 for width, share in reached)
    if len(sizes) <= columns:
        assert min(got) >= 1
        assert all(width == 1 or width < share + 1 for width, share in zip(got, shares, strict=True))


@given(st.integers(0, 10**6), SIZES)
def test_a_total_is_spread_whole(total: int, weights: list[int]) -> None:
    shares = spread_shares(total, weights)
    assert sum(shares) == total
    assert min(shares) >= 0
    if sum(weights):
        assert all(abs(a - total * b / sum(weights)) < 1 for a, b in zip(shares, weights, strict=True))
    assert not sum(weights) or spread_shares(sum(weights), weights) == weights


@given(sound_histories(), st.sampled_from(SPECS), st.sampled_from([300, 2_000, 8_000]), st.sampled_from([40, 80, 120]))
def test_the_bars_are_those_of_the_view(history: list[Message], spec: str, limit: int, columns: int) -> None:
    view = viewed(history, spec, limit)
    if view is None:
        return
    xray = xray_of(view)
    was, sent = history_blocks(xray), view_blocks(xray)
    assert sum(block.tokens for block in was) == view.history_tokens
    assert sum(block.tokens for block in sent) == max(view.tokens, view.limit)
    assert len(was) == len(view.history) + bool(view.overhead)
    for blocks in (was, sent):
        got = widths(blocks, columns)
        assert draw_bar(blocks, got).cell_len == columns
    letters = [block.letter for block in was][bool(view.overhead) :]
    system = bool(view.history) and view.history[0].role == "system"
    assert letters[system:] == [FATE_LETTERS[fate] for fate in view.fates[system:]]
    assert sum(block.letter == "I" for block in sent) == len(view.inserted)
    assert (FREE in {block.letter for block in sent}) == (view.tokens < view.limit)
    marked = draw_ruler(xray, sent, widths(sent, columns))
    assert marked.cell_len <= columns
    assert ("═" in marked.plain) <= (view.cached > 0)
    paper = Paper(drawn=False)
    show_strip(xray, paper.console)
    assert not set(paper.text) & set("█▓▒░═╌")
    assert f"was   {view.history_tokens:,} tokens: " in paper.text


@given(sound_histories(), st.sampled_from(SPECS), st.sampled_from([300, 2_000, 8_000]))
def test_a_column_of_both_bars_is_as_many_tokens_and_the_sums_are_whole(
    history: list[Message], spec: str, limit: int
) -> None:
    view = viewed(history, spec, limit)
    if view is None:
        return
    xray, paper = xray_of(view), Paper(120)
    show_strip(xray, paper.console)
    was, drawn, sent, bar_of_sent = paper.lines[:4]
    totals = view.history_tokens, max(view.tokens, view.limit)
    assert [len(drawn), len(bar_of_sent)] == [max(1, round(120 * total / max(totals))) for total in totals]
    for caption, total in ((was, view.history_tokens), (sent, view.tokens)):
        parts = caption.partition(": ")[2].split(" · ")
        kinds = [
            int(part.rsplit(" ", 1)[1].replace(",", "")) for part in parts if not part.startswith(("free", "over"))
        ]
        assert sum(kinds) == total


def test_what_is_over_the_budget_is_marked_without_colour_too() -> None:
    view = viewed(react_history(8), "none", 2_000)
    assert view is not None
    paper, coloured = Paper(80), Paper(80, color=True)
    show_strip(xray_of(view), paper.console)
    show_strip(xray_of(view), coloured.console)
    sent = [line for line in paper.lines if line.startswith("TP")][1]
    limit = 80 * view.limit // view.tokens
    assert len(sent) == 80 > limit
    assert "!" not in sent[:limit]
    assert not set(sent[limit:]) & set("█▓▒░")
    assert "\x1b[1;31m" in coloured.text
