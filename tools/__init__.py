"""The tools: what the model may call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from agent.messages import Message
from agent.protocols import Tool
from corpus.library import Library
from tools.articles import article_tools
from tools.delegate import delegate_tools
from tools.files import file_tools
from tools.notes import Notes, note_tools
from tools.recall import recall_tools


def toolbox(library: Library, files_root: Path, notes: Notes) -> dict[str, Tool]:
    """Every tool by its name, in the order in which the model is told of them: one row a file of this room."""
    table = (
        article_tools(library),
        file_tools(files_root),
        note_tools(notes),
    )
    return {tool.name: tool for tools in table for tool in tools}


def on_demand(history: Callable[[], Sequence[Message]], brief: Callable[[str], str]) -> dict[str, Tool]:
    """The tools that a model is offered only with a strategy that names them.

    Args:
        history: the messages of the session as they are now.
        brief: does a reading task and reports on it.
    """
    table = (
        recall_tools(history),
        delegate_tools(brief),
    )
    return {tool.name: tool for tools in table for tool in tools}
