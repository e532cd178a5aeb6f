"""Answers: for each kind of request, the calls that help, and the answer from their results.

The reader is asked again after each result. Each time it looks at the view, and makes the first helpful calls whose
results are not in view, none of them twice for one question. Then it answers: with passages, quoted and cited; with
passages that are only close; or with a plain no.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest

from thimble.agent.messages import Schema
from thimble.corpus.article import OPENING_TITLE
from thimble.corpus.markdown import first_sentences, split_sentences
from thimble.corpus.observations import FULL_SCORE, Quote, Result
from thimble.models.reader.evidence import (
    MIN_ANSWER_SCORE,
    best_run,
    best_score,
    cite_passages,
    find_evidence,
    list_searches,
    needs_no_search,
)
from thimble.models.reader.request import ARTICLE_WORDS, ASKS_WHAT_USER_SAID, IN_FILES, WHAT, ReaderRequest, find_paths
from thimble.models.reader.view import CLOSEST_PASSAGES, I_CANNOT, NEXT_PAGE, Call, ReaderView

QUESTION_CALLS = 8
"""Calls for one question, after which the reader answers with what it has."""
QUOTED_WORDS = 110
"""Maximum words quoted in an answer."""
MAX_HITS = 5
"""Maximum lines of files quoted in an answer, if they have all words of the query."""
MAX_PASSAGES = 3
SECOND_SCORE_SHARE = 0.8
"""A second passage is quoted if it has this share of the first one's score."""
DIGEST_WORDS = 140
MOST_LINES, LINES_CHARACTERS = 40, 1_500
"""Maximum lines and characters quoted of a file."""
LONG_LIST = 8
"""Articles above which a list gives titles only."""
UNDERSTOOD = "Understood. I know that for as long as it stays in what I am sent."
WHICH_ARTICLE = f"{I_CANNOT} tell which article you mean. Please name it."
ASKABLE = "Ask what one of the articles says, which articles there are, or to read a file."
Step = tuple[str, Sequence[Call]]
"""The reason for some calls, and the calls."""


def next_step(wanted: ReaderRequest, view: ReaderView, tools: Sequence[Schema]) -> Step | None:
    """The calls to make now; None when it is time to answer."""
    offered = {tool["function"].get("name") for tool in tools if "function" in tool}
    made = [(act.name, act.arguments) for act in view.acts if act.current]
    for why, helpful in KINDS[wanted.kind][0](wanted, view) if len(made) < QUESTION_CALLS else ():
        calls = [call for call in helpful if call[0] in offered]
        if "recall" in offered:
            calls = [_recall(view, call) or call for call in calls]
        if new := [call for call in calls if call not in made and view.shows(call).form == "gone"]:
            return why, new
    return None


def _recall(view: ReaderView, call: Call) -> Call | None:
    """A recall of the whole result of a call, if the view shows only a part, and earlier recalls had room."""
    recall = {"id": view.shows(call).more}
    room = all(act.shows.whole and act.arguments != recall for act in view.current("recall"))
    return ("recall", recall) if recall["id"] and room else None


def answer(wanted: ReaderRequest, view: ReaderView, tools: bool) -> str:
    """The answer to a request from the results in view, or the reason why there is none."""
    text = KINDS[wanted.kind][1](wanted, view)
    return f"{text} I have no tool left to read more with." if text.startswith(I_CANNOT) and not tools else text


def _search(wanted: ReaderRequest, view: ReaderView) -> Iterator[Step]:
    """Search for each question until it has a sure answer; in the files too if it may be about them."""
    parts = [part for part in wanted.parts if not needs_no_search(part, view)]
    for at, calls in enumerate(zip_longest(*(list_searches(part, view) for part in parts))):
        due = {
            part: call
            for part, call in zip(parts, calls, strict=True)
            if call
            and (
                not at
                or best_score(find_evidence(part, view)) < MIN_ANSWER_SCORE
                or (at == 1 and IN_FILES.search(part))
            )
        }
        where = {"the files" if name == "search_files" else "the articles" for name, _ in due.values()}
        said = " and ".join(f"“{part}”" for part in due)
        yield f"I will search {' and '.join(sorted(where))} for {said}.", [*due.values()]


def _answered(wanted: ReaderRequest, view: ReaderView) -> str:
    """The answer to each part; the closest passages if no part has a sure answer; a refusal if nothing is close."""
    each = {part: find_evidence(part, view) for part in wanted.parts}
    if not any(each.values()):
        return _refusal(wanted, view)
    if all(best_score(found) < MIN_ANSWER_SCORE for found in each.values()):
        return _quote_closest([*each.values()], view)
    answers = list[str]()
    for part, found in each.items():
        unsure = (
            ""
            if best_score(found) >= MIN_ANSWER_SCORE
            else "Perhaps: "
            if found
            else f"I found nothing that answers “{part}”."
        )
        answers.append(unsure + cite_passages(_quoted(found, part, QUOTED_WORDS // len(each))))
    return "\n\n".join(dict.fromkeys(answers))


def _quoted(found: Sequence[Quote], part: str, left: int) -> list[Quote]:
    """Quotes that answer a part, in at most `left` words: the best passage, and the second if it is nearly as good."""
    chosen = list[Quote]()
    for one in found[: MAX_HITS if best_score(found) >= FULL_SCORE else 2]:
        text = best_run(one.text, part, left)
        if not chosen or (one.score >= SECOND_SCORE_SHARE * best_score(found) and len(text.split()) <= left):
            chosen.append(Quote(text, one.source))
            left -= len(text.split())
    return chosen


def _quote_closest(each: Sequence[Sequence[Quote]], view: ReaderView) -> str:
    """The best passages of all parts, each with its title and section."""
    lines = [CLOSEST_PASSAGES]
    for one in dict.fromkeys(one for found in each for one in found[: max(1, MAX_PASSAGES // len(each))]):
        place = " — ".join(filter(None, ("" if one.path else f"“{view.title(one.source)}”", one.section)))
        lines.append(f"- {place}{': ' if place else ''}{cite_passages([one])}")
    return "\n".join(lines)


def _refusal(wanted: ReaderRequest, view: ReaderView) -> str:
    """A refusal, with the nearest articles and a hint at possible questions."""
    if ASKS_WHAT_USER_SAID.search(wanted.text):
        return f"{I_CANNOT} tell what you said of that: nothing of it is in view."
    if view.hidden("search_articles"):
        return f"{I_CANNOT} answer that: what the search found is not in view."
    named = " or ".join(find_paths(wanted.text, view))
    where = named or ("these articles or files" if view.current("search_files") else "these articles")
    near = dict.fromkeys(entry for act in view.current("search_articles") for entry in act.shows.entries)
    titles = ", ".join([f"“{entry.title}” [{entry.slug}]" for entry in near][:3])
    failed = _error(view, "search_articles", "search_files")
    nearest = f" Nearest are {titles}." if titles else ""
    return f"{I_CANNOT} answer that from {where}{f' ({failed})' * bool(failed)}.{nearest} {ASKABLE}"


def _error(view: ReaderView, *tools: str) -> str:
    """The newest error of these tools; "" if there is none."""
    errors = [act.shows.head for act in view.current(*tools) if act.shows.form == "error"]
    return errors[-1] if errors else ""


def _list(wanted: ReaderRequest, view: ReaderView) -> Iterator[Step]:
    about = f" about {wanted.topic}" if wanted.topic else ""
    yield f"I will list the articles{about}.", [_listing(wanted)]


def _listing(wanted: ReaderRequest) -> Call:
    given = {"topic": wanted.topic, "page": wanted.page}
    return "list_articles", {name: value for name, value in given.items() if value not in ("", 1)}


def _listed(wanted: ReaderRequest, view: ReaderView) -> str:
    shows = view.shows(_listing(wanted))
    if not shows.entries:
        about = f" about {wanted.topic}" if wanted.topic else ""
        hidden = f"{I_CANNOT} tell which articles{about} there are: the list is not in view."
        return hidden if view.hidden("list_articles") else f"{I_CANNOT} find an article{about} here."
    gists = len(shows.entries) <= LONG_LIST
    lines = [f"- “{one.title}” [{one.slug}]{f': {one.gist}' * gists}" for one in shows.entries]
    if shows.last < shows.of:
        lines.append(f"That was page {shows.last} of {shows.of}; for the others, {NEXT_PAGE}")
    return "\n".join([f"{shows.head}:", *lines])


def _look_up(wanted: ReaderRequest, view: ReaderView) -> Iterator[Step]:
    """Read the requested file or article: the first one listed for the topic, or the one cited last."""
    if wanted.path:
        yield f"I will read the file {wanted.path}.", [_file(wanted)]
        return
    if wanted.topic and not _article(wanted, view):
        if not (re.search(rf"\b{ARTICLE_WORDS}\b", wanted.text, re.I) or WHAT.search(wanted.text)):
            yield "I will look whether that is a file.", [("list_files", {})]
        yield from _list(wanted, view)
    slug, pages = _article(wanted, view), view.pages(_article(wanted, view))
    if wanted.kind == "on" and pages and not _unquoted_sentences(view) and pages[-1].last < pages[-1].of:
        yield f"I will read on in {slug}.", [("read_article", {"slug": slug, "page": pages[-1].last + 1})]
    elif slug:
        yield f"I will read the article {slug}.", [("read_article", {"slug": slug})]
        if not pages:
            opening = {"slug": slug, "section": OPENING_TITLE}
            yield f"{slug} has no room; I will read how it begins.", [("read_article", opening)]


def _article(wanted: ReaderRequest, view: ReaderView) -> str:
    """The slug of the article that a request is about; "" if none is found."""
    reading = [act.text("slug") for act in view.current("read_article")]  # the list may be hidden again
    listed = [entry.slug for entry in view.shows(_listing(wanted)).entries] if wanted.topic else [view.at_hand]
    return next(iter([*reading, *listed]), "")


def _file(wanted: ReaderRequest) -> Call:
    """The call that reads the requested lines."""
    given = {"path": wanted.path, "start": wanted.start, "lines": wanted.many}
    return "read_file", {name: value for name, value in given.items() if value and (name, value) != ("start", 1)}


def _digested(wanted: ReaderRequest, view: ReaderView) -> str:
    """A digest of the requested article: its beginning, then the first sentence of each section."""
    if wanted.path:
        return _lines(wanted, view)
    slug = _article(wanted, view)
    if not slug:
        return _listed(wanted, view) if wanted.topic else WHICH_ARTICLE
    if not (pages := view.pages(slug)):
        why = _error(view, "read_article") or "its text is not in view"
        return f"{I_CANNOT} tell what “{view.title(slug)}” says: {why}."
    page = pages[-1]
    brief = [f"“{view.title(slug)}” [{slug}], {page.head}, in brief:", *_digest(page.said)]
    if page.said and page.said[0].section == OPENING_TITLE:
        brief.append("That is only how it begins: all of it has no room.")
    elif not page.whole:
        brief.append("Parts of it have no room.")
    if page.last < page.of:
        brief.append(f"That was page {page.last} of {page.of}; ask me to read on for the rest.")
    return "\n".join(brief)


def _lines(wanted: ReaderRequest, view: ReaderView) -> str:
    """The requested lines, as many as there is room for, and their numbers."""
    path, start, shows = wanted.path, wanted.start, view.shows(_file(wanted))
    if not shows.said:
        return f"{I_CANNOT} read {path} here: {_error(view, 'read_file') or 'its text is not in view'}."
    quoted, room = list[Quote](), LINES_CHARACTERS
    for one in shows.said[:MOST_LINES]:
        room -= len(one.text)
        quoted += [one] * (room >= 0 or not quoted)
    text = cite_passages(quoted, "\n")
    if not shows.whole or not quoted[0].line:
        return f"{text}\n[{path}]: no other lines are in view."
    last = shows.said[len(quoted)].line - 1 if len(quoted) < len(shows.said) else shows.last
    if start == 1 and last >= shows.of:
        return text
    which = f"Those were lines {start:,} to {last:,}" if last > start else f"That was line {start:,}"
    rest = "; ask me to read on for the rest" * (last < shows.of)
    return f"{text}\n{which} of {shows.of:,} of {shows.head}{rest}."


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


def _unquoted_sentences(view: ReaderView) -> list[Quote]:
    """The sentences in view of the article cited last that were not quoted yet."""
    pieces = [one for page in view.pages(view.at_hand) for one in page.said]
    every = dict.fromkeys(
        Quote(text, view.at_hand, one.section) for one in pieces for text in split_sentences(one.text)
    )
    return [one for one in every if not any(one.text in said.text for said in view.own)]


def _more(wanted: ReaderRequest, view: ReaderView) -> str:
    if not view.at_hand:
        return WHICH_ARTICLE
    points = _digest(_unquoted_sentences(view))
    none = f"{I_CANNOT} tell more of {view.at_hand}: no more of its text is in view."
    return "\n".join([f"More from {view.at_hand}:", *points]) if points else none


def _list_files(wanted: ReaderRequest, view: ReaderView) -> Iterator[Step]:
    yield "I will list the files.", [("list_files", {})]


def _files(wanted: ReaderRequest, view: ReaderView) -> str:
    """The list of the files, as the tool gave it."""
    said = view.shows(("list_files", {})).said
    return "\n".join(one.text for one in said) or f"{I_CANNOT} see a list of the files."


def describe_search(shows: Result) -> str:
    """The first passage that a search found, in a line that stays when the result leaves the view."""
    if not shows.said or shows.form not in ("hits", "matches"):
        return ""
    return f"Found: {first_sentences(shows.said[0].text, 1)} [{shows.said[0].source}]"


Plan = Callable[[ReaderRequest, ReaderView], Iterator[Step]]
Compose = Callable[[ReaderRequest, ReaderView], str]
KINDS: Mapping[str, tuple[Plan, Compose]] = {
    "told": (lambda wanted, view: iter(()), lambda wanted, view: UNDERSTOOD),
    "question": (_search, _answered),
    "read": (_look_up, _digested),
    "on": (_look_up, _more),
    "list": (_list, _listed),
    "files": (_list_files, _files),
}
"""For each kind of request, the calls that help, and the text that answers it."""
