"""No payload of the corpus steers the terminal, whichever door it takes."""

from __future__ import annotations

import re

import pytest

from tests.support.doors import COMMANDS, DOORS, LOOKS, Door
from tests.support.payloads import ALL, OPEN, PAYLOADS
from thimble.repl.commands import table

ERASE_LINES = r"\r(?:\x1b\[1A)?\x1b\[2K(?:\x1b\[1A\x1b\[2K)*"
FRAME = r"\x1b\[\?7l|\r(?:\x1b\[\dA)?\x1b\[(?:J|\?7h)"
OURS = re.compile(rf"{ERASE_LINES}|{FRAME}|\r\x1b\[\dA|\r(?=[\r\n])|\x1b\[\?25[lh]")
"""What live lines and bars need: go up, erase them, cut them at the margin, hide the cursor; no colours."""
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def steering(written: str) -> list[str]:
    """What of a text would steer a terminal, with what stands around it."""
    rest = OURS.sub("", written)
    return [rest[max(0, found.start() - 20) : found.end() + 20] for found in FORBIDDEN.finditer(rest)]


def test_the_parser_is_strict() -> None:
    """It finds every payload that steers, where nothing cleans it."""
    harmless = {*PAYLOADS["markup"], *PAYLOADS["Markdown"], *PAYLOADS["lines"], *filter(OURS.fullmatch, ALL)}
    assert [text for text in ALL if text not in harmless and not steering(text)] == []
    assert len(set(ALL)) >= 200


def test_every_command_is_at_a_door() -> None:
    """A recording has /model and /pull; /doctor has tests of its own; /quit prints nothing."""
    typed = {form.split()[0].removeprefix("/") for form in (*LOOKS, *COMMANDS)}
    assert table.COMMANDS.keys() - typed == {"model", "pull", "doctor", "quit"}


every_door = pytest.mark.parametrize(("name", "door"), DOORS, ids=[name for name, _ in DOORS])


@every_door
def test_nothing_gets_through(name: str, door: Door) -> None:
    """One payload of each kind, and one without an end: others at each door, in another order."""
    number = [known for known, _ in DOORS].index(name)
    kinds = [texts[number % len(texts)] for texts in PAYLOADS.values()]
    first = number % len(kinds)
    assert steering(door("\n".join(kinds[first:] + kinds[:first]))) == []
    text = OPEN[number % len(OPEN)]
    assert steering(door(text + "and more" * (number % 2))) == [], ascii(text)


@pytest.mark.nightly
@every_door
def test_none_of_all_gets_through(name: str, door: Door) -> None:
    for kind, texts in PAYLOADS.items():
        for batch in (texts[start : start + 30] for start in range(0, len(texts), 30)):
            assert steering(door("\n".join(batch))) == [], kind
    for number, text in enumerate(OPEN):
        assert steering(door(text + "and more" * (number % 2))) == [], ascii(text)
