"""The tools of a model that calls by schema: search, list and read, over articles and files alike.

A small model picks badly between twins, such as one tool that reads articles and one that reads files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from thimble.agent.errors import ToolError, UsageError
from thimble.agent.messages import Message
from thimble.agent.protocols import Embedder, Tool
from thimble.corpus.library import Library
from thimble.corpus.observations import CITED_LINE, NO_RESULTS, NOTHING_FITS, PAGE_REST, SECTIONS_LINE
from thimble.corpus.question_form import needs_context
from thimble.corpus.search import Search
from thimble.tools.articles import ArticleTools
from thimble.tools.files import FileTools
from thimble.tools.schema import tool
from thimble.tools.wording import count_noun, quote

PIECES, SHARE, OF_FILE = 3, 0.45, 0.8
"""The most pieces of a result; their least score, as a share of the best; the weight of the score of a file's line."""
LISTED, NEAR = 60, 8
"""The most names in a list, and the articles listed as near a topic that few articles are about."""
NAMES = 400
"""The most names that a schema lists; in a larger library any name may be written."""


def source_tools(
    library: Library, files_root: Path, embedder: Embedder | None, history: Callable[[], Sequence[Message]]
) -> list[Tool]:
    """The tools bound to one library and one folder; `history` returns the current messages of the session."""
    tools = SourceTools(library, files_root, embedder, history)
    names = tools.names()
    known = {"name": names} if len(names) <= NAMES else {}
    return [tool(tools.search), tool(tools.list), tool(tools.read, known=known)]


class SourceTools:
    """The tools of a small model. It reads the docstrings of the methods."""

    def __init__(
        self,
        library: Library,
        files_root: Path,
        embedder: Embedder | None,
        history: Callable[[], Sequence[Message]],
    ) -> None:
        self._library, self._history = library, history
        self._search = Search(library, embedder)
        self._articles, self._files = ArticleTools(library, embedder), FileTools(files_root, embedder)

    def names(self) -> Sequence[str]:
        """The slugs of the articles and the paths of the files."""
        return [*(article.slug for article in self._library.articles), *self._files.paths()]

    def search(self, query: str) -> str:
        """Find what articles and files say.

        Args:
            query: The whole question, with every name in it.
        """
        asked = [message.content for message in self._history() if message.role == "user"]
        earlier = asked[-2] if len(asked) > 1 and needs_context(query) else ""
        found = [
            (hit.score, CITED_LINE.written(source=hit.article.slug, text=f"{hit.section.title}: {hit.text}"))
            for hit in self._search.find(query, PIECES, earlier)
        ]
        found += [
            (OF_FILE * line.score, CITED_LINE.written(source=f"{line.path}:{line.number}", text=line.text))
            for line in self._files.near(query)[:PIECES]
        ]
        if not found:
            return NO_RESULTS.written(query=quote(query))
        found.sort(key=lambda each: -each[0])
        best = found[0][0]
        if best < self._search.min_score:
            return f"{NOTHING_FITS.written(query=quote(query))}\n{found[0][1]}"
        shown = [text for score, text in found if score >= SHARE * best][:PIECES]
        return "\n".join(reversed(shown))  # the best at the end, where a small model reads best

    def list(self, topic: str = "") -> str:
        """List articles and files.

        Args:
            topic: What they are about, "" for all.
        """
        topic = topic.replace("-", " ").strip()  # a small model writes a topic as it saw names written
        articles = self._articles.about(topic, NEAR) if topic else self._library.articles
        paths = [] if topic else self._files.paths()
        if not (articles or paths):
            return NO_RESULTS.written(query=quote(topic))
        lines = [f"[{article.slug}] {article.title}" for article in articles] + [f"[{path}]" for path in paths]
        about = f" about {quote(topic)}" if topic else ""
        head = count_noun(len(articles), "article") + (f", {count_noun(len(paths), 'file')}" if paths else "") + about
        more = len(lines) - LISTED
        return "\n".join([head, *lines[:LISTED], *([f"… and {more:,} more"] if more > 0 else ())])

    def read(self, name: str) -> str:
        """Read an article or a file.

        Args:
            name: Its name, in brackets in a list.
        """
        if name in self._files.paths():
            return self._files.read_file(name)
        try:
            return _without_hints(self._articles.read_article(self._library.find(name).slug))
        except UsageError as error:
            try:
                return self._files.read_file(name)
            except ToolError:
                raise ToolError(f"{error.what}; nor is there such a file") from error


def _without_hints(page: str) -> str:
    """A page without its section titles, which a small model repeats as an answer, and without calls it cannot make."""
    return "\n".join(line for line in page.split("\n") if not (SECTIONS_LINE.read(line) or PAGE_REST.read(line)))
