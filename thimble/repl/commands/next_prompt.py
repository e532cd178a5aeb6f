"""The size of the next prompt in one sentence, after a swap of strategy, budget or model."""

from __future__ import annotations

from rich.console import Console

from thimble.commands.forecast import Forecast, forecast_prompt
from thimble.repl.screen.theme import say
from thimble.session import figures
from thimble.session.session import Session


def say_next_prompt(session: Session, console: Console) -> None:
    """Print the tokens of the next prompt, as far as they can be known without asking a model."""
    next_ = forecast_prompt(session)
    tokens = figures.format_tokens(next_.tokens, session.agent.backend.counter.exact)
    share = figures.format_share(next_.tokens, next_.limit)
    unless = "" if next_.settled else " before the strategy acts"
    over = " It is over the budget." if next_.tokens > next_.limit else ""
    size = f"{tokens} of {next_.limit:,} tokens ({share})"
    words = f"The next prompt will hold {size}{unless}, plus your question.{over}"
    say(console, words, "over" if over and next_.settled else "")
    say_tidy_saves(session, next_, console)


def say_tidy_saves(session: Session, next_: Forecast, console: Console) -> None:
    """Print the SPEC that would send the same results in fewer tokens, if there is one."""
    if next_.tidy_saves:
        saved = figures.format_tokens(next_.tidy_saves, session.agent.backend.counter.exact)
        say(console, f"tidy+{session.spec} would save {saved} of these tokens, with nothing lost.", "quiet")
