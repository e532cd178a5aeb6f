"""A parser of the command line that raises UsageError for a mistake and never exits by itself."""

from __future__ import annotations

import argparse

from thimble.agent.errors import UsageError

TYPE_CHECKING = False  # as in typing, whose import would cost a quarter of the start of `--help`
if TYPE_CHECKING:
    from typing import Any, NoReturn


class Parser(argparse.ArgumentParser):
    """Raises OSError if its help cannot be written; argparse ignores that and exits with code 0."""

    def error(self, message: str) -> NoReturn:
        """Raise UsageError."""
        raise UsageError(message, f"{self.prog} --help lists the flags")

    def _print_message(self, message: str, file: Any = None) -> None:
        if message and file:
            file.write(message)
