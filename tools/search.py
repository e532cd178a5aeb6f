"""The tool `search`, over articles and files at once: a small model picks badly between two searches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from thimble.agent.messages import Message
from thimble.agent.protocols import Embedder, Tool
from thimble.corpus.article import OPENING
from thimble.corpus.leaning import leans
from thimble.corpus.library import Library
from thimble.corpus.search import Search
from thimble.tools.files import FileTools
from thimble.tools.schema import tool
from thimble.tools.wording import quoted

HITS = 4
"""The passages of articles, and the lines of files, that are looked at."""
SHOWN, SHARE, OF_FILE = 6, 0.45, 0.8
"""The most pieces of a result; the least score of one, of that of the best; what the score of a file's line counts."""
SUMMARIES = 2
"""The articles whose summary is shown instead of their opening."""


def search_tools(
    library: Library, files_root: Path, embedder: Embedder | None, history: Callable[[], Sequence[Message]]
) -> list[Tool]:
    """The tool bound to one library and one folder; `history` returns the current messages of the session."""
    articles, files = Search(library, embedder), FileTools(files_root, embedder)

    def search(query: str) -> str:
        """Find what articles and files say.

        Args:
            query: The whole question, with every name in it.
        """
        asked = [message.content for message in history() if message.role == "user"]
        hits = articles.find(query, HITS, asked[-2] if len(asked) > 1 and leans(query) else "")
        best_of = {hit.article.slug: hit for hit in reversed(hits)}
        summed = [*reversed(best_of.values())][:SUMMARIES]
        found = [
            (hit.score, f"[{hit.article.slug}] {hit.section.title}: {hit.text}")
            for hit in hits
            if hit.section.title != OPENING or best_of[hit.article.slug] not in summed
        ]
        found += [(hit.score, f"[{hit.article.slug}] {hit.article.title}: {hit.article.summary}") for hit in summed]
        found += [
            (OF_FILE * line.score, f"[{line.path}:{line.number}] {line.text}") for line in files.near(query)[:HITS]
        ]
        if not found:
            return f"No results for {quoted(query)}."
        found.sort(key=lambda each: -each[0])
        shown = [text for score, text in found if score >= SHARE * found[0][0]][:SHOWN]
        head = [] if found[0][0] >= articles.enough else [f"Nothing fits {quoted(query)} well. The nearest:"]
        return "\n".join([*head, *reversed(shown)])  # the best at the end, where a small model reads best

    return [tool(search)]
