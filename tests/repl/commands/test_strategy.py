"""The list of strategies: all that there is to know, in lines that fit."""

from __future__ import annotations

import pytest

from tests.repl.commands.test_table import said
from tests.support.sessions import Paper, scripted
from thimble.repl.commands.strategy import paragraphs, show_all
from thimble.strategies.parameter import parameters
from thimble.strategies.table import FAMILIES, STRATEGIES


@pytest.mark.parametrize("width", [50, 80, 120])
def test_the_list_fits_and_ends_with_what_is_in_use(width: int) -> None:
    paper = Paper(width=width)
    show_all("hybrid:tail=3+sliding-window", paper.console)
    assert all(len(line) <= width for line in paper.lines)
    assert width < 80 or paper.lines[-3] == "In use: hybrid:tail=3+sliding-window"
    marked = [line.split()[0] for line in paper.lines if " ‹ " in line]
    assert sorted(marked) == ["hybrid", "sliding-window"]


def test_the_list_has_every_strategy_and_parameter_with_its_default() -> None:
    session = scripted(strategy="hybrid")
    drawn, plain = (" ".join(said(session, "/strategy", drawn=drawn).split()) for drawn in (True, False))
    assert plain.count("(in use)") == plain.count("hybrid (in use)") == 1
    for family, strategies in FAMILIES.items():
        assert family in drawn
        for name, kind in strategies.items():
            taken = "".join(f" {parameter.name}={parameter.shown}" for parameter in parameters(kind))
            meaning = f"{paragraphs(kind)[0].partition('.')[0]}.{taken}"
            assert f"{name} {meaning}" in drawn or f"{name} ‹ {meaning}" in drawn
            assert f"{name}: {meaning}" in plain or f"{name} (in use): {meaning}" in plain


@pytest.mark.parametrize("drawn", [True, False])
@pytest.mark.parametrize("name", STRATEGIES)
def test_one_strategy_in_full(name: str, drawn: bool) -> None:
    session = scripted()
    text = " ".join(said(session, f"/help strategy {name}", drawn).split())
    assert text == " ".join(said(session, f"/help /strategy  {name}", drawn).split())
    for paragraph in paragraphs(STRATEGIES[name]):
        assert paragraph in text
    for parameter in parameters(STRATEGIES[name]):
        assert parameter.name in text
        assert parameter.legal in text or drawn
    spec = text.rpartition("/strategy ")[2].replace(" ", "")
    assert "/strategy" not in spec
    session.use_strategy(spec)
    assert session.spec == spec


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_description_teaches_in_two_sentences(name: str) -> None:
    first = paragraphs(STRATEGIES[name])[0]
    assert len(first.split(". ")) == 2
    assert first[0].isupper()
    assert first[-1] == "."
