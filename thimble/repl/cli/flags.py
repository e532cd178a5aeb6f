"""The flags. Nothing heavy is imported here, so that `--help` and `--version` answer at once."""

from __future__ import annotations

import argparse
import os

from thimble.agent.errors import UsageError, did_you_mean
from thimble.repl import __version__
from thimble.session.parser import Parser
from thimble.session.settings_table import SETTINGS

TYPE_CHECKING = False  # as in typing, whose import would cost a quarter of the start
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

COMMANDS = ("config", "doctor", "prepare", "open", "tour")

DESCRIPTION = "A research assistant in the terminal that works within a small token budget."
EPILOG = """\
commands:
  config           print every setting, its value and where it comes from
  doctor           check servers, model, terminal and folders; each problem
                   comes with a fix to type; with --json, one check a line
  prepare          manage the context of another program: read its messages,
                   print the messages to send; thimble prepare --help
  open             open recorded runs of other agents (Claude Code, Codex, pi
                   and others) as sessions: thimble open FILE...
  tour             a guided tour: thimble tour [context|hour|strategies]
  lab              experiments, such as replays of recorded runs; thimble lab
                   lists them
  laws             test your strategy against the laws, and show the smallest
                   history that breaks one: thimble laws ./mine.py
  workshop         twelve exercises in writing a strategy, with checks;
                   thimble workshop --help
  completion       print the script for Tab completion of flags and strategies:
                   source <(thimble completion bash); zsh, fish

To install from a clone: uv tool install ., pipx install . or pip install .
(make run needs none of them). The package is called thimble-agent.

Piped standard input is read as prompts, one per line. A prompt that begins
with / is a command; /help lists them. Flags override the settings of a
resumed session, which override the environment (THIMBLE_*, OLLAMA_HOST,
NO_COLOR), which overrides ./thimble.toml, which overrides the user's config.

Exit codes: 0 done, 1 not answered (or the output pipe was closed), 2 wrong
usage or settings (or standard output is closed or full), 3 no model server,
4 the budget is too small, 5 the model (or the reader) said that it cannot
answer.
"""


USAGE = "thimble [COMMAND] [-p TEXT]... [--json] [options]"


FLAGS: dict[str, dict[str, Any]] = {
    "-p": {
        "metavar": "TEXT",
        "help": "ask TEXT and exit; repeatable; - reads standard input",
        "dest": "prompts",
        "action": "append",
        "default": [],
    },
    "--json": {"action": "store_true", "help": "print JSON Lines, one event per line"},
    "--resume": {
        "metavar": "ID",
        "help": "resume a session, by its id (or the first characters of it), name or file; default: the newest "
        "conversation",
        "nargs": "?",
        "const": "",
    },
    "--record": {"metavar": "FILE", "help": "record the session to a new file"},
    "--replay": {
        "metavar": "FILE",
        "help": "play a recording, without a model: a file, or a built-in one such as reader/hybrid",
    },
    "--live": {
        "metavar": "HOST:PORT",
        "help": "show the session in a browser, as it happens, without names of user, host and folders; default: on "
        "this machine only",
        "nargs": "?",
        "const": "127.0.0.1:0",
    },
    "--warm": {
        "action": "store_true",
        "help": "for doctor: load the model, compute the start of the prompt and ask a question, before a lesson",
    },
    **{setting.flag: setting.argument for setting in SETTINGS.values() if setting.help},
    "--observations": {
        "metavar": "PATTERN",
        "help": "for prepare: a regular expression; user messages that match it count as tool results",
    },
    "--keep-secrets": {"action": "store_true", "help": "for open: do not mask keys and tokens in the files"},
    "--version": {"action": "version", "version": f"thimble {__version__}", "help": "print the version and exit"},
}
"""The arguments of argparse for each flag."""

PREPARE = """\
Reads a conversation as JSON on standard input, a list of chat-completions
messages or an object with messages and tools, and prints the messages to send
to a model: {"messages": [...], "report": {...}}. Kept messages are unchanged;
tokens are counted as --model does."""
PREPARE_USAGE = "thimble prepare [--strategy SPEC] [--budget N] [options] < CONVERSATION"
PREPARE_EPILOG = """\
The strategy runs at every model call of the conversation, as in a session.
The report has strategy, budget, tokens_before, tokens_after, fates (one for
each input message), inserted (indices into the output) and edits (how often
it changed messages that had already been sent); notes list repairs.

Exit codes: 0 done, 1 stopped (or the output pipe was closed), 2 wrong usage,
not a conversation, or standard output is closed or full, 3 no model server,
4 the budget is too small.
"""
PREPARE_FLAGS = {
    "help": "show this and exit",
    "strategy": FLAGS["--strategy"]["help"],
    "budget": "prompt tokens that one model call may use, or none; default: 4000",
    "model": "count tokens as this model does; a strategy that asks a model asks it",
    "backend": "where a strategy's model runs: auto, ollama, vllm, openai, gguf or reader; default: auto",
    "base_url": "the address of that server; default: OLLAMA_HOST, or OPENAI_BASE_URL",
    "embeddings": FLAGS["--embeddings"]["help"],
    "observations": "a regular expression: user messages that match it, after the assistant's, count as tool results",
}


def parse_flags(argv: Sequence[str]) -> argparse.Namespace:
    """Parse the command line: `command`, the name of a `tour`, `prompts`, `json`, and each setting's text, else None.

    `--help` and `--version` print and raise SystemExit.

    Raises:
        UsageError: an unknown flag or command, a missing value, an argument that is not UTF-8.
    """
    for given in argv:
        if any("\ud800" <= char <= "\udfff" for char in given):
            raise UsageError(f"the argument {given!a} is not UTF-8 text", "write it in UTF-8")
    options, rest = parser(prepare=argv[:1] == ["prepare"]).parse_known_args(argv)
    options.command = options.tour = ""
    options.files_to_open = []
    for word in rest:
        if options.command == "open" and not word.startswith("-"):
            options.files_to_open.append(word)
        elif options.command == "tour" and not options.tour and not word.startswith("-"):
            options.tour = word
        elif word not in COMMANDS or options.command:
            raise _unknown(word)
        else:
            options.command = word
    if options.command == "open" and not options.files_to_open:
        raise UsageError("open needs a file", "run thimble open FILE, such as a session in ~/.claude/projects")
    if options.command not in ("", "open") and options.prompts:
        raise UsageError(f"{options.command} takes no prompts", f"run thimble {options.command}, or thimble -p TEXT")
    if options.command and options.resume is not None:
        raise UsageError(
            f"{options.command} cannot resume a session", f"run thimble {options.command} without --resume"
        )
    if options.keep_secrets and options.command != "open":
        raise UsageError("--keep-secrets only applies to open", "run thimble open FILE --keep-secrets")
    if options.warm and options.command != "doctor":
        raise UsageError("--warm only applies to doctor", "run thimble doctor --warm")
    if options.observations and options.command != "prepare":
        raise UsageError("--observations only applies to prepare", "run thimble prepare --observations PATTERN")
    return options


def parser(prepare: bool) -> _Parser:
    """The parser of the flags, with the help of `thimble` or of `thimble prepare`."""
    usage, description, epilog = (PREPARE_USAGE, PREPARE, PREPARE_EPILOG) if prepare else (USAGE, DESCRIPTION, EPILOG)
    made = _Parser(
        prog="thimble",
        usage=usage,
        description=description,
        epilog=epilog,
        formatter_class=_Formatter,
        allow_abbrev=False,
        add_help=False,
    )
    actions = [made.add_argument("-h", "--help", action="help", help="show this help message and exit")]
    actions += [made.add_argument(flag, **how) for flag, how in FLAGS.items()]
    for action in actions if prepare else ():
        action.help = PREPARE_FLAGS.get(action.dest, argparse.SUPPRESS)
    return made


class _Parser(Parser):
    """Raises a UsageError for a wrong command line instead of exiting."""

    def error(self, message: str) -> NoReturn:
        flag, _, problem = message.removeprefix("argument ").partition(": ")
        if problem == "expected one argument":
            apart, attached = ("-p TEXT", "-pTEXT") if flag == "-p" else (f"{flag} VALUE", f"{flag}=VALUE")
            raise UsageError(f"{flag} needs a value", f"write {apart}, or {attached} if the value begins with a dash")
        if problem.startswith("ignored explicit argument"):
            raise UsageError(f"{flag} takes no value", f"write {flag} alone")
        super().error(message)


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """As wide as the terminal, up to 100 columns. argparse's own measuring imports modules: an eighth of the start."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=21, width=min(_columns(), 100) - 2)


def _columns() -> int:
    asked = os.environ.get("COLUMNS", "")
    if asked.isdecimal() and len(asked) < 9 and int(asked):
        return int(asked)
    try:
        return os.get_terminal_size().columns or 80
    except OSError:
        return 80


def _unknown(word: str) -> UsageError:
    name, lists = word.partition("=")[0], "thimble --help lists them all"
    if word.startswith("-"):
        return UsageError(f"there is no flag {name}", did_you_mean(name, [*FLAGS, "--help"], lists))
    asks = f'thimble --help lists the commands; to ask a question: thimble -p "{word} ..."'
    return UsageError(f"there is no command {name!r}", did_you_mean(name, COMMANDS) or asks)
