"""Which strategy keeps the answers? As `thimble lab run`, but nothing is kept: the store is gone afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from thimble.lab.run import command as run


def main(arguments: Sequence[str], prog: str) -> None:
    """Ask, under `none` if no strategy is named, and print the tables. Raises as `thimble lab run` does."""
    with TemporaryDirectory() as folder:
        run.main(arguments, prog, Path(folder, "answers.jsonl"))
