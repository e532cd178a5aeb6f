"""The probe: ask about a planted fact in a copy of the session. One model call per question; nothing is recorded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from thimble.agent.agent import Agent
from thimble.agent.errors import UsageError
from thimble.agent.events import Asked, Planted, SideCalled
from thimble.agent.loop import prepare
from thimble.agent.messages import Message
from thimble.agent.protocols import Usage
from thimble.agent.reply import Reply
from thimble.agent.turns import question as asked_last
from thimble.agent.view import View
from thimble.commands.why import why
from thimble.corpus.fact_match import missing_words, quotes_fact
from thimble.corpus.words import content_words, stem_words
from thimble.session.session import Session

FACT_SENTENCE = re.compile(r"(?P<subject>\S.{1,79}?) (?P<is>is|are|was|were) \S")
LOWERED = ("The", "A", "An", "My", "Our", "Your", "His", "Her", "Its", "Their", "This", "That")
MAX_FACTS = 3
"""The most facts that one /probe asks for."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A question that was asked outside the session, and its result.

    `tokens`: the size of the prompt, that of the session's next call for this question, without tools. `planted`: the
    fact to find, or None; `stands`: it is in the prompt; `where`: a sentence that says where, or why not. `missing`:
    its words and figures that the answer does not state; empty is a hit, None means no verdict, because the question
    states the whole fact.
    """

    question: str
    answer: str
    planted: Planted | None
    missing: Sequence[str] | None
    stands: bool
    where: str
    tokens: int
    exact: bool
    usage: Usage
    seconds: float
    side_calls: Sequence[SideCalled] = ()


def choose_questions(session: Session, question: str) -> list[tuple[str, Planted | None]]:
    """The questions to ask, each with its fact. Without a QUESTION, one for each of the newest planted facts.

    A QUESTION is about the fact that shares the most words with it; of several, the newest.

    Raises:
        UsageError: there is neither a question nor a fact.
    """
    if question:

        def shared(one: Planted) -> int:
            return len(stem_words(" ".join(content_words(one.fact))) & stem_words(question))

        return [(question, max(reversed(session.planted), key=shared, default=None))]
    if not session.planted:
        raise UsageError(
            "there is no planted fact to ask about", "plant one with /plant FACT, or write /probe QUESTION"
        )
    return [(question_for(planted), planted) for planted in session.planted[-MAX_FACTS:]]


def question_for(planted: Planted) -> str:
    """The question that the fact answers, because a summary may hold a fact without the name of its file.

    For a fact that is not a sentence such as `The door code is 7431.`, it asks for the file.
    """
    said = FACT_SENTENCE.match(planted.fact)
    if not said or not missing_words(
        "", planted.fact, asked := f"What {said['is']} {_lower_first_word(said['subject'])}?"
    ):
        return f"Show me {planted.path}, word for word."
    return asked


def _lower_first_word(subject: str) -> str:
    """A subject in lower case, for the middle of a sentence."""
    first, blank, rest = subject.partition(" ")
    return f"{first.lower() if first in LOWERED else first}{blank}{rest}"


def probe(session: Session, question: str, planted: Planted | None = None) -> Probe:
    """Ask a question of the context alone, with the prompt of the next call, without tools. Nothing enters the session.

    Raises:
        BudgetError: the budget cannot hold the question.
        ModelError: the server cannot be used.
    """
    return session.ask_aside(("probe", question), Probe, lambda: probe_fork(session.fork(), question, planted)[0])


def probe_fork(fork: Agent, question: str, planted: Planted | None = None) -> tuple[Probe, View]:
    """Ask the question in this copy of a session; return the probe and its view."""
    fork.enter(Asked(Message(next(fork.state.new_ids()), "user", question)))
    view = prepare(fork, fork.next_call())
    reply = Reply.of(fork.backend.stream(view.messages, (), max_tokens=fork.max_output, temperature=fork.temperature))
    answer, usage = reply.text.strip(), reply.usage
    reported = usage.prompt_tokens
    found = Probe(
        question=question,
        answer=answer,
        planted=planted,
        missing=missing_words(answer, planted.fact, question) if planted else None,
        stands=planted is not None and is_in_view(view, planted),
        where=describe_place(view, planted) if planted else "",
        tokens=fork.budget(()).size(view.messages) if reported is None else reported,
        exact=fork.backend.counter.exact or reported is not None,
        usage=usage,
        seconds=reply.seconds,
        side_calls=[event for event in fork.side.drain_events() if isinstance(event, SideCalled)],
    )
    return found, view


def is_in_view(view: View, planted: Planted) -> bool:
    """Whether a view holds the words of the fact, exactly as planted, outside the question itself."""
    return _find_fact(view, planted) is not None


def _find_fact(view: View, planted: Planted) -> int | None:
    """The index of the first message of a view that holds the fact, without the question; or None."""
    asked = asked_last(view.history)
    told = (at for at, message in enumerate(view.messages) if asked is None or message.id != asked.id)
    return next((at for at in told if quotes_fact(view.messages[at].content, planted.fact)), None)


def describe_place(view: View, planted: Planted) -> str:
    """A sentence that says where in a view the fact is, or why it is not there."""
    place = next(at for at, message in enumerate(view.history) if message.id == planted.holder.id)
    fate = view.fates[place]
    if fate == "kept":
        return f"The fact is in message {place + 1}, unchanged."
    gone = f"Message {place + 1}, which held it, is {fate}: {why(view, place)}."
    at = _find_fact(view, planted)
    return f"{gone} {'The words of the fact are not in the prompt.' if at is None else _elsewhere(view, at, planted)}"


def _elsewhere(view: View, at: int, planted: Planted) -> str:
    message = view.messages[at]
    if message.id == planted.holder.id:
        return "Its remaining text still holds the fact."
    if at in view.inserted:
        kind = "a summary" if message.covers else "a message that the strategy inserted"
        return f"The fact is in {kind}{f': {message.why}' if message.why else ''}."
    number = next(place for place, one in enumerate(view.history, 1) if one.id == message.id)
    return f"The fact is quoted in message {number} ({message.role})."
