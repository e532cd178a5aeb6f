"""compress: words that say little go, facts stay; the bits of a word are those of the equation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import isclose, log2, prod

from hypothesis import given
from hypothesis import strategies as st

from tests.strategies.test_laws import views
from tests.support.histories import LIMITS, Story, budget, calls_of, react, sound_histories
from tests.support.specs import build
from thimble.agent.messages import Message, turns
from thimble.agent.view import prepare
from thimble.corpus.words import STOPWORDS
from thimble.strategies.compress import compressed
from thimble.strategies.self_information import (
    AROUND,
    COMMON,
    NEAR,
    NEAR_MARK,
    PRIOR_COUNTS,
    PUNCTUATION,
    SINGLE_COUNTS,
    VOCABULARY,
    fewer_words,
    may_go,
    most_telling,
    prior,
    self_information,
)

PROSE = (
    "The server of the library has a cache, and the cache of the server is what makes it fast when the same words are "
    "read again. In 2017 it was 57.2% faster than parse_config() in Smallville. It is not a part of the index. "
)


def reading(steps: int) -> list[Message]:
    """A history whose observations are prose, each a little different."""
    history, told = react(steps), 0
    for place, message in enumerate(history):
        if message.role == "tool":
            told += 1
            history[place] = replace(message, content=f"# Result {told}\n" + PROSE * 8)
    return history


# --- self-information -------------------------------------------------------------------------------------------------

WORDS = st.lists(st.sampled_from(["the", "of", "cache", "server", "index", "x1", ""]), max_size=40)


def equation(text: Sequence[str], word: str) -> float:
    """p(word | text), from the equations alone."""
    p0 = COMMON / len(STOPWORDS) if word in STOPWORDS else (1 - COMMON) / VOCABULARY
    p1 = (text.count(word) + PRIOR_COUNTS * p0) / (len(text) + PRIOR_COUNTS)
    told = ["", *text]
    pairs = list(pairwise(told))
    before = told[-1]
    any_pair = sum(first == before for first, _ in pairs)
    return (pairs.count((before, word)) + SINGLE_COUNTS * p1) / (any_pair + SINGLE_COUNTS)


@given(WORDS)
def test_bits_are_those_of_the_equation(text: list[str]) -> None:
    bits = self_information(text)
    for place, word in enumerate(text):
        assert isclose(bits[place], -log2(equation(text[:place], word)))


@given(WORDS)
def test_the_model_shares_out_a_probability_of_one(text: list[str]) -> None:
    known = {word for word in text if word not in STOPWORDS}
    unknown = VOCABULARY - len(known)
    total = sum(equation(text, word) for word in {*STOPWORDS, *known}) + unknown * equation(text, "never said")
    assert isclose(total, 1)
    assert isclose(len(STOPWORDS) * prior("the") + VOCABULARY * prior("cache"), 1)


def test_what_was_said_before_is_cheap_and_a_common_word_is_cheaper_than_a_rare_one() -> None:
    bits = self_information(["the", "cache", "of", "the", "server", "and", "the", "cache", "of", "the", "server"])
    assert bits[0] < bits[1]
    assert bits[7] < bits[1]
    assert sum(bits[6:]) < sum(bits[:5])


# --- what goes --------------------------------------------------------------------------------------------------------


PLAIN = ["the", "cache,", "(of", "word.)", "The", "always;", "naïve"]
FACTS = [
    *("57.2%", "2017", "x1", "$1.02", "Smallville", "RLHF", "parse_config()", "a/b.py", "prefix-cache", "日本語"),
    *("not", "never", "No", "don't", "`the`", '"the cache"', "—", "=", "|", "<b>"),
]


def test_plain_words_may_go_and_numbers_names_and_negations_may_not() -> None:
    assert [*filter(may_go, [*PLAIN, *FACTS])] == PLAIN


TEXTS = st.lists(
    st.text(st.sampled_from('the cache of 12 Ab .,"`#|-_'), max_size=60).map("{}\n".format) | st.just("the end. "),
    max_size=8,
)


@given(TEXTS, st.integers(0, 300))
def test_words_stay_in_their_order_and_in_the_promised_size(texts: list[str], most: int) -> None:
    short = fewer_words(texts, most)
    assert len(short) <= most
    rest = iter("".join(texts).split())
    assert all(word in rest for word in short.split())


@given(TEXTS, st.integers(0, 300), st.integers(0, 300))
def test_a_larger_size_has_all_words_of_a_smaller_one(texts: list[str], one: int, other: int) -> None:
    rest = iter(fewer_words(texts, max(one, other)).split())
    assert all(word in rest for word in fewer_words(texts, min(one, other)).split())


@given(st.lists(st.sampled_from(["the", "of", "cache,", "server", "index.", "so"]), min_size=13, max_size=30))
def test_a_word_tells_what_those_around_it_tell_less_with_each_word_and_mark_between(said: list[str]) -> None:
    words, places, _ = most_telling((" ".join(said),))
    bits = self_information([word.strip(AROUND).casefold() for word in said])

    def passed(first: int, last: int) -> float:
        return prod(NEAR_MARK if word[-1] in PUNCTUATION else NEAR for word in said[first:last])

    around = [sum(bits[at] * passed(*sorted((at, place))) for at in range(len(said))) for place in range(len(said))]
    assert [word.strip() for word in words] == said
    assert all(around[one] > around[other] - 1e-9 for one, other in pairwise(places))


def test_facts_stay_and_what_is_said_again_goes() -> None:
    texts = ["A title\n", *[PROSE] * 3]
    short = fewer_words(texts, len("".join(texts)) // 2)
    assert short.startswith(f"A title\n{PROSE}")
    assert short.count("57.2% faster than parse_config()") == 3
    assert short.count("library") == 1


def test_a_copy_depends_on_its_message_alone() -> None:
    (message,) = [message for message in reading(1) if message.role == "tool"]
    copy = compressed(message, 0.5)
    head, _, rest = copy.content.partition("\n")
    of = len(message.content.split())
    assert head == f'[{len(rest.split())} of {of} words; recall(id="{message.id}") shows all]'
    assert rest.startswith("# Result 1\n")
    assert copy.why == "compressed to 879 of 1,763 characters, as prose"
    assert compressed(replace(message), 0.5) == copy


# --- when -------------------------------------------------------------------------------------------------------------


def test_old_observations_are_compressed_and_called_shortened() -> None:
    history = reading(24)
    view = prepare(history, build("compress"), budget(8_000))
    assert view.tokens <= 8_000
    assert set(view.fates) <= {"kept", "shortened", "dropped"}
    assert "shortened" in view.fates
    assert set(view.fates[-4:]) == {"kept"}


@given(sound_histories(most_turns=40), LIMITS, st.integers(0, 4), st.sampled_from([0.2, 0.5, 1.0]))
def test_the_newest_turns_stay_where_older_ones_can_make_room(
    history: list[Message], limit: int, window: int, target: float
) -> None:
    strategy = build(f"compress:window={window},target={target}")
    for messages in calls_of(history):
        done = set(strategy.state.get("times", ()))  # type: ignore[attr-defined]
        strategy.prepare(messages, budget(limit))
        times = strategy.state.get("times", {})  # type: ignore[attr-defined]
        newest = {messages[index].id for turn in turns(messages)[-max(1, window) :] for index in turn}
        if newest & (times.keys() - done):
            old = {id_: step for id_, step in times.items() if id_ not in newest}
            view = [compressed(one, 0.5 ** old[one.id]) if one.id in old else one for one in messages]
            assert budget(limit).size(view) > limit


def test_oldest_first_and_once_more_where_that_is_not_enough() -> None:
    for target, most in (("1", 1), ("0.5", 2)):
        strategy = build(f"compress:target={target}")
        strategy.prepare(reading(13), budget(6_000))
        times = list(strategy.state.get("times", {}).values())  # type: ignore[attr-defined]
        assert times[0] == most
        assert times == sorted(times, reverse=True)


def test_a_result_of_names_alone_shrinks_too() -> None:
    story = Story().ask("?")
    for _ in range(12):
        story.turn(600)
    history = [
        replace(message, content=" ".join(f"N{number}" for number in range(400))) if message.role == "tool" else message
        for message in story.messages
    ]
    view = prepare(history, build("compress"), budget(4_000))
    assert "dropped" not in view.fates


def test_an_edit_leaves_half_so_that_prefill_is_higher_than_with_masks_but_not_out_of_hand() -> None:
    prefill = {
        spec: sum(view.prefill for _, view in views(build(spec), reading(40), budget(8_000)))
        for spec in ("none", "observation-masking", "compress")
    }
    assert prefill["observation-masking"] < prefill["compress"] < 1.8 * prefill["none"]


# --- on arrival -------------------------------------------------------------------------------------------------------


@given(sound_histories(most_turns=20), LIMITS)
def test_on_arrival_no_view_changes_what_was_sent_before(history: list[Message], limit: int) -> None:
    strategy = build("compress:when=arrival")
    before: Sequence[Message] = ()
    for messages in calls_of(history):
        view = strategy.prepare(messages, budget(limit))
        assert list(view[: len(before)]) == list(before)
        before = view


def test_on_arrival_long_results_lose_half_and_what_recall_gives_back_stays() -> None:
    story = Story().ask("?").turn(600).turn(100).turn(600)
    history = [replace(one, name="recall") if one is story.messages[-1] else one for one in story.messages]
    view = build("compress:when=arrival").prepare([*history, Message("q", "user", "?")], budget(10**6))
    sizes = [len(one.content) / len(whole.content) for one, whole in zip(view, history, strict=False) if whole.name]
    assert sizes[1:] == [1.0, 1.0]
    assert 0.3 < sizes[0] <= 0.5
