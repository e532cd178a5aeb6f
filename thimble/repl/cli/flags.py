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

DESCRIPTION = "A research assistant in the terminal that thinks inside a small token budget."
EPILOG = """\
commands:
  config           print every setting, its value and where it comes from
  doctor           look at servers, model, terminal and folders, and say what
                   to type to mend what is wrong; with --json a check a line
  prepare          manage the context of any program: its messages in, what to
                   send out; thimble prepare --help
  open             a session of each recorded run of another agent (Claude Code,
                   Codex, pi and others) in files: thimble open FILE...
  tour             a lesson that leads: thimble tour [context|hour|strategies]
  lab              experiments, such as a replay of recorded runs; lists them
  laws             try the laws of all strategies on one of yours, and show the
                   smallest history that breaks one: thimble laws ./mine.py
  workshop         twelve exercises in writing a strategy, which check
                   themselves; thimble workshop --help
  completion       print what a shell sources, so that Tab completes flags and
                   strategies: source <(thimble completion bash); zsh, fish

To install from a clone: uv tool install ., pipx install . or pip install .
(make run needs none of them). The package is called thimble-agent.

Piped standard input is read as prompts, one a line. A prompt that begins with
/ is a command; /help lists them. Settings come from flags, then the session
that is resumed, then environment (THIMBLE_*, OLLAMA_HOST, NO_COLOR), then
./thimble.toml, then the user's config.

Exit codes: 0 done, 1 not answered (or nobody reads the output), 2 wrong usage
or settings (or standard output is closed or full), 3 no model server, 4 the
budget is too small, 5 the model (or the reader) said that it cannot answer.
"""


USAGE = "thimble [COMMAND] [-p TEXT]... [--json] [options]"


FLAGS: dict[str, dict[str, Any]] = {
    "-p": {
        "metavar": "TEXT",
        "help": "ask this and exit; repeatable; - reads standard input",
        "dest": "prompts",
        "action": "append",
        "default": [],
    },
    "--json": {"action": "store_true", "help": "standard output is JSON Lines, one event a line"},
    "--resume": {
        "metavar": "ID",
        "help": "go on with a session: its id, the beginning of it, its name or its file; default: the newest "
        "conversation",
        "nargs": "?",
        "const": "",
    },
    "--record": {"metavar": "FILE", "help": "put the session on a cassette, a new file"},
    "--replay": {
        "metavar": "FILE",
        "help": "play a cassette, without any model; by its name one that ships, such as reader/hybrid",
    },
    "--live": {
        "metavar": "HOST:PORT",
        "help": "show the session in a browser as it happens, with nothing private; alone, to this machine only",
        "nargs": "?",
        "const": "127.0.0.1:0",
    },
    "--warm": {
        "action": "store_true",
        "help": "of doctor: load the model, compute the beginning of the prompt and ask a question, before a lesson",
    },
    **{setting.flag: setting.argument for setting in SETTINGS.values() if setting.help},
    "--observations": {
        "metavar": "PATTERN",
        "help": "of prepare: a regular expression; user messages that match it are results of a tool",
    },
    "--keep-secrets": {"action": "store_true", "help": "of open: do not mask keys and tokens in the files"},
    "--version": {"action": "version", "version": f"thimble {__version__}", "help": "print the version and exit"},
}
"""The arguments of argparse for each flag."""

PREPARE = """\
Reads a conversation as JSON on standard input, a list of chat-completions
messages or an object with messages and tools, and writes what a model should
be sent: {"messages": [...], "report": {...}}. Kept messages come out as they
went in; tokens are those of --model."""
PREPARE_USAGE = "thimble prepare [--strategy SPEC] [--budget N] [options] < CONVERSATION"
PREPARE_EPILOG = """\
The strategy is asked at every model call that the conversation tells of, as
in a session. The report has strategy, budget, tokens_before, tokens_after,
fates (one for each message that went in), inserted (places in the output) and
edits (how often what had been sent was changed); notes say what was mended.

Exit codes: 0 done, 1 stopped (or nobody reads the output), 2 wrong usage, not a
conversation, or standard output is closed or full, 3 no model server, 4 the
budget is too small.
"""
PREPARE_FLAGS = {
    "help": "show this and exit",
    "strategy": FLAGS["--strategy"]["help"],
    "budget": "prompt tokens that one model call may use, or none; default: 4000",
    "model": "count tokens as this model does; a strategy that asks a model asks it",
    "backend": "whom such a strategy asks: auto, ollama, vllm, openai, gguf or reader; default: auto",
    "base_url": "where that server is; default: OLLAMA_HOST, or OPENAI_BASE_URL",
    "embeddings": FLAGS["--embeddings"]["help"],
    "observations": "a regular expression: user messages that match it, behind the assistant's, are results of a tool",
}


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The flags that were given: `command`, the name of a `tour`, `prompts`, `json`, and each setting's text.

    Of a setting that is not given it is None.
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
        raise UsageError("open names no file", "run thimble open FILE, such as a session in ~/.claude/projects")
    if options.command not in ("", "open") and options.prompts:
        raise UsageError(f"{options.command} takes no prompts", f"run thimble {options.command}, or thimble -p TEXT")
    if options.command and options.resume is not None:
        raise UsageError(f"{options.command} resumes no session", f"run thimble {options.command} without --resume")
    if options.keep_secrets and options.command != "open":
        raise UsageError("--keep-secrets belongs to open", "run thimble open FILE --keep-secrets")
    if options.warm and options.command != "doctor":
        raise UsageError("--warm belongs to the doctor", "run thimble doctor --warm")
    if options.observations and options.command != "prepare":
        raise UsageError("--observations belongs to prepare", "run thimble prepare --observations PATTERN")
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
    """Says what is wrong as a UsageError instead of leaving by itself."""

    def error(self, message: str) -> NoReturn:
        flag, _, problem = message.removeprefix("argument ").partition(": ")
        if problem == "expected one argument":
            apart, attached = ("-p TEXT", "-pTEXT") if flag == "-p" else (f"{flag} VALUE", f"{flag}=VALUE")
            raise UsageError(f"{flag} needs a value", f"write {apart}, or {attached} where it begins with a dash")
        if problem.startswith("ignored explicit argument"):
            raise UsageError(f"{flag} takes no value", f"write {flag} alone")
        super().error(message)


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """As wide as the terminal, up to 100 columns; what argparse imports to find out costs an eighth of the start."""

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
    name, lists = word.partition("=")[0], "thimble --help lists what there is"
    if word.startswith("-"):
        return UsageError(f"there is no flag {name}", did_you_mean(name, [*FLAGS, "--help"], lists))
    asks = f'to ask a question: thimble -p "{word} ..."'
    return UsageError(f"there is no command {name!r}", did_you_mean(name, COMMANDS) or asks)
