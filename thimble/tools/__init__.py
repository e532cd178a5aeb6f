"""The tools that the model may call. Each is imported when it is made, so the first prompt need not wait."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from thimble.agent.messages import Message
from thimble.agent.protocols import Embedder, Tool

if TYPE_CHECKING:
    from thimble.corpus.library import Library
    from thimble.tools.notebook import Notebook


def toolbox(library: Library, files_root: Path, notes: Notebook, embedder: Embedder | None = None) -> dict[str, Tool]:
    """Every tool by its name, in the order in which the model gets them: one row a file of this room."""
    from thimble.tools.articles import article_tools
    from thimble.tools.files import file_tools
    from thimble.tools.map import map_tools
    from thimble.tools.notes import note_tools

    table = (
        article_tools(library, embedder),
        map_tools(library),
        file_tools(files_root, embedder),
        note_tools(notes),
    )
    return {tool.name: tool for tools in table for tool in tools}


def everyday(
    library: Library, files_root: Path, embedder: Embedder | None, history: Callable[[], Sequence[Message]]
) -> dict[str, Tool]:
    """The few tools of a model that calls by schema: search, list and read."""
    from thimble.tools.sources import source_tools

    return {tool.name: tool for tool in source_tools(library, files_root, embedder, history)}


def on_demand(history: Callable[[], Sequence[Message]], brief: Callable[[str], str]) -> dict[str, Tool]:
    """The tools offered to a model only with a strategy that names them.

    Args:
        history: returns the current messages of the session.
        brief: does a reading task and returns a report.
    """
    from thimble.tools.delegate import delegate_tools
    from thimble.tools.recall import recall_tools
    from thimble.tools.todo import todo_tools

    table = (
        recall_tools(history),
        delegate_tools(brief),
        todo_tools(),
    )
    return {tool.name: tool for tools in table for tool in tools}
