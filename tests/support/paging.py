"""A program that prints many lines through the pager, and then says that it goes on, and what was typed before."""

from __future__ import annotations

import sys
from select import select

from prompt_toolkit.application.current import get_app_session
from prompt_toolkit.input.typeahead import get_typeahead

from thimble.repl.screen.keys import silent_keyboard
from thimble.repl.screen.pager import paged
from thimble.repl.screen.theme import console_for, say

if __name__ == "__main__":
    console = console_for(plain=False)
    with silent_keyboard(drawn=True):
        if sys.argv[2:]:
            say(console, "type now")
            select([sys.stdin], [], [])
        with paged(console):
            for number in range(int(sys.argv[1])):
                say(console, f"line {number} ⟦x⟧", "name")
        typed = "".join(press.data for press in get_typeahead(get_app_session().input))
        say(console, f"it goes on, typed: {typed!r}")
