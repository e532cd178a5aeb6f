"""Branches in a real terminal: a question that is asked again is answered as if it had been typed."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.pty_terminal import Terminal


def test_a_question_is_asked_again(tmp_path: Path) -> None:
    here = Terminal("repl", "--backend", "reader", state=tmp_path)
    try:
        here.see("56 articles", "ctx ")
        here.type("What is observation masking?\r")
        here.see("turns ", "1 exchange")
        here.type("/retry none\r")
        shown = here.see("Branch 2 asks again, under none", "· none · reader · 1 exchange")
        assert len(re.findall(r"turns \d", shown)) == 2
        here.type("/tree\r")
        here.see("└─ 2 ‹", "together")
        here.type("/undo\r")
        here.see("Undone: “What is observation masking?”", "Branch 3")
        here.type("/tree 1\r")
        here.see("On branch 1: 1 exchange", "· observation-masking · reader · 1 exchange")
        here.type("\x04")
        assert here.end() == 0
    finally:
        here.close()
