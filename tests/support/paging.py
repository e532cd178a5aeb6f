"""A program that prints many lines through the pager, and then says that it goes on."""

from __future__ import annotations

import sys

from thimble.repl.screen.pager import paged
from thimble.repl.screen.theme import console_for, say

if __name__ == "__main__":
    console = console_for(plain=False)
    with paged(console):
        for number in range(int(sys.argv[1])):
            say(console, f"line {number} ⟦x⟧", "name")
    say(console, "it goes on")
