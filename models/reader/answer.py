"""Answers: passages in view, quoted with what they are cited by; or a plain word that there is no answer in view."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby

from corpus.article import OPENING
from corpus.markdown import sentences
from models.reader.evidence import (
    anything,
    article,
    best_run,
    cite,
    found,
    in_view,
    note_text,
    readable,
    searched,
    shared,
)
from models.reader.request import SAID, Request
from models.reader.results import CERTAIN, Entry, Result, Said, first_sentences
from models.reader.view import CANNOT, View

MOST_WORDS = 110
"""Words that an answer quotes."""
MOST_HITS = 5
"""Lines of files that an answer quotes, where they have all words that were searched for."""
SECOND = 0.8
"""A second passage is quoted if it has this share of the first one's score."""
DIGEST_WORDS = 140
MOST_LINES, LINES_CHARACTERS = 40, 1_500
"""What is quoted of a file that is read."""
LONG_LIST = 8
"""Articles above which a list gives titles only."""
TALK = {
    "who": "I am thimble's built-in reader: not a language model, but a small program that searches articles and files "
    "and quotes the passages that answer. Ask me something, or ask which articles there are.",
    "thanks": "You are welcome. Ask me about the articles whenever you like.",
    "hello": "Hello! I am thimble's built-in reader, not a language model. Ask me something about the articles, or ask "
    "which ones there are.",
    "bye": "Goodbye.",
}
WHICH = f"{CANNOT} tell which article you mean. Please name it."
COMMANDS = (
    "That is a question about thimble itself. /strategy lists the strategies and swaps them, /context shows what was "
    "sent and what was left out, /why N says why, /stats what it cost, /budget the limit. /help lists all commands."
)
UNDERSTOOD = "Understood. I know that for as long as it stays in what I am sent."


def answer(wanted: Request, view: View, tools: bool) -> str:
    """The answer to a request from what is in view, or why there is none."""
    text = COMPOSERS.get(wanted.kind, _talk)(wanted, view)
    return text if tools or not text.startswith(CANNOT) else f"{text} I have no tool left to read more with."


def _talk(wanted: Request, view: View) -> str:
    return TALK.get(wanted.kind, UNDERSTOOD)


def _program(wanted: Request, view: View) -> str:
    return COMMANDS


def _question(wanted: Request, view: View) -> str:
    """What answers each part, in the order of the parts."""
    each = MOST_WORDS // len(wanted.parts)
    said = [quote(part, wanted, view, each) for part in wanted.parts]
    if not any(said):
        return _refusal(wanted, view)
    told = cite(list(dict.fromkeys(one for part in said for one in part)))
    missing = [part for part, quoted in zip(wanted.parts, said, strict=True) if not quoted]
    return "\n\n".join([told, *(f"I found nothing that answers “{part}”." for part in missing)])


def quote(part: str, wanted: Request, view: View, most: int) -> list[Said]:
    """What answers a part, in at most `most` words: the best passage, and the second if it is nearly as good."""
    if known := in_view(part, view):
        return known[:1]
    best = found(part, view)
    best = best[: MOST_HITS if best and best[0].score >= CERTAIN else 2] or (
        [] if SAID.search(part) or searched(part, view) else anything(part, view)
    )
    if best and len(wanted.parts) > 1:
        runs = [Said(best_run(one.text, part, most), one.source) for one in best]
        return [max(runs, key=lambda run: shared(run.text, part))]
    chosen: list[Said] = []
    left = most
    for one in best:
        text = one.text if not chosen else best_run(one.text, part, left)
        if not chosen or (one.score >= SECOND * best[0].score and len(text.split()) <= left):
            chosen.append(Said(text, one.source))
            left -= len(text.split())
    return chosen


def _refusal(wanted: Request, view: View) -> str:
    """That there is no answer, and what is near."""
    if SAID.search(wanted.text):
        return f"{CANNOT} tell what you said of that: nothing of it is in view."
    made = view.current("search_articles", "search_files", "read_file")
    errors = [act.shows.head for act in made if act.shows.form == "error"]
    if errors and len(errors) == len(made):
        return f"{CANNOT} answer that: the tools failed ({errors[-1]})."
    if named := readable(wanted.text, view):
        return f"{CANNOT} answer that from {_row(named)}. Ask me to read the file."
    if view.hidden("search_articles"):
        return f"{CANNOT} answer that: what the search found is not in view."
    where = "these articles or files" if view.current("search_files") else "these articles"
    near = [entry for act in view.current("search_articles") for entry in act.shows.entries]
    failed = f" ({errors[-1]})" if errors else ""
    return " ".join([f"{CANNOT} answer that from {where}{failed}.", *_nearest(near)])


def _nearest(entries: Sequence[Entry]) -> list[str]:
    titles = [f"“{entry.title}” [{entry.slug}]" for entry in dict.fromkeys(entries)][:3]
    return [f"Nearest are {_row(titles)}. Ask what one of them says, or which articles there are."] if titles else []


def _row(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def _read(wanted: Request, view: View) -> str:
    """A digest of the article that is meant: how it begins, then the first sentence of each section."""
    if wanted.paths:
        return _lines(wanted, view)
    slug = article(wanted, view)
    if not slug:
        return _not_listed(wanted, view) if wanted.topic else WHICH
    pages = view.pages(slug)
    title = view.entries[slug].title if slug in view.entries else slug
    if not pages:
        errors = [act.shows.head for act in view.current("read_article") if act.shows.form == "error"]
        return f"{CANNOT} tell what “{title}” says: {errors[-1] if errors else 'its text is not in view'}."
    brief = [f"“{title}” [{slug}], {pages[-1].head} words, in brief:", *digest(pages[-1].said)]
    if pages[-1].said and pages[-1].said[0].section == OPENING:
        brief.append("That is only how it begins: all of it has no room.")
    if pages[-1].last < pages[-1].of:
        brief.append(f"That was page {pages[-1].last} of {pages[-1].of}; ask me to read on for the rest.")
    return "\n".join(brief)


def _lines(wanted: Request, view: View) -> str:
    """The lines that are meant, as many as there is room for, and which ones these were."""
    path, lines = wanted.paths[0], wanted.lines
    start = view.start(path, lines)
    shows = act.shows if (act := view.page(path, start)) else Result("gone")
    there = [one for one in shows.said if one.line >= start]
    meant = [one for one in there if not lines.many or one.line < start + lines.many]
    if not meant:
        errors = [act.shows.head for act in view.current("read_file") if act.shows.form == "error"]
        return f"{CANNOT} read {path} here: {errors[-1] if errors else 'its text is not in view'}."
    quoted, many, room = list[str](), 0, LINES_CHARACTERS
    for _, equal in groupby(meant, lambda one: one.text):
        first, *more = equal
        quoted.append(cite([first]) + f" (and {len(more):,} more line{'s' * (len(more) != 1)} like it)" * bool(more))
        room -= len(quoted[-1])
        if len(quoted) > 1 and (room < 0 or len(quoted) > MOST_LINES):
            quoted.pop()
            break
        many += 1 + len(more)
    if not shows.whole:
        return "\n".join([*quoted, "Other lines are not in view."])
    last = there[many].line - 1 if many < len(there) else shows.last
    if start == 1 and last >= shows.of:
        return "\n".join(quoted)
    which = f"Those were lines {start:,} to {last:,}" if last > start else f"That was line {start:,}"
    rest = "; ask me to read on for the rest" * (last < shows.of)
    return "\n".join([*quoted, f"{which} of {shows.of:,} of {path}{rest}."])


def digest(said: Sequence[Said], most: int = DIGEST_WORDS) -> list[str]:
    """The beginning of a text and the first sentence of each of its sections, as a list, in at most `most` words."""
    first = {one.section: one for one in reversed(said)}
    points: list[str] = []
    left = most
    for section in dict.fromkeys(one.section for one in said):
        point = first_sentences(first[section].text, 45 if not points else 1)
        left -= len(point.split())
        if left >= 0 or not points:
            points.append(f"- {point} [{first[section].source}]")
    return points


def _more(wanted: Request, view: View) -> str:
    slug = next(iter(reversed(view.read)), "")
    pages = [act.shows for act in view.current("read_article") if act.shows.form == "page"] or view.pages(slug)
    if not pages:
        return f"{CANNOT} tell more of {slug}: its text is not in view." if slug else WHICH
    every = [Said(text, one.source, one.section) for one in pages[-1].said for text in sentences(one.text)]
    points = digest([one for one in every if not any(one.text in told.text for told in view.own)])
    return (
        "\n".join([f"More from {slug}:", *points]) if points else f"{CANNOT} tell more of {slug}: no more is in view."
    )


def _compare(wanted: Request, view: View) -> str:
    """The best passage on each side."""
    lines = []
    sides = {side: (found(side, view) or anything(side, view))[:1] for side in wanted.parts}
    for side, said in sides.items():
        title = view.entries[said[0].source].title if said and said[0].source in view.entries else ""
        named = f"{side[:1].upper()}{side[1:]}" + (f" (“{title}”)" if title not in ("", side) else "")
        lines.append(f"{named}:\n- {cite(said)}" if said else f"{named}:\n- I found nothing on this.")
    return "\n".join(lines) if any(sides.values()) else _refusal(wanted, view)


def _list(wanted: Request, view: View) -> str:
    shows = view.result("list_articles", {"topic": wanted.topic} if wanted.topic else {})
    if not shows or not shows.entries:
        return f"{_not_listed(wanted, view)} Ask which articles there are."
    if wanted.kind == "count":
        return f"{shows.head}."
    lines = [f"{shows.head}:"]
    for entry in shows.entries:
        gist = f": {entry.gist}" if len(shows.entries) <= LONG_LIST else ""
        lines.append(f"- “{entry.title}” [{entry.slug}]{gist}")
    return "\n".join([*lines, *(["There are more than these."] if shows.last < shows.of else [])])


def _not_listed(wanted: Request, view: View) -> str:
    about = f" about {wanted.topic}" if wanted.topic else ""
    if view.hidden("list_articles"):
        return f"{CANNOT} tell which articles{about} there are: the list is not in view."
    return f"{CANNOT} find an article{about} here."


def _entries(wanted: Request, view: View) -> str:
    """The files or notes that the newest such result lists."""
    name = {"files": "list_files", "notes": "get_notes"}[wanted.kind]
    shown = [act.shows for act in view.acts if act.name == name and act.shows.form not in ("gone", "error")]
    if not shown:
        return f"{CANNOT} see a list of the {wanted.kind}."
    gist = "{0.title} ({0.gist})" if wanted.kind == "files" else "“{0.title}”: {0.gist}"
    lines = [f"- {gist.format(entry)}" for entry in shown[-1].entries[:20]]
    return "\n".join([f"{shown[-1].head.rstrip('.')}{':' if lines else '.'}", *lines])


def _note(wanted: Request, view: View) -> str:
    text = note_text(wanted, view)
    saved = [act for act in view.acts if act.name == "save_note" and act.shows.form != "error"]
    if kept := [act.text("text") for act in saved if act.current or act.text("text") == text]:
        return f"I have noted: {kept[-1]}"
    return f"{CANNOT} save a note here." if text else f"{CANNOT} tell what to note. Please say it."


def gave(shows: Result) -> str:
    """What a result gave, in a line, so that it stays when the result is taken away."""
    if shows.form == "error":
        return f"That did not work: {shows.head}."
    if shows.form == "nothing":
        return f"{shows.head}."
    if shows.form in ("page", "hits", "matches") and shows.said:
        best = shows.said[0]
        return f"Found: {first_sentences(best.text, 1)} [{best.source}]"
    return ""


COMPOSERS: Mapping[str, Callable[[Request, View], str]] = {
    "program": _program,
    "question": _question,
    "read": _read,
    "summary": _read,
    "more": _more,
    "compare": _compare,
    "list": _list,
    "count": _list,
    "files": _entries,
    "notes": _entries,
    "note": _note,
}
