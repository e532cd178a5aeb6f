"""/probe: ask out of band what is left of a planted fact. One model call a question; the session stays as it was."""

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
from thimble.corpus.fact_match import missing, quotes
from thimble.corpus.words import content_words, stems
from thimble.session.session import Session

FACT_SENTENCE = re.compile(r"(?P<subject>\S.{1,79}?) (?P<is>is|are|was|were) \S")
LOWERED = ("The", "A", "An", "My", "Our", "Your", "His", "Her", "Its", "Their", "This", "That")
MOST_FACTS = 3
"""Facts that one /probe asks for."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A question that was asked out of band, and what came of it.

    `tokens` were sent: what the next call of the session would be sent for this question, without tools. `planted` is
    the fact that is looked for, None where there is none; `where` says in a sentence where it stands in that prompt,
    and `stands` whether it does. `missing` are its words and figures that the answer does not state: none is a hit, and
    None no verdict, as the question says it all.
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


def questions(session: Session, question: str) -> list[tuple[str, Planted | None]]:
    """The questions to ask, each with its fact. Without a QUESTION, one for each of the newest planted files.

    A QUESTION looks for the fact that shares the most words with it; of several, the newest.

    Raises:
        UsageError: there is neither a question nor a fact.
    """
    if question:

        def shared(one: Planted) -> int:
            return len(stems(" ".join(content_words(one.fact))) & stems(question))

        return [(question, max(reversed(session.planted), key=shared, default=None))]
    if not session.planted:
        raise UsageError("nothing is planted", "write /plant FACT first, or /probe QUESTION")
    return [(question_for(planted), planted) for planted in session.planted[-MOST_FACTS:]]


def question_for(planted: Planted) -> str:
    """The question that the fact answers: a summary may hold a fact and not the name of its file.

    Where the fact is no sentence such as `The door code is 7431.`, its file is asked for.
    """
    said = FACT_SENTENCE.match(planted.fact)
    if not said or not missing("", planted.fact, asked := f"What {said['is']} {_within(said['subject'])}?"):
        return f"Show me {planted.path}, word for word."
    return asked


def _within(subject: str) -> str:
    """A subject as it stands within a sentence."""
    first, blank, rest = subject.partition(" ")
    return f"{first.lower() if first in LOWERED else first}{blank}{rest}"


def probe(session: Session, question: str, planted: Planted | None = None) -> Probe:
    """Ask this of the context alone: the prompt is that of the next call, without tools. Nothing enters the session.

    Raises:
        BudgetError: the budget cannot hold the question.
        ModelError: the server cannot be used.
    """
    return session.aside(("probe", question), Probe, lambda: asked(session.fork(), question, planted)[0])


def asked(fork: Agent, question: str, planted: Planted | None = None) -> tuple[Probe, View]:
    """The probe, asked of this copy of a session, and the view that was sent."""
    fork.enter(Asked(Message(next(fork.state.new_ids()), "user", question)))
    view = prepare(fork, fork.next_call())
    reply = Reply.of(fork.backend.stream(view.messages, (), max_tokens=fork.max_output, temperature=fork.temperature))
    answer, usage = reply.text.strip(), reply.usage
    reported = usage.prompt_tokens
    found = Probe(
        question=question,
        answer=answer,
        planted=planted,
        missing=missing(answer, planted.fact, question) if planted else None,
        stands=planted is not None and stands(view, planted),
        where=where(view, planted) if planted else "",
        tokens=fork.budget(()).size(view.messages) if reported is None else reported,
        exact=fork.backend.counter.exact or reported is not None,
        usage=usage,
        seconds=reply.seconds,
        side_calls=[event for event in fork.side.drain() if isinstance(event, SideCalled)],
    )
    return found, view


def stands(view: View, planted: Planted) -> bool:
    """Whether the words of the fact are in a view, exactly as planted, outside the question itself."""
    return _holding(view, planted) is not None


def _holding(view: View, planted: Planted) -> int | None:
    """The first message of a view that holds the fact; the question is none."""
    asked = asked_last(view.history)
    told = (at for at, message in enumerate(view.messages) if asked is None or message.id != asked.id)
    return next((at for at in told if quotes(view.messages[at].content, planted.fact)), None)


def where(view: View, planted: Planted) -> str:
    """Where the fact stands in a view, or why it does not: a sentence."""
    place = next(at for at, message in enumerate(view.history) if message.id == planted.holder.id)
    fate = view.fates[place]
    if fate == "kept":
        return f"The fact stands in message {place + 1}, as it was."
    gone = f"Message {place + 1}, which held it, is {fate}: {why(view, place)}."
    at = _holding(view, planted)
    return f"{gone} {'The words of the fact are not in the prompt.' if at is None else _elsewhere(view, at, planted)}"


def _elsewhere(view: View, at: int, planted: Planted) -> str:
    message = view.messages[at]
    if message.id == planted.holder.id:
        return "What is left of it still holds the fact."
    if at in view.inserted:
        kind = "a summary" if message.covers else "what the strategy inserted"
        return f"The fact stands in {kind}{f': {message.why}' if message.why else ''}."
    number = next(place for place, one in enumerate(view.history, 1) if one.id == message.id)
    return f"The fact is quoted in message {number} ({message.role})."
