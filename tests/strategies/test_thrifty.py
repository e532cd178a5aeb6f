"""thrifty: the rule against a direct transcription of it, its two ends, and what it promises."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from operator import eq

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from scripts.foresight import cheapest, sizes
from tests.support.histories import Story, budget, calls_of, react_history, sound_histories
from tests.support.specs import SUMMARISERS, Summariser, build
from thimble.agent.budget import UNLIMITED, Budget, Prices
from thimble.agent.messages import Message, common_prefix, turns
from thimble.agent.view import View, prepare
from thimble.strategies.masks import mask_message
from thimble.strategies.thrifty import CREDIT, Thrifty

PRICES = st.sampled_from([0.0, 0.02, 0.1, 0.25, 0.4, 0.7, 1.0])


def roomy(cached: float = 0.1, limit: int = UNLIMITED) -> Budget:
    return replace(budget(limit, overhead=20), prices=Prices(cached=cached))


def views(spec: str, history: Sequence[Message], allowed: Budget, model: Summariser | None = None) -> Iterator[View]:
    strategy, before = build(spec, model), None
    for messages in calls_of(history):
        before = prepare(messages, strategy, allowed, before)
        yield before


def spent(spec: str, history: Sequence[Message], allowed: Budget) -> float:
    """The price of all calls of a run."""
    return sum(allowed.prices.prompt(view.tokens, view.cached) for view in views(spec, history, allowed))


def turn_sizes(history: Sequence[Message], allowed: Budget) -> list[tuple[int, int, int]]:
    """Of each turn: tokens of what the assistant said, of its results, and of these when masked."""
    sizes = []
    for turn in turns(history):
        said, *results = (history[at] for at in turn)
        whole = [allowed.count(result) for result in results]
        small = [
            min(allowed.count(mask_message(result, "")), count) for result, count in zip(results, whole, strict=True)
        ]
        sizes.append((allowed.count(said), sum(whole), sum(small)))
    return sizes


# --- the rule ---------------------------------------------------------------------------------------------------------


@dataclass
class Deal:
    """One call: the rent that falls due, the price of editing now, what may be spent, and whether it is bought."""

    call: int
    rent: float
    price: float
    saved: float
    bought: bool


def deals(head: int, sizes: Sequence[tuple[int, int, int]], window: int, c: float) -> Iterator[Deal]:
    """The rule of thrifty on sizes alone: at which calls everything older than the newest `window` turns is masked.

    Call k follows k turns. s0 = tokens of the view as it stands, p0 = its price: all but the newest turn is cached.
    s1, p1 = the same with the masks: only what stands before the first new mask is cached.
    """
    upto, paid, everything = 0, 0.0, head
    saved = CREDIT * head
    for k in range(1, len(sizes) + 1):
        new = sizes[k - 1][0] + sizes[k - 1][1]
        hidden = sum(whole - small for _, whole, small in sizes[:upto])
        saved += (1 + CREDIT) * (new + c * everything) - (new + c * (everything - hidden))
        everything += new
        old = range(upto, max(upto, k - window))
        smaller = sum(sizes[at][1] - sizes[at][2] for at in old)
        if not smaller:
            continue
        shown = [said + (small if at < upto else whole) for at, (said, whole, small) in enumerate(sizes[:k])]
        first = next(at for at in old if sizes[at][1] > sizes[at][2])
        s0, kept = head + sum(shown), head + sum(shown[:first]) + sizes[first][0]
        p0 = shown[-1] + c * (s0 - shown[-1])
        p1 = (s0 - smaller - kept) + c * kept
        paid += c * smaller
        bought = paid >= p1 - p0 and p1 - p0 <= max(0, saved)
        yield Deal(k, c * smaller, p1 - p0, saved, bought)
        if bought:
            upto, paid, saved = k - window, 0.0, saved - (p1 - p0)


def told(observations: Sequence[int]) -> list[Message]:
    story = Story().ask("what?")
    for tokens in observations:
        story.turn(tokens, says=30)
    return story.messages


@given(
    st.lists(st.integers(0, 900), min_size=1, max_size=40),
    st.integers(1, 12),
    PRICES,
)
def test_thrifty_edits_when_the_rule_says_so(observations: list[int], window: int, c: float) -> None:
    history, allowed = told(observations), roomy(c)
    made = views(f"thrifty:window={window},summaries=off", history, allowed)
    edited = [call for call, view in enumerate(made) if view.edited]
    by_the_book = deals(allowed.size(history[:2]), turn_sizes(history, allowed), window, c)
    assert edited == [deal.call for deal in by_the_book if deal.bought]


@given(sound_histories(most_turns=40), st.integers(1, 12))
def test_at_a_price_of_one_it_is_the_paper_s_masking(history: list[Message], window: int) -> None:
    ours = views(f"thrifty:window={window},price=1,summaries=off", history, roomy())
    paper = views(f"observation-masking:window={window},when=always", history, roomy())
    for view, masked in zip(ours, paper, strict=True):
        shorter = [min(pair, key=roomy().count) for pair in zip(view.history, masked.messages, strict=True)]
        assert common_prefix(view.messages, shorter) == len(shorter)


@given(sound_histories(most_turns=40), st.integers(1, 12), st.sampled_from(["on", "off"]))
def test_where_cached_tokens_are_free_it_never_edits_while_all_fits(
    history: list[Message], window: int, summaries: str
) -> None:
    spec = f"thrifty:window={window},price=0,summaries={summaries}"
    assert not any(view.edited for view in views(spec, history, roomy()))


@given(sound_histories(most_turns=40), PRICES, st.integers(0, 12), st.sampled_from(["on", "off"]))
def test_the_card_s_price_is_its_own(history: list[Message], c: float, window: int, summaries: str) -> None:
    spec = f"thrifty:window={window},summaries={summaries}"
    by_card = views(spec, history, roomy(c))
    by_parameter = views(f"{spec},price={c}", history, roomy(0.5))
    assert [view.messages for view in by_card] == [view.messages for view in by_parameter]


@given(st.lists(st.integers(0, 900), min_size=1, max_size=25), st.integers(1, 6), PRICES)
def test_a_run_costs_at_most_twice_what_the_best_schedule_would(observations: list[int], window: int, c: float) -> None:
    history, allowed = told(observations), roomy(c)
    ours = spent(f"thrifty:window={window},summaries=off", history, allowed)
    best = cheapest(sizes(history, allowed), window, c)
    assert best - 1e-6 <= ours <= 2 * best


# --- summaries --------------------------------------------------------------------------------------------------------


def test_a_summary_is_asked_for_behind_the_view_as_it_stands() -> None:
    model = Summariser()
    before: View | None = None
    asked = 0
    for view in views("thrifty", react_history(60), roomy(0.25), model):
        for prompt in model.prompts[asked:]:
            assert before
            shared = common_prefix(prompt, before.messages)
            assert shared >= len(prompt) - 2  # the newest turn that is folded may be new; the instruction is
            asked += 1
        before = view
    assert asked


def test_a_summary_is_bought_when_it_pays_and_not_before() -> None:
    short_run, long_run = Summariser(), Summariser()
    list(views("thrifty", react_history(8), roomy(0.1), short_run))
    list(views("thrifty", react_history(120), roomy(0.1), long_run))
    assert not short_run.prompts
    assert long_run.prompts


def test_a_refused_summary_leaves_the_masks() -> None:
    model = Summariser(SUMMARISERS["empty"])
    last = list(views("thrifty", react_history(60), roomy(0.4), model))[-1]
    assert model.prompts
    assert "masked" in last.fates
    assert "summarised" not in last.fates


# --- between two edits, and over the budget ---------------------------------------------------------------------------


@given(sound_histories(most_turns=40), PRICES, st.sampled_from([500, 2_000, 8_000, UNLIMITED]))
def test_between_two_edits_the_view_only_grows_at_its_end(history: list[Message], c: float, limit: int) -> None:
    strategy = build("thrifty")
    assert isinstance(strategy, Thrifty)
    before: Sequence[Message] = []
    edits: object = None
    for messages in calls_of(history):
        view = strategy.prepare(messages, roomy(c, limit))
        state = strategy.state
        made = (sorted(state.get("masked", {})), sorted(state.get("forgotten", {})), state.get("summary"))
        if made == edits:
            assert view[: len(before)] == before
        before, edits = view, made


ANSWERING = sorted({*SUMMARISERS} - {"fails"})


def raw_price(prompt: Sequence[Message], last: Sequence[Message], c: float) -> float:
    """The price of a prompt after the last one, counted from the texts alone."""
    texts = [f"{one.content}{''.join(call.name + call.arguments for call in one.calls)}" for one in prompt]
    sizes = [4 + len(text) // 4 for text in texts]
    said, was = ([(one.role, one.content, one.calls) for one in messages] for messages in (prompt, last))
    kept = len([*takewhile(bool, map(eq, said, was))])
    cached = 20 + sum(sizes[:kept]) if kept else 0
    return 20 + sum(sizes) - cached + c * cached


@st.composite
def runs(draw: st.DrawFn, largest: int) -> list[Message]:
    """Results of any size up to the largest, several at once too; answers and new questions."""
    story = Story().ask("what?")
    for kind, tokens in draw(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3_000)), min_size=1, max_size=40)):
        if kind == 0:
            story.answer("x" * tokens).ask("and?" * (tokens % 100))
        elif kind == 1:
            story.turn(*[min(tokens, largest // 3)] * 3, says=0)
        else:
            story.turn(min(tokens if kind < 6 else tokens % 900, largest), says=30 * kind)
    return story.messages


@pytest.mark.parametrize("c", [1, 0.5, 0.25, 0.1, 0.05, 0.02])
@given(st.data())
def test_no_run_costs_more_than_sending_everything_and_a_twentieth(c: float, data: st.DataObject) -> None:
    """With the calls for summaries, and but for what must stay behind forgotten turns: the server reads it again.

    A result that `fit` must cut is no part of it: no strategy knows of it.
    """
    limit = data.draw(st.sampled_from([1_000, 2_000, 4_000, 8_000, UNLIMITED]), label="limit")
    history = data.draw(runs(min(limit // 2, 3_000)), label="history")
    model = Summariser(SUMMARISERS[data.draw(st.sampled_from(ANSWERING), label="summariser")])
    window, summaries = data.draw(st.integers(0, 12), label="window"), data.draw(st.sampled_from(["on", "off"]))
    ours, everything, sent, known = 0.0, 0.0, list[Message](), list[Message]()
    stays = max([0, *(budget().count(message) for message in history[2:] if message.role == "user")])
    made = views(f"thrifty:window={window},summaries={summaries}", history, roomy(c, limit), model)
    for messages, view in zip(calls_of(history), made, strict=True):
        assume([*view.messages] == [*view.lawful])
        for prompt, most in zip(model.prompts, model.limits, strict=True):
            ours += raw_price(prompt, sent, c) + 4 * min(most or 0, len(model.answer(prompt)) // 4)
        model.prompts.clear()
        model.limits.clear()
        ours += raw_price(view.messages, sent, c)
        ours -= (1 - c) * stays * view.edited
        everything += raw_price(messages, known, c)
        sent, known = [*view.messages], messages
    assert ours <= 1.05 * everything + 1e-6


@pytest.mark.parametrize("c", [0.1, 1.0])
def test_over_the_budget_it_makes_room_for_a_while(c: float) -> None:
    made = list(views("thrifty", react_history(120), roomy(c, 8_000)))
    assert all(view.tokens <= 8_000 for view in made)
    assert not any("shortened" in view.fates for view in made)
    after_summaries = [view.tokens for view in made if view.acted.get("summarised")]
    assert after_summaries
    assert max(after_summaries) < 0.75 * 8_000


def test_turns_that_the_account_cannot_pay_for_are_forgotten_and_the_view_says_so() -> None:
    made = list(views("thrifty:window=5", react_history(120), roomy(0.1, 8_000)))
    first = next(view for view in made if set(view.fates) != {"kept"})
    assert first.acted.keys() == {"dropped"}
    assert all("the oldest went" in why for why in first.left_out.values())
    assert sum(fate == "dropped" for fate in made[-1].fates) == sum(fate == "dropped" for fate in first.fates)
