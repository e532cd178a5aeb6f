"""Grounding: the citations of an answer, and whether a tool has shown their sources in this history."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thimble.agent import foreign
from thimble.agent.agent import Grounds
from thimble.agent.messages import CANCELLED, NO_RESULT, Message, ToolCall
from thimble.agent.prompts import CANNOT_ANSWER
from thimble.corpus.question_form import needs_context

if TYPE_CHECKING:
    from thimble.corpus.search import Search

NOT_READ = " (not read)"
"""The mark after a citation of a source that was never read."""
FENCE = re.compile(r"[\s>]*(`{3,}(?!.*`)|~{3,})[ \t]*(.*)")
CODE = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
BRACKET = re.compile(r"(?<![A-Za-z0-9_\\])\[([^\[\]\n]{2,400})\](?!\()")
CITED = re.compile(
    r"(?:(?:slug|article|path|file):\s+)?(?:\./)?(?=[^:#]*[^\W\d_])(?=[^:#]{2})(?=[^A-Z:#]*(?:[:#]|\Z)|[^:#]*[./]|[^:#]*:L?\d)"
    r"(?P<name>\.?\w[\w@+-]*(?:[./][\w@+-]+)*)(?::L?\d+(?:[-–]L?\d+)?)?(?:#\S*)?"
)
"""A name of two characters or more with a letter, and without capitals unless it has a dot, a slash or a line.

Small models write the word of the system prompt before it: [slug: x].
"""
DECLINED = re.compile(CANNOT_ANSWER.replace("cannot", r"can(?:\s?not|['’]t)").replace(" ", r"\s+"), re.IGNORECASE)
MIN_QUOTED_CHARACTERS = 40
"""A quotation of a text is recognised by this many characters: a result may quote no more of a long one."""


@dataclass(frozen=True, slots=True)
class Citation:
    """A name in square brackets, and the index at which it ends in the text, line included."""

    name: str
    end: int


class Prose:
    """Takes a text line by line, with line ends, and returns it with code replaced by blanks."""

    def __init__(self) -> None:
        self._fence = ""

    def line(self, line: str) -> str:
        """The line, of unchanged length. Code is between fences, or between backticks within a line."""
        fence = FENCE.match(line)
        if not self._fence and not fence:
            return CODE.sub(lambda code: " " * len(code[0]), line)
        if not self._fence:
            self._fence = fence[1] if fence else ""
        elif fence and fence[1].startswith(self._fence) and not fence[2]:
            self._fence = ""
        return " " * len(line)


def find_citations(text: str, prose: Prose | None = None) -> list[Citation]:
    """The citations in a text, in order: [slug], [path], [path:line], [path:line-line]; several with , or ; between.

    Links, numbers, check boxes and code are not citations.
    """
    bare = "".join(map((prose or Prose()).line, text.splitlines(keepends=True)))
    return [
        Citation(cited["name"], bracket.start(1) + part.end())
        for bracket in BRACKET.finditer(bare)
        for part in re.finditer(r"[^\s,;](?:[^,;]*[^\s,;])?", bracket[1])
        if (cited := CITED.fullmatch(part[0]))
    ]


def unread_names(names: Iterable[str], history: Sequence[Message]) -> set[str]:
    """The names that no tool has shown as a separate word or the end of a path, in any case."""
    left = {*names}
    for text in shown_by_tools(history) if left else ():
        folded = text.casefold()
        left -= {name for name in left if re.search(_name_pattern(name), folded)}
    return left


def _name_pattern(name: str) -> str:
    """The pattern of a shown name: an article may be cited by its file name."""
    return rf"(?<![\w.-]){re.escape(name.casefold().removesuffix('.md'))}(?:\.md)?(?![\w-]|[./]\w)"


def shown_by_tools(history: Sequence[Message]) -> Iterator[str]:
    """The text that each successful call has shown: its result and the names among its arguments.

    Arguments that a result quotes back, as a search does with its query, do not count.
    """
    calls = dict[str, ToolCall]()
    for message in history:
        calls |= {call.id: call for call in message.calls}
        text, call = message.content or "", calls.get(message.call_id)
        if message.role != "tool" or text.startswith("Error:") or text in (CANCELLED, NO_RESULT):
            continue
        for argument in foreign.iter_strings(call.arguments) if call else ():
            flat = " ".join(argument.split())
            end = '"' if len(flat) <= MIN_QUOTED_CHARACTERS else '[^"\n]*'
            bare = re.sub(f'"{re.escape(flat[:MIN_QUOTED_CHARACTERS])}{end}', "", text)
            text = f"{text}\n{flat}" if bare == text and " " not in flat else bare
        yield text


def ground_answer(answer: str, history: Sequence[Message], first: int, search: Search | None = None) -> Grounds:
    """The sources of an answer; `first` is the index of the first message after its question.

    With `search`, for a model that names no sources itself, the answer's words must occur in something that was read.
    """
    names = dict.fromkeys(cited.name for cited in find_citations(answer))
    invented = unread_names(names, history)
    if search:
        from thimble.corpus.attribution import attribute_answer, collect_sources

        looked_up = bool(attribute_answer(answer, collect_sources(history)))
    else:
        looked_up = any(True for _ in shown_by_tools(history[first:]))
    read = tuple(name for name in names if name not in invented)
    declined = bool(DECLINED.search(answer))
    beside = best_passage(search, history, first) if search else ""
    return Grounds(read, tuple(name for name in names if name in invented), looked_up, declined, beside)


def best_passage(search: Search, history: Sequence[Message], first: int) -> str:
    """The best passage for the question right before index `first`, followed by its [slug].

    "" if nothing fits, or if no search was made for the question: then the model wanted an article or a list.
    """
    if not any(call.name == "search" for message in history[first:] for call in message.calls):
        return ""
    *_, before, asked = ["", "", *(message.content for message in history[:first] if message.role == "user")]
    hits = search.find(asked, 1, before if needs_context(asked) else "")
    return "".join(f"{hit.text} [{hit.article.slug}]" for hit in hits if hit.score >= search.min_score)


def mark_unread(text: str, history: Sequence[Message], prose: Prose | None = None) -> str:
    """The text with NOT_READ after each citation of a source that was never read."""
    cited = find_citations(text, prose)
    invented = unread_names((one.name for one in cited), history)
    for one in reversed(cited):
        if one.name in invented:
            text = f"{text[: one.end]}{NOT_READ}{text[one.end :]}"
    return text
