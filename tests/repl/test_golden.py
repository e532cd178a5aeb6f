"""The golden screen of each command: what it shows of a scripted session, and each refusal in its two lines.

`make golden` writes tests/repl/golden/ anew, and a person reads the diff. Figures are asserted where they are computed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyte
import pytest

from tests.support.branched_sessions import Actor, session_in
from tests.support.histories import react_history
from tests.support.ollama_server import Download, Ollama, served
from tests.support.scripted import Step
from tests.support.sessions import Paper, answer_call, ask, scripted, tool_call, type_command
from thimble.agent.errors import ModelError
from thimble.agent.events import Answered, Event, Replied, ReplyPiece
from thimble.agent.ledger import Amount, Ledger, ToolRun
from thimble.agent.messages import Message
from thimble.agent.protocols import ModelId, Text, Thinking, Usage
from thimble.commands.tour import tour_of
from thimble.repl.cli.headless import offered_line
from thimble.repl.commands.predict import reveal_score
from thimble.repl.commands.table import COMMANDS
from thimble.repl.commands.tour import advance_tour
from thimble.repl.screen.exchange import Lines, Screen
from thimble.repl.screen.footer import footer_line
from thimble.repl.screen.stage import Stage
from thimble.repl.screen.theme import say
from thimble.session.journal.journal import Journal
from thimble.session.session import Session
from thimble.session.settings import Settings

GOLDEN = Path(__file__).with_name("golden")
ROWS = 500
NOW = 1_800_000_000.0
NOWHERE = "127.0.0.1:1"
MASKING = "observation-masking:when=always,window=1"
OPENING = [tool_call("read_article", slug="observation-masking", section="Opening")]
SUMMARY = "Read: [observation-masking]. Masking hides old results."
MINE = """
def prepare(messages, budget):
    assert len(messages) < 9, "too many"
    return messages[:1]
"""


def talked(*questions: str, **settings: object) -> Session:
    """A session whose model reads an article and saves a note before each answer."""
    session = session_in(**{"budget": 4000, **settings})
    for question in questions:
        ask(session, question)
    return session


def two_exchanges(**settings: object) -> Session:
    return talked("What is masking?", "And what does it save?", **{"strategy": MASKING, **settings})


def timed() -> Session:
    """Two exchanges with ten minutes between them; a summary runs beside each, and the agent waits at its end."""
    session, ledger, now = scripted(), Ledger(exchanges=2), 1_700_000_000.0
    agent, memory = ModelId("ollama", "qwen3:8b"), ModelId("ollama", "qwen3:0.6b")
    for exchange in (1, 2):
        for turn in range(3):
            usage = Usage(prefill_seconds=0.5, decode_seconds=1.5)
            one = {"began": now, "seconds": 2.0, "output": Amount(100), "model": agent, "usage": usage}
            ledger.calls.append(answer_call(exchange, 1_000 * (turn + 1), **one))
            ledger.tools.append(ToolRun(exchange, "search", 0.005, now + 2))
            now += 2.5
        beside = {"began": now - 5, "seconds": 6.0, "held": 1.0, "lag": 2, "model": memory}
        ledger.calls.append(answer_call(exchange, purpose="memory", **beside))
        now += 601
    session.agent.state.ledger = ledger
    return session


def read(*steps: Step, **settings: Any) -> Session:
    """Two questions, for each of which the opening of an article is read."""
    session = scripted(OPENING, "It hides old results.", OPENING, "It saves half.", *steps, **settings)
    ask(session)
    ask(session, "And what does it save?")
    return session


def own() -> Session:
    """A strategy of one's own that keeps too little, and breaks where it has much to do."""
    Path("mine.py").write_text(MINE)
    session = scripted(OPENING, "It hides old results.", strategy="./mine.py")
    ask(session)
    return session


def replaying(turns: int = 10, tokens: int = 300, budget: int = 2_500) -> Session:
    """A session with a history of that many turns, and answers left for questions on the side."""
    Path("mine.py").write_text(MINE)
    session = scripted("Of none.", ModelError("the server \x1b[31mhas gone"), "", [Thinking("Hm.")], budget=budget)
    session.agent.state.history = react_history(turns, tokens)
    return session


def kept(name: str, *questions: str) -> Session:
    """A session in a file of this name in the current folder."""
    journal = Journal(Path("sessions", f"{name}.jsonl"))
    session = Session(Settings(backend="reader", session_dir=Path("sessions")), journal)
    session.agent.use(Actor())
    for question in questions:
        ask(session, question)
    os.utime(journal.path or "", (NOW, NOW))
    return session


def two_kept() -> Session:
    first = kept("2026-11-22-0217-k3f9", "What is masking?", "And \x1b[31mhybrid?")
    type_command(first, "/save a talk", Paper().console)
    first.leave()
    os.utime("sessions/2026-11-22-0217-k3f9.jsonl", (NOW, NOW - 86_400))
    return kept("2026-11-22-0310-aaaa", "What breaks a prefix cache?")


def toured() -> Session:
    session = scripted(*[lambda messages, _: OPENING if messages[-1].role == "user" else "So it is."] * 40)
    run(session, "/tour")
    return session


def alone(url: str) -> Session:
    return Session(Settings(base_url=url, backend="ollama"))


@dataclass(frozen=True)
class Golden:
    """A session and what is typed in it, at each width; 0 columns are plain lines."""

    session: Callable[[], Session]
    typed: Sequence[str]
    widths: Sequence[int] = (80, 0)


SCREENS = {
    "articles": Golden(scripted, ["/articles", "/articles kv", "/articles masking", "/articles zzz"], [80]),
    "branches": Golden(
        lambda: talked("Question 1?", "Question 2?", "Question 3?"),
        ["/fork 1 none", "Another?", "/fork", "/tree 1", "/strategy truncate", "/budget 6000", "/plant It is 7.",
         "/undo", "/retry none", "/undo 2", "/reset"],
        [80],
    ),
    "budget": Golden(two_exchanges, ["/budget", "/budget 6000", "/budget 1200"], [80]),
    "compact": Golden(lambda: read(SUMMARY, strategy="compaction"), ["/compact the figures", "/context next"], [80]),
    "compare": Golden(replaying, ["/compare none observation-masking truncate ./mine.py"], [80, 0]),
    "compare-fit": Golden(lambda: replaying(1, 4_000, 2_000), ["/compare observation-masking"]),
    "compare-run": Golden(
        lambda: replaying(3), ["/compare none truncate sliding-window offload ./mine.py run Why?"]
    ),
    "context": Golden(two_exchanges, ["/context"]),
    "context-next": Golden(two_exchanges, ["/strategy none", "/budget 2000", "/context next"]),
    "context-message": Golden(
        lambda: read(strategy=MASKING), ["/context 4", "/context 3", "/context 1-3", "/why 4"], [80]
    ),
    "why": Golden(
        lambda: read(SUMMARY, "Both.", strategy="compaction"),
        ["/compact", "And now?", "/why 1", "/why 2", "/why 4", "/why +1", "/context +1", "/strategy none", "/why 9"],
        [80],
    ),
    "why-own": Golden(own, ["/why 1", "/why +1", "/context"], [100]),
    "export": Golden(lambda: talked("One?"), ["/export md a.md", "/export md a.md", "/undo", "/export md a.md!"], [80]),
    "help": Golden(scripted, ["/help", "/help /why"], [80]),
    "hand": Golden(
        two_exchanges,
        ["/pin 4", "/drop 7", "/edit 10 In short: 4711.", "And now?", "/context", "/why 4", "/why 8", "/why 10",
         "/pin off 4", "/compare none"],
        [80],
    ),
    "model": Golden(lambda: Session(Settings(backend="reader", base_url=NOWHERE)), ["/model", "/model reader"], [80]),
    "predict": Golden(two_exchanges, ["/predict", "/predict 1-4", "And then?", "/predict none", "/predict"], [80]),
    "probe": Golden(lambda: talked("One?"), ["/plant The code of Heron is 4711.", "Two?", "/probe"], [80]),
    "probe-plain": Golden(lambda: talked("One?"), ["/plant The code of Heron is 4711.", "/probe Who is Ada?"], [0]),
    "sessions": Golden(two_kept, ["/sessions", "/save  my   talk", "/load a talk", "/sessions"]),
    "stats": Golden(two_exchanges, ["/stats", "/stats all"], [80]),
    "stats-plain": Golden(
        lambda: scripted("So.", price="dollars=2.5"), ["/stats", "What?", "/stats", "/cost all"], [0]
    ),
    "strategy": Golden(two_exchanges, ["/strategy hybrid:tail=4", "/strategy tidy+none", "/help strategy truncate"]),
    "timeline": Golden(timed, ["/timeline", "/timeline all"], [80, 120]),
    "timeline-plain": Golden(timed, ["/timeline 1"], [0]),
    "tour": Golden(toured, ["", "/tour", "/tour skip", "/why 99", "/why 99", "/tour hour", "/tour stop"], [80]),
    "tree": Golden(
        lambda: talked("Question 1?", "Question 2?"), ["/fork 1 none", "Another?", "/fork 0", "/tree 2", "/tree"]
    ),
}  # fmt: skip
REFUSED = {
    "hand": (
        two_exchanges,
        ["/pin", "/pin 99", "/pin 1", "/drop 2", "/drop 0", "/edit 4", "/edit off", "/drop all"],
    ),
    "branches": (
        lambda: talked("One?", "Two?"),
        ["/fork 3", "/fork -1", "/fork 1 nowhere", "/fork nowhere", "/undo 3", "/undo 0", "/undo x",
         "/undo " + "9" * 5000, "/retry nowhere", "/tree 2", "/tree x"],
    ),
    "context": (
        two_exchanges,
        ["/why", "/why all", "/why 0", "/why 99", "/why +9", "/context 99", "/context 2-99",
         "/context all", "/context prompt"],
    ),
    "commands": (
        scripted,
        ["/strateg", "/rest", "/QUIT", "/stats none", "/reset 1", "/budget ten", "/budget 1", "/budget " + "9" * 5000,
         "/strategy x", "/strategy noen", "/help x", "/recall", "/show"],
    ),
    "nothing-asked": (
        scripted,
        ["/undo", "/retry", "/probe", "/timeline", "/compact",
         "/compare run", "/compare none nonsense run Why?", "/context prompt", "/predict x", "/pull", "/tour nowhere",
         "/export nowhere/at/all.md"],
    ),
    "sessions": (
        two_kept,
        ["/save", "/save a talk", "/save " + "x" * 41, "/save \x1b[31mred", "/save -p", "/save 2026-11-22-0217-k3f9",
         "/sessions nonsense", "/load", "/load unknown", "/load 2026-11-22-0310-aaaa"],
    ),
    "timeline": (timed, ["/timeline 3", "/timeline 0", "/timeline soon", "/timeline -1", "/timeline 1 2"]),
}  # fmt: skip


def run(session: Session, line: str, paper: Paper | None = None) -> None:
    """Send a line as a conversation does, an empty one as Enter. Of an answer, the footer is shown, and a guess."""
    console = (paper or Paper()).console
    line = line or offered_line(session)
    question = type_command(session, line, console) if line.startswith("/") else line
    if question:
        ask(session, question)
        for text in [footer_line(session.agent, console.width), *reveal_score(session)]:
            say(console, text)
    if tour_of(session):
        advance_tour(session, console)


def seen(paper: Paper) -> str:
    """What stays in a terminal, or what plain lines say."""
    if not paper.console.is_terminal:
        return paper.text
    terminal = pyte.Screen(paper.console.width, ROWS)
    terminal.set_mode(pyte.modes.LNM)
    pyte.Stream(terminal).feed(paper.text)
    return "\n".join(map(str.rstrip, terminal.display)).rstrip() + "\n"


def screen(golden: Golden) -> Iterable[str]:
    for width in golden.widths:
        yield f"=== {width} columns ===\n" if width else "=== plain ===\n"
        Path(str(width)).mkdir()
        os.chdir(str(width))
        session = golden.session()
        for line in golden.typed:
            paper = Paper(width or 100, drawn=bool(width))
            run(session, line, paper)
            yield f"› {line}\n"
            yield seen(paper)
            session = session.successor or session
        session.leave()
        os.chdir("..")


def refusals(make: Callable[[], Session], typed: Sequence[str]) -> Iterable[str]:
    session = make()
    before = repr((session.agent.history, session.journal.tree.branches, session.spec, session.agent.limit))
    for line in typed:
        paper = Paper(drawn=False)
        run(session, line, paper)
        yield f"› {line if len(line) < 60 else line[:20] + '…'!r}\n"
        yield paper.text
        assert [text.split()[0] for text in paper.lines] == ["error:", "fix:"], line
    assert before == repr((session.agent.history, session.journal.tree.branches, session.spec, session.agent.limit))
    session.leave()


def compared(name: str, parts: Iterable[str]) -> None:
    """The file has this text; with GOLDEN set, it is written."""
    path, text = GOLDEN / f"{name}.txt", "".join(parts)
    if os.environ.get("GOLDEN"):
        path.write_text(text)
    assert path.read_text() == text, "make it anew: make golden"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder, and a clock that stands still."""
    monkeypatch.chdir(tmp_path)
    for name in ("time.time", "thimble.agent.loop.perf_counter"):
        monkeypatch.setattr(name, lambda: NOW)
    monkeypatch.setattr("thimble.agent.reply.Reply.seconds", 0.0)


def test_every_command_has_a_screen() -> None:
    typed = {line.split()[0].removeprefix("/") for golden in SCREENS.values() for line in golden.typed if line}
    assert COMMANDS.keys() - typed == {"pull", "doctor", "quit"}


@pytest.mark.parametrize("name", SCREENS)
def test_screen(name: str) -> None:
    compared(name, screen(SCREENS[name]))


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_are_two_lines_and_change_nothing(name: str) -> None:
    compared(f"refused-{name}", refusals(*REFUSED[name]))


def test_screens_of_ollama() -> None:
    big = Ollama(models={}, downloads={"big:latest": Download({"2bada8a74506": 40_000, "66b9ea09bd5b": 10_000})})
    with served(big) as (_, url):
        compared("pull", screen(Golden(lambda: alone(url), ["/model", "/pull big", "/model big", "/model"], [0])))


PASSAGE = "Tomatoes want water every two or three days; in hot weeks daily.\n\x1b[31mWet leaves bring mould. [tomatoes]"
CITES = (
    "# Found\n\nIt **hides** [observation-masking], so they say [made-up.md:7] and `a[latency]` [link](http://a.b)."
    "\n\n- <b>one</b>"
)


TAIL = [
    ReplyPiece("text", "So a sum"),
    ReplyPiece("thinking", "So a sum", was_text=True),
    ReplyPiece("text", "Daily."),
    Replied(1, Message("m9", "assistant", "Daily."), Usage(), 0.1, None),
    Answered("Daily.", "answered", passage=PASSAGE),
]
"""What turns out to be a thought, and an answer with a passage."""
LOOK = [Thinking("hm,\nwell"), Text("I look."), *OPENING]


@pytest.mark.parametrize(
    ("shows", "steps", "tail"),
    [
        (Screen, [LOOK, [tool_call("nothing", 2)], [tool_call("get_notes", 3)], CITES], TAIL),
        (Lines, [LOOK, [tool_call("nothing", 2)], [tool_call("get_notes", 3)], CITES], TAIL),
        (Stage, [LOOK, [tool_call("get_notes", 3)], CITES], []),
    ],
)
def test_screen_of_an_exchange(shows: type, steps: Sequence[Step], tail: Sequence[Event]) -> None:
    paper = Paper(80 if shows is not Lines else 100, drawn=shows is not Lines)
    events = ask(scripted(*steps, strategy=MASKING, budget=20_000))
    with shows(paper.console, *[lambda: True] * (shows is Stage)) as renderer:
        renderer.history = lambda: [Message("m3", "tool", "observation-masking", call_id="c1", name="read_article")]
        for event in [*events, *tail]:
            renderer.show(event)
    compared(f"exchange-{shows.__name__.lower()}", [seen(paper)])
