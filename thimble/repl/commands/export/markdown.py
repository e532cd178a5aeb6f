"""The session as Markdown. Messages are in fences that they cannot close; text in tables is escaped."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from thimble.agent.errors import UsageError
from thimble.agent.events import Answered
from thimble.agent.ledger import Call
from thimble.repl.screen.footer import FROM_MEMORY
from thimble.repl.screen.sanitise import clean, one_line
from thimble.repl.screen.trace import unread_line
from thimble.session import figures
from thimble.session.journal.header import sampling_settings
from thimble.session.story import Exchange, ModelCall, Story, read_stories
from thimble.session.totals import add_up
from thimble.tools.wording import count_noun

if TYPE_CHECKING:
    from thimble.session.session import Session

SHOWN_CHARACTERS = 2_000
"""The most characters of an observation that are shown."""
MARKDOWN_SIGNS = re.compile(r"[\\`*\[\]<>&|~!#@.$^{}=]|(?<!\d):|:(?!\d)|\b_|_\b|(?<![a-zA-Z0-9])_")
"""Characters that are Markdown markup or make a link; not an underscore in a word, nor a colon in a time."""
EXCHANGE_ENDINGS = {"answered": "", "planted": "a planted fact, no model was asked"}


def export(session: Session) -> Iterator[str]:
    """Yield the document, piece by piece. Raises UsageError if nothing was asked."""
    first, *others = every = asked_stories(session)
    more = [f"branch {first.branch} of {len(first.tree.branches)}; the others follow"] * bool(others)
    yield f"# {escape_cell(first.past.name) or 'A session of thimble'}\n\n{_facts(first, more)}\n"
    yield from _branch(first, 0)
    for place, told in enumerate(others, 1):
        begun, other = max((len(_places(told) & _places(before)), -before.branch) for before in every[:place])
        same = [f"its first {count_noun(begun, 'exchange')} as on branch {-other}"] * bool(begun)
        yield f"\n# Branch {told.branch}\n\n{_facts(told, same)}\n"
        yield from _branch(told, begun)


def asked_stories(session: Session) -> list[Story]:
    """The story of each branch with a question, the current branch first. Raises UsageError if there is none.

    All formats but JSON use it.
    """
    found = [one for one in read_stories(*session.journal.read()) if one.exchanges]
    if not found:
        raise UsageError("there is nothing to export yet", "ask a question first")
    return found


def _places(of: Story) -> set[int]:
    """The line numbers of its questions; two branches share those of their common start."""
    return {one.records[0].number for one in of.exchanges}


def grounds(of: Answered) -> list[str]:
    """Doubts about an answer: it is from memory, or cites articles that were never read."""
    return [FROM_MEMORY] * of.from_memory + [unread_line(of.invented)] * bool(of.invented)


def _facts(told: Story, more: Sequence[str]) -> str:
    past = told.past
    begun = time.strftime("%d %B %Y, %H:%M", time.localtime(told.exchanges[0].at))
    drawn = (f"{name} {value}" for name, value in sampling_settings(past.opened).items())
    facts = [f"Model {past.model}", *drawn, past.strategy, f"{past.budget:,} tokens", begun, *more]
    return ", ".join(map(escape_cell, facts))


def _branch(told: Story, begun: int) -> Iterator[str]:
    """The exchanges of a branch after the first `begun`, and the cost of all."""
    for exchange in told.exchanges[begun:]:
        yield from _exchange(exchange)
    yield from _account(told)


def escape_cell(text: str) -> str:
    """A text as one line of a table, with all markup of Markdown and HTML escaped as entities."""
    return MARKDOWN_SIGNS.sub(lambda mark: f"&#{ord(mark[0])};", one_line(text))


def fence(text: str, kind: str = "text") -> str:
    """A text between fences that are longer than any fence in it."""
    shown = clean(text).rstrip("\n")
    longest = max(map(len, re.findall("`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{kind}\n{shown}\n{fence}\n"


def _exchange(of: Exchange) -> Iterator[str]:
    title = f"Exchange {of.number}" if of.number else "A planted fact"
    yield f"\n## {title}\n\n{fence(of.question.content)}"
    calls, answered = of.calls, of.answered
    for call in calls:
        yield from _turn(call)
    endings = [EXCHANGE_ENDINGS.get(of.ending, of.ending), *grounds(answered)]
    if not calls and answered.text:
        yield f"\n{fence(answered.text)}"
    for ending in filter(None, endings):
        yield f"\n*{escape_cell(ending)}*\n"


def _turn(of: ModelCall) -> Iterator[str]:
    reply = of.reply.message if of.reply else None
    if reply and reply.content.strip():
        yield f"\n{'' if reply.calls else '**Answer**' + chr(10) * 2}{fence(reply.content.strip())}"
    results = {done.call.id: done for done in of.results}
    for call in reply.calls if reply else ():
        done = results.get(call.id)
        took = f", {figures.format_tokens(done.tokens, done.exact)} tokens" if done else ", no result"
        failed = "" if done is None or done.ok else ", failed"
        asked, text = fence(call.arguments, "json"), _shortened(done.message.content) if done else ""
        yield f"\n<details><summary>{escape_cell(call.name)}{failed}{took}</summary>\n\n{asked}\n{text}\n</details>\n"


def _shortened(text: str) -> str:
    rest = len(text) - SHOWN_CHARACTERS
    return fence(text[:SHOWN_CHARACTERS]) + (f"\n… {rest:,} characters more\n" if rest > 0 else "")


def _account(told: Story) -> Iterator[str]:
    calls = told.past.ledger.calls
    yield "\n## Calls\n\n| | for | strategy | prompt | of budget | cached | prefill | output | seconds |\n"
    yield "|--:|---|---|--:|--:|--:|--:|--:|--:|\n"
    for number, call in enumerate(calls, 1):
        yield _row(f"{number}", call)
    sums = add_up(calls)
    amounts = " | ".join(map(figures.format_amount, (sums.cached, sums.prefill, sums.output)))
    yield f"| Σ | | | {figures.format_amount(sums.prompt)} | | {amounts} | {sums.seconds:.1f} |\n"
    without = f"Without a strategy: {sums.raw_prompt:,} prompt tokens, {sums.raw_prefill:,} of prefill."
    yield f"\n`~` is an estimate, `?` is unknown, `≥` is the known part of a sum. {without}\n"


def _row(number: str, of: Call) -> str:
    words = f"{escape_cell(of.purpose)} | {escape_cell(of.strategy)}"
    share = figures.format_share(of.prompt.tokens, of.limit) + " OVER" * bool(of.over)
    amounts = " | ".join(map(figures.format_amount, (of.cached, of.prefill, of.output)))
    return f"| {number} | {words} | {figures.format_amount(of.prompt)} | {share} | {amounts} | {of.seconds:.1f} |\n"
