"""Doors: every way on which untrusted text reaches a terminal. A new command that shows any is a row of DOORS."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from tests.support.histories import TinyCounter
from tests.support.scripted import Scripted, Step
from tests.support.sessions import Paper, scripted, tool_call, type_command
from thimble.agent.budget import Budget
from thimble.agent.errors import ModelError, ThimbleError, UsageError
from thimble.agent.events import (
    Answered,
    Asked,
    Event,
    Planted,
    Prepared,
    Preparing,
    PromptCut,
    Replied,
    ReplyPiece,
    SideBegan,
    SideCalled,
    ToolCalled,
    ToolReturned,
)
from thimble.agent.messages import Message, ToolCall
from thimble.agent.protocols import ModelId, Sent, Strategy, Text, Thinking, Usage, Waiting
from thimble.agent.view import prepare
from thimble.repl.cli import headless
from thimble.repl.cli.recordings import load_recording, pace_of, playback_settings
from thimble.repl.commands.table import show_error
from thimble.repl.conversation import Conversation
from thimble.repl.prompt.completion import Completions
from thimble.repl.prompt.meter import Meter
from thimble.repl.prompt.prompt import on_empty
from thimble.repl.screen.exchange import Lines, Screen
from thimble.repl.screen.footer import footer_line
from thimble.repl.screen.redirect_output import print_above_live
from thimble.repl.screen.resumed import show_resumed
from thimble.repl.screen.stage import Stage
from thimble.repl.screen.theme import say
from thimble.session.journal.journal import Journal
from thimble.session.journal.records import Command, Named
from thimble.session.journal.state import saved_state
from thimble.session.plant import plant_fact
from thimble.session.playback import Playback, Recording, read_recording
from thimble.session.session import Session
from thimble.session.settings import Settings

Door = Callable[[str], str]
"""From a payload to all that was written."""


class Doing(Strategy):
    """A strategy of a participant: it masks every result, leaves out what it can, adds a summary, and says why."""

    def __init__(self, words: str) -> None:
        self.words = words

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """Whatever it says is the payload."""
        masked = [replace(m, content=self.words, why=self.words) if m.role == "tool" else m for m in messages]
        summary = Message("s1", "user", self.words, why=self.words, covers=(messages[1].id,))
        return [masked[0], summary, *masked[1:]]

    def why(self, message: Message) -> str:
        """Why a message was left out."""
        return self.words


@cache
def session() -> Session:
    """One for all; in its folder lies nothing that other tests have left."""
    return scripted(session_dir=Path("/nowhere"))


def begin(*steps: Step) -> Session:
    """The session, begun anew, with this script."""
    here = session()
    here.agent.state.strategy, here.journal = "none", Journal()
    here.reset()
    here.agent.use(Scripted(steps, TinyCounter()))
    return here


def drawn(kind: type[Lines], events: Sequence[Event]) -> str:
    """These events as this renderer writes them, the live lines at each moment included."""
    paper = Paper(80, drawn=kind is not Lines)
    renderer = Stage(paper.console, lambda: False) if kind is Stage else kind(paper.console)
    with renderer:
        for event in events:
            renderer.show(event)
            if isinstance(renderer, Screen):
                renderer.redraw()
    return paper.text


def exchange(kind: type[Lines], steps: Callable[[str], Sequence[Step]], payload: str) -> str:
    """A whole exchange whose model says this."""
    return drawn(kind, list(begin(*steps(payload)).ask(payload)))


def events(payload: str) -> list[Event]:
    """Every kind of event, the payload in each of its texts."""
    call = ToolCall(payload, payload, payload)
    history = [
        Message("m0", "system", "s"),
        Message("m1", "user", payload),
        Message("m2", "assistant", payload, calls=(ToolCall("c1", payload, payload),), thinking=payload),
        Message("m3", "tool", payload * 3, call_id="c1", name=payload),
        Message("m4", "user", payload),
    ]
    view = replace(prepare(history, Doing(payload), Budget(9000, TinyCounter())), notes=(payload,))
    return [
        Asked(history[1]),
        Planted(payload, payload, tuple(history[1:5])),
        Preparing(1, payload, 8000),
        SideBegan(payload, ModelId("", payload), 1, True),
        SideCalled(payload, 1, True, Usage(), 0.1, "", ModelId("", payload)),
        SideCalled(payload, 1, True, Usage(), 0.1, payload or "x", ModelId("", payload)),
        Prepared(1, payload, ModelId("", payload), view, True),
        Sent(payload, payload),
        Waiting(payload),
        ReplyPiece("thinking", payload),
        ReplyPiece("text", payload),
        Replied(1, history[2], Usage(), 0.1, None),
        ToolCalled(call),
        ToolReturned(call, history[3], 1, True, 0.1, True),
        ToolReturned(call, history[3], 1, True, 0.1, False),
        *(ReplyPiece("text", char) for char in payload[:200]),
        PromptCut(1, 9000, 4000, True),
        Replied(2, history[1], Usage(finish="length"), 0.1, None),
        Answered(payload, "turn-limit", passage=payload),
    ]


def told(payload: str, as_json: bool = False, error: bool = False) -> str:
    """Without a conversation: the answer, an error, and all that is told beside it."""
    read = [Thinking(payload), Text(payload), tool_call(payload, 1, a=payload), ToolCall("c2", "save_note", payload)]
    script = [ModelError(payload, payload)] if error else [read, payload]
    here = begin(*script)
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        headless.answer(here, iter([payload.lstrip("/ ") or "x"]), as_json)
    assert not as_json or out.getvalue().isascii()
    return out.getvalue() + err.getvalue()


def commanded(forms: Sequence[str], is_drawn: bool, payload: str) -> str:
    """What commands print, one after another, after an exchange that was full of it, as were fact and strategy."""
    note = tool_call("save_note", 1, title=payload, text=payload)
    sent = Sent(payload, json.dumps({"messages": payload}, ensure_ascii=False))
    here = begin([Text(payload), note], [tool_call("get_notes", 2)], [sent, Text(payload)], *[payload] * 6)
    here.agent.strategy, here.agent.state.strategy = Doing(payload), payload
    with suppress(UsageError):
        plant_fact(here.agent, payload)
    list(here.ask(payload))
    paper = Paper(80, drawn=is_drawn)
    for form in forms:
        paper.console.file.write(f"{form}\n")
        type_command(here, form.format(payload), paper.console)
    return paper.text


def resumed(is_drawn: bool, payload: str) -> str:
    """A session on disk, full of it, as it is resumed, in a conversation and without one, and as it is listed."""
    with TemporaryDirectory() as folder:
        here = begin(payload, payload)
        before = here.settings
        here.settings = before.replace(session_dir=Path(folder), plain=not is_drawn)
        here.journal, here.agent.state.strategy = Journal(Path(folder, "one.jsonl")), payload
        list(here.ask(payload))
        here.record(Named(payload))
        here.saved = saved_state(here.journal.read()[0])
        here.saved.lost.append(payload)
        here.agent.state.strategy = f"{payload}!"
        paper, err = Paper(80, drawn=is_drawn), io.StringIO()
        show_resumed(here, paper.console)
        with redirect_stderr(err):
            headless._print_resumed(here, as_json=False)
        here.journal.close()
        here.journal, here.saved = Journal(), None
        for listed in ("/sessions", f"/sessions {payload}", f"/load {payload}"):
            type_command(here, listed, paper.console)
        offered = Completions(here).get_completions(Document("/load "), CompleteEvent())
        offers = "".join(f"{offer.text}{offer.display_text}{offer.display_meta_text}" for offer in offered)
        here.settings = before
    return paper.text + err.getvalue() + offers


def around(payload: str) -> str:
    """Footer and meter, the model's name in them."""
    here = begin(payload)
    list(here.ask(payload))
    here.agent.state.strategy = here.agent.backend.model = payload  # type: ignore[misc]
    here.agent.backend.name = payload
    meter = Meter(here)
    meter.warm()
    pieces = "".join(text for _, text in meter.pieces(payload, 200))
    offers = [*Completions(here).get_completions(Document(f"/strategy {payload}"), CompleteEvent())]
    shown = "".join(f"{offer.text}{offer.display_text}{offer.display_meta_text}" for offer in offers)
    return footer_line(here.agent, 200) + pieces + shown.replace(payload, "")  # what is typed is typed


def error(kind: bool, payload: str) -> str:
    """What a server or a setting has to complain of."""
    paper = Paper(80, drawn=kind)
    show_error(paper.console, ThimbleError(payload, payload))
    return paper.text


def said_by_app(payload: str) -> str:
    """Notices, bugs, and what a strategy prints."""
    paper = Paper(80)
    conversation = Conversation.__new__(Conversation)
    conversation.plain, conversation.__dict__["console"] = False, paper.console
    try:
        raise ValueError(payload)
    except ValueError:
        conversation._print_traceback()
    say(paper.console, payload)
    with print_above_live(paper.console):
        sys.stdout.write(f"{payload}\n")
    return paper.text


def recorded(payload: str) -> Recording:
    """A recorded session full of it: what the user sent, the model's name, replies, errors and settings."""
    read = [Thinking(payload), Waiting(payload), Text(payload), ToolCall("c2", "save_note", payload)]
    model = Scripted([read, [Text(payload), tool_call(payload, 1, a=payload)], ModelError(payload, payload)])
    model.name = model.model = payload  # type: ignore[misc]
    with TemporaryDirectory() as folder:
        here = Session(Settings(backend="reader", strategy="none"), Journal(Path(folder, "one")))
        here.backends.first_backend = lambda: model  # type: ignore[method-assign]
        with suppress(ModelError):
            list(here.ask("What?"))
        for text in (f"{payload} ?", f"/strategy {payload}.py"):
            here.remark(Command(text))
        return read_recording(Path(folder, "one").read_bytes(), payload)


def played(kind: type[Lines], payload: str) -> str:
    """A recording: what is told of it, what it suggests, an exchange of it, its models, and what it does not hold."""
    recording, paper, shown, events = recorded(payload), Paper(80, drawn=kind is not Lines), io.StringIO(), []
    playback = Playback(recording, payload, pace_of("0")[0])
    here = Session(playback_settings(Settings(), recording), playback=playback)
    with suppress(ModelError):
        for event in here.ask("What?"):
            events.append(event)
    for text in ("/model", f"/model {payload}", "/pull x"):
        type_command(here, text, paper.console)
    with redirect_stdout(shown), redirect_stderr(shown):
        headless.answer(here, iter(["What?", f"{payload.lstrip('/ ')} and more"]), False)
    forged = replace(
        recording,
        opened=replace(
            recording.opened, settings={**recording.opened.settings, "strategy": f"{payload}.py", "budget": 10**6}
        ),
    )
    for wrong in (
        lambda: playback_settings(Settings(), forged),
        lambda: playback_settings(Settings(origins={"strategy": "flag"}), forged),
        lambda: pace_of(payload),
        lambda: load_recording(f"{payload}?", Path(os.devnull)),
        lambda: read_recording(b"", payload),
    ):
        try:
            wrong()
        except UsageError as error:
            show_error(paper.console, error)
    return drawn(kind, events) + paper.text + shown.getvalue() + on_empty(playback.suggested())


ASKED: dict[str, Callable[[str], Sequence[Step]]] = {
    "answer": lambda payload: [payload],
    "answer in pieces": lambda payload: [[Text(char) for char in payload[:300]]],
    "thinking": lambda payload: [[Thinking(payload), Text("So.")]],
    "tool": lambda payload: [[Text(payload), tool_call(payload, 1, a=payload)], "So."],
    "arguments": lambda payload: [[tool_call("search_articles", 1, query=payload)], "So."],
    "broken arguments": lambda payload: [[ToolCall("c1", "search_articles", payload)], "So."],
    "notes": lambda payload: [
        [tool_call("save_note", 1, title=payload, text=payload)],
        [tool_call("get_notes", 2)],
        "So.",
    ],
}
LOOKS = (
    *("/stats", "/stats all", "/strategy", "/help {}", "/help strategy {}", "/articles {}", "/{}"),
    *("/context", "/context next", "/context raw", "/context prompt"),
    *("/context 1-9", "/context 4", "/context +1", "/context {}"),
    *("/why 4", "/why +1", "/why {}", "/compare none", "/compare {}"),
    *("/sessions", "/sessions {}", "/save", "/load", "/load {}", "/tree"),
    *("/timeline", "/timeline all", "/timeline {}"),
    *("/export pdf {}", "/export md no-such-folder/x{}", "/export no-such-folder/{}.html"),
    *("/strategy {}", "/budget {}", "/fork {}", "/fork 1 {}", "/tree {}", "/undo {}", "/predict {}"),
    *("/tour {}", "/tour skip"),
)
"""What changes nothing of a session, since it only looks or is refused: one session serves all."""
COMMANDS = (
    *("/compare none run {}", "/save {}", "/plant {}", "/probe", "/probe {}", "/predict", "/predict all"),
    *("/fork", "/fork 0 none", "/undo", "/retry none", "/reset", "/compact", "/compact {}"),
    *("/pin 3", "/pin {}", "/drop 4", "/edit 4 {}", "/edit off {}"),
)
"""What may change one: each has a session of its own."""

DOORS: list[tuple[str, Door]] = [
    *(
        (f"{kind.__name__}: {name}", partial(exchange, kind, steps))
        for kind in (Screen, Lines, Stage)
        for name, steps in ASKED.items()
    ),
    *(
        (f"{kind.__name__}: every event", lambda payload, kind=kind: drawn(kind, events(payload)))
        for kind in (Screen, Lines, Stage)
    ),
    *((f"commands that look, {how}", partial(commanded, LOOKS, how == "drawn")) for how in ("drawn", "plain")),
    *(
        (f"{form}, {how}", partial(commanded, [form], how == "drawn"))
        for form in COMMANDS
        for how in ("drawn", "plain")
    ),
    *((f"a session is resumed, {how}", partial(resumed, how == "drawn")) for how in ("drawn", "plain")),
    ("headless", told),
    ("headless, an error", partial(told, error=True)),
    ("--json", partial(told, as_json=True)),
    ("--json, an error", partial(told, as_json=True, error=True)),
    *((f"{kind.__name__}: a recording", partial(played, kind)) for kind in (Screen, Lines, Stage)),
    ("footer, meter and completion", around),
    ("an error, drawn", partial(error, True)),
    ("an error, plain", partial(error, False)),
    ("a bug, a notice, what a strategy prints", said_by_app),
]
