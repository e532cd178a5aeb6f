"""The simulation: thimble's own strategies against the equations of the paper; its command."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.support.complexity_trap import Sizes, rule_of, sizes
from thimble.agent.budget import UNLIMITED, Budget, Prices
from thimble.agent.errors import UsageError
from thimble.agent.side import SideModel
from thimble.lab.experiment import Rows
from thimble.lab.replay.command import ReplayCase
from thimble.lab.replay.fake_model import FakeModel
from thimble.lab.replay.recorded_replay import ReplaySetting, counter_of
from thimble.lab.simulate.command import DEFAULT_TURN, Simulate, block_chart, main
from thimble.lab.simulate.equal_turns import MeanTurn, make_run, mean_of_turns
from thimble.models import chat
from thimble.models.embeddings.static import static_embedder
from thimble.strategies.spec import make_strategy

MODEL = "no such model"
COUNTER = counter_of(MODEL)
PRICES = [Prices(1.0), Prices(0.1)]


def on(spec: str, of: MeanTurn, turns: int, summary: int = 30, limit: int = UNLIMITED) -> Rows:
    setting = ReplaySetting(spec, limit, PRICES[0], MODEL, summary)
    return Simulate().measure(ReplayCase(make_run(of, turns, COUNTER), setting, PRICES))


SPECS = st.one_of(
    st.just("none"),
    st.builds("observation-masking:when=always,window={}".format, st.integers(0, 12)),
    st.builds("llm-summary:every={},tail={}".format, st.integers(1, 12), st.integers(0, 9)),
    st.builds(
        "hybrid:window={},every={},tail={},early=off".format, st.integers(1, 12), st.integers(8, 16), st.integers(1, 7)
    ),
)


def differs_from(found: Rows, spec: str, of: Sizes, limit: int = UNLIMITED) -> int | None:
    """The first turn whose prompt or prefill is not that of the equations."""
    rule = rule_of(make_strategy(spec, SideModel(FakeModel(COUNTER, 0), static_embedder())), Budget(limit, COUNTER))
    assert rule
    turns = ((row["turn"], (row["prompt_tokens"], row["prefill_tokens"])) for row in found)
    return next((at for at, had in turns if had != (rule.prompt(of, at), rule.prefill(of, at))), None)


@settings(max_examples=30)
@given(SPECS, st.integers(60, 200), st.integers(45, 200), st.integers(10, 60), st.integers(1, 32))
def test_strategies_do_what_the_equations_say_turn_by_turn(
    spec: str, said: int, seen: int, summary: int, turns: int
) -> None:
    of = sizes(make_run(MeanTurn(said, 0, seen), 1, COUNTER), COUNTER, summary)
    assume(of.mask < of.observation and of.summary < of.turn + of.observation)
    assert differs_from(on(spec, MeanTurn(said, 0, seen), turns, summary), spec, of) is None


@pytest.mark.parametrize("spec", ["none", "observation-masking:paper", "llm-summary:paper", "hybrid:paper"])
@pytest.mark.parametrize(("turn", "turns", "summary"), [(MeanTurn(60, 20, 100), 100, 70), (DEFAULT_TURN, 60, 700)])
def test_the_settings_of_the_papers_do_too(spec: str, turn: MeanTurn, turns: int, summary: int) -> None:
    of = sizes(make_run(turn, 1, COUNTER), COUNTER, summary)
    assert differs_from(on(spec, turn, turns, summary), spec, of) is None


@given(st.integers(40, 300), st.integers(1, 50), st.integers(25, 400), st.integers(1, 12))
def test_the_run_has_exactly_these_sizes(reasoning: int, action: int, observation: int, turns: int) -> None:
    made = make_run(MeanTurn(reasoning, action, observation), turns, COUNTER)
    found = mean_of_turns([made], COUNTER)
    assert (found.reasoning + found.action, found.observation) == (reasoning + action, observation)
    assert made.turns == turns


def test_the_mean_turn_of_runs_weighs_every_turn_the_same() -> None:
    short, long = make_run(MeanTurn(60, 0, 50), 1, COUNTER), make_run(MeanTurn(60, 0, 150), 3, COUNTER)
    assert mean_of_turns([short, long], COUNTER).observation == 125
    with pytest.raises(UsageError, match="no turn"):
        mean_of_turns([], COUNTER)


@given(st.lists(st.none() | st.integers(0, 10**6), min_size=1, max_size=300))
def test_a_chart_fits_a_terminal_and_shows_the_most(values: list[int | None]) -> None:
    rows = block_chart(values)
    assert {len(row) for row in rows} == {min(76, len(values))}
    assert ("█" in rows[0]) == any(values)


# --- the command ------------------------------------------------------------------------------------------------------


def ran(capsys: pytest.CaptureFixture[str], *flags: str) -> str:
    main(["--model", MODEL, *flags], "thimble lab simulate")
    return capsys.readouterr().out


def test_costs_are_those_of_all_turns_so_far(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--turns", "40", "--strategy", "none", "llm-summary:paper", "sliding-window", "--budget", "9000"]
    records = json.loads(ran(capsys, *flags, "--json", "--report", str(tmp_path / "s.html")))
    assert len(records) == 120
    raw = records[:40]
    tokens, prefill = (sum(one[name] for one in raw) for name in ("prompt_tokens", "prefill_tokens"))
    assert raw[-1]["cost_0.1"] == pytest.approx(0.9 * prefill + 0.1 * tokens)
    assert f"{raw[-1]['prompt_tokens']:,}</td>" in (tmp_path / "s.html").read_text()


def test_sizes_come_from_files_where_no_flag_gives_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "runs.json"
    file.write_text(
        json.dumps([chat.write_message(one) for one in make_run(MeanTurn(50, 20, 80), 4, COUNTER).messages])
    )
    text = " ".join(ran(capsys, str(file), "--turns", "5", "--strategy", "none").split())
    assert re.match(r"5 turns of 150 tokens: reasoning \d+, action \d+, observation 80 \(53%\)", text)
    assert "observation 90 (" in ran(capsys, str(file), "--turns", "5", "--strategy", "none", "--observation", "90")


@pytest.mark.parametrize(
    ("flags", "what"),
    [
        (["--turns", "0"], "--turns 0 is not valid"),
        (["--observation", "3"], "--observation cannot be 3 tokens a turn"),
        (["--reasoning", "1", "--action", "1"], "--reasoning and --action cannot be 2 tokens a turn"),
        (["no such file"], "no such file cannot be read"),
        (["--strategy", "x"], "there is no strategy 'x'"),
    ],
)
def test_mistakes_are_usage_errors(flags: list[str], what: str) -> None:
    with pytest.raises(UsageError) as error:
        main(flags, "simulate")
    assert what in error.value.what
