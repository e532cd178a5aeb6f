from __future__ import annotations

import json
import pickle
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.family import family
from tests.support.sessions import ask, scripted
from thimble.agent.errors import UsageError
from thimble.agent.events import Prepared
from thimble.repl.commands.probe.probe import choose_questions, is_in_view, probe_fork
from thimble.repl.commands.probe.survival import draw_marks, measure_survival, strategies
from thimble.session.plant import plant_fact
from thimble.session.session import Session
from thimble.session.settings import Settings
from thimble.strategies.table import STRATEGIES, asks_a_model

FACT = "The launch code of Heron is 4711-Zebra."
QUESTIONS = ("What is observation masking?", "What is a prefix cache?", "How does a sliding window work?")


def reading(strategy: str = "observation-masking", budget: int = 1_500, asked: int = 3) -> Session:
    """A session with the reader in which a fact was planted, and questions were asked since."""
    session = Session(Settings(backend="reader", strategy=strategy, budget=budget))
    planted(session)
    for question in QUESTIONS[:asked]:
        ask(session, question)
    return session


def planted(session: Session, fact: str = FACT) -> None:
    plant_fact(session.agent, fact)


def kept(session: Session) -> bytes:
    """All that a probe must leave as it was."""
    agent = session.agent
    strategy = json.dumps(getattr(agent.strategy, "state", {}), sort_keys=True)
    ledger = [*agent.ledger.calls], agent.ledger.prepared, agent.ledger.sent, agent.ledger.exchanges
    return pickle.dumps(
        (repr(agent.history), strategy, repr(ledger), session.notes.state, session.spec, sorted(session.watchers))
    )


@pytest.mark.parametrize(
    ("fact", "question"),
    [
        ("The door code of the library is 7431.", "What is the door code of the library?"),
        ("Ada's three cats were born in May.", "What were Ada's three cats?"),
        ("My name is Ada.", "What is my name?"),
        ("Call Ada at noon.", "Show me planted-1.txt, word for word."),
        ("7431-Zebra", "Show me planted-1.txt, word for word."),
    ],
)
def test_the_fact_is_asked_for(fact: str, question: str) -> None:
    session = scripted()
    planted(session, fact)
    ((asked_for, _),) = choose_questions(session, "")
    assert asked_for == question


@pytest.mark.parametrize("name", family(STRATEGIES, "observation-masking", "hybrid"))
def test_a_probe_changes_nothing_and_the_next_prompt_is_what_it_showed(name: str) -> None:
    session = reading(name)
    before, side = kept(session), session.agent.side
    _, view = probe_fork(session.fork(), "And what is context rot?", session.planted[0])
    assert kept(session) == before
    assert list(side.drain_events() if side else ()) == []
    prepared = next(event for event in ask(session, "And what is context rot?") if isinstance(event, Prepared))
    assert prepared.view.messages == view.messages
    assert prepared.view.fates == view.fates


@pytest.mark.parametrize("name", family(STRATEGIES, "observation-masking", "hybrid"))
def test_the_reader_says_it_while_it_stands_in_the_view_and_not_when_it_is_gone(name: str) -> None:
    session = reading(name, asked=0)
    for question in ("", *QUESTIONS):
        if question:
            ask(session, question)
        ((text, fact),) = choose_questions(session, "")
        found, view = probe_fork(session.fork(), text, fact)
        fate = view.fates[3]
        told = found.where
        assert found.stands == ("The fact" in told or "still holds" in told)
        if fate == "kept":
            assert found.missing == []
            assert told == "The fact is in message 4, unchanged."
        elif not found.stands:
            assert found.missing
            assert told.startswith(f"Message 4, which held it, is {fate}: ")
            assert told.endswith("The words of the fact are not in the prompt.")


def test_a_question_looks_for_the_fact_that_it_is_about() -> None:
    session = scripted()
    with pytest.raises(UsageError, match="there is no planted fact"):
        choose_questions(session, "")
    assert choose_questions(session, "Anything?") == [("Anything?", None)]
    for fact in (FACT, "Ada moved to Lyon.", "The tea is green.", "The door is red."):
        planted(session, fact)
    code, ada, tea, door = session.planted
    assert choose_questions(session, "Which launch code?") == [("Which launch code?", code)]
    assert choose_questions(session, "Where did Ada move?") == [("Where did Ada move?", ada)]
    assert choose_questions(session, "Anything?") == [("Anything?", door)]
    assert [fact for _, fact in choose_questions(session, "")] == [ada, tea, door]


SILENT = [name for name, kind in STRATEGIES.items() if not asks_a_model(kind)]


@pytest.mark.parametrize("name", family(SILENT, "observation-masking", "dedup"))
def test_a_replay_marks_the_calls_as_they_really_were(name: str) -> None:
    session = reading(name, budget=2_000, asked=0)
    views = [event.view for q in QUESTIONS for event in ask(session, q) if isinstance(event, Prepared)]
    before = kept(session)
    (found,) = measure_survival(session, session.spec, session.planted)
    assert kept(session) == before
    assert [mark in ("stands", "over") for mark in found.marks[:-1]] == [
        is_in_view(v, session.planted[0]) for v in views
    ]
    assert [mark == "over" for mark in found.marks[:-1]] == [
        is_in_view(view, session.planted[0]) and view.tokens > view.limit for view in views
    ]
    for number, fate in found.changes:
        assert number == len(found.marks) or views[number - 1].fates[3] == fate


def test_the_one_in_use_comes_first_and_none_is_asked_that_asks_a_model() -> None:
    assert strategies(scripted(strategy="notes"))[:2] == ["notes", "none"]
    assert strategies(scripted(strategy="offload:share=0.2+truncate"))[:2] == ["offload:share=0.2+truncate", "none"]
    for spec in ("llm-summary", "offload+hybrid"):
        assert strategies(scripted(strategy=spec)) == SILENT


@given(st.lists(st.sampled_from(["stands", "gone", "over"]), max_size=200), st.integers(1, 40))
def test_cells_never_claim_more_than_the_calls(marks: Sequence[str], columns: int) -> None:
    shown = list(draw_marks(marks, columns))
    assert len(shown) == min(len(marks), columns)
    assert set(shown) <= {*marks, "partly"}
    if len(marks) <= columns:
        assert shown == list(marks)
