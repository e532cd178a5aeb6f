"""The list of strategies: all that there is to know, in lines that fit."""

from __future__ import annotations

import pytest

from tests.repl.commands.test_table import said
from tests.support.sessions import scripted
from thimble.repl.commands.strategy import paragraphs
from thimble.strategies.parameter import parameters
from thimble.strategies.table import FAMILIES, STRATEGIES


def test_the_list_has_every_strategy_and_parameter_with_its_default() -> None:
    session = scripted(strategy="hybrid")
    drawn, plain = (" ".join(said(session, "/strategy", drawn=drawn).split()) for drawn in (True, False))
    assert all(len(line) <= 80 for line in said(session, "/strategy", drawn=True).splitlines())
    assert plain.count("(in use)") == plain.count("hybrid (in use)") == 1
    for family, strategies in FAMILIES.items():
        assert family in drawn
        for name, kind in strategies.items():
            taken = "".join(f" {parameter.name}={parameter.shown}" for parameter in parameters(kind))
            meaning = f"{paragraphs(kind)[0].partition('.')[0]}.{taken}"
            assert f"{name} {meaning}" in drawn or f"{name} ‹ {meaning}" in drawn
            assert f"{name}: {meaning}" in plain or f"{name} (in use): {meaning}" in plain


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_help_of_a_strategy_has_all_of_it_and_a_spec_to_try(name: str) -> None:
    session = scripted()
    text = " ".join(said(session, f"/help strategy {name}").split())
    assert text == " ".join(said(session, f"/help /strategy  {name}").split())
    for part in (*paragraphs(STRATEGIES[name]), *(one.legal for one in parameters(STRATEGIES[name]))):
        assert part in text
    spec = text.rpartition("/strategy ")[2].replace(" ", "")
    assert "/strategy" not in spec
    session.use_strategy(spec)
    assert session.spec == spec
    assert len(paragraphs(STRATEGIES[name])[0].split(". ")) == 2, "a description teaches in two sentences"
