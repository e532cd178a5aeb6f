"""watch, in a real terminal: a save by renaming is checked, and the keys work."""

from __future__ import annotations

from pathlib import Path

from tests.support.pty_terminal import Terminal
from thimble.workshop.exercise_set import BUILT_IN_EXERCISES, SOLUTION
from thimble.workshop.progress import create_workshop, find_workshop


def test_watch_checks_at_a_save_by_renaming(tmp_path: Path) -> None:
    folder = tmp_path / "workshop"
    create_workshop(folder, None)
    mine = folder / "01-count-tokens" / "mine.py"
    terminal = Terminal("thimble", "workshop", "watch", state=tmp_path, here=folder)
    try:
        terminal.see("1. Count tokens", "template around the messages take room too", "q leave")
        noted = find_workshop(folder)  # by other commands, meanwhile
        noted.done, noted.hints, noted.chosen = ["12-contest"], {"01-count-tokens": 1, "03-orphan": 2}, "07-hybrid"
        noted.save()
        terminal.type("h")
        terminal.see("hint 2 of 3")
        mine.write_text(mine.read_text() + "\n")
        terminal.see("✗ 01-count-tokens", "q leave")
        saved = mine.with_name("mine.py.part")
        saved.write_text((BUILT_IN_EXERCISES / "01-count-tokens" / SOLUTION).read_text())
        saved.rename(mine)
        terminal.see("✓ 01-count-tokens", until=lambda _: mine.with_name(SOLUTION).is_file())
        terminal.see("Twelve strategies: 2 of 12")
        noted.reload()
        assert noted.done == ["01-count-tokens", "12-contest"]
        assert noted.hints == {"01-count-tokens": 2, "03-orphan": 2}
        assert noted.chosen == "07-hybrid"
        terminal.type("n")
        terminal.see("2. A window", "q leave")
        terminal.type("q")
        assert terminal.end() == 0
        assert "✗ 02-window" not in terminal.text, "a page is checked at the first save"
        assert terminal.is_given_back
    finally:
        terminal.close()
