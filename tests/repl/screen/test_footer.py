from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.support.sessions import answer_call, ask, scripted, tool_call
from thimble.agent.ledger import Amount
from thimble.repl.screen.footer import footer_line

AMOUNTS = st.one_of(st.none(), st.integers(0, 10**7))


@given(AMOUNTS, AMOUNTS, st.integers(500, 10**6), st.integers(20, 200))
def test_the_footer_never_wraps_and_drops_from_the_right(
    prompt: int | None, cached: int | None, limit: int, width: int
) -> None:
    session = scripted(strategy="hybrid:tail=6+sliding-window")
    session.agent.ledger.exchanges = 1
    session.agent.ledger.calls = [answer_call(1, prompt, limit, cached=Amount(cached))]
    short, full = footer_line(session.agent, width), footer_line(session.agent, 1_000)
    assert cell_len(short) <= width
    fields, whole = short.split(" · "), full.split(" · ")
    name = fields.pop(4) if len(fields) > 4 else ""
    assert fields == (whole[:4] + whole[5:])[: len(fields)]
    assert name in ("", whole[4], "masking")
    assert footer_line(session.agent, cell_len(full)) == full


def test_the_footer_is_as_designed() -> None:
    session = scripted()
    session.agent.ledger.exchanges = 2
    session.agent.ledger.calls = [
        answer_call(1, 14_588, output=Amount(50)),
        *[answer_call(2, 0, output=Amount(100), seconds=0.7)] * 3,
        answer_call(2, 6812, cached=Amount(5903), output=Amount(112)),
    ]
    expected = "turns 4 · ctx 6,812/8,000 85% · cached 5,903 · out 412 · observation-masking · 3.1s · Σ 21.4k"
    assert footer_line(session.agent, 120) == expected
    session.agent.ledger.exchanges = 1
    assert footer_line(session.agent, 120).startswith("turns 1 · ctx 14,588/8,000 182% OVER · cached ? · out 50")


def test_the_seconds_of_the_background_are_those_in_which_the_agent_waited() -> None:
    session = scripted()
    session.agent.ledger.exchanges = 1
    session.agent.ledger.calls = [
        answer_call(1, 1_000, output=Amount(50), seconds=2.0),
        answer_call(1, 500, output=Amount(50), seconds=30.0, purpose="memory", lag=2, held=1.5, waited=9.0),
        answer_call(1, 500, output=Amount(50), seconds=4.0, purpose="summary"),
    ]
    assert " · 7.5s · " in footer_line(session.agent, 120)


def test_unknown_is_a_question_mark_and_an_estimate_has_its_tilde() -> None:
    session = scripted()
    session.agent.ledger.exchanges = 1
    for output, said in ((Amount(None), "?"), (Amount(7, exact=False), "~7")):
        session.agent.ledger.calls = [answer_call(prompt=None, output=output)]
        assert f"ctx ?/8,000 ? · cached ? · out {said}" in footer_line(session.agent, 120)
    assert footer_line(session.agent, 120).endswith("Σ ?")


@pytest.mark.parametrize(
    ("spec", "budget", "said"),
    [
        ("tidy+observation-masking", 8_000, "tidy+observation-masking, tidy −1 obs −"),
        ("todo+sliding-window", 1_200, "todo+sliding-window, fit −1 obs −"),
        ("none", 1_200, "none ·"),
        ("compress:when=arrival", 8_000, "compress:when=arrival −1 obs −"),
    ],
)
def test_the_footer_names_who_saved(tmp_path: Path, spec: str, budget: int, said: str) -> None:
    pupils = [{"id": n, "name": f"Pupil {n}", "school": "North"} for n in range(99)]
    compresses = spec.startswith("compress")
    lines = "".join(f"key_{n} = {n} is a new line of this file\n" for n in range(300))
    text = lines if compresses else json.dumps(pupils, indent=2)
    (tmp_path / "a.json").write_text(text)
    session = scripted([tool_call("read_file", path="a.json")], "So.", strategy=spec, files=tmp_path)
    session.use_budget(budget)
    ask(session)
    assert f" · {said}" in footer_line(session.agent, 200)
