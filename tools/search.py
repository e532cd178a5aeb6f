"""The tool `search`, over articles and files at once: a small model picks badly between two searches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from agent.messages import Message
from agent.protocols import Embedder, Tool
from corpus.leaning import leans
from corpus.library import Library
from corpus.search import Search
from tools.files import FileTools
from tools.schema import tool
from tools.wording import quoted

PASSAGES = 4
"""The most passages of articles in a result, and the most lines of files."""


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
        hits = articles.find(query, PASSAGES, asked[-2] if len(asked) > 1 and leans(query) else "")
        shown = [(hit.score, f"[{hit.article.slug}] {hit.section.title}: {hit.text}") for hit in hits]
        lines = files.near(query)[:PASSAGES]
        shown += [(line.score, f"[{line.path}:{line.number}] {line.text}") for line in lines]
        if not shown:
            return f"No results for {quoted(query)}."
        best = max(score for score, _ in shown)
        head = "" if best >= articles.enough else f"Nothing fits {quoted(query)} well. The nearest:\n"
        return head + "\n".join(text for _, text in sorted(shown, key=lambda each: -each[0]))

    return [tool(search)]
