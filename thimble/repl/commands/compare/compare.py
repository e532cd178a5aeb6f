"""/compare: its arguments, its default strategies, and the rows shown when Ctrl-C stops it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.console import Console

from thimble.agent.errors import UsageError
from thimble.agent.side import SideModel
from thimble.commands.replay import AS_RECORDED, Replayed, is_as_recorded, replay_session, spec_in_use
from thimble.repl.commands.command import command
from thimble.repl.commands.compare.each import under_each
from thimble.repl.commands.compare.replay_table import show_replayed
from thimble.repl.commands.strategy import last_spec
from thimble.session.session import Session
from thimble.strategies.paper_names import use_our_names
from thimble.strategies.spec import make_strategy
from thimble.strategies.table import list_without_model

HOW_TO_COMPARE = "write /compare [SPEC…], or /compare [SPEC…] run QUESTION"
ASKED_BY_DEFAULT = ("none", "sliding-window", "observation-masking", "summary-buffer")
"""The strategies that `run` uses by default, after the strategy in use."""


@command("compare [SPEC…]", "Experiments", completer=last_spec)
def compare(session: Session, text: str, console: Console) -> None:
    """Compare what other strategies would send or answer.

    Replays this history under each SPEC, as if it had been in use from the start, and shows size, cost and fates.
    Without SPEC: the strategy in use and all that call no model. Your /pin, /drop and /edit count in the row you+SPEC.
    /compare [SPEC…] run QUESTION asks the model, in a copy of the session for each strategy. Ctrl-C keeps the finished
    rows.
    """
    specs, question = parse_arguments(text)
    if question is None:
        specs = specs or default_specs(session)
        check(session, specs)
        _replay(session, [*[spec_in_use(session)] * bool(session.agent.state.overrides), *specs], console)
    else:
        from thimble.repl.commands.compare.trial_table import ask_each

        specs = specs or [*dict.fromkeys((session.spec, *ASKED_BY_DEFAULT))]
        check(session, [spec for spec in specs if spec != session.spec])
        ask_each(session, specs, question, console)


def parse_arguments(text: str) -> tuple[list[str], str | None]:
    """The SPECs, each once, and the question after `run`; None if there is no `run`."""
    before, *asked = re.split(r"(?:^|\s)run(?=\s|$)", text, maxsplit=1)
    question = asked[0].strip() if asked else None
    if question == "":
        raise UsageError("run needs a question", HOW_TO_COMPARE)
    return [*dict.fromkeys(map(use_our_names, before.split()))], question


def check(session: Session, specs: Sequence[str]) -> None:
    """Raise UsageError for the first SPEC that is not valid."""
    for spec in specs:
        if spec == AS_RECORDED:
            continue
        try:
            make_strategy(spec, SideModel(session.agent.backend, session.agent.side.embedder))
        except UsageError as error:
            raise UsageError(error.what, f"{error.fix}; {HOW_TO_COMPARE}") from error


def default_specs(session: Session) -> list[str]:
    """The strategy in use, and all that do not ask a model; for a recorded run, its agent's own views first."""
    return [*dict.fromkeys((*[AS_RECORDED] * is_as_recorded(session), session.spec, *list_without_model()))]


def _replay(session: Session, specs: Sequence[str], console: Console) -> None:
    agent, found = session.agent, list[Replayed]()
    if not agent.history:
        raise UsageError("there is no history to compare yet", f"ask a question first, or {HOW_TO_COMPARE}")
    try:
        under_each(specs, lambda spec: found.append(replay_session(session, spec)), console, "replaying")
    finally:
        show_replayed(session, found, console)
