"""The result of a replay under several strategies: a table, a bar each, remarks. `*` marks the best of a column."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from thimble.agent.events import SideCalled
from thimble.commands.replay import Replayed, call_lengths, spec_in_use
from thimble.repl.commands.context.rows import rows_of
from thimble.repl.commands.context.strip import draw_bar, messages_before, widths
from thimble.repl.screen.sanitise import one_line
from thimble.repl.screen.tables import Table
from thimble.repl.screen.theme import FATE_LETTERS, in_use, is_drawn, say
from thimble.repl.screen.trace import PLAIN_WIDTH, cut_line, fit_spec
from thimble.session import figures
from thimble.session.session import Session
from thimble.tools.wording import count_noun

FIGURES = 68
"""Width of the table without the names, in columns."""
BEST = "* best of those within the budget at every call"


def show_replayed(session: Session, found: Sequence[Replayed], console: Console) -> None:
    """Print each history as a bar, then what stays on 24 rows: figures, refused calls, and calls to a model."""
    if not found:
        return
    exact = session.agent.backend.counter.exact
    if is_drawn(console):
        _show_bars(session, found, console)
    table(session, found, exact, console).show(console)
    console.print()
    for text in table_key(session, found, console):
        say(console, text, "quiet")
    for one in found:
        for text in remarks(one, exact):
            say(console, one_line(f"{one.spec}: {text}"), "warn" if one.fits else "over")


def table(session: Session, found: Sequence[Replayed], exact: bool, console: Console) -> Table:
    """The next prompt, prompts and prefill of all calls, messages kept in the next prompt, and lost quotes."""
    nexts, quoted = [one.next.tokens if one.next else None for one in found], max(one.faults.quoted for one in found)
    columns = [
        star_lowest(found, nexts, lambda tokens: figures.format_tokens(tokens, exact)),
        star_lowest(found, [one.prompt for one in found], lambda tokens: figures.format_short(tokens, exact)),
        star_lowest(found, [one.prefill for one in found], lambda tokens: figures.format_short(tokens, exact)),
        star_lowest(found, [-one.kept if one.next else None for one in found], lambda kept: f"{-kept:,}"),
        star_lowest(
            found,
            [one.faults.quoted_lost for one in found],
            lambda lost: figures.format_share(lost, quoted) * (quoted > 0),
        ),
        [format_fates(one, is_drawn(console)) for one in found],
    ]
    rows = [*zip(row_names(session, found, console), *columns, strict=True)]
    agent = session.agent
    past = count_noun(len(call_lengths(agent.history)) - 1, "call")
    written = "; each /plant counts as a call" if session.planted else ""
    title = f"{past} of this session and the next one, in {agent.limit:,} tokens each{written}"
    return Table(title, ("strategy", ">next", ">prompts", ">prefill", ">kept", ">lost", "fates"), rows)


def row_names(session: Session, found: Sequence[Replayed], console: Console) -> list[str]:
    """The SPEC of each row, shortened on a narrow screen. The one in use is marked."""
    room, used = console.width - FIGURES if is_drawn(console) else PLAIN_WIDTH, spec_in_use(session)
    return [f"{fit_spec(one.spec, room)}{in_use(console, one.spec == used)}" for one in found]


def _show_bars(session: Session, found: Sequence[Replayed], console: Console) -> None:
    """Print the history under each strategy, all to one scale: a block per message, with the letter of its fate."""
    count = session.agent.backend.counter.count
    rows = [cut_line(one_line(name), 26) for name in row_names(session, found, console)]
    room = max(map(cell_len, rows)) + 4
    say(console, "Each message of the history, as wide as its tokens, oldest first", "bold")
    for one, name in zip(found, rows, strict=True):
        if one.next and not one.failed:
            blocks = messages_before(rows_of(one.next, count))
            shown = Text(f"  {name}{' ' * (room - 2 - cell_len(name))}", no_wrap=True)
            console.print(shown.append_text(draw_bar(blocks, widths(blocks, max(8, console.width - room)))))
    console.print()


def star_lowest(found: Sequence[Replayed], values: Sequence[int | None], written: Callable[[int], str]) -> list[str]:
    """The cells of a column, with `*` before the lowest value, unless all are equal."""
    known = [value for one, value in zip(found, values, strict=True) if one.fits and value is not None]
    best = min(known) if len(set(known)) > 1 else None

    def cell(one: Replayed, value: int | None) -> str:
        if value is None or one.failed:
            return "" if one.failed else "too large"
        return f"{'*' if one.fits and value == best else ''}{written(value)}"

    return list(map(cell, found, values))


def format_fates(one: Replayed, drawn: bool) -> str:
    """The changed messages by fate: `M5 D12 · fit S1`, or `5 masked, 12 dropped; fit: 1 shortened` in plain output."""

    def counted(met: Mapping[str, int]) -> str:
        counts = [(fate, met[fate]) for fate in FATE_LETTERS if met.get(fate)]
        if drawn:
            return " ".join(f"{FATE_LETTERS[fate]}{count:,}" for fate, count in counts)
        return ", ".join(f"{count:,} {fate}" for fate, count in counts)

    by_fit = counted(one.fitted)
    said = [counted({fate: count - one.fitted.get(fate, 0) for fate, count in count_changed(one).items()})]
    said += [f"fit{'' if drawn else ':'} {by_fit}"] * bool(by_fit)
    return (" · " if drawn else "; ").join(filter(None, said))


def count_changed(one: Replayed) -> dict[str, int]:
    """The number of messages with each fate, without the kept ones."""
    met: dict[str, int] = {fate: count for fate, count in one.fates.items() if fate != "kept"}
    return {**met, "inserted": len(one.next.inserted)} if one.next and one.next.inserted else met


def table_key(session: Session, found: Sequence[Replayed], console: Console) -> list[str]:
    """The meaning of the marks and letters in these rows."""
    quoted = max(one.faults.quoted for one in found)
    lost = [f"lost: of {quoted:,} lines and names that later calls quote, those not in view"] * (quoted > 0)
    if not is_drawn(console):
        return [BEST, *lost]
    used = ["‹ in use"] * (spec_in_use(session) in {one.spec for one in found})
    met = {fate for one in found for fate in count_changed(one)}
    letters = [f"{letter} {fate}" for fate, letter in FATE_LETTERS.items() if fate in met or (fate == "kept" and met)]
    return [" · ".join([*used, BEST]), *lost, *([" · ".join(letters)] if letters else [])]


def remarks(one: Replayed, exact: bool) -> list[str]:
    """Remarks without a column: failures, calls over the budget, and questions to a model."""
    said = [f"failed: {one.failed}"] if one.failed else []
    if one.refused:
        said.append(f"the budget could not hold {count_noun(one.refused, 'call')}")
    if one.over:
        said.append(figures.describe_overflow(one.over, one.most_over, exact))
    return [*said, *([describe_calls(one.asked, exact)] if one.asked else [])]


def describe_calls(side: Sequence[SideCalled], exact: bool) -> str:
    """`asked the model 3 times: 4,812 tokens read, 3.2 s, 1 failed`."""
    read = sum(call.prompt_tokens if call.usage.prompt_tokens is None else call.usage.prompt_tokens for call in side)
    known = exact or all(call.usage.prompt_tokens is not None for call in side)
    seconds, failed = (
        figures.format_duration(sum(call.seconds for call in side)),
        sum(bool(call.error) for call in side),
    )
    words = (
        f"asked the model {count_noun(len(side), 'time')}: {figures.format_tokens(read, known)} tokens in, {seconds}"
    )
    return words + (f", {failed} failed" if failed else "")
