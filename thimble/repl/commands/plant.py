"""/plant: put a fact into the history, and print its message and its fate in the next prompt."""

from __future__ import annotations

from rich.console import Console

from thimble.agent.events import Planted
from thimble.commands.forecast import forecast_prompt
from thimble.commands.why import why
from thimble.repl.commands.command import command
from thimble.repl.screen.sanitise import one_line
from thimble.repl.screen.theme import say
from thimble.session import figures
from thimble.session.session import Session


@command("plant FACT", "Experiments")
def plant(session: Session, fact: str, console: Console) -> None:
    """Plant a fact in an observation, where facts get lost.

    It looks as if the model had read it in a file of one line, planted-1.txt, which does not exist. /probe then tests
    whether the fact survives.
    """
    planted = session.plant(fact)
    for text, style in description(session, planted):
        say(console, text, style)


def description(session: Session, planted: Planted) -> list[tuple[str, str]]:
    """Lines, each with a style: the fact's message, the new messages, and the fact's fate in the next prompt."""
    agent = session.agent
    budget, exact = agent.budget(agent.schemas()), agent.backend.counter.exact
    last = len(agent.history)
    place = 1 + agent.history.index(planted.holder)
    holds, costs = budget.count(planted.holder), sum(map(budget.count, planted.messages))
    return [
        (f"Planted in message {place}: “{one_line(planted.fact)}”", "bold"),
        (
            f"It is the result of read_file {planted.path}, {figures.format_tokens(holds, exact)} tokens. Messages "
            f"{last - len(planted.messages) + 1} to {last} are new, {figures.format_tokens(costs, exact)} tokens; no "
            "model was asked, and there is no such file.",
            "",
        ),
        (_next(session, place), ""),
        ("Now ask other questions; then /probe tests whether the fact survives, outside the session.", "quiet"),
    ]


def _next(session: Session, place: int) -> str:
    view = forecast_prompt(session).view
    if view is None:
        return "Its fate in the next prompt is not known in advance."
    return f"In the next prompt it is {view.fates[place - 1]}: {one_line(why(view, place - 1))}."
