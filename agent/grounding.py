"""Grounding: what an answer cites, and whether a tool has shown it in this history."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from agent.marks import CANCELLED, NO_RESULT
from agent.messages import Message, ToolCall
from agent.prompts import CANNOT
from agent.references import arguments

MARK = " (not read)"
"""What is shown behind a citation of what was never read."""
FENCE = re.compile(r"[\s>]*(`{3,}(?!.*`)|~{3,})")
CODE = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
BRACKET = re.compile(r"(?<![A-Za-z0-9_\\])\[([^\[\]\n]{2,400})\](?!\()")
CITED = re.compile(r"(?:\./)?(?P<name>\.?\w[\w@+-]*(?:[./][\w@+-]+)*)(?P<line>:L?\d+(?:[-–]L?\d+)?)?(?:#\S*)?")
DECLINED = re.compile(CANNOT.replace("cannot", r"can(?:\s?not|['’]t)").replace(" ", r"\s+"), re.IGNORECASE)
ECHO = 40
"""Characters of a text by which a quotation of it is known: results cut long ones."""


@dataclass(frozen=True, slots=True)
class Citation:
    """A name in square brackets, without the line behind it, and where it ends in the text with that line."""

    name: str
    end: int


@dataclass(frozen=True, slots=True)
class Grounds:
    """What an answer rests on: the names that it cites, read and `invented`, and whether a tool answered meanwhile."""

    read: tuple[str, ...]
    invented: tuple[str, ...]
    looked_up: bool

    @property
    def from_memory(self) -> bool:
        """Whether nothing was looked up, and nothing that was read is cited."""
        return not self.looked_up and not self.read


class Prose:
    """Takes a text line by line, each with its end, and gives it back with blanks for what is code."""

    def __init__(self) -> None:
        self._fence = ""

    def line(self, line: str) -> str:
        """The line, as long as it was. Code stands between fences, or between backticks within a line."""
        fence, bare = FENCE.match(line), line.strip(" \t>\r\n")
        if self._fence or fence:
            ends = bare.startswith(self._fence) and not bare.strip(self._fence[:1])
            self._fence = fence[1] if fence and not self._fence else "" if ends else self._fence
            return " " * len(line)
        return CODE.sub(lambda code: " " * len(code[0]), line)


def citations(text: str, prose: Prose | None = None) -> list[Citation]:
    """The citations in a text, in order: [slug], [path], [path:line], [path:line-line]; several with , or ; between.

    A name has a letter, and no capital or else a dot, a slash or a line. Links, numbers, check boxes and code are none.
    """
    prose = prose or Prose()
    bare = "".join(map(prose.line, text.splitlines(keepends=True)))
    found = []
    for bracket in BRACKET.finditer(bare):
        for part in re.finditer(r"[^\s,;](?:[^,;]*[^\s,;])?", bracket[1]):
            cited = CITED.fullmatch(part[0])
            if cited and _is_name(cited["name"], bool(cited["line"])):
                found.append(Citation(cited["name"], bracket.start(1) + part.end()))
    return found


def read(names: Iterable[str], history: Sequence[Message]) -> set[str]:
    """Those of the names that a tool has shown, each as a word of its own or as the end of a path, in any case."""
    left = {name: [re.compile(rf"(?<![\w.-]){re.escape(one)}(?![\w-]|[./]\w)") for one in _forms(name)] for name in names}
    found = set[str]()
    for text in shown(history) if left else ():
        folded = text.casefold()
        new = {name for name, forms in left.items() if any(form.search(folded) for form in forms)}
        found |= new
        left = {name: forms for name, forms in left.items() if name not in new}
        if not left:
            break
    return found


def shown(history: Sequence[Message]) -> Iterator[str]:
    """What each call that succeeded has shown: the result and the names among the arguments.

    What a result quotes back of its call, as a search does with the query, is neither.
    """
    calls = dict[str, ToolCall]()
    for message in history:
        calls |= {call.id: call for call in message.calls}
        if message.role != "tool" or message.content.startswith("Error:") or message.content in (CANCELLED, NO_RESULT):
            continue
        text, call = message.content, calls.get(message.call_id)
        for argument in arguments(Message("", "assistant", calls=(call,))) if call else ():
            flat = " ".join(argument.split())
            end = '"' if len(flat) <= ECHO else '[^"\n]*"?'
            bare = re.sub(f'"{re.escape(flat[:ECHO])}{end}', "", text)
            text = f"{text}\n{flat}" if bare == text and " " not in flat else bare
        yield text


def grounded(answer: str, history: Sequence[Message], first: int) -> Grounds:
    """What an answer rests on; the messages from place `first` on came after its question."""
    names = [*dict.fromkeys(cited.name for cited in citations(answer))]
    known = read(names, history)
    invented = tuple(name for name in names if name not in known)
    return Grounds(tuple(name for name in names if name in known), invented, any(True for _ in shown(history[first:])))


def declines(answer: str) -> bool:
    """Whether an answer says, as the system prompt asks, that the question cannot be answered from here."""
    return bool(DECLINED.search(answer))


def marked(text: str, history: Sequence[Message], prose: Prose | None = None) -> str:
    """The text with MARK behind each citation of what was never read."""
    cited = citations(text, prose)
    known = read({one.name for one in cited}, history)
    for one in reversed(cited):
        if one.name not in known:
            text = f"{text[: one.end]}{MARK}{text[one.end :]}"
    return text


def _is_name(name: str, has_line: bool) -> bool:
    return len(name) > 1 and any(map(str.isalpha, name)) and (has_line or name == name.lower() or bool({*"./"} & {*name}))


def _forms(name: str) -> list[str]:
    """A name as it may be shown: an article is cited by its file too."""
    folded = name.casefold()
    return [folded, *([folded.removesuffix(".md")] if folded.endswith(".md") else ())]
