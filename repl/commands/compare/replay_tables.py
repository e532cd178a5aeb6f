"""The result of a replay under several strategies: two tables and a few lines. `*` is the best of a column."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from agent.events import SideCalled
from agent.view import View
from repl.commands.compare.replay import Replayed
from repl.screen.fate_letters import FATE_LETTERS
from repl.screen.pager import show
from repl.screen.sanitise import line
from repl.screen.tables import Table
from repl.screen.theme import is_drawn, say
from repl.screen.trace import cut
from session import figures
from session.replay import calls
from session.session import Session

NOT_HELD = "too large"
NAME_COLUMNS = 26
"""Columns of a name before a bar, at most."""
BEST = "* best of those that kept to the budget at every call"


def show_replayed(session: Session, found: Sequence[Replayed], console: Console, rest: str = "") -> None:
    """The figures of each strategy, what the budget could not hold, and what a model was asked; `rest` may be more."""
    exact = session.agent.backend.counter.exact

    def whole() -> None:
        for table in (costs(session, found, exact, console), survivors(session, found, exact, console)):
            table.show(console)
            console.print()
        if is_drawn(console):
            show_strips(session, found, console)
        for text in key(session, found, console):
            say(console, text, "quiet")

    def short() -> None:
        in_one(session, found, exact, console).show(console)
        for text in key(session, found, console):
            say(console, text, "quiet")

    if found:
        show(console, rest, whole, short, "/compare")
    for one in found:
        for text in remarks(one, exact):
            say(console, line(f"{one.spec}: {text}"), "warn" if one.fits else "over")


def costs(session: Session, found: Sequence[Replayed], exact: bool, console: Console) -> Table:
    """The next prompt beside the budget, and prompt and prefill of all calls."""
    nexts = [one.next.tokens if one.next else None for one in found]
    cells: list[Sequence[str | Text]] = [
        starred(found, nexts, lambda tokens: figures.tokens(tokens, exact)),
        [_share(one.next) if one.next and not one.failed else "" for one in found],
        starred(found, [one.prompt for one in found], lambda tokens: figures.short(tokens, exact)),
        starred(found, [one.prefill for one in found], lambda tokens: figures.short(tokens, exact)),
        starred(found, [one.edits for one in found], str),
    ]
    agent = session.agent
    past = figures.several(len(calls(agent.history)) - 1, "call")
    written = "; each /plant counts as a call" if session.planted else ""
    title = f"{past} of this session and the next one, in {agent.limit:,} tokens each{written}"
    columns = ("strategy", ">next prompt", ">budget", ">prompts", ">prefill", ">edits")
    return Table(title, columns, _rows(session, found, cells, console))


def in_one(session: Session, found: Sequence[Replayed], exact: bool, console: Console) -> Table:
    """The most important columns of both tables."""
    spent, kept = costs(session, found, exact, console), survivors(session, found, exact, console)
    rows = [
        (name, following, prefill, stays, met)
        for (name, following, _, _, prefill, _), (_, stays, _, met) in zip(spent.rows, kept.rows, strict=True)
    ]
    return Table(spent.title, ("strategy", ">next prompt", ">prefill", ">kept", "fates"), rows)


def survivors(session: Session, found: Sequence[Replayed], exact: bool, console: Console) -> Table:
    """The messages of the history that the next prompt holds, and the fates of the others."""
    cells = [
        starred(found, [-one.kept if one.next else None for one in found], lambda kept: f"{-kept:,}"),
        starred(found, [one.lost if one.next else None for one in found], lambda tokens: figures.tokens(tokens, exact)),
        [fates(one, is_drawn(console)) for one in found],
    ]
    view = next((one.next for one in found if one.next and not one.failed), None)
    messages = len(view.history) if view else len(session.agent.history)
    title = f"What the next prompt holds of {figures.several(messages, 'message')}"
    if view:
        title += f", {figures.tokens(view.history_tokens - view.overhead, exact)} tokens"
    return Table(title, ("strategy", ">kept", ">lost tokens", "fates"), _rows(session, found, cells, console))


def show_strips(session: Session, found: Sequence[Replayed], console: Console) -> None:
    """The history under each strategy, all to one scale: a block a message, lettered by what became of it."""
    from repl.commands.context.rows import rows_of
    from repl.commands.context.strip import bar, messages_before, widths

    count = session.agent.backend.counter.count
    names = [cut(line(marked_in_use(session, one.spec, console)), NAME_COLUMNS) for one in found]
    room = max(map(cell_len, names)) + 4
    say(console, "Each message of the history, as wide as its tokens, oldest first", "bold")
    for one, name in zip(found, names, strict=True):
        if one.next and not one.failed:
            blocks = messages_before(rows_of(one.next, count))
            columns = widths([block.tokens for block in blocks], max(8, console.width - room))
            shown = Text(f"  {name}{' ' * (room - 2 - cell_len(name))}", no_wrap=True)
            console.print(shown.append_text(bar(blocks, columns)))
    console.print()


def starred(found: Sequence[Replayed], values: Sequence[int | None], written: Callable[[int], str]) -> list[str]:
    """The cells of a column, with `*` before the lowest value; none if all are equal."""
    known = [value for one, value in zip(found, values, strict=True) if one.fits and value is not None]
    best = min(known) if len(set(known)) > 1 else None

    def cell(one: Replayed, value: int | None) -> str:
        if value is None or one.failed:
            return "" if one.failed else NOT_HELD
        return f"{'*' if one.fits and value == best else ''}{written(value)}"

    return list(map(cell, found, values))


def fates(one: Replayed, drawn: bool) -> str:
    """The changed messages by fate: `M5 D12 · fit S1`, or `5 masked, 12 dropped; fit: 1 shortened` to be read aloud."""
    met = changed(one)
    own = {fate: count - one.fitted.get(fate, 0) for fate, count in met.items()}
    by_fit = _by_fate(one.fitted, drawn)
    said = [_by_fate(own, drawn), f"fit{'' if drawn else ':'} {by_fit}" if by_fit else ""]
    return (" · " if drawn else "; ").join(filter(None, said))


def _by_fate(met: Mapping[str, int], drawn: bool) -> str:
    counts = [(fate, met[fate]) for fate in FATE_LETTERS if met.get(fate)]
    if drawn:
        return " ".join(f"{FATE_LETTERS[fate]}{count:,}" for fate, count in counts)
    return ", ".join(f"{count:,} {fate}" for fate, count in counts)


def changed(one: Replayed) -> dict[str, int]:
    """How many messages met each fate but to be kept, in the order of the letters."""
    met: dict[str, int] = {fate: count for fate, count in one.fates.items() if fate != "kept"}
    met["inserted"] = len(one.next.inserted) if one.next else 0
    return {fate: met[fate] for fate in FATE_LETTERS if met.get(fate)}


def key(session: Session, found: Sequence[Replayed], console: Console) -> list[str]:
    """The meaning of the marks and letters in these rows, and what holds for all of them."""
    tidy = ["tidy is on in every row; without it: /tidy off, then /compare"] * session.agent.state.tidy
    if not is_drawn(console):
        return [BEST, *tidy]
    used = ["‹ in use"] * (session.spec in {one.spec for one in found})
    met = {fate for one in found for fate in changed(one)}
    letters = [f"{letter} {fate}" for fate, letter in FATE_LETTERS.items() if fate in met or (fate == "kept" and met)]
    return [" · ".join([*used, BEST]), *([" · ".join(letters)] if letters else []), *tidy]


def remarks(one: Replayed, exact: bool) -> list[str]:
    """Remarks for which there is no column: failures, calls over the budget, and questions to a model."""
    said = [f"failed: {one.failed}"] if one.failed else []
    if one.refused:
        said.append(f"the budget could not hold {figures.several(one.refused, 'call')}")
    if one.over:
        said.append(figures.over(one.over, one.most_over, exact))
    return [*said, *([asked(one.asked, exact)] if one.asked else [])]


def asked(side: Sequence[SideCalled], exact: bool) -> str:
    """`asked the model 3 times: 4,812 tokens read, 412 written, 3.2 s, 1 failed`."""
    read = sum(call.prompt_tokens if call.usage.prompt_tokens is None else call.usage.prompt_tokens for call in side)
    known = exact or all(call.usage.prompt_tokens is not None for call in side)
    outs = [call.usage.output_tokens for call in side]
    written = None if None in outs else sum(out or 0 for out in outs)
    seconds = figures.duration(sum(call.seconds for call in side))
    failed = sum(bool(call.error) for call in side)
    words = f"asked the model {figures.several(len(side), 'time')}: {figures.tokens(read, known)} tokens read"
    return f"{words}, {figures.tokens(written)} written, {seconds}" + (f", {failed} failed" if failed else "")


def in_brief(one: Replayed, exact: bool) -> str:
    """The result of a strategy in a few words, for the progress display."""
    if one.failed or one.next is None:
        return f"failed: {one.failed}" if one.failed else f"next prompt {NOT_HELD}"
    return f"next prompt {figures.tokens(one.next.tokens, exact)}, {figures.short(one.prefill, exact)} prefill"


def _share(view: View) -> str | Text:
    """The share of the budget that a prompt takes; one that is over it says so."""
    share = figures.share(view.tokens, view.limit)
    return Text(f"{share} OVER", style="over") if view.tokens > view.limit else share


def marked_in_use(session: Session, spec: str, console: Console) -> str:
    """A SPEC, and whether it is the one in use."""
    used = spec == session.spec
    return f"{spec}{(' ‹' if is_drawn(console) else ' (in use)') if used else ''}"


def _rows(
    session: Session, found: Sequence[Replayed], cells: Sequence[Sequence[str | Text]], console: Console
) -> list[Sequence[str | Text]]:
    return [(marked_in_use(session, one.spec, console), *row) for one, *row in zip(found, *cells, strict=True)]
