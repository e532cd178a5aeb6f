"""The commands: what can be said to thimble itself. None of it, nor what it prints, is ever sent to a model."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from agent.errors import ThimbleError, UsageError
from repl.screen.sanitise import line
from repl.screen.theme import is_drawn, say

if TYPE_CHECKING:
    from session.session import Session


@dataclass(frozen=True, slots=True)
class Command:
    """A command: how it is written, what it does in one line, and more on it for /help COMMAND.

    `run` names what runs it, imported when it is used: a function of session, the text behind the command, console.
    """

    usage: str
    summary: str
    more: str
    run: str


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
    name = named(word)
    session.typed(text)
    command, rest = COMMANDS[name], rest.strip()
    if rest and command.usage == f"/{name}":
        raise UsageError(f"/{name} takes nothing behind it, not {rest[:40]!r}", f"write /{name}")
    if name == "quit":
        return False
    module, _, function = command.run.rpartition(".")
    getattr(import_module(f"repl.commands.{module}"), function)(session, rest, console)
    return True


def named(word: str) -> str:
    """The command that is called so, its `/` left off or not. Raises UsageError, with the nearest that there is."""
    name = word.removeprefix("/")
    name = ALIASES.get(name, name)
    if name not in COMMANDS:
        near = get_close_matches(name.lower(), [*COMMANDS, *ALIASES], 1, cutoff=0.5)
        hint = f"did you mean /{near[0]}? " if near else ""
        raise UsageError(f"there is no command /{name[:40]}", f"{hint}/help lists the commands; nothing was sent")
    return name


def show_error(console: Console, error: ThimbleError) -> None:
    """One line what is wrong, one line how to mend it."""
    drawn = is_drawn(console)
    say(console, f"{'✗ ' if drawn else 'error: '}{line(error.what)}", "error")
    if error.fix:
        fix = Text(line(error.fix), style="quiet")
        console.print(Padding(fix, (0, 0, 0, 2), expand=False) if drawn else Text("fix: ").append_text(fix))


COMMANDS: dict[str, Command] = {
    "strategy": Command(
        "/strategy [SPEC]",
        "list the strategies, or swap to one",
        "A SPEC is a name, a name with parameters (observation-masking:window=4,target=0.6), several joined by + (left "
        "to right), a file of yours (./mine.py) or package.module:Name. The history stays as it is; the new strategy "
        "sees all of it, and remembers nothing of the one before. /help strategy NAME tells all about one.",
        "swap.strategy",
    ),
    "budget": Command(
        "/budget [TOKENS]",
        "show or set the tokens that one prompt may use",
        "System prompt, tool schemas, messages and template all count; the reply does not. From 500 to 2,000,000.",
        "swap.budget",
    ),
    "context": Command(
        "/context [N]",
        "what the last call was sent, message by message",
        "A block a message, as wide as its tokens, lettered by its fate; then a row a message. /context next: the call "
        "that comes next. /context 12: message 12 before and after (+1: the first that was inserted). /context 12-57: "
        "those row by row. /context raw: the exact request.",
        "context.command.context",
    ),
    "why": Command(
        "/why N",
        "which rule decided what became of message N",
        "As numbered by /context, in the last call: /why 12, or /why +1 for the first message that was inserted.",
        "context.command.why",
    ),
    "stats": Command(
        "/stats",
        "where the tokens are, and what they cost so far",
        "The last prompt by role and by what became of each message; each exchange; what no management would have "
        "cost; and the prompt of each call against the budget. ~ is an estimate, ? is not known.",
        "stats.show_stats",
    ),
    "compare": Command(
        "/compare [SPEC…]",
        "this session under other strategies, replayed or asked",
        "What this history would have been sent and have cost under each SPEC, had it been in use from the start; by "
        "default the one in use and all that ask no model. /compare [SPEC…] run QUESTION really asks, in a copy of the "
        "session for each. Nothing of it enters the session. Ctrl-C keeps what is done.",
        "compare.command.compare",
    ),
    "plant": Command(
        "/plant FACT",
        "put a fact into an observation, where facts get lost",
        "As if the model had read it in a file of one line, planted-1.txt. No model is asked; there is no such file.",
        "plant.plant_fact",
    ),
    "probe": Command(
        "/probe [QUESTION]",
        "ask what is left of a planted fact, outside the session",
        "The model is sent what it would be sent next, without tools, and is asked for the newest planted facts or the "
        "QUESTION. Then the session is replayed under each strategy that asks no model: a cell a call, as long as the "
        "words of the fact stand in the prompt. Ctrl-C keeps what is done.",
        "probe.show.show_probe",
    ),
    "predict": Command(
        "/predict [GUESS]",
        "guess which messages the next prompt holds as they are",
        "Alone it lists the messages with their numbers. /predict 1-4 9 12: these stay as they are, the others do not; "
        "/predict all and /predict none are guesses too. After the next exchange it is told how right that was, with "
        "every surprise and the rule behind it. A second guess replaces the first; off takes it back.",
        "predict.predict",
    ),
    "fork": Command(
        "/fork [N] [SPEC]",
        "go on from behind exchange N on a branch of its own",
        "From here by default, from before the first question with 0. Strategy with its memory, budget and model are "
        "those of then; under a SPEC the strategy starts fresh. The branch that is left stays: /tree.",
        "branches.moves.fork",
    ),
    "tree": Command(
        "/tree [N]",
        "all branches and what they cost, or go to branch N",
        "Each with where it grew from, its strategy, and what it has cost of its own; then the prompts of all calls, "
        "call below call. /tree 2 goes on with branch 2 as it was left.",
        "branches.tree.tree",
    ),
    "undo": Command(
        "/undo [N]",
        "go back by N exchanges; /tree has what is undone",
        "To right before that question was asked, 1 by default; one that the budget refused does not count. A fact "
        "that was planted behind it goes too. What is undone stays on its branch.",
        "branches.moves.undo",
    ),
    "retry": Command(
        "/retry [SPEC]",
        "ask the newest question again, on a new branch",
        "From right before it was asked, with the budget and the model of now; under a SPEC, which starts fresh, or "
        "under the strategy of now.",
        "branches.moves.retry",
    ),
    "sessions": Command(
        "/sessions [WORDS]",
        "list the sessions that are kept, or those with WORDS",
        "The newest first, with the first question of each; WORDS are looked for in every question, name and id.",
        "sessions.sessions",
    ),
    "save": Command(
        "/save NAME",
        "give this session a name; it is kept anyway",
        "Then thimble --resume NAME and /load NAME find it. A second name replaces the first.",
        "sessions.save",
    ),
    "load": Command(
        "/load ID|NAME",
        "leave this session, and go on with another",
        "By its name, its id or the beginning of that. This one is kept. If it fails, all stays as it was.",
        "sessions.load",
    ),
    "export": Command(
        "/export [FILE]",
        "write the session to a file: a page, a picture, text",
        "/export [FORMAT] [FILE]: html, as /export alone writes it, is a page to click through, call by call; the "
        "other formats are svg, md, json and asciicast. The ending of FILE can name the format. A file that is there "
        "stays, unless a ! stands behind its name: /export lesson.html!",
        "export.command.export",
    ),
    "articles": Command(
        "/articles [TOPIC]",
        "list the articles that the model can read",
        "For you only: what it prints never enters the context.",
        "help.articles",
    ),
    "model": Command(
        "/model [NAME]",
        "list the models, or change to one",
        '"reader" is built in and needs no server. If the change fails, all stays as it was.',
        "swap.model",
    ),
    "pull": Command(
        "/pull NAME",
        "download a model to the Ollama server",
        "Ctrl-C stops it; the server keeps what it has until it restarts, and the same command goes on there.",
        "pull.pull",
    ),
    "doctor": Command(
        "/doctor",
        "look at servers, model, terminal and folders",
        "With what to type to mend what is wrong, for a session as this one was opened. Nothing is changed.",
        "doctor.show.command",
    ),
    "reset": Command(
        "/reset",
        "begin again, empty; strategy, budget and model stay",
        "A branch without history, notes or statistics; the strategy starts fresh. The branch that is left stays as it "
        "was: /tree N goes back to it.",
        "branches.moves.reset",
    ),
    "help": Command("/help [COMMAND]", "this list, or more on one command", "", "help.help_"),
    "quit": Command("/quit", "leave (also /exit and Ctrl-D)", "", ""),
}
ALIASES = {"exit": "quit", "clear": "reset", "?": "help"}
