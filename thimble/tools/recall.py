"""The tool that returns an earlier message which a strategy moved out of view: recall."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from thimble.agent.errors import ToolError
from thimble.agent.messages import Message
from thimble.agent.protocols import Tool
from thimble.corpus.observations import PAGE_REST, PART, RECALLED
from thimble.tools.schema import tool
from thimble.tools.wording import count_noun, format_call, quote, split_pages


def recall_tools(history: Callable[[], Sequence[Message]]) -> list[Tool]:
    """The tool bound to a session's history; `history` is called at each call."""

    def recall(id: str, page: int = 1) -> str:
        """Bring an earlier result back that was moved out of sight, word for word.

        Args:
            id: As its reference says, such as "m12".
            page: A long result has several.
        """
        message = _find_message(history(), id)
        pages = list(split_pages(message.content))
        if not 1 <= page <= len(pages):
            raise ToolError(f"there is no page {page}: {message.id} has {count_noun(len(pages), 'page')}")
        place = PART.written(page=page, pages=len(pages))
        of = f"result of {message.name}" if message.role == "tool" else f"words of the {message.role}"
        text = f"{RECALLED.written(id=message.id, of=of, place=place)}\n\n{pages[page - 1]}"
        if page < len(pages):
            text += "\n" + PAGE_REST.written(
                place=place, call=format_call("recall", id=message.id, page=page + 1), what="the next"
            )
        return text

    return [tool(recall)]


def _find_message(history: Sequence[Message], wanted: str) -> Message:
    """The message with this id; a bare number and brackets are accepted."""
    bare = wanted.strip("[]()\"' \t\n").lower()
    found = {message.id: message for message in history if message.role != "system"}
    message = found.get(bare) or found.get(f"m{bare}")
    if message:
        return message
    results = [f"{one.id} ({one.name})" for one in history if one.role == "tool" and one.name != "recall"]
    there_are = f"Results to recall: {', '.join(results)}" if results else "There is no result yet to recall"
    raise ToolError(f"there is no message {quote(wanted)}. {there_are}")
