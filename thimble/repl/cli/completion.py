"""Completion in the shell: `thimble completion bash` prints the script to source, by argcomplete."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from thimble.agent.errors import ThimbleError, UsageError
from thimble.repl.cli.flags import COMMANDS, parser

SHELLS = ("bash", "zsh", "fish")


def shell_code(words: Sequence[str]) -> str:
    """The script that a shell sources. Raises UsageError for an unknown shell."""
    from argcomplete.shell_integration import shellcode

    if len(words) != 1 or words[0] not in SHELLS:
        raise UsageError(f"completion takes one of {', '.join(SHELLS)}", "write thimble completion bash")
    return shellcode(["thimble"], shell=words[0])


def complete() -> None:
    """Print the completions for the shell, and exit."""
    import argcomplete

    known = parser(prepare=False)
    known.add_argument("command", nargs="?", choices=(*COMMANDS, "completion", "lab", "laws", "workshop"))
    for action in known._actions:
        if action.dest == "strategy":
            action.completer = _specs  # type: ignore[attr-defined]
        elif action.dest == "replay":
            action.completer = _recordings  # type: ignore[attr-defined]
    argcomplete.autocomplete(known, always_complete_options="long")


def _specs(prefix: str, **_: object) -> Iterable[str]:
    from thimble.repl.commands.strategy import specs

    try:
        return [offer for offer, _ in specs(None, prefix) if offer.startswith(prefix)]
    except ThimbleError:
        return ()


def _recordings(prefix: str, **_: object) -> Iterable[str]:
    from argcomplete.completers import FilesCompleter

    from thimble.repl.cli.recordings import list_shipped

    return [*list_shipped(), *FilesCompleter()(prefix)]
