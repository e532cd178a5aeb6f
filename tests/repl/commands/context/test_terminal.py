"""/context in a real terminal: as wide as it is, coloured by fate, and readable without colour."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.family import family
from tests.support.pty_terminal import Terminal
from thimble.repl.screen.theme import STYLES

MASKING = "observation-masking:when=always,window=1"
FATES = {"K": STYLES["fate.kept"], "M": STYLES["fate.masked"]}


@pytest.mark.parametrize("environment", family([{}, {"NO_COLOR": "1"}]))
def test_the_strip(tmp_path: Path, environment: dict[str, str]) -> None:
    here = Terminal("repl", "--backend", "reader", "--strategy", MASKING, state=tmp_path, **environment)
    try:
        here.see("thimble", "ctx ")
        here.type("Read the article about context windows\r")
        here.see("turns ")
        here.type("/context\r")
        here.see("sent  ", "M masked", "came after this call")
        row = next(at for at, text in enumerate(here.lines) if text.startswith("sent  ")) + 1
        strip = here.screen.display[row]
        assert len(strip.rstrip()) == 80
        assert set("TPKM█·") <= set(strip) <= set("TPKM█▒·")
        for column, sign in enumerate(strip):
            if sign in FATES:
                colour = "default" if environment else FATES[sign]
                assert here.screen.buffer[row][column].fg == colour
        here.resize(60)
        here.type("/context\r")
        here.see(until=lambda text: text.count("came after this call") == 2)
        bars = [at for at, text in enumerate(here.lines) if text[:1] == "T" and "█" in text]
        assert max(len(here.lines[at]) for at in bars) == 60
        assert here.lines[bars[-1] + 1][0] in "═╌", "the bar took one line"
    finally:
        here.close()
