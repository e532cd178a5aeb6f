"""Requests: what the user wants, by the few words that say so; everything else is a question to search for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from thimble.corpus.observations import LISTED_FILE, Result
from thimble.corpus.words import STOPWORDS, terms, words
from thimble.models.reader.view import LEAD, LineRange, ReaderView, states

WRITTEN_LINE = r"\d[\d,]{0,9}"
NUMBERED = re.compile(
    rf"\b(?:lines?|records?|entry|entries)\s+(?P<first>{WRITTEN_LINE})\b(?:\s*(?:-|–|to|until|through|and)\s*(?P<last>{WRITTEN_LINE}))?",
    re.IGNORECASE,
)


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


ARTICLE_WORDS = r"(?:articles?|documents?|texts|pieces?|pages?|chapters?|guides?|stor(?:y|ies))"
FILE_NAME = re.compile(
    r"(?<![\w/.])(?:[\w-]+/)*[\w.-]*\w\.(?:md|markdown|rst|txt|log|csv|tsv|jsonl?|ya?ml|toml|ini|cfg|conf|lock|xml|html?|"
    r"py|sh|sql|diff|patch|bin)\b"
)
CALLED = re.compile(
    rf"(?i:\bfile|{LEAD}(?:re)?(?:read|open|show|print|quote|look at))\s+(?i:the\s+)?[\"'`“]?"
    r"(?=\S*[A-Z./]\w)([\w./-]*\w)"
)
"""What stands after the word file, or what is opened, and looks like the name of a file."""
REQUEST_KINDS: Mapping[str, re.Pattern[str]] = {
    "about me": _any(
        r"^\W*(?:hi|hello|hey|good (?:morning|evening|day)|thanks?|thank you|thx|bye|goodbye|perfect)\b[^?]{0,40}$",
        r"\b(?:who|what) are you\W*$|\bare you (?:a|an|chat|human|real)\b|\bwhat (?:can|do) you do\b|\bhow do you work",
        r"^\W*help\W*$|^[\W\d]+$",
        rf"{LEAD}(?:note|memori[sz]e|jot)\b|{LEAD}(?:remember|keep) (?:that|this|in mind)\b",
    ),
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
        rf"\bwhat\b.*\b{ARTICLE_WORDS}\b.{{0,20}}\b(?:about|says?)\W*$",
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
"""Each kind by what its requests say; the first that fits."""
WHAT = re.compile(
    r"\b(?:about|on|of|regarding|mention(?:s|ing)?|cover(?:s|ing)?|deal(?:s|ing)? with|discuss)\b\s+(?P<what>.+)",
    re.IGNORECASE,
)
ASKING_WORDS = frozenset(
    terms(
        "article document text piece page chapter guide story interview one read reading open list show summarise "
        "summary sum gist give get main key overview short please again now library have got anything something "
        "ask tell find mention talk speak say cover deal discuss touch first last next also too note save remember "
        "look brief briefly sentences words two three thing want need print quote lines records entries end rest part "
        "file"
    )
)
"""The terms of words that ask for something, and say nothing of what it is about."""
ASKS_OF_THIMBLE = _any(
    r"(?<![\w/.])/[a-z]+\b(?![/.])|(?<!\S)--[a-z]|\bthimble\b",
    r"\bthis (?:program|app|application|tool|thing|terminal|session|conversation|chat)\b",
    r"\bmy last (?:question|answer)\b",
    r"\bstrateg(?:y|ies)\b.{0,12}\b(?:do you|have you|are you|can i|in use|are there)\b",
    r"\bhow (?:do|can|could) (?:i|we) (?:see|look at|know|change|swap|choose|switch|set|make) (?:[\w']+ ){1,4}"
    r"(?:left out|sent|masked|dropped|shortened|hidden|costs?|spent|strategy|budget|model)"
    r"(?: (?:bigger|larger|smaller))?\W*$",
)
"""A question with this is about thimble itself."""
TO_DO = _any(r"\b(?:how (?:do|can|could) (?:i|we|you)|can (?:i|we|you)|could you|is there (?:a|any) way)\b")
"""A question with this may be about it."""
ASKS_WHAT_USER_SAID = _any(
    r"\b(?:did|have|had) (?:i|we) (?:\w+ )?(?:say|said|tell|told|mention(?:ed)?|named?|call(?:ed)?|given?)\b",
    r"\b(?:i|we) (?:just |have |had |already |first )?(?:said|told you|mentioned|named)\b",
    r"\bremind me\b",
)
"""A question with this is about what the user said."""
FIRST_PERSON = _any(r"\b(?:we|our|ours|i|my|mine|us|me)\b")
IN_FILES = _any(
    r"\b(?:files?|logs?|config(?:uration)?|changelog|minutes|meetings?|readme|csv|source code|we|ours?|us)\b"
)
"""A question with this is more likely about the files: they are the user's own."""
_WH = r"(?:how|what|which|who|whose|whom|when|where|why|in which|at what|by how)\b"
NEXT = re.compile(
    rf"\?\s+(?:and\s+)?(?=(?:\w+\s+){{0,2}}{_WH})|[,;]?\s+(?:and|or)\s+(?=(?:\w+\s+){{0,2}}{_WH})|[,;]\s+(?={_WH})",
    re.IGNORECASE,
)
QUESTION_BEGINS = re.compile(rf"(?:\w+\s+){{0,2}}{_WH}", re.IGNORECASE)
COMPARISON = re.compile(
    rf"{LEAD}compare\b(?:.*\b(?:about|of|between)\b)?\s+(?P<one>.+?)\s+(?:and|with|to|versus|vs\.?|against)\s+(?P<other>.+?)\W*$",
    re.IGNORECASE,
)
MOST_PARTS = 3
FROM_THE_START = LineRange()


@dataclass(frozen=True, slots=True)
class ReaderRequest:
    """What the user wants: its kind, and what it is about.

    `parts` are the questions in it. `slug` is an article that is named by its title, `paths` are files, and `lines`
    those of the first one.
    """

    kind: str
    text: str
    topic: str
    parts: tuple[str, ...]
    slug: str = ""
    paths: tuple[str, ...] = ()
    lines: LineRange = FROM_THE_START


def request(view: ReaderView) -> ReaderRequest:
    """What the newest question wants."""
    text = " ".join(view.question[:2_000].split())
    kind = next((kind for kind, pattern in REQUEST_KINDS.items() if pattern.search(text)), "question")
    if kind == "question" and states(text):
        kind = "told"
    topic, slug = about(text), titled(text, view)
    if kind == "question" and slug and not topic:
        kind = "read"
    files, meant = paths(text, view), lines(text)
    bare = kind in ("on", "read") or not set(terms(telling(text, view))) - set(terms(" ".join(files)))
    if meant and view.file and bare and not files:
        files = (view.file,)
    if files and bare and (meant or kind == "question"):
        kind = "read"
    return ReaderRequest(kind, text, topic, _questions(text), slug, files, meant or FROM_THE_START)


def telling(text: str, view: ReaderView) -> str:
    """The words of a question that tell what it is about: not those that ask, nor the name of a file."""
    return " ".join(
        word
        for word in words(nameless(text, view))
        if word not in STOPWORDS and not (word.isdigit() or set(terms(word)) & ASKING_WORDS)
    )


def nameless(text: str, view: ReaderView) -> str:
    """A text without the names of the files in it."""
    names = "|".join(map(re.escape, paths(text, view)))
    return re.sub(rf"\s*(?:\b(?:in|of|from|the|file)\s+)*[\"'`“]?(?:{names})\b[\"'`”]?", "", text) if names else text


def paths(text: str, view: ReaderView) -> tuple[str, ...]:
    """The files that a text names: as a list of files in view does, by an ending of files, or by the words before."""
    listed = (one["path"] for act in view.acts if act.name == "list_files" for one in _files(act.shows))
    known = (name for name in listed if re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w/-]|\.\w)", text, re.I))
    return tuple(dict.fromkeys((*known, *(name for names in (FILE_NAME, CALLED) for name in names.findall(text)))))


def _files(shows: Result) -> Iterator[re.Match[str]]:
    return filter(None, (LISTED_FILE.read(one.text) for one in shows.said))


def about(text: str) -> str:
    """What a request for an article or a list is about, without the words that ask for it."""
    found = WHAT.search(text)
    said = words(found["what"] if found else text)
    return " ".join(word for word in said if word not in STOPWORDS and not set(terms(word)) & ASKING_WORDS)


def titled(text: str, view: ReaderView) -> str:
    """The article whose title stands in a text; "" if none does."""
    low = f" {' '.join(words(text))} "
    titles = (slug for slug, title in view.titles.items() if f" {' '.join(words(title))} " in low)
    return next(titles, "")


def _questions(text: str) -> tuple[str, ...]:
    """The questions in a text, if each asks something of its own, or what is to be compared; else the text as one."""
    if compared := COMPARISON.match(text):
        return compared["one"], compared["other"]
    parts = [part.strip() for part in NEXT.split(text) if part and part.strip()]
    alone = all(
        QUESTION_BEGINS.match(part) and len([w for w in words(part) if w not in STOPWORDS]) > 1 for part in parts
    )
    return tuple(parts[:MOST_PARTS]) if alone and len(parts) > 1 else (text,)


def lines(text: str) -> LineRange | None:
    """The lines that a request names; None where it names none."""
    if found := NUMBERED.search(text):
        first, last = (int(digits.replace(",", "")) if digits else 0 for digits in (found["first"], found["last"]))
        return LineRange(max(1, first), max(1, last - first + 1))
    return LineRange(0) if REQUEST_KINDS["on"].search(text) else None
