"""The measurement of planted facts: what it counts as in view, as recalled, as dropped, and in how many tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.planted.made import outputs
from benchmarks.planted.output import stands
from benchmarks.planted_facts import (
    Tally,
    at_most,
    conversation,
    head_and_tail,
    main,
    opened,
    random_lines,
    rivalled,
    total,
    under,
)

SOME = [output for output in outputs(0) if output.kind in ("README", "file of settings", "minutes")]
FACTS = sum(len(output.facts) for output in SOME)


def shown(tally: Tally) -> int:
    return tally.marked + tally.plain


def test_everything_is_in_view_where_nothing_is_managed() -> None:
    tally = total(under("none", SOME, 0.1))
    assert shown(tally) == tally.recalled == tally.of_marked + tally.of_plain == FACTS
    assert tally.tokens == tally.of_tokens
    assert not tally.dropped


def test_a_reference_counts_by_recall_and_a_dropped_result_does_not() -> None:
    moved, gone = total(under("offload", SOME, 0.1)), total(under("sliding-window", SOME, 0.1))
    assert (moved.recalled, moved.dropped) == (FACTS, 0)
    assert shown(moved) < FACTS
    assert gone.recalled == shown(gone)
    assert gone.dropped > 0


def test_recall_opens_every_page_of_a_result_and_nothing_else() -> None:
    history = conversation(SOME)
    for at, output in enumerate(SOME):
        assert all(stands(fact, opened(history, f"r{at}")) for fact in output.facts)
    assert opened(history, "r77") == ""


@pytest.mark.parametrize("share", [0.8, 0.3])
def test_a_copy_at_equal_size_has_at_most_its_share(share: float) -> None:
    for output in SOME:
        tally = at_most(share, output)
        assert tally.tokens <= share * tally.of_tokens
        assert bool(tally.dropped) is (tally.tokens == 0)


@pytest.mark.parametrize("cut", [random_lines, head_and_tail])
@pytest.mark.parametrize("share", [0.53, 0.1])
def test_a_cut_without_thought_has_at_most_its_share(cut: Callable[[str, int], str], share: float) -> None:
    for output in SOME:
        tally = at_most(share, output, cut)
        assert share / 2 <= tally.tokens / tally.of_tokens <= share
        assert shown(tally) < tally.of_marked + tally.of_plain


def halved(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one | {"content": one["content"][: len(one["content"]) // 2]} for one in messages if one["role"] == "tool"]


def test_a_rival_is_judged_by_what_it_leaves_and_ours_gets_no_more_tokens() -> None:
    rows = rivalled("halved", halved, lambda text: None, [SOME])
    for way in ("alone", "together"):
        theirs, ours = rows[f"halved, {way}"], rows[f"compress, in as many tokens as halved {way}"]
        assert 0 < shown(theirs) < FACTS
        assert ours.tokens <= theirs.tokens < 0.6 * theirs.of_tokens


def test_a_rival_that_is_not_at_hand_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--rival", "nobody"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "pip install" in said.err
