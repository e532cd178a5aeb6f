"""Answers: sentences in view, quoted with what they are cited by; or a plain word that there is no answer in view."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from models.reader.comparison import common_words, heading
from models.reader.digest import key_sentences
from models.reader.language import stem, terms
from models.reader.match import article, side
from models.reader.note import note_text
from models.reader.observation import SLUG_LIKE, TOLD, Entry, Observation, Sentence
from models.reader.plan import Step
from models.reader.question import Ask, Part
from models.reader.ranking import BEARING, FAIR, GOOD, NEARLY, Evidence, Ranked, meant
from models.reader.shape import DANGLING
from models.reader.wording import THANKS

MOST_WORDS = 110
"""Words that the sentences quoted in an answer to a question may have together."""
RIVAL = 0.12
"""Marks below the best within which another sentence may be the answer as well."""
SHORT = 15
"""Words below which a definition is quoted with the sentence after it."""
LONG_LIST = 8
"""Articles above which a list gives titles only."""
CANNOT = "I cannot"
WHO = (
    "I am thimble's built-in reader: not a language model, but a small program that searches articles and files, reads "
    "them, and quotes the sentences that answer."
)
UNDERSTOOD = "Understood. I know that for as long as it stays in what I am sent."
WELCOME = "You are welcome. Ask me about the articles whenever you like."


def answer(ask: Ask, evidence: Evidence, tools: bool) -> str:
    """The answer to the question from what is in view, or why there is none."""
    text = COMPOSERS[ask.kind](ask, evidence)
    return text if tools or not text.startswith(CANNOT) else f"{text} I have no tool left to read more with."


def cite(sentences: Sequence[Sentence]) -> str:
    """The sentences in a row, each run of one source with its citation behind it."""
    said: list[str] = []
    for source, run in groupby(sentences, key=lambda sentence: sentence.source):
        said += [f"You said: “{one.text}”" if one.section == TOLD else one.text for one in run]
        said += [f"[{source}]"] if source else []
    return " ".join(said)


def bullets(sentences: Sequence[Sentence]) -> str:
    """The sentences as a list, each with its citation."""
    return "\n".join(f"- {cite([sentence])}" for sentence in sentences)


def found(ask: Ask, step: Step, evidence: Evidence) -> str:
    """What the newest results gave, in a line, so that it stays when they are taken away."""
    said = (_gave(result, ask.kind, step, evidence) for result in evidence.view.fresh)
    return " ".join(dict.fromkeys(filter(None, said)))


def _gave(result: Observation, kind: str, step: Step, evidence: Evidence) -> str:
    if result.form == "error":
        return f"That did not work: {result.head.rstrip('.')}."
    if result.form == "nothing":
        return f"{result.head.rstrip('.')}."
    shown = set(result.sentences)
    best = [one.sentence for one in evidence.ranked(step.part) if one.sentence in shown and one.cover >= 0.5][:1]
    if result.entries and result.form in ("hits", "listing") and (kind != "fact" or not best):
        near = next((one for one in result.entries if one.slug == step.arguments.get("slug")), result.entries[0])
        return f"The nearest is “{near.title}” ({near.slug})."
    if result.form == "page" and kind != "fact":
        best = key_sentences(result.sentences, 2, {term: 1.0 for term in step.part.terms})
    return f"Found: {cite(best)}" if best else "It does not say." if shown else ""


def _told(ask: Ask, evidence: Evidence) -> str:
    return UNDERSTOOD


def _chat(ask: Ask, evidence: Evidence) -> str:
    return WELCOME if THANKS.match(ask.text) else WHO


def _fact(ask: Ask, evidence: Evidence) -> str:
    """What answers each part; a sentence that answers two is quoted once."""
    quoted = {part: quote(part, evidence, MOST_WORDS // len(ask.parts)) for part in ask.parts}
    if not any(quoted.values()):
        return _refusal(ask.parts, evidence)
    said = cite(list(dict.fromkeys(sentence for sentences in quoted.values() for sentence in sentences)))
    missing = (f"I found nothing that answers “{part.text.strip()}”" for part in ask.parts if not quoted[part])
    return "\n".join([said, *missing])


def quote(part: Part, evidence: Evidence, most: int) -> list[Sentence]:
    """The one to three sentences that answer a part, in their order; none where nothing in view does.

    They have at most `most` words, unless the one that answers best alone has more.
    """
    if part.told:
        return _told_before(part, evidence)
    best = evidence.best(part, FAIR)
    if part.lost or not best:
        return []
    chosen = [*_before(best, evidence), best.sentence]
    if part.wanted == "definition" and len(best.sentence.text.split()) < SHORT:
        chosen += _after(best, evidence)
    chosen += _more_of(part, best, chosen, evidence)
    while len(chosen) > 1 and sum(len(sentence.text.split()) for sentence in chosen) > most:
        chosen.remove(next(sentence for sentence in reversed(chosen) if sentence != best.sentence))
    order = {sentence: at for at, sentence in enumerate(evidence.view.sentences)}
    return sorted(chosen, key=lambda sentence: order[sentence])


def _told_before(part: Part, evidence: Evidence) -> list[Sentence]:
    """What the user said that bears on a part; everything, as far as it is short, where no word of it does."""
    ranked = evidence.ranked(part)
    return [one.sentence for one in ranked if one.cover >= BEARING][:2] or [one.sentence for one in ranked[:3]]


def _more_of(part: Part, best: Ranked, chosen: Sequence[Sentence], evidence: Evidence) -> list[Sentence]:
    """Up to two more sentences: that say what the best leaves out, or answer nearly as well where it is not clear."""
    uncovered = part.terms.difference(*(terms(sentence.text) for sentence in chosen))
    named = part.names & _spoken_of(best.sentence)
    more: list[Sentence] = []
    for other in evidence.ranked(part)[:6]:
        sentence, new = other.sentence, uncovered & terms(other.sentence.text)
        adds = new and sentence.source == best.sentence.source and not sentence.context and other.cover > 0.35
        adds = adds and best.cover < NEARLY and (best.cover < GOOD or not part.wanted)
        rivals = best.cover < GOOD and other.fits and other.score > best.score - RIVAL
        rivals = rivals and named <= _spoken_of(sentence)
        if (adds or rivals) and sentence not in chosen and len(chosen) + len(more) < 3:
            more.append(sentence)
            uncovered -= new
    return more


def _spoken_of(sentence: Sentence) -> frozenset[str]:
    """The words of a sentence and of its heading."""
    return terms(sentence.text) | terms(sentence.section)


def _before(best: Ranked, evidence: Evidence) -> list[Sentence]:
    """The sentence before one that cannot be understood without it, when it stands in the same paragraph."""
    before = evidence.view.sentences[max(0, best.at - 1) : best.at]
    return [one for one in before if DANGLING.match(best.sentence.text) and _beside(one, best.sentence)]


def _after(best: Ranked, evidence: Evidence) -> list[Sentence]:
    after = evidence.view.sentences[best.at + 1 : best.at + 2]
    return [one for one in after if _beside(one, best.sentence)]


def _beside(one: Sentence, other: Sentence) -> bool:
    return (one.source, one.section, one.block) == (other.source, other.section, other.block)


def _refusal(parts: Sequence[Part], evidence: Evidence) -> str:
    """That there is no answer, and why, as far as it can be told."""
    part, view = parts[0], evidence.view
    if any(part.lost for part in parts):
        return f"{CANNOT} tell which article you mean: it is no longer in view. Please name it."
    if part.told:
        return f"{CANNOT} tell what you said of that: nothing of it is in view."
    errors = [act.shows.head for act in view.acts if act.current and act.shows.form == "error"]
    if errors and not view.sentences:
        return f"{CANNOT} answer that: the tools failed ({errors[-1].rstrip('.')})."
    where = "the files" if part.paths else f"[{part.focus[0]}]" if part.sure and part.focus else "these articles"
    where += " or files" if where == "these articles" and any(act.name == "search_files" for act in view.acts) else ""
    said = [sentence for sentence in view.sentences if meant(part, sentence)]
    if not said:
        return f"{CANNOT} answer that from {where}: nothing in view bears on it."
    held = frozenset[str]().union(*(terms(sentence.text) for sentence in said))
    unknown = [f"“{word}”" for word in part.words if stem(word.lower()) not in held]
    why = f"nothing I see there speaks of {_row(unknown[:3], 'or')}" if unknown else "no passage that I see answers it"
    return f"{CANNOT} answer that from {where}: {why}."


def _row(words: Sequence[str], joint: str = "and") -> str:
    return f" {joint} ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def _read(ask: Ask, evidence: Evidence) -> str:
    """A digest of the article that is meant, its sections, and whether there is more of it."""
    part = ask.part
    slug = "" if part.lost or part.paths else article(part, evidence)
    if not slug:
        return _no_article(part, evidence)
    title = evidence.view.entries.get(slug, Entry(slug, slug)).title
    page = next(reversed(evidence.view.page(slug)), None)
    chosen = key_sentences(page.sentences if page and page.section else evidence.of(slug), 4)
    if not chosen:
        return f"{CANNOT} tell what “{title}” says: its text is not in view."
    if page is None:
        return f"“{title}” ({slug}), from what I noted of it:\n{bullets(chosen)}"
    section = f"section “{page.section}”, " if page.section else ""
    lines = [f"“{title}” ({slug}, {section}{page.head}), in brief:", bullets(chosen)]
    lines += [f"Sections: {'; '.join(page.sections)}."] if page.sections else []
    if page.page < page.pages:
        lines.append(f"That was page {page.page} of {page.pages}; ask me to read on for the rest.")
    return "\n".join(lines)


def _no_article(part: Part, evidence: Evidence) -> str:
    if part.paths:
        said = [sentence for sentence in evidence.view.sentences if meant(part, sentence)]
        lines = sorted(said, key=lambda one: int(one.source.rpartition(":")[2]))[:10]
        return f"{part.paths[0]}:\n{bullets(lines)}" if lines else _refusal((part,), evidence)
    return _refusal((part,), evidence) if part.lost or not part.words else _unknown(part)


def _unknown(part: Part) -> str:
    return f"{CANNOT} find an article about {part.topic} here."


def _more(ask: Ask, evidence: Evidence) -> str:
    """The key sentences of the newest page that were not said before."""
    slug = next(iter(ask.part.focus or evidence.view.read[-1:]), "")
    if not slug:
        return _read(ask, evidence) if ask.part.words else f"{CANNOT} tell more of what is not in view. Please name it."
    said = {sentence.text for sentence in evidence.view.own if sentence.source == slug}
    if not said:
        return _read(replace(ask, parts=(replace(ask.part, focus=(slug,), sure=True),)), evidence)
    pages = evidence.view.page(slug)
    chosen = key_sentences([one for one in (pages[-1].sentences if pages else ()) if one.text not in said], 5)
    return f"More from {slug}:\n{bullets(chosen)}" if chosen else f"{CANNOT} tell more of {slug}: no more is in view."


def _compare(ask: Ask, evidence: Evidence) -> str:
    slugs = [side(ask, part, evidence) for part in ask.parts]
    if "" in slugs or len(set(slugs)) < len(slugs):
        return _both_sides(ask, evidence)
    shown = [evidence.of(slug) for slug in slugs]
    lines = []
    for at, (part, slug) in enumerate(zip(ask.parts, slugs, strict=True)):
        others = (terms(sentence.text) for other in shown[:at] + shown[at + 1 :] for sentence in other)
        about = {term: 0.1 for term in frozenset[str]().union(*others)}
        about |= {term: 1.0 for term in part.terms}
        chosen = key_sentences(shown[at], 2, about)
        lines.append(f"{heading(part, slug, evidence)}:\n{bullets(chosen) or '- Nothing on this is in view any more.'}")
    common = common_words(shown, frozenset[str]().union(*(part.terms for part in ask.parts)))
    return "\n".join([*lines, *([f"In common: both speak of {_row(common)}."] if len(common) > 1 else [])])


def _both_sides(ask: Ask, evidence: Evidence) -> str:
    """What is said of each side where no two articles have them as their subjects."""
    said = {part: cite(quote(part, evidence, MOST_WORDS // len(ask.parts))) for part in ask.parts}
    missing = [part for part in ask.parts if not said[part]]
    return _refusal(missing, evidence) if missing else "\n".join(dict.fromkeys(said.values()))


def _list(ask: Ask, evidence: Evidence) -> str:
    """What the lists of this exchange hold, each article once."""
    shown = evidence.lists(ask.part)
    entries = {entry.slug: evidence.view.entries.get(entry.slug, entry) for one in shown for entry in one.entries}
    if not entries:
        return _unknown(ask.part) if ask.part.words else f"{CANNOT} tell which articles there are."
    heads = [one.head if one.form == "listing" else f"{len(entries)} that speak of it" for one in shown if one.entries]
    lines = [f"{'; '.join(heads)}:"]
    for entry in entries.values():
        gist = f": {entry.gist}" if entry.gist and len(entries) <= LONG_LIST else ""
        lines.append(f"- {entry.title} [{entry.slug}]{gist}")
    if shown[-1].page < shown[-1].pages:
        lines.append("There are more than these.")
    return "\n".join(lines)


def _count(ask: Ask, evidence: Evidence) -> str:
    listed = [shown for shown in evidence.lists(ask.part) if shown.form == "listing"]
    return f"{listed[0].head}." if listed else _list(ask, evidence)


def _mention(ask: Ask, evidence: Evidence) -> str:
    """The articles with a sentence that speaks of it, and that sentence."""
    best: dict[str, Sentence] = {}
    for one in evidence.ranked(ask.part):
        if one.cover >= FAIR and SLUG_LIKE.fullmatch(one.sentence.source):
            best.setdefault(one.sentence.source, one.sentence)
    return f"These do:\n{bullets(list(best.values())[:5])}" if best else _refusal(ask.parts, evidence)


def _entries(ask: Ask, evidence: Evidence) -> str:
    """The files or notes that the newest such result lists."""
    name, gone = {"files": "list_files", "notes": "get_notes"}[ask.kind], ("gone", "error")
    shown = [act.shows for act in evidence.view.acts if act.name == name and act.shows.form not in gone]
    if not shown:
        return f"{CANNOT} see any {ask.kind}."
    gist = "{0.title} ({0.gist})" if ask.kind == "files" else "“{0.title}”: {0.gist}"
    lines = [f"- {gist.format(entry)}" for entry in shown[-1].entries[:20]]
    return "\n".join([f"{shown[-1].head.rstrip('.')}{':' if lines else '.'}", *lines])


def _note(ask: Ask, evidence: Evidence) -> str:
    saved = [act for act in evidence.view.acts if act.current and act.name == "save_note" and act.shows.form != "error"]
    if saved:
        return f"I have noted: {saved[-1].text('text')}"
    if note_text(ask, evidence):
        return f"{CANNOT} save a note here."
    return f"{CANNOT} tell what to note. Please say it in a sentence."


COMPOSERS: Mapping[str, Callable[[Ask, Evidence], str]] = {
    "told": _told,
    "chat": _chat,
    "fact": _fact,
    "read": _read,
    "summarise": _read,
    "more": _more,
    "compare": _compare,
    "list": _list,
    "count": _count,
    "mention": _mention,
    "files": _entries,
    "notes": _entries,
    "note": _note,
}
