"""Requests: the user's wish, recognised by a few words; everything else is a question to search for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from thimble.corpus.observations import LISTED_FILE, SLUG
from thimble.corpus.question_form import find_comparison
from thimble.corpus.words import STOPWORDS, content_words, split_words
from thimble.models.reader.view import LEAD, NEXT_PAGE, ReaderView, is_statement

WRITTEN_LINE = r"\d[\d,]{0,9}"
NUMBERED = re.compile(
    rf"\b(?:lines?|records?|entry|entries)\s+({WRITTEN_LINE})\b(?:\s*(?:-|–|to|until|through|and)\s*({WRITTEN_LINE}))?",
    re.IGNORECASE,
)


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


ARTICLE_WORDS = r"(?:articles?|documents?|texts|pieces?|pages?|chapters?|guides?|stor(?:y|ies))"
FILE_NAME = re.compile(
    r"(?<![\w/.])(?:[\w-]+/)*[\w.-]*\w\.(?:md|markdown|rst|txt|log|csv|tsv|jsonl?|ya?ml|toml|ini|cfg|conf|lock|xml|html?|"
    r"py|sh|sql|diff|patch|bin)\b"
)
CALLED = re.compile(r"\b[Ff]ile\s+[\"'`“]?(?=\S*[A-Z./]\w)([\w./-]*\w)")
"""The name of a file after the word `file`."""
REQUEST_KINDS: Mapping[str, re.Pattern[str]] = {
    "files": _any(r"\b(?:what|which|list|show)\b.{0,20}\bfiles\b(?! (?:say|hold|contain|are in|does|do(?! you have)))"),
    "on": _any(
        rf"{LEAD}(?:(?:read|show|give|tell|say|me)\s+)*(?:(?:go |carry )?on|keep reading|continue|(?:the )?rest|"
        r"(?:the )?next (?:page|part|lines)|(?:a bit |some )?more)(?: (?:about|of|on|in) \S+)?(?: please)?\W*$"
    ),
    "read": _any(
        rf"{LEAD}(?:re)?(?:read|open|look at|go back to)\b(?! (?:out|between))",
        rf"{LEAD}(?:show|print|quote)\b.*{FILE_NAME.pattern}",
        rf"{LEAD}(?:summari[sz]e|sum up|(?:the )?(?:summary|gist|overview|main points?|key points?))\b",
        r"\b(?:give|make|write|need|want|like|short|brief|quick|tell|are)\b.{0,25}"
        r"\b(?:summary|gist|overview|main points?|key points?)\b",
        rf"\bwhat\b.*\b{ARTICLE_WORDS}\b.{{0,60}}\b(?:about|says?)\W*$",
    ),
    "list": _any(
        rf"\b(?:which|any|list|show|find|got|what|how many)\b.{{0,12}}\b{ARTICLE_WORDS}\b.{{0,40}}"
        r"\b(?:have|are there|there are|about|on|mention|talk|speak|cover|deal|say|touch|discuss|read)\b",
        r"\b(?:what|which|anything|something)\b.{0,20}\b(?:do|have) you (?:\w+ )?(?:have|got)?\b.{0,12}"
        r"\b(?:on|about|regarding|here)\b",
        rf"{LEAD}(?:list|show(?: me)?)\b.{{0,16}}\b{ARTICLE_WORDS}\W*$",
        r"^\W*(?:do you have|have you got|is there|got) (?:anything|something|any)\b",
        r"^\W*anything (?:here )?(?:on|about)\b",
    ),
}
"""The words of each kind of request; the first match wins."""
WHAT = re.compile(
    r"\b(?:about|on|of|regarding|mention(?:s|ing)?|cover(?:s|ing)?|deal(?:s|ing)? with|discuss)\b\s+(?P<what>.+)",
    re.IGNORECASE,
)
ASKING_WORDS = frozenset(
    split_words(
        "article articles document documents text texts piece pieces page pages chapter chapters guide guides story "
        "stories interview one ones read reading open list show summarise summarize summary sum gist give get main key "
        "overview short please again now library have got anything something ask tell find mention mentions talk talks "
        "speak speaks say says cover covers deal deals discuss touch first last next also too note save remember look "
        "brief briefly sentence sentences word words two three thing things want need print quote line lines record "
        "records entry entries end rest part parts file files"
    )
)
"""Words that ask for something, without naming its topic."""
ASKS_OF_THIMBLE = _any(
    r"(?<![\w/.])/[a-z]+\b(?![/.])|(?<!\S)--[a-z]|(?<!\ba )(?<!\bthe )\bthimble\b",
    r"\bthis (?:program|app|application|tool|thing|terminal|session|conversation|chat)\b",
    r"\bmy last (?:question|answer)\b",
    r"\bstrateg(?:y|ies)\b.{0,12}\b(?:do you|have you|are you|can i|in use|are there)\b",
    r"\bhow (?:do|can|could) (?:i|we) (?:see|look at|know|change|swap|choose|switch|set|make) (?:[\w']+ ){1,4}"
    r"(?:left out|sent|masked|dropped|shortened|hidden|costs?|spent|strategy|budget|model)"
    r"(?: (?:bigger|larger|smaller))?\W*$",
)
"""A question with this is about thimble itself."""
TO_DO = _any(r"\b(?:how (?:do|can|could) (?:i|we|you)|can (?:i|we|you)|could you|is there (?:a|any) way)\b")
"""A question with this may be about thimble."""
ASKS_WHAT_USER_SAID = _any(
    r"\b(?:did|have|had) (?:i|we) (?:\w+ )?(?:say|said|tell|told|mention(?:ed)?|named?|call(?:ed)?|given?)\b",
    r"\b(?:i|we) (?:just |have |had |already |first )?(?:said|told you|mentioned|named)\b",
    r"\bremind me\b",
)
"""A question with this is about the user's own statements."""
FIRST_PERSON = _any(r"\b(?:we|our|ours|i|my|mine|us|me)\b")
IN_FILES = _any(
    r"\b(?:files?|logs?|config(?:uration)?|changelog|minutes|meetings?|readme|csv|source code|we|ours?|us)\b"
)
"""A question with this is more likely about the files: they are the user's own."""
_WH = r"(?:how|what|which|who|whose|whom|when|where|why|in which|at what|by how)\b"
SLUGGED = re.compile(rf"\b(?=\w+-){SLUG}\b")
NEXT = re.compile(
    rf"\?\s+(?:and\s+)?(?=(?:\w+\s+){{0,2}}{_WH})|[,;]?\s+(?:and|or)\s+(?=(?:\w+\s+){{0,2}}{_WH})|[,;]\s+(?={_WH})",
    re.IGNORECASE,
)
QUESTION_BEGINS = re.compile(rf"(?:\w+\s+){{0,2}}{_WH}", re.IGNORECASE)
MAX_PARTS = 3


@dataclass(frozen=True, slots=True)
class ReaderRequest:
    """A request of the user: its kind and its topic.

    `parts` are the questions in it. `path` is a file to read: `many` lines from `start` on, or as many as there is room
    for. `page` is that of a list.
    """

    kind: str
    text: str
    topic: str
    parts: tuple[str, ...]
    path: str = ""
    start: int = 1
    many: int = 0
    page: int = 1


def parse_request(view: ReaderView) -> ReaderRequest:
    """The request in the newest question."""
    text = " ".join(view.question[:2_000].split())
    told = "told" if is_statement(text) else "question"
    kind = next((kind for kind, pattern in REQUEST_KINDS.items() if pattern.search(text)), told)
    numbers = NUMBERED.search(text)
    lists = [act for act in view.acts if act.name == "list_articles" and not act.current]
    if kind == "on" and lists and view.said.endswith(NEXT_PAGE):
        return ReaderRequest("list", text, lists[-1].text("topic"), (), page=int(lists[-1].text("page") or 1) + 1)
    at_hand = (view.file,) if view.file and (kind == "on" or numbers) else ()
    path = next(iter(find_paths(text, view) or at_hand), "")
    if not path or not (kind in ("on", "read") or not topic_of(text, view)):
        return ReaderRequest(kind, text, _topic(text) if kind != "on" else "", _questions(text))
    first, last = (int((digits or "0").replace(",", "")) for digits in numbers.groups()) if numbers else (0, 0)
    start = first or (view.line + 1 if kind == "on" and path == view.file else 1)
    return ReaderRequest("read", text, "", (), path, start, max(1, last - start + 1) if numbers else 0)


def _topic(text: str) -> str:
    """The topic of a request for an article or a list: a slug, the words after `about` and the like, or all of them."""
    what, slug = WHAT.search(text), SLUGGED.search(text)
    if slug and not topic_words(text.replace(slug[0], "")):
        return slug[0]
    return topic_words(what["what"] if what else text)


def topic_of(text: str, view: ReaderView) -> str:
    """The words of a question that name its topic, without file names and words that only ask."""
    for name in find_paths(text, view):
        text = text.replace(name, " ")
    return topic_words(text)


def find_paths(text: str, view: ReaderView) -> tuple[str, ...]:
    """The files that a text names: as in a list of files in view, by a file extension, or after the word `file`."""
    shown = (one.text for act in view.acts if act.name == "list_files" for one in act.shows.said)
    listed = [found["path"] for found in map(LISTED_FILE.read, shown) if found]
    known = [name for name in listed if re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w/-]|\.\w)", text, re.I)]
    return tuple(dict.fromkeys([*known, *FILE_NAME.findall(text), *CALLED.findall(text)]))


def topic_words(text: str) -> str:
    """The words of a text that name its topic, without words that only ask."""
    return " ".join(
        word for word in split_words(text) if word not in STOPWORDS and not (word.isdigit() or word in ASKING_WORDS)
    )


def _questions(text: str) -> tuple[str, ...]:
    """The questions in a text, if each is complete, or the two things to compare; else the text as one."""
    if re.match(rf"{LEAD}compare\b", text, re.IGNORECASE) and (two := find_comparison(text)):
        return two
    parts = [part.strip() for part in NEXT.split(text)]
    alone = all(QUESTION_BEGINS.match(part) and len(content_words(part)) > 1 for part in parts)
    return tuple(parts[:MAX_PARTS]) if alone else (text,)
