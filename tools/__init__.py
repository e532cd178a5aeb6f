"""The tools: what the model may call."""

from __future__ import annotations

from pathlib import Path

from agent.protocols import Tool
from corpus.library import Library
from tools.articles import article_tools
from tools.files import file_tools
from tools.notes import Notes, note_tools


def toolbox(library: Library, files_root: Path, notes: Notes) -> dict[str, Tool]:
    """Every tool by its name, in the order in which the model is told of them: one row a file of this room."""
    table = (
        article_tools(library),
        file_tools(files_root),
        note_tools(notes),
    )
    return {tool.name: tool for tools in table for tool in tools}
