"""The commands: what can be said to thimble itself. None of it, nor what it prints, is ever sent to a model."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from agent.errors import ThimbleError, UsageError
from repl import figures
from repl.sanitise import clean, line
from repl.tables import Table
from repl.theme import is_drawn

if TYPE_CHECKING:
    from repl.session import Session

Run = Callable[["Session", str, Console], None]


@dataclass(frozen=True, slots=True)
class Command:
    """A command: how it is written, what it does in one line, and more on it for /help COMMAND."""

    usage: str
    summary: str
    more: str
    run: Run


def run_command(session: Session, text: str, console: Console) -> bool:
    """Run a line that begins with `/`; False if it asks to leave. What is wrong with it is told, never raised."""
    try:
        return obey(session, text, console)
    except ThimbleError as error:
        show_error(console, error)
        return True


def obey(session: Session, text: str, console: Console) -> bool:
    """Run a line that begins with `/`; False if it asks to leave.

    Raises:
        ThimbleError: there is no such command, or it cannot do this; nothing has changed then.
    """
    word, rest = [*text.split(None, 1), "", ""][:2]
    name = word.removeprefix("/")
    name = ALIASES.get(name, name)
    if name not in COMMANDS:
        raise _unknown(name)
    if session.cassette:
        session.cassette.heard(session, text)
    COMMANDS[name].run(session, rest.strip(), console)
    return name != "quit"


def show_error(console: Console, error: ThimbleError) -> None:
    """One line what is wrong, one line how to mend it."""
    drawn = is_drawn(console)
    _say(console, f"{'✗ ' if drawn else 'error: '}{line(error.what)}", "error")
    if error.fix:
        fix = Text(line(error.fix), style="quiet")
        console.print(Padding(fix, (0, 0, 0, 2), expand=False) if drawn else Text("fix: ").append_text(fix))


def _unknown(name: str) -> UsageError:
    near = get_close_matches(name.lower(), [*COMMANDS, *ALIASES], 1, cutoff=0.5)
    hint = f"did you mean /{near[0]}? " if near else ""
    return UsageError(f"there is no command /{name[:40]}", f"{hint}/help lists the commands; nothing was sent")


def _of(module: str, name: str) -> Run:
    """A command of another module, which is imported when the command is used."""

    def run(session: Session, rest: str, console: Console) -> None:
        getattr(import_module(module), name)(session, rest, console)

    return run


# ---- the commands ----


def _strategy(session: Session, spec: str, console: Console) -> None:
    if not spec:
        from repl.catalogue import show_all

        show_all(session.spec, console)
        return
    session.use_strategy(spec)
    _say(console, f"The strategy is now {line(session.spec)}. Its memory is empty: it sees the whole history afresh.")
    _next_prompt(session, console)


def _stats(session: Session, rest: str, console: Console) -> None:
    from repl.stats import show_stats

    _no_argument("/stats", rest)
    show_stats(session, console)


def _reset(session: Session, rest: str, console: Console) -> None:
    _no_argument("/reset", rest)
    kept = [figures.several(len(session.agent.history), "message")]
    kept += [figures.several(len(session.notes.kept), "note")] if session.notes.kept else []
    old = session.journal.tree.current
    session.reset()
    new, now = session.journal.tree.current, f"under {line(session.spec)} in {session.agent.limit:,} tokens"
    _say(console, f"Branch {new} begins empty, {now}, which starts fresh.")
    _say(console, f"Branch {old} keeps its {' and '.join(kept)}: /tree {old} goes back to it.", "quiet")


def _budget(session: Session, text: str, console: Console) -> None:
    if text:
        session.use_budget(_tokens(text))
        _say(console, f"The budget is {session.agent.limit:,} tokens from the next prompt on.")
    else:
        _say(console, f"The budget is {session.agent.limit:,} tokens of prompt for each call. Change it: /budget 4000")
    _next_prompt(session, console)


def _tokens(text: str) -> int:
    found = re.fullmatch(r"(\d[\d,_ ]{0,30})(k?)", text.lower())
    if not found:
        raise UsageError(f"{text[:40]!r} is not a number of tokens", "write /budget 4000 or /budget 4k")
    return int(re.sub(r"\D", "", found[1])) * (1000 if found[2] else 1)


def _model(session: Session, name: str, console: Console) -> None:
    from models.ollama.errors import DEFAULT_MODEL

    if name:
        session.use_model(name)
        backend = session.agent.backend
        _say(console, f"The model is now {line(figures.model(backend))} ({line(backend.name)}). The history stays.")
        _next_prompt(session, console)
        return
    used, names = figures.model(session.agent.backend), session.models()
    alone = len(names) < 2 and not session.is_played
    if alone and (server := session.look_for_server()):
        names += server.models()  # asked without haste: it answers, or says what is wrong
    rows = [(_marked(model, model == used, console),) for model in names]
    Table("Models to choose from: /model NAME", ("  model",), rows).show(console)
    if alone and len(names) < 2:
        _say(console, f"Only the built-in reader is here. For a model: start Ollama, then /pull {DEFAULT_MODEL}.")


def _pull(session: Session, name: str, console: Console) -> None:
    from models.ollama.errors import DEFAULT_MODEL
    from repl.pull import pull

    if not name or len(name.split()) > 1:
        raise UsageError(
            "/pull takes the name of one model", f"such as /pull {DEFAULT_MODEL}; ollama.com/library has more"
        )
    pull(session, name, console)


def _doctor(session: Session, rest: str, console: Console) -> None:
    from repl.doctor import show

    _no_argument("/doctor", rest)
    if session.is_played:
        raise UsageError("a cassette is played: no server is looked for", "leave, and type thimble doctor")
    show.show(show.look(session.settings, console), console)


def _articles(session: Session, topic: str, console: Console) -> None:
    library = session.library
    found = library.matching(topic) if topic else library.articles
    if not found:
        topics = f"the topics are {', '.join(library.tags)}" if library.tags else "/articles lists them all"
        raise UsageError(f"no article about {topic[:40]!r}", topics)
    rows = [(article.slug, article.title, f"{article.words:,}") for article in found]
    about = f" about {line(topic)}" if topic else ""
    Table(f"{figures.several(len(rows), 'article')}{about}", ("slug", "title", ">words"), rows).show(console)


def _help(session: Session, text: str, console: Console) -> None:
    name, _, topic = text.removeprefix("/").partition(" ")
    name = ALIASES.get(name, name)
    if topic and name == "strategy":
        from repl.catalogue import show_one

        show_one(topic.strip(), console)
        return
    if topic:
        raise UsageError(f"/help takes one command, not {text[:40]!r}", "write /help COMMAND, or /help strategy NAME")
    if name and name not in COMMANDS:
        raise _unknown(name)
    if name:
        command = COMMANDS[name]
        _say(console, f"{command.usage}  {command.summary}")
        if command.more:
            _say(console, command.more, "quiet")
        return
    rows = _rows() if is_drawn(console) else [(command.usage, command.summary) for command in COMMANDS.values()]
    Table("Anything else that you type is asked of the model.", ("command", "what it does"), rows).show(console)
    console.print()
    _say(console, KEYS if is_drawn(console) else PLAIN_KEYS, "quiet")


def _quit(session: Session, rest: str, console: Console) -> None:
    _no_argument("/quit", rest)


def _rows() -> list[tuple[str, str]]:
    """The commands on one screen: those that go together on a line."""
    rows = []
    for name, command in COMMANDS.items():
        family = next((names for names in TOGETHER if name in names), None)
        if family is None:
            rows.append((command.usage, command.summary))
        elif name == family[0]:
            rows.append((" ".join(f"/{each}" for each in family), TOGETHER[family]))
    return rows


KEYS = """\
Enter sends · Ctrl-J, Alt-Enter: new line · Tab completes · Ctrl-R: history
Ctrl-C stops an answer, clears the line · Ctrl-X Ctrl-E: editor · Ctrl-D leaves"""
PLAIN_KEYS = "Enter sends, Ctrl-C stops an answer, Ctrl-D leaves. More on one command: /help COMMAND"

COMMANDS: dict[str, Command] = {
    "strategy": Command(
        "/strategy [SPEC]",
        "list the strategies, or swap to one",
        "A SPEC is a name, a name with parameters (observation-masking:window=4,target=0.6), several joined by + (left "
        "to right), a file of yours (./mine.py) or package.module:Name. The history stays as it is; the new strategy "
        "sees all of it, and remembers nothing of the one before. /help strategy NAME tells all about one.",
        _strategy,
    ),
    "budget": Command(
        "/budget [TOKENS]",
        "show or set the tokens that one prompt may use",
        "System prompt, tool schemas, messages and template all count; the reply does not. From 500 to 2,000,000.",
        _budget,
    ),
    "context": Command(
        "/context [N]",
        "what the last call was sent, message by message",
        "A block a message, as wide as its tokens, lettered by its fate; then a row a message. /context next: the call "
        "that comes next. /context 12: message 12 before and after (+1: the first that was inserted). /context 12-57: "
        "those row by row. /context raw: the exact request.",
        _of("repl.xray.command", "context"),
    ),
    "why": Command(
        "/why N",
        "which rule decided what became of message N",
        "As numbered by /context, in the last call: /why 12, or /why +1 for the first message that was inserted.",
        _of("repl.xray.command", "why"),
    ),
    "stats": Command(
        "/stats",
        "where the tokens are, and what they cost so far",
        "The last prompt by role and by what became of each message; each exchange; what no management would have "
        "cost; and the prompt of each call against the budget. ~ is an estimate, ? is not known.",
        _stats,
    ),
    "compare": Command(
        "/compare [SPEC…]",
        "this session under other strategies, replayed or asked",
        "What this history would have been sent and have cost under each SPEC, had it been in use from the start; by "
        "default the one in use and all that ask no model. /compare [SPEC…] run QUESTION really asks, in a copy of the "
        "session for each. Nothing of it enters the session. Ctrl-C keeps what is done.",
        _of("repl.compare.command", "compare"),
    ),
    "plant": Command(
        "/plant FACT",
        "put a fact into an observation, where facts get lost",
        "As if the model had read it in a file of one line, planted-1.txt. No model is asked; there is no such file.",
        _of("repl.plant", "plant_fact"),
    ),
    "probe": Command(
        "/probe [QUESTION]",
        "ask what is left of a planted fact, outside the session",
        "The model is sent what it would be sent next, without tools, and is asked for the newest planted facts or the "
        "QUESTION. Then the session is replayed under each strategy that asks no model: a cell a call, as long as the "
        "words of the fact stand in the prompt. Ctrl-C keeps what is done.",
        _of("repl.probe.show", "show_probe"),
    ),
    "predict": Command(
        "/predict [GUESS]",
        "guess which messages the next prompt holds as they are",
        "Alone it lists the messages with their numbers. /predict 1-4 9 12: these stay as they are, the others do not; "
        "/predict all and /predict none are guesses too. After the next exchange it is told how right that was, with "
        "every surprise and the rule behind it. A second guess replaces the first; off takes it back.",
        _of("repl.predict", "predict"),
    ),
    "fork": Command(
        "/fork [N] [SPEC]",
        "go on from behind exchange N on a branch of its own",
        "From here by default, from before the first question with 0. Strategy with its memory, budget and model are "
        "those of then; under a SPEC the strategy starts fresh. The branch that is left stays: /tree.",
        _of("repl.branches.moves", "fork"),
    ),
    "tree": Command(
        "/tree [N]",
        "all branches and what they cost, or go to branch N",
        "Each with where it grew from, its strategy, and what it has cost of its own; then the prompts of all calls, "
        "call below call. /tree 2 goes on with branch 2 as it was left.",
        _of("repl.branches.tree", "tree"),
    ),
    "undo": Command(
        "/undo [N]",
        "go back by N exchanges; /tree has what is undone",
        "To right before that question was asked, 1 by default; one that the budget refused does not count. A fact "
        "that was planted behind it goes too. What is undone stays on its branch.",
        _of("repl.branches.moves", "undo"),
    ),
    "retry": Command(
        "/retry [SPEC]",
        "ask the newest question again, on a new branch",
        "From right before it was asked, with the budget and the model of now; under a SPEC, which starts fresh, or "
        "under the strategy of now.",
        _of("repl.branches.moves", "retry"),
    ),
    "sessions": Command(
        "/sessions [WORDS]",
        "list the sessions that are kept, or those with WORDS",
        "The newest first, with the first question of each; WORDS are looked for in every question, name and id.",
        _of("repl.journal.command", "sessions"),
    ),
    "save": Command(
        "/save NAME",
        "give this session a name; it is kept anyway",
        "Then thimble --resume NAME and /load NAME find it. A second name replaces the first.",
        _of("repl.journal.command", "save"),
    ),
    "load": Command(
        "/load ID|NAME",
        "leave this session, and go on with another",
        "By its name, its id or the beginning of that. This one is kept. If it fails, all stays as it was.",
        _of("repl.journal.command", "load"),
    ),
    "export": Command(
        "/export [FILE]",
        "write the session to a file: a page, a picture, text",
        "/export [FORMAT] [FILE]: html, as /export alone writes it, is a page to click through, call by call; the "
        "other formats are svg, md, json and asciicast. The ending of FILE can name the format. A file that is there "
        "stays, unless a ! stands behind its name: /export lesson.html!",
        _of("repl.export.command", "export"),
    ),
    "articles": Command(
        "/articles [TOPIC]",
        "list the articles that the model can read",
        "For you only: what it prints never enters the context.",
        _articles,
    ),
    "model": Command(
        "/model [NAME]",
        "list the models, or change to one",
        '"reader" is built in and needs no server. If the change fails, all stays as it was.',
        _model,
    ),
    "pull": Command(
        "/pull NAME",
        "download a model to the Ollama server",
        "Ctrl-C stops it; the server keeps what it has until it restarts, and the same command goes on there.",
        _pull,
    ),
    "doctor": Command(
        "/doctor",
        "look at servers, model, terminal and folders",
        "With what to type to mend what is wrong, for a session as this one was opened. Nothing is changed.",
        _doctor,
    ),
    "reset": Command(
        "/reset",
        "begin again, empty; strategy, budget and model stay",
        "A branch without history, notes or statistics; the strategy starts fresh. The branch that is left stays as it "
        "was: /tree N goes back to it.",
        _reset,
    ),
    "help": Command("/help [COMMAND]", "this list, or more on one command", "", _help),
    "quit": Command("/quit", "leave (also /exit and Ctrl-D)", "", _quit),
}
TOGETHER = {
    ("context", "why"): "what the last call was sent, and by which rule",
    ("plant", "probe"): "put a fact into the history; ask what is left of it",
    ("fork", "tree"): "go on from an earlier question; all branches",
    ("undo", "retry"): "go back a question; ask it again, as you like",
    ("model", "pull", "doctor"): "choose or download a model; look what is wrong",
    ("sessions", "save", "load"): "list the sessions that are kept; name, open one",
}
"""What commands that share a line of /help do."""
ALIASES = {"exit": "quit", "clear": "reset", "?": "help"}


def _next_prompt(session: Session, console: Console) -> None:
    """What the next prompt will cost, as far as that can be known without asking a model."""
    from repl.forecast import forecast

    next_ = forecast(session)
    tokens = figures.tokens(next_.tokens, session.agent.backend.counter.exact)
    share = figures.share(next_.tokens, next_.limit)
    unless = "" if next_.settled else ", before the strategy has done its work"
    over = " It is over the budget." if next_.tokens > next_.limit else ""
    words = f"The next prompt will hold {tokens} of {next_.limit:,} tokens ({share}){unless}, and your question.{over}"
    _say(console, words, "over" if over and next_.settled else "")


def _marked(name: str, used: bool, console: Console) -> str | Text:
    """A name of several, and whether it is the one in use."""
    if is_drawn(console):
        return Text(f"{'›' if used else ' '} {line(name)}")
    return f"{name} (in use)" if used else name


def _no_argument(command: str, rest: str) -> None:
    if rest:
        raise UsageError(f"{command} takes nothing behind it, not {rest[:40]!r}", f"write {command}")


def _say(console: Console, text: str, style: str = "") -> None:
    console.print(Text(clean(text), style=style))
