"""Evidence: what in the view answers a question, the best first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from corpus.leaning import LEANS, WHOLE
from corpus.markdown import sentences
from corpus.words import terms
from models.reader.request import IN_FILES, ORDINAL, OURS, SAID, WE, Request, nameless, paths, telling
from models.reader.results import CERTAIN, USER, Result, Said, first_sentences
from models.reader.view import View, states

KNOWN, STATED, BEARING = 0.9, 0.5, 0.75
"""The share of a question's words that own words, the user's words and a line of a file must have to answer it."""
PLAIN = ("AI", "LLM", "LLMs", "API", "JSON", "GPU", "GPUs")
"""Names of the whole field, which need not be repeated."""
LEAST, IN_FILE, OUR = 0.3, 0.15, 0.08
"""The least score of a passage of a file, and what a question adds to it that is about files, or about "us"."""
SURE = 0.45
"""The score of a passage that leaves no reason to look into the files too."""

NOTED = re.compile(
    r"\b(?:notes?|remember|down|memori[sz]e|jot|save|keep)\b[^:.]{0,40}?(?::\s*|\bthat (?!down\b))(?P<text>\S.*\S)",
    re.IGNORECASE | re.DOTALL,
)
"""A request to note something, and the words to note."""


def earlier(view: View) -> str:
    """What a question that leans on what was said before is searched with: the last one, and the article at hand."""
    asked = next((one for one in reversed(view.earlier) if not states(one)), "")
    return f"{asked[:300]} [{view.at_hand}]" if view.at_hand else asked[:300]


def names(part: str) -> set[str]:
    """The terms of the names in a question: words with a capital letter that does not only begin a sentence."""
    found = set[str]()
    part = " ".join([one for one in sentences(part) if one.endswith("?")] or [part])
    for word in re.finditer(r"\w[\w.+-]*\w", part):
        begins = re.search(r"(?:^|[.?!:]\s)\W*$", part[: word.start()])
        if re.search("[A-Z]", word[0][bool(begins) :]) and word[0] not in PLAIN:
            found |= set(terms(word[0]))
    return found


def searched(part: str, view: View) -> list[Result]:
    """What the searches of the articles for a part show, as a whole or by its sentences."""
    queries = {part, *sentences(part)}
    made = (act for act in view.acts if act.name == "search_articles" and act.text("query") in queries)
    return [act.shows for act in made if act.shows.form != "gone"]


def found(part: str, view: View) -> list[Said]:
    """What the searches for a part have found, in articles or in files, whichever fits better.

    The passages of articles that speak of every name in the question, headings included; or the two best ones, if they
    do so together.
    """
    files = [one for one in _files(part, view) if shared(one.text, nameless(part, view))]
    if readable(part, view):
        return files
    fits = max(searched(part, view), key=_score, default=Result("nothing"))
    hint = max(IN_FILE * bool(IN_FILES.search(part)), OUR * bool(WE.search(part)))
    if files and files[0].score + hint >= max(_score(fits), LEAST):
        return files
    asked = names(part)
    whole = [one for one in fits.said if asked <= _spoken(one, view)]
    together = set[str]().union(*(_spoken(one, view) for one in fits.said))
    best = whole or (list(fits.said) if asked <= together else [])
    return best or list(view.thoughts[:1] if view.hidden("search_articles", "search_files") else ())


def readable(part: str, view: View) -> list[str]:
    """The files that a part names, as far as no call has failed over them."""
    acts = view.current("read_file", "search_files")
    failed = {act.text("path") or act.text("folder") for act in acts if act.shows.form == "error"}
    return [path for path in paths(part, view) if path not in failed]


def looked_up(part: str, view: View) -> list[dict[str, str]]:
    """The arguments of the searches of the files for a part: in those that it names, or the one at hand and all."""
    if named := readable(part, view):
        return [
            {"query": query, "folder": path} for path in named for query in dict.fromkeys((part, telling(part, view)))
        ]
    meant = view.file and view.reads(view.file) and not WHOLE.search(part)
    at_hand = [{"query": telling(part, view), "folder": view.file}] if meant else []
    return [*at_hand, {"query": part}]


def _files(part: str, view: View) -> list[Said]:
    """What the searches of the files have found, certain lines first; what the reader said of one that is gone."""
    said = list[Said]()
    for arguments in looked_up(part, view):
        if shows := view.result("search_files", arguments):
            said += shows.said
        else:
            folder = arguments.get("folder")
            said += (one for one in view.thoughts if one.path == folder)
    return sorted(dict.fromkeys(said), key=lambda one: one.score < CERTAIN)


def _spoken(said: Said, view: View) -> set[str]:
    """The terms of a passage and of the titles above it."""
    title = view.entries[said.source].title if said.source in view.entries else said.source
    return set(terms(f"{title} {said.section} {said.text}"))


def _score(result: Result) -> float:
    return max((one.score for one in result.said), default=0.0)


def in_view(part: str, view: View) -> list[Said]:
    """What the user said, the reader said before or a file said that was read, if it has most words of the question."""
    if SAID.search(part):
        return _sharing(part, view.told, 0.01)
    if OURS.search(part) and (told := _sharing(part, view.told, STATED)):
        return told
    named, asked = paths(part, view), nameless(part, view)
    pages = (act.shows for act in view.acts if act.shows.form == "lines")
    whole = (shows for shows in pages if shows.whole and shows.first == 1 and shows.last >= shows.of)
    lines = (one for shows in whole for one in shows.said if not named or one.path in named)
    if (read := _sharing(asked, lines, BEARING)) or LEANS.search(part) or len(set(terms(part))) < 3:
        return read
    return _sharing(asked, (one for one in view.own if not named or one.path in named), KNOWN)


def anything(part: str, view: View) -> list[Said]:
    """Whatever in the view has at least half of the words of a question."""
    shown = (one for act in view.acts for one in act.shows.said)
    return _sharing(part, (*view.own, *view.told, *shown), STATED)


def _sharing(part: str, said: Iterable[Said], least: float) -> list[Said]:
    """What has at least this share of the words of a question, most first; at most two."""
    asked = set(terms(part))
    shares = {one: len(asked & set(terms(f"{one.section} {one.text}"))) / len(asked or "x") for one in said}
    return sorted((one for one in shares if shares[one] >= least), key=lambda one: -shares[one])[:2]


def best_run(text: str, part: str, most: int) -> str:
    """The sentences in a row with most words of a question, of at most `most` words; one sentence in any case."""
    runs = list(_runs(sentences(text), most))
    return max(runs, key=lambda run: (shared(run, part), len(run)), default=text)


def shared(text: str, part: str) -> int:
    """How many words of a question a text has."""
    return len(set(terms(part)) & set(terms(text)))


def _runs(said: list[str], most: int) -> Iterator[str]:
    for start in range(len(said)):
        for end in range(start + 1, len(said) + 1):
            run = " ".join(said[start:end])
            if end - start > 1 and len(run.split()) > most:
                break
            yield run


def cite(said: Sequence[Said]) -> str:
    """The passages, a paragraph each, with its citation behind it, or with `You said` before it."""
    return "\n\n".join(map(_cited, said))


def _cited(one: Said) -> str:
    if one.source == USER:
        return f"You said: “{one.text}”"
    return f"{one.text} [{one.source}]" if one.source else one.text


def article(wanted: Request, view: View) -> str:
    """The slug of the article that a request is about; "" if none is found."""
    reading = [act.text("slug") for act in view.current("read_article")]
    if wanted.slug or (ORDINAL.search(wanted.text) and not wanted.topic):
        return wanted.slug
    if reading or not wanted.topic:
        return next(iter([*reading, *reversed(view.read)]), "")
    listed = view.result("list_articles", {"topic": wanted.topic})
    return listed.entries[0].slug if listed and listed.entries else ""


def note_text(wanted: Request, view: View) -> str:
    """What to save: the words given; or the beginning of the article that is meant; or what was said last."""
    if given := NOTED.search(wanted.text):
        return given["text"]
    if pages := view.pages(article(wanted, view)):
        return cite([Said(first_sentences(pages[-1].said[0].text, 45), pages[-1].entries[0].slug)])
    return "" if wanted.topic else cite(view.own[-2:])
