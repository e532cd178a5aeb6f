"""/budget: the tokens that one prompt may use."""

from __future__ import annotations

import re

from rich.console import Console

from thimble.agent.errors import UsageError
from thimble.repl.commands.command import command
from thimble.repl.commands.next_prompt import say_next_prompt
from thimble.repl.screen.theme import say
from thimble.session.session import Session


@command("budget [TOKENS]", "Prompt")
def budget(session: Session, text: str, console: Console) -> None:
    """Show or set the tokens that one prompt may use.

    System prompt, tool schemas, messages and template all count; the reply does not. From 500 to 2,000,000. If the
    view of a strategy is still over the budget, `fit` cuts the largest results in the middle, then drops the oldest
    turns. The first task, the current question and the last turn stay. The view of `none` is sent over the budget.
    """
    if text:
        session.use_budget(_tokens(text))
        say(console, f"The budget is {session.agent.limit:,} tokens from the next prompt on.")
    else:
        say(console, f"The budget is {session.agent.limit:,} tokens of prompt for each call. Change it: /budget 4000")
    say_next_prompt(session, console)


def _tokens(text: str) -> int:
    found = re.fullmatch(r"(\d[\d,_ ]{0,30})(k?)", text.lower())
    if not found:
        raise UsageError(f"{text[:40]!r} is not a number of tokens", "write /budget 4000 or /budget 4k")
    return int(re.sub(r"\D", "", found[1])) * (1000 if found[2] else 1)
