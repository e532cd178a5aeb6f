"""The commands: each a function whose docstring is its help. No command and no output of one is sent to a model.

A command is imported when it is run: a new one is a file or a folder beside this one, and a function here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from agent.errors import ThimbleError, UsageError
from repl.commands.command import Command, Run, find
from repl.screen.sanitise import line
from repl.screen.theme import is_drawn, say

if TYPE_CHECKING:
    from session.session import Session

COMMANDS: dict[str, Command] = {}
"""By name, in the order of /help."""


def run_command(session: Session, text: str, console: Console) -> str | None:
    """As `obey`; what is wrong with the command is printed, never raised."""
    try:
        return obey(session, text, console)
    except ThimbleError as error:
        show_error(console, error)
        return ""


def obey(session: Session, text: str, console: Console) -> str | None:
    """Run a line that begins with `/`. The answer is a question to ask next, "" for none, None to leave.

    Raises:
        ThimbleError: there is no such command, or it cannot do this; nothing has changed then.
    """
    word, rest = [*text.split(None, 1), "", ""][:2]
    name = find(word, COMMANDS)
    session.typed(text)
    command, rest = COMMANDS[name], rest.strip()
    if rest and command.usage == f"/{name}":
        raise UsageError(f"/{name} takes no arguments, not {rest[:40]!r}", f"write /{name}")
    return None if name == "quit" else command.run(session, rest, console) or ""


def show_error(console: Console, error: ThimbleError) -> None:
    """One line what is wrong, one line how to mend it."""
    drawn = is_drawn(console)
    say(console, f"{'✗ ' if drawn else 'error: '}{line(error.what)}", "error")
    if error.fix:
        fix = Text(line(error.fix), style="quiet")
        console.print(Padding(fix, (0, 0, 0, 2), expand=False) if drawn else Text("fix: ").append_text(fix))


def command(run: Run) -> Run:
    """Enter a function among the commands, under its own name."""
    COMMANDS[run.__name__] = Command.of(run)
    return run


@command
def strategy(session: Session, text: str, console: Console) -> None:
    """/strategy [SPEC]: list the strategies, or swap to one.

    A SPEC is a name, a name with parameters (observation-masking:window=4,target=0.6), several joined by + (left to
    right), a file of yours (./mine.py) or package.module:Name. The history stays; the new strategy sees all of it
    and remembers nothing of the old one. /help strategy NAME explains one strategy.
    """
    from repl.commands import strategy

    strategy.strategy(session, text, console)


@command
def budget(session: Session, text: str, console: Console) -> None:
    """/budget [TOKENS]: show or set the tokens that one prompt may use.

    System prompt, tool schemas, messages and template all count; the reply does not. From 500 to 2,000,000.
    """
    from repl.commands import budget

    budget.budget(session, text, console)


@command
def context(session: Session, text: str, console: Console) -> None:
    """/context [N]: what the last call was sent, message by message.

    A block for each message, as wide as its tokens, with the letter of its fate; then a row for each message.
    /context next: the next call. /context 12: message 12 before and after (+1: the first inserted one). /context
    12-57: these messages, a row each. /context raw: the exact request.
    """
    from repl.commands.context import context

    context.context(session, text, console)


@command
def why(session: Session, text: str, console: Console) -> None:
    """/why N: which rule decided the fate of message N.

    N is its number in /context, in the last call: /why 12, or /why +1 for the first inserted message.
    """
    from repl.commands.context import context

    context.why(session, text, console)


@command
def stats(session: Session, text: str, console: Console) -> None:
    """/stats: where the tokens are, and what they cost so far.

    The last prompt by role and by fate; each exchange; the cost without any management; and the prompt of each call
    against the budget. ~ is an estimate, ? is unknown.
    """
    from repl.commands import stats

    stats.show_stats(session, text, console)


@command
def compare(session: Session, text: str, console: Console) -> None:
    """/compare [SPEC…]: this session under other strategies, replayed or asked.

    Replays this history under each SPEC, as if that had been in use from the start: size, cost and fates. Without
    SPEC: the strategy in use and all that ask no model. /compare [SPEC…] run QUESTION really asks, in a copy of the
    session for each. Nothing of this enters the session. Ctrl-C keeps the finished rows.
    """
    from repl.commands.compare import compare

    compare.compare(session, text, console)


@command
def plant(session: Session, text: str, console: Console) -> None:
    """/plant FACT: put a fact into an observation, where facts get lost.

    As if the model had read it in a file of one line, planted-1.txt. No model is asked; there is no such file.
    """
    from repl.commands import plant

    plant.plant_fact(session, text, console)


@command
def probe(session: Session, text: str, console: Console) -> None:
    """/probe [QUESTION]: ask what is left of a planted fact, outside the session.

    The model is sent its next prompt, without tools, and is asked for the newest planted facts or the QUESTION.
    Then the session is replayed under each strategy that asks no model: a cell for each call shows whether the
    words of the fact are in the prompt. Ctrl-C keeps the finished rows.
    """
    from repl.commands.probe import show_probe

    show_probe.show_probe(session, text, console)


@command
def predict(session: Session, text: str, console: Console) -> None:
    """/predict [GUESS]: guess which messages the next prompt holds unchanged.

    Without GUESS it lists the messages with their numbers. /predict 1-4 9 12: these stay unchanged, the others do
    not; /predict all and /predict none are guesses too. After the next exchange you see how right the guess was,
    and the rule for every surprise. A second guess replaces the first; off takes it back.
    """
    from repl.commands import predict

    predict.predict(session, text, console)


@command
def fork(session: Session, text: str, console: Console) -> None:
    """/fork [N] [SPEC]: go on after exchange N on a new branch.

    Without N from here; with 0 from before the first question. Strategy with its memory, budget and model are those
    of that moment; with SPEC the strategy starts fresh. The old branch stays: /tree.
    """
    from repl.commands.branches import moves

    moves.fork(session, text, console)


@command
def tree(session: Session, text: str, console: Console) -> None:
    """/tree [N]: all branches and what they cost, or go to branch N.

    For each branch its parent, its strategy and its own cost; then the prompts of all calls, call below call. /tree
    2 goes on with branch 2 as you left it.
    """
    from repl.commands.branches import tree

    tree.tree(session, text, console)


@command
def undo(session: Session, text: str, console: Console) -> None:
    """/undo [N]: go back by N exchanges; /tree still has them.

    Goes back to the moment before that question, one exchange by default; a question that the budget refused does
    not count. Facts planted after it go too. The undone exchanges stay on their branch.
    """
    from repl.commands.branches import moves

    moves.undo(session, text, console)


@command
def retry(session: Session, text: str, console: Console) -> str | None:
    """/retry [SPEC]: ask the newest question again, on a new branch.

    Uses the current budget and model. With SPEC it asks under that strategy, which starts fresh; without, under the
    current one.
    """
    from repl.commands.branches import moves

    return moves.retry(session, text, console)


@command
def sessions(session: Session, text: str, console: Console) -> None:
    """/sessions [WORDS]: list the saved sessions, or those with WORDS.

    The newest first, with the first question of each. WORDS are searched in every question, name and id.
    """
    from repl.commands import sessions

    sessions.sessions(session, text, console)


@command
def save(session: Session, text: str, console: Console) -> None:
    """/save NAME: give this session a name; it is saved anyway.

    Then thimble --resume NAME and /load NAME find it. A second name replaces the first.
    """
    from repl.commands import sessions

    sessions.save(session, text, console)


@command
def load(session: Session, text: str, console: Console) -> None:
    """/load ID|NAME: leave this session, and go on with another.

    By its name, its id or the beginning of the id. This session is saved. If loading fails, nothing changes.
    """
    from repl.commands import sessions

    sessions.load(session, text, console)


@command
def export(session: Session, text: str, console: Console) -> None:
    """/export [FILE]: write the session to a file: a page, a picture, text.

    /export [FORMAT] [FILE]: html, the default, is a page to click through, call by call; the other formats are svg,
    md, json and asciicast. The ending of FILE can name the format. An existing file is replaced only with a ! after
    its name: /export lesson.html!
    """
    from repl.commands.export import export

    export.export(session, text, console)


@command
def articles(session: Session, text: str, console: Console) -> None:
    """/articles [TOPIC]: list the articles that the model can read.

    For you only: the list never enters the context.
    """
    from repl.commands import articles

    articles.articles(session, text, console)


@command
def model(session: Session, text: str, console: Console) -> None:
    """/model [NAME]: list the models, or change to one.

    "reader" is built in and needs no server. If the change fails, nothing changes.
    """
    from repl.commands import model

    model.model(session, text, console)


@command
def pull(session: Session, text: str, console: Console) -> None:
    """/pull NAME: download a model to the Ollama server.

    Ctrl-C stops it; the server keeps its part until it restarts, and the same command goes on from there.
    """
    from repl.commands import pull

    pull.pull(session, text, console)


@command
def doctor(session: Session, text: str, console: Console) -> None:
    """/doctor: check servers, model, terminal and folders.

    Each problem comes with the command that solves it, for a session as this one was opened. Nothing is changed.
    """
    from repl.commands.doctor import doctor

    doctor.command(session, text, console)


@command
def reset(session: Session, text: str, console: Console) -> None:
    """/reset: begin again, empty; strategy, budget and model stay.

    A branch without history, notes or statistics; the strategy starts fresh. The old branch stays: /tree N goes
    back to it.
    """
    from repl.commands.branches import moves

    moves.reset(session, text, console)


@command
def help(session: Session, text: str, console: Console) -> None:
    """/help [COMMAND]: this list, or more on one command."""
    from repl.commands.help import show_help

    show_help(text, COMMANDS, console)


@command
def quit(session: Session, text: str, console: Console) -> None:
    """/quit: leave (also /exit and Ctrl-D)."""
