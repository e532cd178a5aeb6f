"""The tool over the map of the library: map_articles."""

from __future__ import annotations

from thimble.agent.protocols import Tool
from thimble.corpus.library import Library
from thimble.corpus.map import Map
from thimble.tools.schema import tool

MAP_CHARACTERS = 4_000
"""Characters of a map: about 1,000 tokens."""


def map_tools(library: Library) -> list[Tool]:
    """The tool bound to one library."""

    def map_articles(topic: str = "") -> str:
        """Map the library for a topic: the best articles first, and those near them.

        Args:
            topic: Words, or a question.
        """
        return Map(library).text(topic, MAP_CHARACTERS)

    return [tool(map_articles)]
