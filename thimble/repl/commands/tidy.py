"""/tidy: whether each result of a tool is written as small as can be."""

from __future__ import annotations

from difflib import get_close_matches

from rich.console import Console

from thimble.agent.errors import UsageError
from thimble.repl.commands.command import command, one_of
from thimble.repl.commands.next_prompt import say_next_prompt
from thimble.repl.screen.sanitise import line
from thimble.repl.screen.theme import say
from thimble.session import figures
from thimble.session.session import Session


@command("tidy [on|off]", "Prompt", completer=one_of("on", "off"))
def tidy(session: Session, text: str, console: Console) -> None:
    """Write each result of a tool in the smallest form that says the same, or leave it as it came.

    JSON becomes tables, and terminal sequences go; /context shows such a result as tidied. The history stays. The
    strategy starts fresh, as after /strategy. A strategy that begins with tidy tidies also with /tidy off; the rule of
    a paper (NAME:paper) never does.
    """
    from thimble.strategies.spec import follows_paper

    word = text.lower()
    if word not in ("", "on", "off"):
        near = get_close_matches(word, ("on", "off"), 1)
        raise UsageError(
            f"/tidy cannot be {text[:40]!r}", f"{f'did you mean {near[0]}? ' if near else ''}it takes on or off"
        )
    if word:
        if session.agent.state.tidy == (word == "on"):
            say(console, f"Tidy is {word} already.")
        else:
            session.use_tidy(word == "on")
            say(console, f"The next prompt has tidy {word}. The strategy starts again from the full history.")
    else:
        is_on = session.agent.state.tidy
        but = f", but off under {line(session.spec)}" if is_on and follows_paper(session.spec) else ""
        say(console, f"Tidy is {figures.setting(is_on)}{but}. Change it: /tidy {figures.setting(not is_on)}")
    say_next_prompt(session, console)
