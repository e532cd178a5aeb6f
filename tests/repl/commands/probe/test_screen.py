from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.family import family
from tests.support.pty_terminal import Terminal


@pytest.mark.parametrize("columns", family([80, 120]))
def test_a_show_for_a_room(columns: int, tmp_path: Path) -> None:
    here = Terminal("repl", "--backend", "reader", "--budget", "2000", state=tmp_path, columns=columns)
    try:
        here.see("56 articles")
        here.type("/plant The launch code of Heron is 4711-Zebra.\r")
        here.see("Planted in message 4: “The launch code of Heron is 4711-Zebra.”", "In the next prompt it is kept")
        here.type("What is observation masking?\r")
        here.see("1 exchange")
        here.type("/probe\r")
        here.see("✓ HIT", "The fact stands in message 4, as it was.", "observation-masking ‹", "███   3 of 3 calls")
        here.type("/predict all\r")
        here.see("The guess: 9 of 9 messages stay as they are, 0 do not.")
        here.type("What is a prefix cache?\r")
        here.see("Predicted: 9 of 9 right (100%) for the next prompt", "· shortens 1 ")
        here.type("/probe\r")
        here.see(
            "✗ MISS", "Message 4, which held it, is masked", "Calls count from", until=lambda text: "--:--" not in text
        )
        here.type("/predict\r")
        here.see("13 messages: which of them", "first words", "· shortens 1 ")
        here.type("\x04")
        assert here.end() == 0
    finally:
        here.close()
