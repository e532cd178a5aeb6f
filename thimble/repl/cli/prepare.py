"""`thimble prepare`: a filter from any program's conversation to the messages of its next model call."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from thimble.agent.budget import UNLIMITED, Budget, Prices, read_limit
from thimble.agent.errors import ModelError, UsageError
from thimble.agent.events import SideCalled
from thimble.agent.messages import pending_turn
from thimble.agent.protocols import Strategy
from thimble.agent.side import SideModel
from thimble.agent.steps import FIT
from thimble.agent.view import View
from thimble.commands.replay import call_lengths, newest_calls, replay_strategy
from thimble.corpus.reading import read_bounded
from thimble.models.chat import Conversation, read_conversation
from thimble.models.chat import write_message as written
from thimble.models.prices import read_prices
from thimble.models.text_observations import NONE_RECOGNISED, describe_recognised
from thimble.repl.screen.redirect_output import RedirectedOutput
from thimble.repl.screen.streams import write_error_line, write_output
from thimble.repl.screen.trace import side_began_line, side_line
from thimble.session import figures
from thimble.session.bounded import MOST_INPUT_BYTES
from thimble.session.embeddings import embedder_of
from thimble.session.jsonl import from_json, to_line
from thimble.session.settings_table import AUTO
from thimble.session.step_worker import StepWorker
from thimble.strategies.own_code import limit_seconds
from thimble.strategies.spec import make_strategy

if TYPE_CHECKING:
    from thimble.agent.protocols import Backend
    from thimble.session.settings import Settings

DOCUMENT = 'pipe in a JSON list of messages, or {"messages": [...], "tools": [...]}'


@limit_seconds()
def run_prepare(settings: Settings, budget: str | None, observations: str | None) -> int:
    """Prepare the conversation on standard input; return the exit code.

    Raises:
        UsageError: the SPEC, the budget, the pattern or the input is not valid.
        BudgetError: the budget cannot hold even the smallest form of the conversation.
        ModelError: the strategy needs a model, and the server in the settings cannot be used.
    """
    from thimble.models.counting.vocabulary import counter_for
    from thimble.models.reader import Reader

    limit = settings.budget if budget is None else read_limit(budget)  # unlike a session's it may be any size
    reader = Reader(counter_for(settings.model))  # connect to a server only if the strategy asks a model
    side = SideModel(reader, embedder_of(settings), worker=StepWorker())
    for notice in settings.notices:
        write_error_line(notice)
    with RedirectedOutput():  # a user's strategy may print
        strategy = make_strategy(settings.strategy, side)
        document = read_document(_standard_input(), observations)
        counter = side.backend.counter
        prices = Prices() if settings.price == AUTO else read_prices(settings.price)  # a filter has no timings
        allowed = Budget(limit, counter, counter.overhead(document.tools), prices)
        if any(getattr(part, "model", None) is side for part in getattr(strategy, "parts", [strategy])):
            side.backend = _side_backend(settings.replace(budget=min(limit, allowed.size(document.repaired.messages))))
        prepared = prepare_document(document, settings.strategy, strategy, allowed, side)
    write_output(to_line(prepared))
    return 0


def read_document(data: bytes, observations: str | None = None) -> Conversation:
    """Read a conversation from JSON. `observations` is a pattern as in `read_observations`.

    Raises:
        UsageError: the input is empty, not UTF-8, not JSON, nested too deeply, or not a conversation.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        what = f"standard input is not UTF-8 text (byte {error.start + 1:,})"
        raise UsageError(what, "convert it first: iconv -t UTF-8") from error
    if not text.strip():
        raise UsageError("standard input is empty", DOCUMENT)
    try:
        value = from_json(text)
    except ValueError as error:
        raise UsageError(f"standard input is not JSON: {error}", DOCUMENT) from error
    try:
        return read_conversation(value, observations)
    except UsageError as error:
        raise UsageError(f"standard input: {error.what}", error.fix) from error


def prepare_document(
    document: Conversation, spec: str, strategy: Strategy, budget: Budget, side: SideModel
) -> dict[str, Any]:
    """The messages to send, in their input form, and the report; notes and side calls go to standard error too.

    The strategy runs at every model call of the conversation (the newest ones, if it is long), because its acts may
    depend on its earlier ones. A call that the budget cannot hold is skipped, except the next one.
    """
    history, edits = document.repaired.messages, 0
    every = call_lengths(history)
    asked = newest_calls(every)
    for call in replay_strategy(history, strategy, budget, document.tools, side, at=asked):
        edits += call.view is not None and call.view.edited
        for event in call.events:
            write_error_line(side_line(event) if isinstance(event, SideCalled) else side_began_line(event))
    if call.error:
        raise call.error
    view = call.view
    assert view
    tally = Counter([*document.repaired.notes, *view.notes])
    notes = [f"{note} ({times:,} times)" if times > 1 else note for note, times in tally.items()]
    if len(asked) < len(every):
        notes.append(f"the history is long: the strategy ran at the newest {len(asked):,} of {len(every):,} calls only")
    for note in notes:
        write_error_line(f"  ! {note}")
    told = describe_recognised(history)
    if told and (told != NONE_RECOGNISED or view.taken.get(FIT)):
        write_error_line(f"  ! {told}")
    _warn_about_tools(strategy)
    if pending_turn(view.messages):
        write_error_line("  ! the last tool calls have no results yet: add them, or a server will refuse the messages")
    if view.tokens > view.limit:
        tokens = figures.format_tokens(view.tokens, budget.counter.exact)
        write_error_line(f"  ▲ {tokens} tokens are over the budget of {view.limit:,}: {spec} sends them anyway")
    return _written(document, spec, view, edits, notes)


def _written(document: Conversation, spec: str, view: View, edits: int, notes: Sequence[str]) -> dict[str, Any]:
    own = {f"m{number}": entry for number, entry in enumerate(document.entries, 1)}
    repaired = document.repaired
    fates = dict(zip((message.id for message in repaired.messages), view.fates, strict=True))
    mended = {"notes": notes, "characters_mended": repaired.touched, "characters_left_out": repaired.lost}
    report = {
        "strategy": spec,
        "budget": None if view.limit == UNLIMITED else view.limit,
        "tokens_before": view.history_tokens,
        "tokens_after": view.tokens,
        "fates": [fates.get(repaired.within.get(id_, id_), "dropped") for id_ in own],
        "inserted": [at for at, message in enumerate(view.messages) if message.id not in own],
        "edits": edits,
        **(mended if notes else {}),
    }
    return {"messages": [written(message, own.get(message.id)) for message in view.messages], "report": report}


def _side_backend(settings: Settings) -> Backend:
    """The model that a strategy may ask: the one in the settings, or the built-in reader if no server has it."""
    from thimble.models import make_reader
    from thimble.session.backends import Backends

    notices: list[str] = []
    backends = Backends(settings, notices.append)
    try:
        backend = backends.side_model("summariser") or backends.summariser(backends.first_backend())
    except ModelError as error:
        if settings.backend != "auto":
            raise
        backend = make_reader()
        notices.append(f"{error.what}: the built-in reader writes the summaries")
    for notice in notices:
        write_error_line(notice)
    write_error_line(
        f"The strategy asks {backend.id.called} ({'built in' if backend.name == 'reader' else backend.name})."
    )
    return backend


def _warn_about_tools(strategy: Strategy) -> None:
    brought = ", ".join(getattr(strategy, "tools", ()))
    if brought:
        write_error_line(f"  ! the strategy needs the tool {brought}: your program must offer it to the model")


def _standard_input() -> bytes:
    if sys.stdin is not None and sys.stdin.isatty():
        raise UsageError("standard input is a terminal", "thimble prepare --budget 8000 < conversation.json")
    try:
        return read_bounded(sys.stdin.buffer, MOST_INPUT_BYTES) if sys.stdin is not None else b""
    except OSError as error:
        raise UsageError(f"standard input cannot be read: {error.strerror}", DOCUMENT) from error
