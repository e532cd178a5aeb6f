"""Completion with Tab: commands and their arguments; in a question, articles and files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from thimble.agent.errors import ThimbleError
from thimble.corpus.safe_open import open_below, walk_folder
from thimble.repl.screen.sanitise import clean, one_line

if TYPE_CHECKING:
    from thimble.repl.commands.command import Offer
    from thimble.session.session import Session

MIN_LETTERS = 3
"""Letters after which Tab completes names of articles and files in a question."""
MAX_FILES = 2_000


class Completions(Completer):
    """Completes the text before the cursor."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """The completions at the cursor, without those that are unsafe to print."""
        try:
            start, offers = self._offers(document.text_before_cursor)
            done = max(start.rfind(mark) for mark in "+:,= ") + 1  # display only the new end of a long SPEC
            for offer, meaning in offers:
                if offer.startswith(start) and offer.isprintable() and clean(offer) == offer:
                    yield Completion(offer, -len(start), display=offer[done:], display_meta=one_line(meaning))
        except (ThimbleError, OSError):
            return

    def _offers(self, text: str) -> tuple[str, Iterable[Offer]]:
        if not text.startswith("/"):
            word = text.split()[-1] if text and not text[-1].isspace() else ""
            return word, self._names() if len(word) >= MIN_LETTERS else ()
        from thimble.repl.commands.table import COMMANDS

        word, space, rest = text.partition(" ")
        if not space:
            return word, [(f"/{name}", command.summary) for name, command in COMMANDS.items()]
        command, rest = COMMANDS.get(word[1:]), rest.lstrip()
        return rest, command.completer(self._session, rest) if command else ()

    def _names(self) -> Iterator[Offer]:
        """Names that a question may contain: articles, then files."""
        articles = () if self._session.reading.words else self._session.library.articles
        yield from ((article.slug, article.title) for article in articles)
        yield from ((path, "file") for path in islice(_files(self._session.settings.files), MAX_FILES))


def _files(root: Path) -> Iterator[str]:
    """Paths below a folder, relative to it, without hidden ones; links are not followed."""
    with suppress(OSError), open_below(root, ()) as top:
        for parts, status in walk_folder(top, lambda name, is_folder: not name.startswith(".")):
            if not isinstance(status, OSError):
                yield "/".join(parts)
