"""Answers: passages in view, quoted with what they are cited by; passages that are only near; or a plain no."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate

from thimble.corpus.article import OPENING
from thimble.corpus.markdown import first_sentences
from thimble.corpus.observations import CERTAIN, Quote, Result
from thimble.models.reader.evidence import Evidence, about_thimble, best_run, cite, evidence, readable
from thimble.models.reader.request import ASKS_WHAT_USER_SAID, ReaderRequest
from thimble.models.reader.steps import article, untold
from thimble.models.reader.view import CLOSEST_PASSAGES, I_CANNOT, ReaderView

QUOTED_WORDS = 110
"""Words that an answer quotes."""
MOST_HITS = 5
"""Lines of files that an answer quotes, where they have all words that were searched for."""
MOST_PASSAGES = 3
SECOND = 0.8
"""A second passage is quoted if it has this share of the first one's score."""
DIGEST_WORDS = 140
MOST_LINES, LINES_CHARACTERS = 40, 1_500
"""What is quoted of a file that is read."""
LONG_LIST = 8
"""Articles above which a list gives titles only."""
ABOUT_ME = (
    "I am thimble's built-in reader: not a language model, but a small program that searches articles and files and "
    "quotes the passages that answer. Ask me what they say, which articles or files there are, or to read one; /help "
    "lists the commands. I do not count, add up or conclude, and I keep no notes."
)
UNDERSTOOD = "Understood. I know that for as long as it stays in what I am sent."
WHICH = f"{I_CANNOT} tell which article you mean. Please name it."
ASKABLE = "Ask what one of the articles says, which articles there are, or to read a file."


def answer(wanted: ReaderRequest, view: ReaderView, tools: bool) -> str:
    """The answer to a request from what is in view, or why there is none."""
    text = COMPOSERS[wanted.kind](wanted, view)
    return f"{text} I have no tool left to read more with." if text.startswith(I_CANNOT) and not tools else text


def _question(wanted: ReaderRequest, view: ReaderView) -> str:
    """What answers each part, in the order of the parts; where no part has a sure answer, the closest passages."""
    each = [evidence(part, view) for part in wanted.parts]
    if not any(found.said for found in each):
        return _refusal(wanted, view)
    if not any(found.sure for found in each):
        return _closest(wanted, each, view)
    answers = list[str]()
    for found, part in zip(each, wanted.parts, strict=True):
        unsure = "Perhaps: " if found.said else f"I found nothing that answers “{part}”."
        quoted = cite(_quoted(found, part, QUOTED_WORDS // len(each)))
        answers.append(quoted if found.sure else f"{unsure}{quoted}")
    return "\n\n".join(dict.fromkeys(answers))


def _quoted(found: Evidence, part: str, left: int) -> list[Quote]:
    """What answers a part, in at most `left` words: the best passage, and the second if it is nearly as good."""
    chosen = list[Quote]()
    for one in found.said[: MOST_HITS if found.score >= CERTAIN else 2]:
        text = best_run(one.text, part, left)
        if not chosen or (one.score >= SECOND * found.score and len(text.split()) <= left):
            chosen.append(Quote(text, one.source))
            left -= len(text.split())
    return chosen


def _closest(wanted: ReaderRequest, each: Sequence[Evidence], view: ReaderView) -> str:
    """The best passages of all parts, each with the title and the section that it stands in."""
    most = max(1, MOST_PASSAGES // len(each))
    passages = {(one.text, one.source): one for found in each for one in found.said[:most]}
    lines = [CLOSEST_PASSAGES]
    for one in passages.values():
        place = " — ".join(filter(None, (f"“{view.title(one.source)}”" if not one.path else "", one.section)))
        lines.append(f"- {place}{': ' if place else ''}{cite([one])}")
    return "\n".join(lines)


def _refusal(wanted: ReaderRequest, view: ReaderView) -> str:
    """That there is no answer, and what can be asked."""
    if ASKS_WHAT_USER_SAID.search(wanted.text):
        return f"{I_CANNOT} tell what you said of that: nothing of it is in view."
    errors = [act.shows.head for act in view.acts if act.current and act.shows.form == "error"]
    if about_thimble(wanted.text, view):
        return f"{I_CANNOT} answer that from thimble's own pages. /help lists the commands."
    if view.hidden("search_articles"):
        return f"{I_CANNOT} answer that: what the search found is not in view."
    files = " or ".join(readable(wanted.text, view))
    where = files or ("these articles or files" if view.current("search_files") else "these articles")
    near = dict.fromkeys(entry for act in view.current("search_articles") for entry in act.shows.entries)
    titles = ", ".join([f"“{entry.title}” [{entry.slug}]" for entry in near][:3])
    failed = f" ({errors[-1]})" if errors else ""
    nearest = f" Nearest are {titles}." if titles else ""
    return f"{I_CANNOT} answer that from {where}{failed}.{nearest} {ASKABLE}"


def _read(wanted: ReaderRequest, view: ReaderView) -> str:
    """A digest of the article that is meant: how it begins, then the first sentence of each section."""
    if wanted.paths:
        return _lines(wanted, view)
    slug = article(wanted, view)
    if not slug:
        return _not_listed(wanted, view) if wanted.topic else WHICH
    if not (pages := view.pages(slug)):
        return f"{I_CANNOT} tell what “{view.title(slug)}” says: {_why_not('read_article', view)}."
    page = pages[-1]
    brief = [f"“{view.title(slug)}” [{slug}], {page.head}, in brief:", *_digest(page.said)]
    if page.said and page.said[0].section == OPENING:
        brief.append("That is only how it begins: all of it has no room.")
    if page.last < page.of:
        brief.append(f"That was page {page.last} of {page.of}; ask me to read on for the rest.")
    return "\n".join(brief)


def _why_not(tool: str, view: ReaderView) -> str:
    """Why a text is not in view that was to be read."""
    errors = [act.shows.head for act in view.current(tool) if act.shows.form == "error"]
    return errors[-1] if errors else "its text is not in view"


def _lines(wanted: ReaderRequest, view: ReaderView) -> str:
    """The lines that are meant, as many as there is room for, and which ones these were."""
    path, lines = wanted.paths[0], wanted.lines
    start = view.start(path, lines)
    shows = act.shows if (act := view.page(path, start)) else Result("gone")
    there = [one for one in shows.said if one.line >= start or not one.line]
    meant = [one for one in there if not lines.many or one.line < start + lines.many]
    if not meant:
        return f"{I_CANNOT} read {path} here: {_why_not('read_file', view)}."
    used = accumulate(len(one.text) for one in meant)
    told = [one for one, so_far in zip(meant, used, strict=True) if so_far <= LINES_CHARACTERS][:MOST_LINES] or meant[
        :1
    ]
    quoted = [cite(told, "\n")]
    if not shows.whole or not there[0].line:
        return f"{quoted[0]}\n[{path}]: no other lines are in view."
    last = there[len(told)].line - 1 if len(told) < len(there) else shows.last
    if start > 1 or last < shows.of:
        which = f"Those were lines {start:,} to {last:,}" if last > start else f"That was line {start:,}"
        rest = "; ask me to read on for the rest" * (last < shows.of)
        quoted.append(f"{which} of {shows.of:,} of {shows.head}{rest}.")
    return "\n".join(quoted)


def _digest(said: Sequence[Quote]) -> list[str]:
    """The beginning of a text and the first sentence of each of its sections, as a list, as far as there is room."""
    first = {one.section: one for one in reversed(said)}
    points: list[str] = []
    left = DIGEST_WORDS
    for section in dict.fromkeys(one.section for one in said):
        point = first_sentences(first[section].text, 45 if not points else 1)
        left -= len(point.split())
        if left >= 0 or not points:
            points.append(f"- {point} [{first[section].source}]")
    return points


def _on(wanted: ReaderRequest, view: ReaderView) -> str:
    if not view.at_hand:
        return WHICH
    points = _digest(untold(view))
    none = f"{I_CANNOT} tell more of {view.at_hand}: no more of its text is in view."
    return "\n".join([f"More from {view.at_hand}:", *points]) if points else none


def _list(wanted: ReaderRequest, view: ReaderView) -> str:
    shows = view.result("list_articles", {"topic": wanted.topic} if wanted.topic else {})
    if not shows or not shows.entries:
        return f"{_not_listed(wanted, view)} Ask which articles there are."
    lines = [f"{shows.head}:"]
    for entry in shows.entries:
        gist = f": {entry.gist}" if len(shows.entries) <= LONG_LIST else ""
        lines.append(f"- “{entry.title}” [{entry.slug}]{gist}")
    return "\n".join(lines)


def _not_listed(wanted: ReaderRequest, view: ReaderView) -> str:
    about = f" about {wanted.topic}" if wanted.topic else ""
    if view.hidden("list_articles"):
        return f"{I_CANNOT} tell which articles{about} there are: the list is not in view."
    return f"{I_CANNOT} find an article{about} here."


def _files(wanted: ReaderRequest, view: ReaderView) -> str:
    """The newest list of the files, as the tool gave it."""
    shown = [act.shows for act in view.acts if act.name == "list_files" and act.shows.form == "list"]
    return "\n".join(one.text for one in shown[-1].said) if shown else f"{I_CANNOT} see a list of the files."


def gave(shows: Result) -> str:
    """What a result gave, in a line, so that it stays when the result is taken away."""
    if shows.form == "error":
        return f"That did not work: {shows.head}."
    if shows.said and shows.form in ("page", "hits", "matches"):
        return f"Found: {first_sentences(shows.said[0].text, 1)} [{shows.said[0].source}]"
    return f"{shows.head}." if shows.head.startswith("No ") else ""


COMPOSERS: Mapping[str, Callable[[ReaderRequest, ReaderView], str]] = {
    "about me": lambda wanted, view: ABOUT_ME,
    "told": lambda wanted, view: UNDERSTOOD,
    "question": _question,
    "read": _read,
    "on": _on,
    "list": _list,
    "files": _files,
}
