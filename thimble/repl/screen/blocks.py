"""Blocks: cut streaming Markdown into blocks, each returned once, when it cannot change any more."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

CAN_GO_ON = ("bullet_list_open", "ordered_list_open", "code_block")
"""Blocks that a blank line does not end."""
SENTENCE_ENDS = (".", "!", "?", ":", "]", ")")


@cache
def parser() -> MarkdownIt:
    """The Markdown parser: CommonMark, except that HTML, entities, images and references stay as written."""
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
    markdown.block.ruler.before("paragraph", "list_end", _ends_list, {"alt": ["paragraph"]})
    # An entity such as `&#x202e;` could write a control character, past the sanitiser, which has already run.
    return markdown.disable(["html_block", "html_inline", "entity", "image", "reference", "newline"])


def _ends_list(state: StateBlock, number: int, _: int, silent: bool) -> bool:
    """End a list at an unindented line after the end of a sentence, because models write text after lists that way."""
    before = state.src[state.bMarks[number - 1] : state.eMarks[number - 1]].rstrip()
    return silent and state.sCount[number] < state.blkIndent and before.endswith(SENTENCE_ENDS)


class Blocks:
    """Takes text in pieces, split anywhere. A block ends where the next one starts, usually at a blank line."""

    def __init__(self) -> None:
        self._whole = ""
        self._partial: list[str] = []

    def feed(self, text: str) -> list[str]:
        """The blocks that this piece finishes."""
        whole, end, rest = text.rpartition("\n")
        seen = len(self._whole)
        if end:
            self._whole += "".join([*self._partial, whole, end])
            self._partial.clear()
        self._partial.append(rest)
        is_new = "\n\n" in self._whole[max(0, seen - 1) :]  # parsing at each line would be slow for a long list
        return self._finished(last=False) if is_new else []

    def flush(self) -> list[str]:
        """End the text, and return the remaining blocks."""
        self._whole += "".join([*self._partial, "\n"])
        self._partial.clear()
        return self._finished(last=True)

    def open(self, characters: int) -> str:
        """The last characters of the unfinished block: `characters` of them, plus one if there are more."""
        return f"{self._whole}{''.join(self._partial)}"[-characters - 1 :]

    def _finished(self, last: bool) -> list[str]:
        lines = self._whole.split("\n")
        tokens: list[Token] = []
        parser().block.parse(self._whole, parser(), {}, tokens)
        tops = [(token.map[0], token.map[1], token.type) for token in tokens if token.map and not token.level]
        ends = [begin for begin, _, _ in tops[1:]]
        if tops and (last or (tops[-1][1] < len(lines) - 1 and tops[-1][2] not in CAN_GO_ON)):
            ends.append(len(lines) - 1)
        if not ends:
            return []
        self._whole = "\n".join(lines[ends[-1] :])
        parts = ["\n".join(lines[begin:end]).strip("\n") for begin, end in zip([0, *ends], ends, strict=False)]
        return [part for part in parts if part.strip()]
