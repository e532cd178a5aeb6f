"""/compact: fold old turns into the summary now."""

from __future__ import annotations

from rich.console import Console

from thimble.commands.compact import compact_session as fold
from thimble.repl.commands.command import command
from thimble.repl.commands.next_prompt import say_next_prompt
from thimble.repl.screen.sanitise import one_line
from thimble.repl.screen.theme import say, show_progress
from thimble.session import figures
from thimble.session.session import Session
from thimble.tools.wording import count_noun


@command("compact [WORDS]", "Prompt")
def compact(session: Session, words: str, console: Console) -> None:
    """Fold old turns into a summary now.

    The summary replaces everything before the newest turn. WORDS say what it must keep: /compact every figure with its
    source. A strategy without a summary gets compaction:when=asked in front of it. Changes to THIMBLE.md take effect,
    too.
    """
    system, spec = session.agent.state.system, session.spec
    with show_progress(console, "folding"):
        done = fold(session, words)
    if session.spec != spec:
        say(console, f"{one_line(spec)} has no summary: the strategy is now {one_line(session.spec)}.")
    asked = f"{count_noun(done.calls, 'call')}, {done.prompt:,} tokens in, {figures.format_tokens(done.written)} out"
    if done.failed:
        say(console, f"The summary failed: {one_line(done.failed)}.", "warn")
    if not done.folded:
        say(console, f"Nothing was folded ({asked}): a summary must be shorter than the turns it replaces.", "warn")
        return
    say(console, f"All turns before the newest are now a summary ({asked}). /context next shows it.")
    if done.system != system:
        say(console, "The memory files have changed: the system prompt now holds the new text.")
    say_next_prompt(session, console)
