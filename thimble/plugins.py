"""Strategies, tools and backends of installed packages, by entry points.

A package names them in its pyproject.toml, in the groups `thimble.strategies`, `thimble.tools` and `thimble.backends`:

    [project.entry-points."thimble.strategies"]
    oldest = "thimble_oldest:Oldest"

Names are looked up late, only for what is not built in. A built-in name always wins.
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
    """The entry points of a group by name, sorted; of two with one name the first on the path. Imports no package."""
    from importlib.metadata import entry_points  # some 10 ms: the start need not wait for it

    found = {one.name: one for one in reversed([*entry_points(group=f"thimble.{kind}")])}
    return dict(sorted(found.items()))


def package(plugin: EntryPoint) -> str:
    """The name of the package that was installed."""
    return plugin.dist.name if plugin.dist else plugin.module


def called(plugin: EntryPoint) -> str:
    """What a plugin is called in errors and notices."""
    return f"{plugin.name} ({package(plugin)})"


def load(plugin: EntryPoint) -> Any:
    """What an entry point names: the package is imported. Raises UsageError in one line for anything that it raises."""
    try:
        return plugin.load()
    except (Exception, SystemExit) as error:
        raise broken(plugin, error) from error


def broken(plugin: EntryPoint, error: BaseException) -> UsageError:
    """The error for a plugin that cannot be used."""
    return UsageError(f"{called(plugin)} cannot be used: {in_words(error)}", f"mend or uninstall {package(plugin)}")
