"""The tools that the model may call. Each is imported when it is made, so the first prompt need not wait.

An installed package adds others, each a typed function with a docstring, as entry points of the group `thimble.tools`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thimble.agent.errors import ToolError, UsageError
from thimble.agent.messages import Message
from thimble.agent.protocols import Embedder, Tool
from thimble.plugins import load_plugin, plugin_error, plugin_label, plugins

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from thimble.corpus.library import Library
    from thimble.tools.notebook import Notebook


def toolbox(library: Library, files_root: Path, notes: Notebook, embedder: Embedder | None = None) -> dict[str, Tool]:
    """Every tool by its name, in the order in which the model gets them: one row per file of this room."""
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


def small_model_tools(
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


def load_installed(built_in: Container[str]) -> tuple[dict[str, Tool], list[str]]:
    """The tools of installed packages by name, and a line for each that cannot be used.

    An exception in such a tool goes to the model as a ToolError.
    """
    tools: dict[str, Tool] = {}
    problems = []
    for plugin in plugins("tools").values():
        try:
            made = _tool(plugin)
        except UsageError as error:
            problems.append(f"The tool {error.what}.")
            continue
        if made.name in built_in:
            problems.append(f"The tool {plugin_label(plugin)} is not used: a built-in tool has this name.")
        else:
            tools[made.name] = made
    return tools, problems


def _tool(plugin: EntryPoint) -> Tool:
    from thimble.tools.schema import tool

    function = load_plugin(plugin)
    if not callable(function):
        raise plugin_error(plugin, TypeError("it is not a function"))

    @wraps(function)
    def guarded(**arguments: Any) -> str:
        try:
            return str(function(**arguments))
        except ToolError:
            raise
        except Exception as error:
            raise ToolError(f"{plugin_label(plugin)} failed: {type(error).__name__}: {error}") from error

    try:
        made = tool(guarded)
        _ = made.schema  # reads its types
    except Exception as error:
        raise plugin_error(plugin, error) from error
    return made
