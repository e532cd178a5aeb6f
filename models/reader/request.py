"""Requests: what the user wants, by the few words that say so; everything else is a question to search for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from corpus.words import STOPWORDS, terms, words
from models.reader.lines import FIRST, Lines, lines
from models.reader.view import View, states


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


THING = r"(?:articles?|documents?|texts|pieces?|pages?|chapters?|guides?|stor(?:y|ies))"
POLITE = (
    r"^\W*(?:(?:and|now|then|next|first|please|ok|okay|also|so|well|hi|hello|can you|could you|would you|will you|"
    r"i want you to|i['’]d like you to|let us|let['’]s)\W+)*"
)
PATH = re.compile(
    r"(?<![\w/.])(?:[\w-]+/)*[\w.-]*\w\.(?:md|markdown|rst|txt|log|csv|tsv|jsonl?|ya?ml|toml|ini|cfg|conf|lock|xml|html?|"
    r"py|sh|sql|diff|patch|bin)\b"
)
CALLED = re.compile(r"\b(?i:file|datei)\s+[\"'`“]?(?=\S*[A-Z./]\w)([\w./-]*\w)")
OPENED = re.compile(
    rf"{POLITE}(?:re)?(?:read|open|show|print|quote|look at)\s+(?:the\s+)?[\"'`“]?(?=\S*[./]\w)([\w./-]*\w)",
    re.IGNORECASE,
)
"""What stands after the word file, or what is opened, and looks like the name of a file."""
HOW_DO_I = r"\bhow (?:do|can|could) (?:i|we)"
KINDS: Mapping[str, re.Pattern[str]] = {
    "program": _any(
        r"\b(?:what|which|list|show)\b.{0,12}\bstrateg(?:y|ies)\b.{0,12}"
        r"\b(?:do you|have you|are you|can i|in use)\b|\bstrategies\b.{0,12}\bare there\W*$",
        rf"{HOW_DO_I} (?:see|find out|look at|know) (?:what|which|why|how) (?:[\w']+ ){{0,4}}"
        r"(?:left out|sent|masked|dropped|shortened|hidden|costs?|tokens)\b",
        rf"{HOW_DO_I} (?:change|swap|choose|switch|set) (?:the |a |my |another )?(?:strategy|budget|model)\W*$",
    ),
    "note": _any(
        rf"{POLITE}(?:note|remember|memori[sz]e|jot|save|keep)\b(?! \w+ (?:between|for) \w+\?)", r"\bsave a note\b"
    ),
    "notes": _any(
        r"\b(?:my|your) notes\b",
        r"\bwhat (?:have|did) you (?:\w+ )?not(?:ed?|e down)\b",
        r"\b(?:list|show) (?:me )?(?:the |all )?notes\b",
    ),
    "files": _any(r"\b(?:what|which|list|show)\b.{0,20}\bfiles\b(?! (?:say|hold|contain|are in|does|do(?! you have)))"),
    "compare": _any(rf"{POLITE}compare\b", r"\bhow (?:do|does) .+ compare\b"),
    "count": _any(rf"\bhow many {THING}\b(?=.*\b(?:there|have|library|you)\b)"),
    "summary": _any(
        rf"{POLITE}(?:summari[sz]e|sum up|(?:the )?(?:summary|gist|overview|main points?|key points?))\b",
        r"\b(?:give|make|write|need|want|like|short|brief|quick|tell|are)\b.{0,25}"
        r"\b(?:summary|gist|overview|main points?|key points?)\b",
        rf"\bwhat\b.*\b{THING}\b.{{0,20}}\b(?:about|says?)\W*$",
    ),
    "list": _any(
        rf"\b(?:which|any|list|show|find|got|what)\b.{{0,12}}\b{THING}\b.{{0,40}}"
        r"\b(?:have|are there|there are|about|on|mention|talk|speak|cover|deal|say|touch|discuss|read)\b",
        r"\b(?:what|which|anything|something)\b.{0,20}\b(?:do|have) you (?:\w+ )?(?:have|got)?\b.{0,12}"
        r"\b(?:on|about|regarding|here)\b",
        rf"{POLITE}(?:list|show(?: me)?)\b.{{0,16}}\b{THING}\W*$",
        r"^\W*(?:do you have|have you got|is there|got) (?:anything|something|any)\b",
    ),
    "more": _any(rf"{POLITE}(?:read on|go on|continue|tell me more|more(?: of (?:it|that))?|the rest)\W*$"),
    "read": _any(
        rf"{POLITE}(?:re)?(?:read|open|look at|go back to)\b(?! (?:out|between))",
        rf"{POLITE}(?:show|print|quote)\b.*{PATH.pattern}",
    ),
}
"""Each kind by what its requests say; the first that fits."""
WHAT = re.compile(
    r"\b(?:about|on|of|regarding|mention(?:s|ing)?|cover(?:s|ing)?|deal(?:s|ing)? with|discuss)\b\s+(?P<what>.+)",
    re.IGNORECASE,
)
ASIDE = frozenset(
    [
        "article",
        "articles",
        "document",
        "documents",
        "text",
        "texts",
        "piece",
        "pieces",
        "page",
        "pages",
        "chapter",
        "guide",
        "story",
        "one",
        "ones",
        "read",
        "reading",
        "open",
        "list",
        "listed",
        "show",
        "summarise",
        "summarize",
        "summary",
        "sum",
        "gist",
        "give",
        "get",
        "main",
        "key",
        "points",
        "overview",
        "short",
        "please",
        "again",
        "now",
        "library",
        "have",
        "got",
        "anything",
        "something",
        "ask",
        "tell",
        "find",
        "mention",
        "talk",
        "speak",
        "say",
        "cover",
        "deal",
        "discuss",
        "touch",
        "first",
        "second",
        "third",
        "last",
        "next",
        "also",
        "too",
        "compare",
        "learned",
        "learnt",
        "what",
        "you've",
        "note",
        "notes",
        "save",
        "remember",
        "look",
        "brief",
        "briefly",
        "sentences",
        "words",
        "two",
        "three",
        "thing",
        "things",
        "want",
        "need",
    ]
)
SAID = _any(
    r"\b(?:did|have|had) (?:i|we) (?:\w+ )?(?:say|said|tell|told|mention(?:ed)?|named?|call(?:ed)?|given?)\b",
    r"\b(?:i|we) (?:just |have |had |already |first )?(?:said|told you|mentioned|named)\b",
    r"\bremind me\b",
)
"""A question with this is about what the user said."""
OURS = _any(r"\b(?:we|our|ours|i|my|mine|us|me)\b")
WE = _any(r"\b(?:we|our|ours|us)\b")
IN_FILES = _any(r"\b(?:files?|logs?|config(?:uration)?|changelog|minutes|meetings?|readme|csv|source code)\b")
_WH = r"(?:how|what|which|who|whose|whom|when|where|why|in which|at what|by how)\b"
NEXT = re.compile(
    rf"\?\s+(?:and\s+)?(?=(?:\w+\s+){{0,2}}{_WH})|[,;]?\s+(?:and|or)\s+(?=(?:\w+\s+){{0,2}}{_WH})|[,;]\s+(?={_WH})",
    re.I,
)
ASKING = re.compile(rf"(?:\w+\s+){{0,2}}{_WH}", re.IGNORECASE)
NO_FILE = _any(rf"\b{THING}\b", WHAT.pattern)
"""A request to read with this names no file."""
IT = _any(r"(?:it|this|that)(?: one| article)?")
OTHER = _any(r"the (?:other|previous)(?: one| article)?|the one before(?: it)?")
SIDES = re.compile(r"\s*(?:,|\band\b|\bwith\b|\bto\b|\bversus\b|\bvs\.?\b|\bagainst\b)\s*", re.IGNORECASE)
ORDINALS = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1, "latest": -1, "previous": -1}
ORDINAL = _any(
    rf"\b(?P<which>{'|'.join(ORDINALS)})\b(?: \w+){{0,2}} (?:{THING}|one)\b",
    r"\bthe (?P<bare>first|second|third|fourth|fifth|last)\W*$",
)
BEGAN = _any(rf"\b{THING}\b.{{0,30}}\b(?:started|began|begun|beginning)\b", r"\bat the beginning\b")
BY_LINE = frozenset(terms("show print quote read give lines records entries first last next end rest part page"))
"""The terms of a request that says nothing but which lines it means."""
MOST_PARTS = 3
TALK = {
    "who": "who are you|what are you|what can you do|what is this|help|how do you work|are you a bot|are you an ai|"
    "what is your name|are you chatgpt|are you chatgpt or something else|are you human|are you a real person|"
    "what do you do|how can you help me|introduce yourself|how does this work|can i ask you things|who am i talking to|"
    "what kind of questions can i ask you|what is thimble",
    "thanks": "thanks|thank you|thank you very much|thanks a lot|great thanks|thx|thx that helped a lot|perfect|cool|"
    "nice|that was helpful|good job|well done|thank you for your patience|ok thanks",
    "hello": "hello|hi|hey|hi there|hello there|good morning|good evening|good day|how are you|whats up",
    "bye": "bye|ok bye|goodbye|see you|see you tomorrow|good night|that is all|great thats all for today|"
    "have a nice day",
}
"""Small talk: phrases of a kind, separated by `|`."""
SMALL_TALK = frozenset(word for phrases in TALK.values() for word in re.split(r"[ |]", phrases))
LIKE = 0.5


@dataclass(frozen=True, slots=True)
class Request:
    """What the user wants: its kind, and what it is about.

    `parts` are the questions in it, or the sides of a comparison. `slug` is an article that is meant beyond doubt,
    `paths` are files, and `lines` those of the first one.
    """

    kind: str
    text: str
    topic: str
    parts: tuple[str, ...]
    slug: str = ""
    paths: tuple[str, ...] = ()
    lines: Lines = FIRST


def request(view: View) -> Request:
    """What the current question wants."""
    text = " ".join(view.question[:2_000].split())
    if kind := talk(text):
        return Request(kind, text, "", (text,))
    kind = next((kind for kind, pattern in KINDS.items() if pattern.search(text)), "question")
    if kind == "question" and states(text):
        kind = "told"
    topic = about(text)
    if kind == "list" and not topic and not re.search(rf"\b{THING}\b|\bhave\b|\bhere\b|\bgot\b", text, re.I):
        kind = "question"
    slug = referent(text, view)
    if kind == "question" and slug and not topic:
        kind = "read"
    parts = _sides(text, view) if kind == "compare" else _questions(text)
    files, meant = paths(text, view), lines(text)
    other = kind not in ("more", "read") and own_terms(text, view) - (BY_LINE if meant else frozenset())
    if meant and view.file and not (files or other):
        files = (view.file,)
    if files and not other and (meant or kind == "question"):
        kind = "read"
    return Request(kind, text, topic, parts, slug, files, meant or FIRST)


def own_terms(text: str, view: View) -> set[str]:
    """The terms of a text without the names of the files in it."""
    names = set(terms(" ".join(paths(text, view))))
    said = " ".join(word for word in words(nameless(text, view)) if not (word in STOPWORDS or word.isdigit()))
    return set(terms(said)) - names


def telling(text: str, view: View) -> str:
    """The words of a question that a line of a file may have: not those that ask, nor the name of the file."""
    said = (word for word in words(nameless(text, view)) if word not in STOPWORDS and not set(terms(word)) & BY_LINE)
    return " ".join(said) or text


def nameless(text: str, view: View) -> str:
    """A text without the names of the files in it."""
    names = "|".join(map(re.escape, paths(text, view)))
    return re.sub(rf"\s*(?:\b(?:in|of|from|the|file)\s+)*[\"'`“]?(?:{names})\b[\"'`”]?", "", text) if names else text


def paths(text: str, view: View) -> tuple[str, ...]:
    """The files that a text names: as a list of files in view does, by an ending of files, or by the words before."""
    listed = (entry.slug for act in view.acts if act.shows.form == "files" for entry in act.shows.entries)
    named = (name for name in listed if re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w/-]|\.\w)", text, re.I))
    return tuple(dict.fromkeys((*named, *(name for names in (PATH, CALLED, OPENED) for name in names.findall(text)))))


def talk(text: str) -> str:
    """The kind of small talk that a text is, "" for anything else: that of the phrase most like a clause of it.

    A word that carries meaning and stands in no such phrase makes it a question.
    """
    best, kind = 0.0, ""
    for clause in re.split(r"[.!?,;:]|\band\b", text.replace("'", "").replace("’", "")):
        said = set(words(clause))
        if said - SMALL_TALK - STOPWORDS:
            return ""
        for name, phrases in TALK.items():
            for known in (set(phrase.split()) for phrase in phrases.split("|") if said):
                best, kind = max((best, kind), (2 * len(said & known) / (len(said) + len(known)), name))
    return kind if best > LIKE else ""


def about(text: str) -> str:
    """What a request for an article or a list is about, without the words that ask for it."""
    found = WHAT.search(text)
    said = words(found["what"] if found else text)
    return " ".join(word for word in said if word not in STOPWORDS and word not in ASIDE)


def referent(text: str, view: View) -> str:
    """The article that is meant by its title, or by its place among those listed or read; "" if none is."""
    low = f" {' '.join(words(text))} "
    titles = (slug for slug, entry in view.entries.items() if f" {' '.join(words(entry.title))} " in low)
    if slug := next(titles, ""):
        return slug
    order = tuple(dict.fromkeys(view.read))
    if BEGAN.search(text) and order:
        return order[0]
    if found := ORDINAL.search(text):
        at = ORDINALS[(found["which"] or found["bare"]).lower()]
        listed = view.listed if not re.search(r"\bread\b.{0,12}$|\byou read\b|\bwe read\b", text, re.I) else ()
        among = listed or order
        return among[at] if -len(among) <= at < len(among) else ""
    return ""


def _questions(text: str) -> tuple[str, ...]:
    """The questions in a text, if each asks something of its own; else the text as one."""
    parts = [part.strip() for part in NEXT.split(text) if part and part.strip()]
    alone = all(ASKING.match(part) and len([w for w in words(part) if w not in STOPWORDS]) > 1 for part in parts)
    return tuple(parts[:MOST_PARTS]) if alone and len(parts) > 1 else (text,)


def _sides(text: str, view: View) -> tuple[str, ...]:
    """The sides of a comparison; an article that is pointed at, as by its place or by `it`, by its title."""
    found = re.search(r"\b(?:about|of|between|compare)\b(?!.*\b(?:about|of|between)\b)\s*(?P<sides>.+)$", text, re.I)
    sides = [side.strip(" ?.!") for side in SIDES.split(found["sides"] if found else text)]
    named = (view.entries[slug].title if (slug := _pointed_at(side, view)) else side for side in sides)
    return tuple(side for side in named if about(side))[:MOST_PARTS]


def _pointed_at(side: str, view: View) -> str:
    """The article that a side of a comparison points at: the one read last, the one before it, or one by its place."""
    order = tuple(dict.fromkeys(reversed(view.read)))
    back = next((back for back, words in enumerate((IT, OTHER)) if words.fullmatch(side)), len(order))
    return order[back] if back < len(order) else referent(side, view)
