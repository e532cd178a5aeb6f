"""What the summarising strategies share: how a summary is asked for, what it may replace, and what stays."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given

from tests.support.histories import (
    LIMITS,
    Story,
    budget,
    calls_of,
    is_faithful,
    is_sound,
    react40,
    react_history,
    sound_histories,
)
from tests.support.specs import SUMMARISERS, SUMMARISING, Summariser, build, named_summary
from thimble.agent.messages import Message, turns
from thimble.agent.prompts import SUMMARY_TAG
from thimble.agent.turns import question, task
from thimble.agent.view import prepare
from thimble.models.reader.backend import reply

every_summarising = pytest.mark.parametrize("name", SUMMARISING)
BAD = pytest.mark.parametrize("answer", ["fails", "empty", "larger"])


def run(name: str, backend: Summariser, history: list[Message]) -> list[list[Message]]:
    """The bare views of a session."""
    strategy = build(name, backend)
    return [strategy.prepare(messages, budget()) for messages in calls_of(history)]


@every_summarising
def test_the_next_summary_folds_the_one_before(name: str) -> None:
    backend = Summariser(lambda messages: f"summary number {len(backend.prompts)} of {named_summary(messages)}")
    view = run(name, backend, react_history(80))[-1]
    assert len(backend.prompts) > 2
    for number, prompt in enumerate(backend.prompts):
        last = named_summary(backend.prompts[number - 1])
        before = [f"{SUMMARY_TAG}\nsummary number {number} of {last}"] if number else []
        assert [message.content for message in prompt if message.covers] == before
        covered = {id_ for message in prompt for id_ in message.covers}
        assert not covered & {message.id for message in prompt}
    (summary,) = [message for message in view if message.covers]
    assert (
        summary.content
        == f"{SUMMARY_TAG}\nsummary number {len(backend.prompts)} of {named_summary(backend.prompts[-1])}"
    )
    assert set(summary.covers) >= {message.id for message in backend.prompts[-1][3:-1]}


@every_summarising
def test_the_summariser_is_sent_the_agent_s_prompt_and_the_instruction_last(name: str) -> None:
    backend = Summariser()
    run(f"{name}:words=100", backend, react_history(80))
    for prompt, limit in zip(backend.prompts, backend.limits, strict=True):
        assert prompt[:2] == react_history(1)[:2]
        assert (prompt[-1].role, limit) == ("user", 300)
        assert "at most 100 words" in prompt[-1].content
        assert budget().size(prompt) <= 8_000 - 300


@pytest.mark.parametrize("name", ["summary-buffer", "progressive-summary", "compaction"])
def test_the_summariser_reads_what_the_model_read(name: str) -> None:
    """So that a cache of the view before holds for the summary's prompt too."""
    backend = Summariser()
    strategy, views = build(name, backend), []
    for messages in calls_of(react40()):
        asked = len(backend.prompts)
        views.append(strategy.prepare(messages, budget()))
        if len(backend.prompts) > asked:
            prompt = backend.prompts[asked][:-1]
            assert prompt == views[-2][: len(prompt)]


@every_summarising
def test_the_built_in_reader_knows_the_request(name: str) -> None:
    backend = Summariser()
    run(name, backend, react_history(40))
    said = reply(backend.prompts[0], []).text
    assert [line[:-1] for line in said.split("\n") if line.endswith(":")][:3] == ["Asked", "Done", "Read"]


@every_summarising
@BAD
def test_after_a_summary_that_is_none_five_turns_pass(name: str, answer: str) -> None:
    backend = Summariser(SUMMARISERS[answer])
    strategy = build(name, backend)
    asked_at = []
    for messages in calls_of(react_history(80)):
        before = len(backend.prompts)
        view = strategy.prepare(messages, budget())
        assert [message.id for message in view] == [message.id for message in messages]
        if len(backend.prompts) > before:
            assert len(backend.prompts) == before + 1
            asked_at.append(len(turns(messages)))
    assert len(asked_at) > 3
    assert all(b - a == 5 for a, b in pairwise(asked_at))


def test_pieces_that_were_folded_before_a_failure_stay_folded() -> None:
    backend = Summariser(longest=8_000)
    backend.answer = lambda messages: named_summary(messages) if len(backend.prompts) < 3 else ""
    view = build("summary-buffer", backend).prepare(react40(), budget())
    (summary,) = [message for message in view if message.covers]
    assert len(backend.prompts) == 3
    assert list(summary.covers) == [m.id for prompt in backend.prompts[:2] for m in prompt[2:-1] if not m.covers]
    assert summary.why.endswith("in 2 calls: the summariser's context holds 6,800 tokens of prompt")


@pytest.mark.parametrize("limit", [2_000, 4_000, 8_000])
def test_a_fold_is_one_call_if_the_model_holds_what_it_reads(limit: int) -> None:
    backend = Summariser()
    view = build("summary-buffer", backend).prepare(react40(), budget(limit))
    (prompt,) = backend.prompts
    (summary,) = [message for message in view if message.covers]
    assert list(summary.covers) == [message.id for message in prompt[2:-1]]
    assert "calls" not in summary.why


# --- dialogues --------------------------------------------------------------------------------------------------------


def dialogue(exchanges: int) -> list[Message]:
    """Questions, each answered after one turn of about 650 tokens."""
    story = Story()
    for number in range(exchanges):
        story.ask(f"question {number}").turn(600, says=40).answer(f"answer {number}")
    return story.ask("the question now").messages


@every_summarising
@given(sound_histories(most_turns=40), LIMITS)
def test_no_questions_bunch_behind_a_summary(name: str, history: list[Message], limit: int) -> None:
    """Without their answers they would look like open ones: of what is folded, the task and the question stay."""
    strategy, covers = build(name), set[str]()
    for messages in calls_of(history):
        view = strategy.prepare(messages, budget(limit))
        covered = {id_ for message in view for id_ in message.covers}
        if covered != covers:
            covers, ids = covered, [message.id for message in messages]
            folded = messages[: 1 + max(map(ids.index, covered), default=-1)]
            open_ones = {message.id for message in folded if message.role == "user"} - covered
            assert open_ones <= {one.id for one in (*task(messages), question(messages)) if one}


@pytest.mark.parametrize("name", ["progressive-summary", "summary-buffer", "llm-summary", "critic-summary", "hybrid"])
def test_the_user_s_newest_words_stay_word_for_word_in_the_summary(name: str) -> None:
    view = run(name, Summariser(), dialogue(30))[-1]
    lines = [line.removeprefix("- ") for one in view if one.role == "user" for line in one.content.split("\n")]
    said = [message.content for message in dialogue(30) if message.role == "user"]
    assert [line for line in lines if line in said] == said


def test_the_user_s_older_words_are_folded_when_they_are_many() -> None:
    """Those that stand in the summary word for word take an eighth of the budget at most."""
    story = Story()
    for number in range(40):
        story.ask(f"question {number}: {'word ' * 60}").turn(200).answer("answer")
    view = run("summary-buffer", Summariser(named_summary), story.messages)[-1]
    (summary,) = [message for message in view if message.covers]
    quoted = [line for line in summary.content.split("\n") if line.startswith("- question")]
    covered = [f"- {m.content}" for m in story.messages if m.role == "user" and m.id in summary.covers]
    assert 5 < len(quoted) < len(covered)
    assert quoted == covered[-len(quoted) :]
    assert budget().count(summary) < 8_000 / 8 + 30


@every_summarising
@given(sound_histories(most_turns=40), LIMITS)
def test_no_question_stands_right_in_front_of_the_instruction(name: str, history: list[Message], limit: int) -> None:
    """A model would answer it."""
    backend = Summariser()
    build(name, backend).prepare(history, budget(limit))
    for prompt in backend.prompts:
        assert prompt[-2].role != "user" or prompt[-2].covers
        assert [message.content.startswith("Stop here.") for message in prompt] == [False] * (len(prompt) - 1) + [True]


def test_the_question_stays_behind_a_summary_that_stands_after_it() -> None:
    """A task that was cancelled, then the question: the summary is the newest message of a user, and no question."""
    story = Story().ask("the task").ask("the question")
    for _ in range(30):
        story.turn(60, says=200)
    view = prepare(story.messages, build("summary-buffer:buffer=6"), budget(1_000))
    assert is_faithful(view.messages, story.messages) == []


# --- edges ------------------------------------------------------------------------------------------------------------


def test_an_observation_that_no_call_can_read_is_shortened_for_it() -> None:
    backend = Summariser(longest=8_000)
    history = Story().ask("?").turn(30_000).turn(600).turn(600).messages
    build("summary-buffer", backend).prepare(history, budget())
    (prompt,) = backend.prompts
    assert budget().size(prompt) <= 8_000 - 1_200
    assert "tokens cut" in prompt[3].content


def test_messages_that_left_the_history_leave_the_summary_unused() -> None:
    strategy = build("summary-buffer")
    strategy.prepare(react_history(14), budget())
    other = Story().ask("another").answer("!").messages
    renamed = [Message(f"other-{message.id}", message.role, message.content) for message in other]
    assert strategy.prepare(renamed, budget()) == renamed


def test_summaries_of_two_strategies_in_a_row_have_an_id_each() -> None:
    """Both may end at the same message, where the first follows the second and leaves the user's words in between."""
    story, strategy = Story().ask("the task"), build("llm-summary:every=2,tail=2+compaction")
    for number in range(9):
        story.turn(300).ask(f"question {number}")
    for messages in calls_of(story.messages):
        assert is_sound(strategy.prepare(messages, budget(1_000))) == []
