"""/context and /why: their arguments and completions."""

from __future__ import annotations

import re

from rich.cells import cell_len
from rich.console import Console

from thimble.agent.errors import UsageError
from thimble.commands.forecast import forecast_prompt
from thimble.repl.commands.command import command, one_of
from thimble.repl.commands.context.listing import fold_rows, group_name, most_rows, show_list
from thimble.repl.commands.context.message import describe_message, show_message
from thimble.repl.commands.context.request import show_prompt, show_raw
from thimble.repl.commands.context.rows import Xray, call_at, last_call, next_call
from thimble.repl.commands.context.strip import show_strip
from thimble.repl.commands.next_prompt import say_tidy_saves
from thimble.repl.screen.footer import fit_fields
from thimble.repl.screen.sanitise import one_line
from thimble.repl.screen.theme import say
from thimble.repl.screen.trace import fit_spec
from thimble.session import figures
from thimble.session.session import Session
from thimble.tools.wording import count_noun

MESSAGE = re.compile(r"\+?\d{1,9}")
CALL = re.compile(r"\d{1,9}\.\d{1,9}")
RANGE = re.compile(r"(\d{1,9})\s*[-–]\s*(\d{1,9})")


@command("context [N]", "Calls", completer=one_of("next", "raw", "prompt"))
def context(session: Session, rest: str, console: Console) -> None:
    """Show the last call's prompt, message by message.

    A block for each message, as wide as its tokens, with the letter of its fate; then a row for each message.
    /context next: the next call. /context 12: message 12 before and after (+1: the first inserted one). /context
    12-57: these messages, a row each. /context 3.2: the call of exchange 3, turn 2. /context raw: the exact request.
    /context prompt: the last call as the model reads it, with its template, if the server can show it.
    """
    between = RANGE.fullmatch(rest)
    if not rest:
        show_call(last_call(session), console)
        _print_newer(session, console)
    elif rest == "next":
        show_call(next_call(session), console)
        say_tidy_saves(session, forecast_prompt(session), console)
    elif rest == "raw":
        show_raw(session, console)
    elif rest == "prompt":
        show_prompt(session, console)
    elif MESSAGE.fullmatch(rest):
        xray = last_call(session)
        show_message(xray, xray.find(rest), console)
    elif CALL.fullmatch(rest):
        show_call(call_at(session, rest), console)
    elif between:
        _show_range(last_call(session), between[1], between[2], console)
    else:
        forms = "/context, /context next, raw, prompt, 12, +1, 12-57 or 3.2"
        raise UsageError(f"/context cannot show {rest[:40]!r}", f"write {forms}")


@command("why N", "Calls")
def why(session: Session, rest: str, console: Console) -> None:
    """Say which rule decided the fate of message N.

    N is its number in /context, in the last call: /why 12, or /why +1 for the first inserted message. It names what
    changed the message: the strategy, a part of it, or `fit`, which reduces a view that is over the budget. A second
    line lists repairs of that view.
    """
    if not MESSAGE.fullmatch(rest):
        what = "/why takes a message number" + (f", not {rest[:40]!r}" if rest else "")
        raise UsageError(what, "write /why 12, or /why +1 for the first inserted message; /context lists them")
    xray = last_call(session)
    say(console, describe_message(xray, xray.find(rest)))
    if notes := dict.fromkeys(xray.view.notes):
        say(console, f"repaired in this view: {one_line('; '.join(notes))}", "quiet")


def show_call(xray: Xray, console: Console) -> None:
    """Print the view of a call: the head line, the strip, the list."""
    say(console, describe_call(xray, console.width), "over" if xray.view.tokens > xray.view.limit else "bold")
    show_strip(xray, console)
    groups = fold_rows(xray.rows, most_rows(console))
    show_list(xray, groups, console)
    shared = next((group_name(group) for group in groups if len(group) > 1), "")
    if shared:
        say(console, f"messages share a row; /context {shared.replace('–', '-')} shows each", "quiet")


def describe_call(xray: Xray, width: int) -> str:
    """`last call: turn 2 of exchange 1 · hybrid · 3,897/8,000 49% · cached 912 · prefill 2,985` in `width` columns.

    Fields drop from the right.
    """
    view = xray.view
    size = figures.format_budget_use(view.tokens, view.limit, xray.exact)
    parts = [f"cached {figures.format_amount(xray.cached)}", f"prefill {figures.format_amount(xray.prefill)}"]
    fields = fit_fields([xray.call, xray.strategy, size, *parts], width, least=3)
    room = width - cell_len(" · ".join([fields[0], "", *fields[2:]]))
    fields[1] = fit_spec(fields[1], max(8, room))
    return " · ".join(fields)


def _print_newer(session: Session, console: Console) -> None:
    """Print how many messages are newer than the last call."""
    view = session.agent.ledger.view
    later = len(session.agent.history) - len(view.history) if view else 0
    if later > 0:
        say(console, f"{count_noun(later, 'message')} came after this call; /context next shows all", "quiet")


def _show_range(xray: Xray, first: str, last: str, console: Console) -> None:
    start, end = sorted((xray.find(first), xray.find(last)))
    show_list(xray, [[row] for row in xray.rows[start : end + 1]], console)
