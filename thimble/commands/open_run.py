"""A recorded run of another agent as a session: each call with its prompt and the tokens that its provider counted."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

from thimble.agent.budget import Budget, Counter
from thimble.agent.events import Answered, Asked, Entry, Prepared, PutIn, Replied, ToolCalled, ToolReturned
from thimble.agent.messages import Message, reuse_message, without_thinking
from thimble.agent.protocols import ModelId, Usage
from thimble.agent.view import View
from thimble.commands.as_recorded import as_recorded
from thimble.commands.replay import AS_RECORDED
from thimble.commands.trajectories import PromptStart, Trajectory
from thimble.session.journal.folder import ID_LETTERS, SUFFIX
from thimble.session.journal.journal import Journal
from thimble.session.session import Session
from thimble.session.settings import Settings
from thimble.tools.wording import count_noun, join_names

ANOTHER_AGENT = "another agent"
NO_SYSTEM = "The system prompt of this run of {} is not in its file. Each tool returns what the run recorded for it."
MAX_NAMED_PLACES = 6
"""The most places that a notice names."""


def path_of(run: Trajectory, folder: Path) -> Path:
    """The file of a run's session, the same each time that the run is opened."""
    letters = "".join(ID_LETTERS[int(run.digest[at : at + 2], 16) % len(ID_LETTERS)] for at in range(0, 8, 2))
    began = min(run.times.values(), default=0)
    return folder / f"{time.strftime('%Y-%m-%d-%H%M', time.localtime(began))}-{letters}{SUFFIX}"


def open_run(run: Trajectory, settings: Settings) -> Session:
    """Make a session that contains the run, call by call, under the strategy `as-recorded`.

    Its strategy, budget and model are those of the settings; its tools are those of the run, from its record.

    Raises:
        ThimbleError: the model of the settings cannot be used.
    """
    path = path_of(run, settings.session_dir)
    session = Session(settings, Journal(path, run=run.form or ANOTHER_AGENT))
    try:
        _enter_events(session, run)
    except BaseException:  # Ctrl-C too: half of a run would look like the whole one
        session.journal.close()
        path.unlink(missing_ok=True)
        raise
    return session


def _enter_events(session: Session, run: Trajectory) -> None:
    """Enter the run's events into a session, and add notices about it."""
    agent, journal, now = session.agent, session.journal, 0.0
    thought = sum(bool(message.thinking) for message in run.messages)
    run = _with_system(_without_thinking(run), journal.run)
    agent.state.system = run.messages[0].content
    clock, journal.clock = journal.clock, lambda: now
    edited = list[str]()
    for at, event in _iter_events(run, agent.backend.counter):
        now = max(now, at)
        agent.enter(event)
        if isinstance(event, Prepared) and event.view.edited:
            edited.append(f"{agent.ledger.exchanges}.{event.turn}")
    journal.clock = clock
    session.use_recorded_tools()
    told = f"A run of {journal.run}: {count_noun(len(run.calls), 'call')}, {count_noun(len(run.messages), 'message')}."
    unsaid = f"The thinking of {count_noun(thought, 'message')} is left out: no prompt has it after its question."
    session.notices += [told, *run.remarks, *[unsaid] * bool(thought), *_describe_edits(edited)]


def _describe_edits(edited: Sequence[str]) -> list[str]:
    """A notice that names the calls, as EXCHANGE.TURN, before which the agent changed earlier messages."""
    places = join_names(edited, MAX_NAMED_PLACES)
    return [f"Earlier messages were changed before {places}: /context {edited[0]} shows it."] if edited else []


def _without_thinking(run: Trajectory) -> Trajectory:
    """The run without its thinking, which a session forgets with each new question."""
    there = {message.id: without_thinking(message) for message in run.messages}
    sent = [replace(one, base=[reuse_message(without_thinking(each), there) for each in one.base]) for one in run.sent]
    return replace(run, messages=[*there.values()], sent=sent)


def _with_system(run: Trajectory, form: str) -> Trajectory:
    """The run with a system message; the messages of a file without one are numbered from 2 on."""
    if run.messages[0].role == "system":
        return run
    ids = {message.id: f"m{number}" for number, message in enumerate(run.messages, 2)}
    system = Message("m1", "system", NO_SYSTEM.format(form))

    def renumbered(message: Message) -> Message:
        covers = tuple(ids.get(id_, id_) for id_ in message.covers)
        return replace(message, id=ids.get(message.id, message.id), covers=covers)

    messages = [system, *map(renumbered, run.messages)]
    there = {message.id: message for message in messages}
    sent = [
        PromptStart(one.since + 1, [system, *(reuse_message(renumbered(each), there) for each in one.base)], one.asked)
        for one in run.sent or [PromptStart()]
    ]
    logged = {ids[id_]: call for id_, call in run.logged.items()}
    times = {ids[id_]: time for id_, time in run.times.items()}
    put_in = {ids[id_] for id_ in run.put_in}
    return replace(run, messages=messages, sent=sent, logged=logged, times=times, put_in=put_in)


def _iter_events(run: Trajectory, counter: Counter) -> Iterator[tuple[float, Entry]]:
    """The events of the run with their times, in seconds since 1970."""
    views = as_recorded(run, Budget(_largest_prompt(run, counter), counter, counter.overhead(run.tools)), ModelId())
    asked, before, now, turn = _question_ids(run), None, 0.0, 0
    calls = {call.id: call for message in run.messages for call in message.calls}
    for at, message in enumerate(run.messages[1:], 1):
        start, now = now, run.times.get(message.id, now)
        began, seconds = _timed(run, at)
        if message.role == "tool":
            call = calls[message.call_id]
            yield start, ToolCalled(call)
            tokens = counter.count(message)
            yield now, ToolReturned(call, message, tokens, counter.exact, seconds, ok=True, began=began)
        elif message.role == "user":
            turn = 0 if message.id in asked else turn
            yield now, Asked(message) if message.id in asked else PutIn((message,))
        else:
            turn, (view, asked_of), call_of = turn + 1, next(views), run.call(at)
            model, usage = ModelId(run.form, call_of.model), call_of.reported
            view = _add_unseen_tokens(view, (usage.prompt or 0) - view.tokens)
            yield from ((start, one) for one in asked_of if not one.error)
            yield start, Prepared(turn, AS_RECORDED, model, view, counter.exact, run.tools, before)
            reported = Usage(usage.prompt, usage.cache_read, usage.output)
            yield now, Replied(turn, message, reported, seconds, None, began=began, returns_thinking=True)
            before = view
            rest = (one for one in run.messages[at + 1 :] if one.id not in run.put_in)
            if not message.calls and getattr(next(rest, None), "id", "") in {"", *asked}:
                yield now, Answered(message.content, "answered")


def _timed(run: Trajectory, at: int) -> tuple[float, float]:
    """When a reply or a result began, after the message before it, and its seconds; zeros if a time is unknown."""
    began, ended = (run.times.get(run.messages[place].id, 0.0) for place in (at - 1, at))
    return (began, ended - began) if 0 < began < ended else (0.0, 0.0)


def _add_unseen_tokens(view: View, tokens: int) -> View:
    """The view with the tokens that its provider counted and the file does not show, as of no message."""
    if tokens <= 0:
        return view
    sizes: dict[str, Any] = {"tokens": view.tokens, "history_tokens": view.history_tokens, "overhead": view.overhead}
    sizes |= {"without": view.without} | ({"cached": view.cached} if view.cached else {"prefill": view.prefill})
    sizes |= {"whole_cached": view.whole_cached} if view.whole_cached else {}
    return replace(view, **{name: size + tokens for name, size in sizes.items()})


def _question_ids(run: Trajectory) -> set[str]:
    """The ids of the user's messages that start an exchange: of several in a row, the last one that a user wrote."""
    asked: set[str] = set()
    row: list[Message] = []
    for message in [*run.messages, Message("", "assistant")]:
        if message.role == "user":
            row.append(message)
            continue
        own = [one for one in row if one.id not in run.put_in] or ([] if asked else row)
        asked |= {one.id for one in own[-1:]}
        row = []
    return asked


def _largest_prompt(run: Trajectory, counter: Counter) -> int:
    """Tokens of the run's largest prompt, used as its budget, which no file records."""
    sums = [0, *accumulate(map(counter.count, run.messages))]
    prompts = (sum(map(counter.count, one.base)) + sums[at] - sums[one.since] for at, one in run.starts())
    reported = (call.reported.prompt or 0 for call in run.logged.values())
    return max(counter.overhead(run.tools) + max(prompts, default=0), *reported, 0)
