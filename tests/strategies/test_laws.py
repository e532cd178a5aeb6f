"""The laws (`thimble.strategies.laws`), over every strategy and over pipelines of them; and those of some alone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from gc import get_objects

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.family import family
from tests.support.histories import LIMITS, budget, calls_of, react_history, sound_histories, words
from tests.support.specs import (
    ASKING,
    COSTLY,
    EVERY,
    SUMMARISERS,
    Summariser,
    build,
    interrupts,
    model_words,
    parts_of,
    short_summary,
    specs,
)
from thimble.agent.budget import Budget
from thimble.agent.errors import BudgetError
from thimble.agent.messages import Message
from thimble.strategies.laws.laws import TRIED, Make, Subject, bare_views, draw_case, views
from thimble.strategies.laws.subjects import is_exempt
from thimble.strategies.masks import mask_message
from thimble.strategies.table import STRATEGIES

every_strategy = pytest.mark.parametrize("name", EVERY)
asks_a_model = pytest.mark.parametrize("name", ASKING)
OURS = r"thimble\.(?:agent|strategies)\.(?!laws)"
ANSWERS = st.sampled_from(sorted(SUMMARISERS))


def subject(name: str, answers: st.SearchStrategy[str] = ANSWERS) -> Subject:
    """A strategy with any parameters, whose model answers in any of these ways."""

    def drawn(data: st.DataObject) -> Make:
        spec, answer = data.draw(specs(name), label="spec"), data.draw(answers, label="summariser")
        longest = data.draw(st.sampled_from([None, 2_000]), label="longest prompt")
        return lambda: build(spec, Summariser(SUMMARISERS[answer], longest=longest))

    return drawn


def tried_on_every_strategy(law: Callable[[Subject, st.DataObject], None]) -> Callable[..., None]:
    """The test of a law."""

    def test(name: str, data: st.DataObject) -> None:
        law(subject(name), data)

    test.__name__ = f"test_{law.__name__}"  # Hypothesis begins at another seed for each name
    return every_strategy(given(st.data())(test))


globals().update({f"test_{law.__name__}": tried_on_every_strategy(law) for law in TRIED})

# --- 3 ----------------------------------------------------------------------------------------------------------------


@asks_a_model
@pytest.mark.parametrize("answer", ["empty", "larger", "as large"])
@given(st.data())
def test_law_3_a_summary_that_is_empty_or_not_smaller_is_refused(name: str, answer: str, data: st.DataObject) -> None:
    strategy, history, allowed = draw_case(subject(name, st.just(answer)), data, sound_histories())
    for messages, view in bare_views(strategy, history, allowed):
        known = {message.id for message in messages}
        stands_for = [message.covers for message in view if message.id not in known]
        if answer == "as large":
            covered = {id_ for ids in stands_for for id_ in ids}
            replaced = [message for message in messages if message.id in covered]
            inserted = [message for message in view if message.id not in known]
            assert not inserted or sum(map(allowed.count, inserted)) < sum(map(allowed.count, replaced))
        else:
            assert stands_for == []


# --- 4 ----------------------------------------------------------------------------------------------------------------

TEXTS = [
    "",
    "[masked: 900 characters of read_article; call it again if you need it]",
    json.dumps([{"name": "a", "of": number} for number in range(40)], indent=2),
    "".join(f"\x1b[31m{number // 9} warnings\x1b[0m\n" for number in range(99)),
    words(600),
    words(9_000),
]
"""Results of the kinds that strategies treat in their own ways."""
CACHES = [one for one in get_objects() if isinstance(one, type(mask_message)) and re.match(OURS, one.__module__ or "")]


def fresh_views(make: Make, history: list[Message], allowed: Budget) -> list[tuple[list[Message], Sequence[Message]]]:
    """The bare views of a process that has made none yet."""
    for one in CACHES:
        one.cache_clear()
    return [*bare_views(make(), history, allowed)]


@every_strategy
@given(st.data())
def test_law_4_what_the_process_did_before_changes_no_view(name: str, data: st.DataObject) -> None:
    make = subject(name)(data)
    other = data.draw(st.sampled_from([make, subject(data.draw(st.sampled_from(EVERY)))(data)]), label="other")
    texts = data.draw(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=12), label="texts")
    history = [
        replace(one, content=texts[at // 2 - 2]) if one.role == "tool" else one
        for at, one in enumerate(react_history(len(texts)), 1)
    ]
    allowed, another = (budget(data.draw(LIMITS, label="limit"), overhead=20) for _ in range(2))
    fresh = fresh_views(make, history, allowed)
    seen = data.draw(st.sampled_from([history, *(view for _, view in fresh[-1:])]), label="seen before")
    fresh_views(other, [replace(one, why="seen") if one.role == "tool" else one for one in seen], another)
    assert [*bare_views(make(), history, allowed)] == fresh


# --- 6 ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in STRATEGIES if name not in COSTLY])
@pytest.mark.parametrize("tokens", [150, 300, 600])
def test_law_6_edits_are_worth_their_prefill(name: str, tokens: int) -> None:
    unmanaged = sum(view.prefill for _, view in views(build("none"), react_history(40, tokens), budget(8_000)))
    managed = sum(view.prefill for _, view in views(build(name), react_history(40, tokens), budget(8_000)))
    assert managed <= 1.35 * unmanaged


# --- 7 ----------------------------------------------------------------------------------------------------------------


@asks_a_model
@given(st.data())
def test_law_7_a_failed_summary_loses_nothing(name: str, data: st.DataObject) -> None:
    strategy, history, allowed = draw_case(subject(name, st.just("short")), data, sound_histories(most_turns=40))
    (part,) = parts_of(strategy)
    works_for = data.draw(st.integers(0, 4))
    backend: Summariser = part.model.backend
    failing = SUMMARISERS[data.draw(st.sampled_from(["fails", "empty", "larger"]))]
    backend.answer = lambda messages: (
        short_summary(messages) if len(backend.prompts) <= works_for else failing(messages)
    )
    kept, asked = model_words(part), 0
    for messages, view in bare_views(strategy, history, allowed):
        if is_exempt(7, strategy, messages, allowed):
            return
        if asked < works_for:
            kept = model_words(part)
        words = model_words(part)
        assert words == kept or (name == "delegate" and words.items() <= kept.items())  # a brief may be masked later
        covered = {id_ for message in view for id_ in message.covers}
        shown = {message.id for message in view}.union(
            part.state.get("forgotten", ())
        )  # thrifty forgets by its own rule
        assert all(message.id in shown or message.id in covered for message in messages)
        assert covered == set(words)
        asked = len(backend.prompts)


@asks_a_model
@given(st.data())
def test_law_7_an_interrupted_summary_loses_nothing(name: str, data: st.DataObject) -> None:
    spec = data.draw(specs(name))
    history = data.draw(sound_histories(most_turns=40))
    allowed = budget(data.draw(LIMITS), overhead=20)
    at = data.draw(st.integers(1, 4))
    calm, backend = build(spec), Summariser()
    cut_off = build(spec, backend)
    backend.answer = lambda messages: interrupts(messages) if len(backend.prompts) == at else short_summary(messages)
    for messages in calls_of(history):
        try:
            expected = calm.prepare(messages, allowed)
        except BudgetError:
            return
        try:
            view = cut_off.prepare(messages, allowed)
        except KeyboardInterrupt:
            view = cut_off.prepare(messages, allowed)
        assert view == expected or is_exempt(7, calm, messages, allowed)


@pytest.mark.parametrize("name", family(ASKING, "summary-buffer", "thrifty", "delegate"))
def test_law_7_a_failure_is_not_tried_again_at_every_call(name: str) -> None:
    backend = Summariser(SUMMARISERS["fails"])
    calls = len(list(views(build(name, backend), react_history(240), budget(8_000))))
    assert 1 < len(backend.prompts) <= calls / 2
