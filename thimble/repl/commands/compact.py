"""/compact: fold old turns into the summary now."""

from __future__ import annotations

from rich.console import Console

from thimble.commands.compact import compact as fold
from thimble.repl.commands.command import command
from thimble.repl.commands.next_prompt import say_next_prompt
from thimble.repl.screen.sanitise import line
from thimble.repl.screen.theme import moving, say
from thimble.session import figures
from thimble.session.session import Session


@command("compact [WORDS]", "Prompt")
def compact(session: Session, words: str, console: Console) -> None:
    """Fold old turns into a summary now.

    It replaces everything before the newest turn, and is one call of a model for as much as the budget holds. WORDS say
    what it must keep: /compact every figure with its source. A strategy that has no summary gets one before it:
    compaction:when=asked. What you have changed in THIMBLE.md counts from then on.
    """
    system, spec = session.agent.state.system, session.spec
    with moving(console, "folding"):
        done = fold(session, words)
    if session.spec != spec:
        say(console, f"{line(spec)} has no summary: the strategy is now {line(session.spec)}.")
    asked = f"{figures.several(done.calls, 'call')}, {done.prompt:,} tokens in, {figures.tokens(done.written)} out"
    if done.failed:
        say(console, f"The model could not be asked: {line(done.failed)}.", "warn")
    if not done.folded:
        say(console, f"Nothing is folded ({asked}): a summary must be shorter than what it replaces.", "warn")
        return
    say(console, f"All before the newest turn is folded into the summary ({asked}). /context next shows it.")
    if done.system != system:
        say(console, "The memory files have changed: the system prompt holds them as they are now.")
    say_next_prompt(session, console)
