"""Load strategies, tools and backends of installed packages from entry points.

A package declares them in its pyproject.toml, in the groups `thimble.strategies`, `thimble.tools`, `thimble.backends`:

    [project.entry-points."thimble.strategies"]
    oldest = "thimble_oldest:Oldest"

Entry points are only searched for names that are not built in; a built-in name always wins.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from thimble.agent.errors import UsageError, in_words

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@cache
def plugins(kind: Literal["strategies", "tools", "backends"]) -> Mapping[str, EntryPoint]:
    """The entry points of a group, sorted by name; of two with one name, the first on the path. Imports no package."""
    from importlib.metadata import entry_points  # imported late: it takes some 10 ms

    found = {one.name: one for one in reversed([*entry_points(group=f"thimble.{kind}")])}
    return dict(sorted(found.items()))


def package(plugin: EntryPoint) -> str:
    """The name of the installed package."""
    return plugin.dist.name if plugin.dist else plugin.module


def plugin_label(plugin: EntryPoint) -> str:
    """The name of a plugin in errors and notices: `name (package)`."""
    return f"{plugin.name} ({package(plugin)})"


def load_plugin(plugin: EntryPoint) -> Any:
    """Import the object of an entry point. Raises UsageError, in one line, for any error of the package."""
    try:
        return plugin.load()
    except (Exception, SystemExit) as error:
        raise plugin_error(plugin, error) from error


def plugin_error(plugin: EntryPoint, error: BaseException) -> UsageError:
    """The error for a plugin that cannot be used."""
    return UsageError(
        f"{plugin_label(plugin)} cannot be used: {in_words(error)}", f"fix or uninstall {package(plugin)}"
    )
