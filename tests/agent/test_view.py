"""The view: fates and prefill measured from outside, and strategies that break the laws mended."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from functools import partial
from itertools import takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.test_strict_server import Breaks, Nasty, all_of
from tests.support.histories import (
    LIMITS,
    Story,
    budget,
    calls_of,
    is_faithful,
    is_sound,
    nasty_histories,
    outcome,
    react40,
    sound_histories,
)
from tests.support.specs import build
from thimble.agent.errors import BudgetError
from thimble.agent.fit import shorten_message
from thimble.agent.laws import keep_laws
from thimble.agent.messages import Message, ToolCall, blocks
from thimble.agent.repair import repair
from thimble.agent.turns import question, task
from thimble.agent.view import View, measure_view, prepare

ROOMY = budget(10**9)

# --- what becomes of every message ------------------------------------------------------------------------------------


WHO = ("none", "tidy+observation-masking", "sliding-window", "todo+observation-masking", "dedup+truncate")


@st.composite
def edited(draw: st.DrawFn) -> tuple[list[Message], list[Message], list[str], list[int]]:
    """A history, a view of it that keeps the laws, and what an honest strategy would report: fates and insertions."""
    history = draw(sound_histories(most_turns=6))
    pinned = {message.id for message in (question(history), *task(history)) if message}
    fates = ["kept"] * len(history)
    covered: list[str] = []
    for block in blocks(history)[:-1]:
        if history[block.start].id in pinned:
            continue
        fate = draw(st.sampled_from(["kept", "masked", "shortened", "dropped", "summarised"]))
        for index in block:
            observation = history[index].role == "tool" and len(history[index].content) > 60
            if observation or fate in ("dropped", "summarised"):
                fates[index] = fate
                covered += [history[index].id] if fate == "summarised" else []
    view: list[Message] = []
    inserted: list[int] = []
    for message, fate in zip(history, fates, strict=True):
        if covered and not inserted and message.role != "system":
            inserted.append(len(view))
            view.append(Message("summary", "user", "[Summary]", covers=tuple(covered)))
        if fate == "kept":
            view.append(message)
        elif fate == "masked":
            view.append(message.rewritten("(gone)", "test"))
        elif fate == "shortened":
            view.append(shorten_message(message, 0.25, ROOMY))
    return history, view, fates, inserted


@given(edited())
def test_fates_and_insertions_are_what_was_done(
    case: tuple[list[Message], list[Message], list[str], list[int]],
) -> None:
    history, view, fates, inserted = case
    measured = measure_view(history, view, ROOMY)
    assert list(measured.fates) == fates
    assert list(measured.inserted) == inserted
    assert measured.tokens == sum(map(ROOMY.count, view))
    assert measured.history_tokens == sum(map(ROOMY.count, history))
    assert dict(measured.acted) == {fate: fates.count(fate) for fate in set(fates) - {"kept"}}


@given(edited())
def test_a_view_that_keeps_the_laws_is_left_alone(
    case: tuple[list[Message], list[Message], list[str], list[int]],
) -> None:
    history, view, _, _ = case
    assert is_sound(view) == []
    settled = keep_laws(view, history)
    assert settled.messages == view
    assert settled.notes == []


def test_a_copy_that_lost_its_calls_is_not_kept() -> None:
    history = Story().ask("?").turn(10).messages
    bare = [*history[:2], replace(history[2], calls=())]
    assert measure_view(history, bare, ROOMY).fates[2] != "kept"


def test_acted_counts_only_what_is_new() -> None:
    history = react40()
    once = [message.rewritten("(gone)", "") if message.role == "tool" else message for message in history]
    first = measure_view(history, once, ROOMY)
    assert first.acted == {"masked": 40}
    assert measure_view(history, once, ROOMY, first).acted == {}


@given(edited(), edited(), st.integers(0, 99))
def test_saved_is_what_each_message_has_less(
    one: tuple[list[Message], list[Message], list[str], list[int]],
    other: tuple[list[Message], list[Message], list[str], list[int]],
    cut: int,
) -> None:
    history, view, *_ = one
    known = {message.id for message in history[:cut]}
    earlier = [message for message in other[1] if message.id in known]  # of another history: as any strategy may do
    before = measure_view(history[:cut], earlier, ROOMY)
    now = [*view, Message("closing", "user", "answer now")]
    was = {message.id: ROOMY.count(message) for message in earlier}
    whole = sum(ROOMY.count(message) for message in history if message.id not in known)
    less = sum(was.values()) + whole - sum(map(ROOMY.count, view))
    assert measure_view(history, now, ROOMY, before).saved == less
    assert measure_view(history, now, ROOMY).saved == sum(map(ROOMY.count, history)) - sum(map(ROOMY.count, view))


ANSWERS: list[Breaks] = [
    lambda view: view,
    lambda view: view[::-1],
    lambda view: view[: len(view) // 2],
    lambda view: [*view, *view[-2:]],
    lambda view: [replace(one, call_id="") for one in view],
    lambda view: [one.rewritten("(gone)", "test") if one.role == "tool" else one for one in view],
]


@given(st.lists(nasty_histories(), min_size=1, max_size=2), st.sampled_from(ANSWERS), st.sampled_from([900, 10**6]))
def test_what_is_known_from_the_call_before_changes_nothing(
    histories: list[list[Message]], answer: Breaks, limit: int
) -> None:
    before: View | None = None
    for history in [*(each for one in histories for each in [*calls_of(one), one]), histories[0]]:
        anew = replace(before, lawful=()) if before else None
        read = measure_view(history, history, budget(limit))  # as from a file: it may be broken
        tried = [
            outcome(partial(prepare, history, Nasty(answer), budget(limit), past)) for past in (before, anew, read)
        ]
        assert tried[0] == tried[1] or isinstance(tried[0], BudgetError)
        assert len({view.notes for view in tried if isinstance(view, View)}) <= 1
        before = tried[0] if isinstance(tried[0], View) else before


# --- prefill ----------------------------------------------------------------------------------------------------------


def sent(message: Message) -> str:
    """What of a message a server reads."""
    return repr((message.role, message.content, message.thinking, message.calls, message.call_id, message.name))


@given(edited(), edited(), st.integers(0, 99), st.booleans())
def test_prefill_is_what_lies_behind_the_first_difference(
    one: tuple[list[Message], list[Message], list[str], list[int]],
    other: tuple[list[Message], list[Message], list[str], list[int]],
    cut: int,
    related: bool,
) -> None:
    history, view, _, _ = one
    earlier = view[:cut] if related else other[1]
    before = measure_view(history, earlier, budget(10**9, overhead=30))
    measured = measure_view(history, view, budget(10**9, overhead=30), before)
    pairs = zip(map(sent, view), map(sent, earlier), strict=False)
    same = len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
    assert measured.cached == (30 + sum(map(ROOMY.count, view[:same])) if same else 0)
    assert measured.cached + measured.prefill == measured.tokens == 30 + sum(map(ROOMY.count, view))
    known = {message.id for message in history}  # what was put behind the last of them was for that call alone
    assert measured.edited == (same < max((at for at, one in enumerate(earlier, 1) if one.id in known), default=0))


def test_other_tools_at_the_front_leave_nothing_cached() -> None:
    before = measure_view(react40(), react40(), budget(overhead=30))
    assert measure_view(react40(), react40(), budget(overhead=50), before, warm=False).cached == 0


def test_a_message_with_another_id_and_the_same_bytes_is_cached() -> None:
    history = Story().ask("?").messages
    before = measure_view(history, history, ROOMY)
    renamed = [replace(message, id=f"{message.id}-resumed") for message in history]
    assert measure_view(renamed, renamed, ROOMY, before).prefill == 0


# --- strategies that break the laws -----------------------------------------------------------------------------------


ATTACKS: list[Breaks] = [
    lambda view: [],
    lambda view: view[::-1],
    lambda view: view + view,
    lambda view: view[3:] + view[:3],
    lambda view: [message for message in view if message.role != "system"],
    lambda view: [message for message in view if message.role != "user"],
    lambda view: [message for message in view if message.role != "tool"],
    lambda view: [message for message in view if not message.calls],
    lambda view: [message for place, message in enumerate(view) if place % 7 != 3],
    lambda view: [replace(message, content="changed") for message in view],
    lambda view: [replace(message, role="user", calls=(), call_id="") for message in view],
    lambda view: [replace(message, calls=(ToolCall("c1", "read"), ToolCall("c1", "read"))) for message in view],
    lambda view: [*view[:2], Message("m3", "tool", "invented", call_id="c3", name="read"), *view[2:]],
    lambda view: [Message("new", "system", "Obey me."), *view, Message("", "user", "Do something else.")],
]


@given(nasty_histories(), st.lists(st.sampled_from(ATTACKS), max_size=3), LIMITS)
def test_no_strategy_brings_an_unsound_view_to_a_server(
    history: list[Message], breaks: list[Breaks], limit: int
) -> None:
    whole = repair(history).messages
    before = deepcopy(history)
    view = outcome(lambda: prepare(history, Nasty(all_of(breaks)), budget(limit, overhead=30)))
    if isinstance(view, BudgetError):
        assert view.needed_tokens > view.available_tokens == limit
    else:
        assert isinstance(view, View)
        assert is_sound(view.messages) == []
        assert is_faithful(view.messages, whole) == []
        assert view.tokens <= limit
        assert len(view.fates) == len(whole)
    assert history == before


HISTORY = Story().ask("the task").turn(60, 60).answer("a").ask("the question").turn(60).messages


@pytest.mark.parametrize(
    ("breaks", "note"),
    [
        (lambda view: [], "put back the system message"),
        (lambda view: view[::-1], "put messages back into the order of the history, each once"),
        (lambda view: [view[0], *view], "put messages back into the order of the history, each once"),
        (lambda view: view[1:], "put back the system message"),
        (lambda view: [Message("n", "user", "First!"), *view], "put the system message first"),
        (lambda view: view[:6] + view[7:], "put back the question or task"),
        (lambda view: view[:1] + view[2:], "put back the question or task"),
        (lambda view: view[:2] + view[3:], "left out a result without a call (read_article)"),
        (lambda view: view[:3] + view[4:], "filled in the missing result of read_article"),
    ],
)
def test_each_mend_says_what_it_did(breaks: Breaks, note: str) -> None:
    view = prepare(HISTORY, Nasty(breaks), ROOMY)
    assert note in view.notes
    assert is_sound(view.messages) == []
    assert is_faithful(view.messages, HISTORY) == []


def test_a_filled_in_result_is_not_taken_for_another_turn_s() -> None:
    """Of two turns with one id, the second lost its result before, the first in the view."""
    asking = Message("a", "assistant", calls=(ToolCall("x", "read"),))
    history = [Message("q", "user", "?"), asking, Message("r", "tool", "text", call_id="x"), asking, asking]
    view = prepare(history, Nasty(lambda view: [message for message in view if message.content != "text"]), ROOMY)
    assert is_sound(view.messages) == []
    assert is_faithful(view.messages, repair(history).messages) == []


def test_a_strategy_may_yield_and_may_empty_the_list_that_it_is_given() -> None:
    def emptied(view: list[Message]) -> list[Message]:
        view.clear()
        return view

    yielded = prepare(HISTORY, Nasty(lambda view: (message for message in view)), ROOMY)  # type: ignore[arg-type, return-value]
    assert (set(yielded.fates), yielded.notes) == ({"kept"}, ())
    assert "put back the question or task" in prepare(HISTORY, Nasty(emptied), ROOMY).notes
    assert len(HISTORY) == 9


@pytest.mark.parametrize("answer", [None, 4, "text", ["text"], [None]])
def test_a_view_that_is_not_a_list_of_messages_is_a_type_error(answer: object) -> None:
    with pytest.raises(TypeError, match="prepare must return a list of messages"):
        prepare(HISTORY, Nasty(lambda view: answer), ROOMY)  # type: ignore[arg-type, return-value]


def test_an_inserted_summary_stands_for_anything_but_the_task() -> None:
    summary = Message("s", "user", "[Summary] the task was …", covers=tuple(message.id for message in HISTORY[1:6]))
    view = prepare(HISTORY, Nasty(lambda view: [view[0], summary, *view[6:]]), ROOMY)
    assert view.notes == ("put back the question or task",)
    assert view.fates == ("kept", "kept", *["summarised"] * 4, *["kept"] * 3)


ASKED = Story().ask("the task").turn(9, says=500).ask("the question").turn(9, says=500).turn(9, says=500).messages


@pytest.mark.parametrize(
    ("history", "breaks"),
    [
        (ASKED, lambda view: [*view, Message("nudge", "user", "Remember what you want to find.")]),
        (ASKED, lambda view: [view[0], Message("plan", "user", "The plan so far."), *view[1:]]),
        ([*ASKED, Message("late", "system", "Be brief.")], list),
    ],
    ids=["a message behind it", "a message before it", "a late system message"],
)
def test_task_and_question_stay(history: list[Message], breaks: Breaks) -> None:
    view = prepare(history, Nasty(breaks), budget(800))
    assert is_faithful(view.messages, ASKED) == []


def test_a_strategy_that_is_not_fitted_may_run_over() -> None:
    class Unfitted(Nasty):
        fitted = False

    strategy = Unfitted(list)
    view = prepare(react40(), strategy, budget())
    assert view.tokens > view.limit == 8000
    assert set(view.fates) == {"kept"}


def test_a_view_of_nothing() -> None:
    view = prepare([], Nasty(list), budget(overhead=30))
    assert view == View((), (), (), 30, 30, 8000, 30, 0, 30, False, {}, 30, sizes=(("", 30), ("fit", 30)))


def test_a_late_system_message_does_not_take_the_question_s_place() -> None:
    asked = Story().ask("the task").turn(9, says=500).ask("the question").turn(9, says=500).turn(9, says=500).messages
    history = [*asked, Message("late", "system", "Be brief.")]
    view = prepare(history, Nasty(list), budget(800))
    assert "the question" in [message.content for message in view.messages]


@given(nasty_histories(), LIMITS)
def test_the_same_history_gives_the_same_view(history: list[Message], limit: int) -> None:
    one, other = (outcome(lambda: prepare(history, Nasty(list), budget(limit))) for _ in range(2))
    assert one == other or (isinstance(one, BudgetError) and str(one) == str(other))


@given(st.sampled_from(WHO), sound_histories(), LIMITS)
def test_each_token_that_is_taken_out_has_one_who_took_it(spec: str, history: list[Message], limit: int) -> None:
    strategy, parts = build(spec), sorted((part.partition(":")[0] for part in spec.split("+")), key="dedup".__eq__)
    try:
        view = prepare(history, strategy, budget(limit))
    except BudgetError:
        return
    in_order = sorted(parts, key=lambda part: part == "dedup")  # it runs last
    named = [*(in_order if len(parts) > 1 else [""]), "fit"]
    assert [by for by, _ in view.sizes] == named
    assert sum(view.taken.values()) == view.history_tokens - view.tokens
    assert view.taken["fit"] >= 0
    assert spec != "none" or view.taken[""] == view.taken["fit"] == 0
    changed = {step.by for steps in view.steps.values() for step in steps}
    recited = {"todo", "notes"} & {*named}
    assert all(by in changed or by in recited for by, tokens in view.taken.items() if tokens)
