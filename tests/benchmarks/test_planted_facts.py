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
    spoken,
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


def test_masks_have_no_way_back() -> None:
    tally = under("observation-masking:window=0,when=always", SOME[:1], 0.5)[0]
    assert (shown(tally), tally.recalled, tally.dropped) == (0, 0, 0)


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


def test_the_whole_result_is_the_largest_copy_of_its_own_size() -> None:
    tally = at_most(1, SOME[0])
    assert shown(tally) == tally.of_marked + tally.of_plain


@pytest.mark.parametrize("cut", [random_lines, head_and_tail])
@pytest.mark.parametrize("share", [0.53, 0.1])
def test_a_cut_without_thought_has_at_most_its_share(cut: Callable[[str, int], str], share: float) -> None:
    for output in SOME:
        tally = at_most(share, output, cut)
        assert share / 2 <= tally.tokens / tally.of_tokens <= share
        assert shown(tally) < tally.of_marked + tally.of_plain


def test_random_lines_are_lines_in_their_order_and_head_and_tail_are_both_ends() -> None:
    text = "".join(f"line {number}\n" for number in range(100))
    lines = random_lines(text, 300).splitlines(keepends=True)
    places = [text.index(line) for line in lines]
    assert places == sorted(places)
    assert 30 < len(lines) < 45
    assert places[0] > 0 or places[-1] < len(text) - 8
    assert random_lines(text, len(text)) == text
    assert head_and_tail(text, 20) == f"{text[:10]}\n{text[-10:]}"


def halved(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one | {"content": one["content"][: len(one["content"]) // 2]} for one in messages if one["role"] == "tool"]


def test_a_rival_is_judged_by_what_it_leaves_and_ours_gets_no_more_tokens() -> None:
    rows = rivalled("halved", halved, lambda text: None, [SOME])
    for way in ("alone", "together"):
        theirs, ours = rows[f"halved, {way}"], rows[f"compress, in as many tokens as halved {way}"]
        assert 0 < shown(theirs) < FACTS
        assert ours.tokens <= theirs.tokens < 0.6 * theirs.of_tokens


def test_a_conversation_is_said_as_chat_completions_have_it() -> None:
    said = [spoken(message) for message in conversation(SOME[:1])]
    assert [one["role"] for one in said[:4]] == ["system", "user", "assistant", "tool"]
    assert said[2]["tool_calls"][0]["id"] == said[3]["tool_call_id"]
    assert said[3]["content"] == SOME[0].text


def test_a_rival_that_is_not_at_hand_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--rival", "nobody"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "pip install" in said.err


def test_tallies_add_up() -> None:
    assert total([Tally(1, 2, 3, 4, 5, 6, 7, 8), Tally(10)]) == Tally(11, 2, 3, 4, 5, 6, 7, 8)
    assert total([]) == Tally()
