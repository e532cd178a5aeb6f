"""Replay: its figures against a slow recomputation from the views, its formats, prices, errors and command line."""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import LIMITS, nasty_histories, react, sound_histories
from tests.support.paths import ROOT
from thimble.agent.budget import UNLIMITED, Budget, Prices
from thimble.agent.errors import BudgetError, UsageError
from thimble.agent.messages import Message
from thimble.agent.view import prepare
from thimble.lab.experiment_flags import price_cards
from thimble.lab.replay.command import main
from thimble.lab.replay.cost_tables import findings, headline
from thimble.lab.replay.costs import CLASSES, FIGURE_COLUMNS, rows, table
from thimble.lab.replay.recorded_replay import Figures, RecordedCall, ReplaySetting, counter_of, figures, replay
from thimble.lab.replay.trajectories import Trajectory
from thimble.lab.replay.work import ReplayJob, line
from thimble.models import chat
from thimble.strategies.none import NoManagement

RECORDED = os.environ.get("THIMBLE_TRAJECTORIES", "")
"""Recorded runs that are not part of the project; what needs them is skipped without."""

MODEL = "no such model"
PRICES = [Prices(1.0), Prices(0.25), Prices(0.1)]
SPECS = [
    "none",
    "sliding-window",
    "sliding-window:window=2",
    "observation-masking",
    "observation-masking:when=always,window=1",
    "summary-buffer:words=20",
    "hybrid:every=2,tail=1,words=20",
    "hybrid:window=1,every=1,tail=1",
]
PRICED = """\
from thimble.agent.messages import Message

class ByPrice:
    priced = True

    def prepare(self, messages, budget):
        \"\"\"Shorten old results, if a cached token is dear.\"\"\"
        if budget.prices.cached < 0.5:
            return list(messages)
        return [m.rewritten("-", "dear") if m.role == "tool" and len(m.content) > 9 else m for m in messages]
"""
TOOL = {"type": "function", "function": {"name": "read", "description": "Read a page.", "parameters": {}}}


def recorded(history: Sequence[Message], name: str = "run") -> Trajectory:
    """A history as it is read back from a file."""
    return Trajectory(name, chat.read([chat.write(message) for message in history]))


def setting(
    strategy: str, limit: int = UNLIMITED, prices: Prices = PRICES[0], summary: int = 40, side_cache: bool = True
) -> ReplaySetting:
    return ReplaySetting(strategy, limit, prices, MODEL, summary, side_cache)


def lines_of(run: Trajectory, how: ReplaySetting, calls: Sequence[RecordedCall]) -> list[dict[str, Any]]:
    return [json.loads(line(run, ReplayJob(0, how), call)) for call in calls if call.view]


def slowly(
    lines: Sequence[dict[str, Any]], overhead: int, limit: int, prices: Prices, side_cache: bool = True
) -> tuple[int, int, int, float]:
    """Prompt, prefill, calls over the budget and cost, recomputed from the lines of a views file alone."""
    counter = counter_of(MODEL)
    plain = counter.overhead(())

    def size(messages: Sequence[Any]) -> int:
        return sum(counter.count(message) for message in chat.read(messages))

    def cached(messages: Sequence[Any], own: int, known: Sequence[tuple[Sequence[Any], int]]) -> int:
        best = 0
        for others, theirs in known:
            shared = 0
            while own == theirs and messages[: shared + 1] == others[: shared + 1] and shared < len(messages):
                shared += 1
            best = max(best, own + size(messages[:shared]) if shared else 0)
        return best

    prompt = prefill = over = 0
    cost = 0.0
    known: list[tuple[Sequence[Any], int]] = []
    for entry in lines:
        for asked in entry.get("asked", ()):
            tokens, old = plain + size(asked["messages"]), cached(asked["messages"], plain, known) * side_cache
            cost += tokens - old + prices.cached * old + prices.output * asked["output_tokens"]
            known += [(asked["messages"], plain)] * side_cache
        tokens, old = overhead + size(entry["messages"]), cached(entry["messages"], overhead, known)
        prompt, prefill, over = prompt + tokens, prefill + tokens - old, over + (tokens > limit)
        cost += tokens - old + prices.cached * old
        known = [(entry["messages"], overhead)]
    return prompt, prefill, over, cost


# --- laws -------------------------------------------------------------------------------------------------------------


@given(nasty_histories(), st.sampled_from(SPECS), st.one_of(LIMITS, st.just(UNLIMITED)), st.booleans(), st.booleans())
def test_figures_are_what_a_slow_recomputation_from_the_views_gives(
    history: list[Message], spec: str, limit: int, offers_a_tool: bool, side_cache: bool
) -> None:
    run = recorded(history)
    run = Trajectory(run.name, run.messages, [TOOL] if offers_a_tool else [])
    how = setting(spec, limit, side_cache=side_cache)
    calls = list(replay(run, how))
    found = figures(run, calls, counter_of(MODEL))
    overhead = counter_of(MODEL).overhead(run.tools)
    lines = lines_of(run, how, calls)
    for prices in PRICES:
        prompt, prefill, over, cost = slowly(lines, overhead, limit, prices, side_cache)
        assert (found.prompt_tokens, found.prefill_tokens, found.over_budget) == (prompt, prefill, over)
        unsent = [side for call in calls if not call.view for side in call.asked]
        if not unsent:
            assert found.cost(prices) == pytest.approx(cost)
    assert found.calls == len(lines)
    assert found.calls + found.refused == run.turns


@given(nasty_histories(), LIMITS)
def test_every_strategy_is_sent_the_same_calls(history: list[Message], limit: int) -> None:
    run = recorded(history)
    sent = {spec: [call.turn for call in replay(run, setting(spec, limit)) if call.view] for spec in SPECS}
    assert all(turns == sent["none"] for turns in sent.values()), sent


@given(sound_histories(), LIMITS)
def test_a_call_is_left_out_only_where_no_view_fits(history: list[Message], limit: int) -> None:
    run = recorded(history)
    budget = Budget(limit, counter_of(MODEL), counter_of(MODEL).overhead(()))

    class Fitted(NoManagement):
        fitted = True

    for before, call in zip(run.calls, replay(run, setting("none", limit)), strict=True):
        try:
            fits = bool(prepare(run.messages[:before], Fitted(), budget).messages) or not before
        except BudgetError:
            fits = False
        assert fits == bool(call.view)


@given(sound_histories())
def test_without_management_a_prompt_is_the_history_and_computed_once(history: list[Message]) -> None:
    run = recorded(history)
    counter = counter_of(MODEL)
    sizes = [counter.overhead(()) + sum(map(counter.count, run.messages[:at])) for at in run.calls]
    calls = list(replay(run, setting("none")))
    assert [call.view and call.view.tokens for call in calls] == sizes
    if run.messages and run.messages[0].role != "assistant":
        assert sum(call.view.prefill for call in calls if call.view) == (sizes[-1] if sizes else 0)


@given(nasty_histories(), st.sampled_from(SPECS))
def test_a_summary_that_no_cache_holds_changes_no_view_and_is_never_cheaper(history: list[Message], spec: str) -> None:
    run = recorded(history)
    held, whole = (list(replay(run, setting(spec, side_cache=cache))) for cache in (True, False))
    assert [call.view and call.view.messages for call in held] == [call.view and call.view.messages for call in whole]
    less, more = (figures(run, calls, counter_of(MODEL)) for calls in (held, whole))
    assert more.side_cached_tokens == 0
    assert (less.side_calls, less.side_prompt_tokens) == (more.side_calls, more.side_prompt_tokens)
    assert all(less.cost(prices) <= more.cost(prices) for prices in PRICES)


def of_turns(number: int, turns: int) -> Trajectory:
    return Trajectory(f"r{number}", [Message(f"m{turn}", "assistant", "x") for turn in range(turns)])


AMOUNTS = [st.integers(0, 1000)] * 5
FIGURES = st.builds(
    Figures, st.just(1), *AMOUNTS[:4], st.sampled_from([0, 0, 0, 2]), *AMOUNTS, *[st.integers(0, 1000)] * 2
)
"""Of one run; one in four has calls that were refused."""


@given(st.lists(st.tuples(FIGURES, FIGURES, FIGURES, st.integers(0, 100)), max_size=8))
def test_runs_and_classes_add_up_and_the_spread_is_of_the_runs(
    found: list[tuple[Figures, Figures, Figures, int]],
) -> None:
    runs = [of_turns(number, turns) for number, (*_, turns) in enumerate(found)]
    raw, first, third = [one[0] for one in found], [one[1] for one in found], [one[2] for one in found]
    by_setting = {
        setting("none"): raw,
        setting("priced"): first,
        setting("priced", prices=PRICES[1]): third,
        setting("priced", prices=PRICES[2]): third,
    }
    for row in rows(by_setting, runs, PRICES):
        classes, apart = row["by_turns"].values(), row["refused_runs"]
        assert list(row["by_turns"]) == ["<20", "20-40", "40-80", ">80"]
        assert row["runs"] + apart["runs"] == len(row["by_run"]) == len(found)
        for key in FIGURE_COLUMNS:
            assert sum(entry[key] for entry in classes) == row[key]
            assert row[key] + apart[key] == sum(one[key] for one in row["by_run"])
        assert row["refused"] == 0
        for price in ("1.0", "0.25", "0.1"):
            assert sum(entry["cost"][price] for entry in classes) == pytest.approx(row["cost"][price])
            refused = {one["run"] for other in by_setting.values() for one in named(runs, other) if one["refused"]}
            changes = [
                one["change"][price]
                for one in row["by_run"]
                if one["run"] not in refused and one["change"][price] is not None
            ]
            spread = row["spread"][price]
            if changes:
                assert [spread[0], spread[2], spread[4]] == pytest.approx([min(changes), median(changes), max(changes)])
                assert spread == sorted(spread)
            else:
                assert spread is None
            assert row["strategy"] != "none" or not any(changes)


def named(runs: Sequence[Trajectory], found: Sequence[Figures]) -> list[dict[str, Any]]:
    return [{"run": run.name, "refused": one.refused} for run, one in zip(runs, found, strict=True)]


def test_two_large_runs_turn_the_sum_but_not_the_median() -> None:
    small, large = Figures(1, 3, 100, 100), Figures(1, 99, 9_000, 9_000)
    dearer, cheaper = Figures(1, 3, 110, 110), Figures(1, 99, 900, 900)
    runs = [of_turns(number, turns) for number, turns in enumerate([3] * 7 + [99] * 2)]
    by_setting = {setting("none"): [small] * 7 + [large] * 2, setting("x"): [dearer] * 7 + [cheaper] * 2}
    raw, row = rows(by_setting, runs, PRICES[:1])
    assert "half of them in 2 runs" in headline(raw)
    found = findings([row], raw)
    (wide,) = found.markdown
    assert wide.rows[0][:8] == ["x", "**+10**", "−90", "**+10**", "**+10**", "**+10**", "**+10**", "−86"]
    assert [table.rows[0][1:3] for table in found.tables] == [["−86", "2,570"], ["+10", "+10"], ["+10", "−90"]]


def test_a_run_with_a_refused_call_is_named_and_counts_nowhere_else() -> None:
    whole, cut = Figures(1, 3, 100, 100), Figures(1, 3, 9_000, 9_000, refused=2)
    (raw,) = rows({setting("none", 500): [whole, cut]}, [of_turns(0, 3), of_turns(1, 5)], PRICES)
    assert (raw["runs"], raw["prompt_tokens"], raw["refused_runs"]["runs"]) == (1, 100, 1)
    assert headline(raw).endswith("Not counted: 1 run with 2 calls whose least view is over the budget (r1).")


@pytest.mark.parametrize(
    ("turns", "name"),
    [(0, "<20"), (19, "<20"), (20, "20-40"), (39, "20-40"), (40, "40-80"), (80, "40-80"), (81, ">80")],
)
def test_classes_by_turns(turns: int, name: str) -> None:
    assert [known for known, holds in CLASSES.items() if holds(turns)] == [name]


def test_a_summary_that_is_not_smaller_is_paid_for_and_refused() -> None:
    run = recorded(react(12, tokens=30))
    spec = "llm-summary:every=3,tail=1,words=10000"
    small, large = (list(replay(run, setting(spec, summary=tokens))) for tokens in (20, 5000))
    assert any(call.view and "summarised" in call.view.fates for call in small)
    assert all(call.view and set(call.view.fates) <= {"kept"} for call in large)
    assert any(call.asked for call in large)


# --- prices -----------------------------------------------------------------------------------------------------------


def test_price_cards() -> None:
    assert price_cards([]) == [Prices(1.0), Prices(0.4), Prices(0.25), Prices(0.1)]
    assert price_cards(["cached=0.1"]) == [Prices(0.1)]
    assert price_cards(["cached=1,.5, 0.5,output=3"]) == [Prices(1.0, 3.0), Prices(0.5, 3.0)]
    assert price_cards(["output=5", "cached=0"]) == [Prices(0.0, 5.0)]


@pytest.mark.parametrize(
    "text",
    ["", "0.1", "cache=0.1", "cached=", "cached=x", "cached=nan", "cached=-1", "cached=1.5", "output=1,2", "a=b=1"],
)
def test_prices_that_are_none(text: str) -> None:
    with pytest.raises(UsageError, match="price"):
        price_cards([text])


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of three runs: 3, 25 and 45 turns."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "runs.jsonl"
    several = [{"id": f"r{steps}", "messages": [chat.write(one) for one in react(steps, 100)]} for steps in (3, 25, 45)]
    file.write_text("\n".join(map(json.dumps, several)))
    return file


def replayed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    main([*arguments, "--model", MODEL, "--json"], "replay")
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found


def test_observations_of_a_text_protocol_are_replayed_as_such(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["Find the fault.", *["I look.\n```\nls\n```", "It prints:" + " ready" * 90] * 12]
    text_run = [{"role": "assistant" if at % 2 else "user", "content": text} for at, text in enumerate(texts)]
    runs.write_text(json.dumps(text_run))
    found, told = [], []
    for flags in ([], ["--observations", "^It prints:"]):
        main(
            [str(runs), "--strategy", "observation-masking", "--budget", "800", *flags, "--model", MODEL, "--json"], "x"
        )
        printed = capsys.readouterr()
        found.append(next(row for row in json.loads(printed.out) if row["strategy"] == "none"))
        told.append(printed.err)
    assert "0 observations recognised: --observations PATTERN" in told[0]
    assert "observations recognised in user messages: 12\n" in told[1]
    assert (found[0]["observation_share"], found[1]["observation_share"] > 0.7) == (0, True)
    assert found[0]["prompt_tokens"] == found[1]["prompt_tokens"]


def test_what_was_repaired_in_a_run_stands_in_its_row_and_in_the_first_line(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, *rest = map(json.loads, runs.read_text().splitlines())
    at = next(at for at, one in enumerate(first["messages"]) if one["role"] == "tool")
    late = first["messages"][at]
    first["messages"].insert(at, {"role": "user", "content": "Be quick."})
    runs.write_text("\n".join(map(json.dumps, [first, *rest])))
    (row,) = replayed(capsys, str(runs), "--strategy", "none", "--jobs", "1")
    size = len(late["content"])
    keys = ("repairs", "characters_mended", "characters_left_out")
    assert [[one[key] for key in keys] for one in row["by_run"]] == [[1, size, 0], [0, 0, 0], [0, 0, 0]]
    assert headline(row).endswith(f" 1 repair mended {size} characters, and left out 0 of them.")


def test_a_later_summary_in_the_background_makes_longer_prompts(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = (str(runs), "--strategy", "comem", "--budget", "100000", "--summary-tokens", "50", "--jobs", "1")
    soon, late, again = (replayed(capsys, *flags, "--lag", lag)[1] for lag in ("0", "3", "3"))
    assert late == again
    assert late["prompt_tokens"] > soon["prompt_tokens"]
    assert soon["side_calls"] > late["side_calls"] > 0


@pytest.mark.parametrize("name", ["views.jsonl", "views.jsonl.gz"])
def test_rows_are_what_the_views_file_says(runs: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    specs = ["hybrid:every=5,tail=2", "observation-masking"]
    flags = ("--budget", "2500", "--price", "cached=1.0,0.1,output=3", "--views", name)
    raw, *found = replayed(capsys, str(runs), "--strategy", specs[0], "--strategy", specs[1], *flags)
    assert raw["strategy"] == "none"
    data = Path(name).read_bytes()
    lines = [json.loads(one) for one in (gzip.decompress(data) if name.endswith("gz") else data).splitlines()]
    assert [row["strategy"] for row in found] == specs
    assert list(dict.fromkeys((one["run"], one["strategy"]) for one in lines)) == [
        (run, spec) for run in ("r3", "r25", "r45") for spec in specs
    ]
    for row in found:
        by_run = [
            [one for one in lines if (one["run"], one["strategy"]) == (run, row["strategy"])]
            for run in ("r3", "r25", "r45")
        ]
        assert [[one["turn"] for one in of] for of in by_run] == [[*range(1, turns + 1)] for turns in (3, 25, 45)]
        for price in (1.0, 0.1):
            parts = [slowly(of, counter_of(MODEL).overhead(()), 2500, Prices(price, 3.0)) for of in by_run]
            for part, entry in zip(parts, list(row["by_turns"].values())[:3], strict=True):
                assert (entry["prompt_tokens"], entry["prefill_tokens"], entry["over_budget"]) == part[:3]
                assert entry["cost"][str(price)] == pytest.approx(part[3])
            assert row["cost"][str(price)] == pytest.approx(sum(part[3] for part in parts))
        assert (row["budget"], row["runs"], row["calls"]) == (2500, 3, 73)
        assert [entry["runs"] for entry in row["by_turns"].values()] == [1, 1, 1, 0]


def test_a_strategy_that_decides_by_the_price_is_replayed_at_each(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("mine.py").write_text(PRICED)
    specs = ["./mine.py:ByPrice", "none+./mine.py:ByPrice", "none"]
    priced, piped, raw = replayed(
        capsys, str(runs), "--strategy", *specs, "--price", "cached=1.0,0.1", "--views", "views.jsonl"
    )
    assert priced["cost"]["0.1"] == pytest.approx(raw["cost"]["0.1"])
    assert raw["strategy"] == "none"
    assert priced["cost"]["1.0"] < 0.6 * raw["cost"]["1.0"]
    assert priced["by_price"]["1.0"]["prompt_tokens"] == priced["prompt_tokens"] == priced["cost"]["1.0"]
    assert priced["by_price"]["0.1"]["prompt_tokens"] == raw["prompt_tokens"]
    assert {**piped, "strategy": ""} == {**priced, "strategy": ""}
    assert "by_price" not in raw
    lines = [json.loads(one) for one in Path("views.jsonl").read_text().splitlines()]
    assert {one.get("price") for one in lines if one["strategy"] == "none"} == {None}
    assert {one.get("price") for one in lines if one["strategy"] != "none"} == {1.0, 0.1}
    assert len(lines) == 73 * 5
    _, alone = replayed(capsys, str(runs), "--strategy", specs[0], "--price", "cached=0.1", "--views", "views.jsonl")
    assert "by_price" not in alone
    assert alone["prompt_tokens"] == raw["prompt_tokens"]


def test_csv_and_tables_hold_every_run_at_every_price(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.py").write_text(PRICED)
    flags = [str(runs), "--strategy", "./mine.py:ByPrice", "--price", "cached=1.0,0.1"]
    found = replayed(capsys, *flags)
    assert [row["strategy"] for row in found] == ["none", "./mine.py:ByPrice"]  # what a change is against is there
    main([*flags, "--model", MODEL, "--csv", "--jobs", "1"], "replay")
    lines = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert lines == [{key: str(value) for key, value in record.items()} for record in table(found)]
    assert [(one["strategy"], one["run"], one["cached_price"]) for one in lines] == [
        (spec, run, price)
        for spec in ("none", "./mine.py:ByPrice")
        for run in ("r3", "r25", "r45")
        for price in ("1.0", "0.1")
    ]
    assert (
        sum(int(one["prompt_tokens"]) for one in lines[6:] if one["cached_price"] == "0.1")
        == (found[1]["by_price"]["0.1"]["prompt_tokens"])
    )
    prompts = [price["prompt_tokens"] for price in found[1]["by_price"].values()]
    shown = " ".join(f"{tokens:,}" if tokens < 10_000 else f"{tokens / 1000:.0f}k" for tokens in prompts)
    main([*flags, "--model", MODEL, "--markdown"], "replay")
    assert f"| {shown} |" in capsys.readouterr().out


def test_tables_for_people(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(runs), "--strategy", "observation-masking:when=always,window=2", "--model", MODEL], "replay")
    text = capsys.readouterr().out
    assert "3 runs, 73 calls, no budget" in text
    assert "20–40 turns, 1 run" in text
    assert ">80" not in text
    assert "Run by run" in text
    flags = ("--strategy", "none", "hybrid:every=5,tail=2", "--model", MODEL, "--markdown")
    main([str(runs), *flags], "replay")
    text = capsys.readouterr().out
    table = [one for one in text.splitlines() if one.startswith("|")]
    assert len(table) == 4
    assert len({one.count("|") for one in table}) == 1
    assert "| none | 0 0 0 0 | 0 0 0 0 |" in text


@pytest.mark.parametrize(
    ("flags", "what"),
    [
        (["--strategy", "slidingwindow"], "there is no strategy 'slidingwindow'"),
        (["--strategy", "./fails.py"], "./fails.py failed on r"),
        (["--budget", "0"], "budget cannot be '0' (flag --budget)"),
        (["--budget", "many"], "budget cannot be 'many' (flag --budget)"),
        (["--jobs", "0"], "--jobs 0 is not possible"),
        (["--csv", "--json"], "not allowed with"),
        (["--lag", "1001"], "--lag 1001 is not possible"),
        (["--summary-tokens", "-1"], "--summary-tokens -1 is not possible"),
        (["--views", "no/such/folder"], "no/such/folder cannot be written"),
        (["--views", "./runs.jsonl"], "is a file to be replayed"),
        (["--strategy", "./leaves.py"], "./leaves.py failed on "),
        (["--json", "--markdown"], "not allowed with"),
        (["--frobnicate"], "--frobnicate"),
    ],
)
def test_mistakes_are_usage_errors(flags: list[str], what: str, runs: Path) -> None:
    Path("fails.py").write_text("def prepare(messages, budget):\n    return 1 / 0\n")
    Path("leaves.py").write_text("def prepare(messages, budget):\n    raise SystemExit('so\\nlong')\n")
    before = runs.read_bytes()
    with pytest.raises(UsageError) as error:
        main([str(runs), "--strategy", "none", *flags], "replay")
    assert what in error.value.what
    assert "\n" not in error.value.what
    assert error.value.fix
    assert runs.read_bytes() == before


def thimble(*arguments: str, **rest: Any) -> subprocess.Popen[str]:
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **rest}
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, "-m", *arguments], env=environ, **pipes)


def test_the_command_line(runs: Path) -> None:
    both = (("thimble", "lab"), ("thimble.lab",))
    ways = [thimble(*way, "replay", str(runs), "--strategy", "none", "--json") for way in both]
    texts = [way.communicate(timeout=60) for way in ways]
    assert texts[0] == texts[1]
    assert json.loads(texts[0][0])[0]["calls"] == 73
    assert "thimble lab replay" in thimble("thimble", "lab").communicate(timeout=60)[0]
    for name, what, fix in (
        ("repay", "there is no experiment 'repay'", "fix: did you mean replay? "),
        ("tabel", "there is no experiment 'tabel'", "fix: did you mean table? "),
        ("replay", "FILE", "fix: thimble lab replay --help lists the flags"),
    ):
        wrong = thimble("thimble", "lab", name)
        told = wrong.communicate(timeout=60)[1].splitlines()
        assert (wrong.returncode, len(told)) == (2, 2)
        assert what in told[0]
        assert told[1].startswith(fix)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("flags", [("--json",), ("--views", "/dev/full")])
def test_a_full_disk_is_one_line_and_how_to_mend_it(flags: tuple[str, ...], runs: Path) -> None:
    with Path("/dev/full" if flags == ("--json",) else "out").open("w") as out:
        full = thimble("thimble.lab", "replay", str(runs), "--strategy", "none", *flags, stdout=out)
        told = full.communicate(timeout=60)[1]
    assert (full.returncode, told.splitlines()) == (
        2,
        ["thimble lab: cannot write: No space left on device", "fix: check where it goes"],
    )


def test_stopped(runs: Path) -> None:
    Path("slow.py").write_text(
        "import time\nfrom pathlib import Path\n\n"
        "def prepare(messages, budget):\n    Path('begun').touch()\n    time.sleep(60)\n"
    )
    running = thimble("thimble", "lab", "replay", str(runs), "--strategy", "./slow.py", start_new_session=True)
    while not Path("begun").exists():
        assert running.poll() is None
        time.sleep(0.05)
    os.killpg(running.pid, signal.SIGINT)
    out, told = running.communicate(timeout=30)
    assert (running.returncode, out) == (1, "")
    assert re.fullmatch(r"thimble lab: stopped after [0-3] of 6 replays\n", told)


# --- recorded runs ----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not RECORDED, reason="THIMBLE_TRAJECTORIES names no recorded runs")
def test_recorded_runs_take_a_minute_on_two_cores() -> None:
    started = resource.getrusage(resource.RUSAGE_CHILDREN)
    running = thimble("thimble.lab", "replay", RECORDED, "--json")
    out, told = running.communicate(timeout=600)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert running.returncode == 0
    assert all(line.startswith("replayed ") for line in told.splitlines())
    assert ended.ru_utime - started.ru_utime < 120
    raw = next(row for row in json.loads(out) if row["strategy"] == "none")
    assert raw["prefill_tokens"] < raw["prompt_tokens"] / 20


PAGE = ROOT / "docs/results/cost.md"
COMMANDS = re.findall(r"^thimble lab replay \"\$THIMBLE_TRAJECTORIES\" ((?:\\\n|.)+)$", PAGE.read_text(), re.MULTILINE)


@pytest.mark.skipif(not RECORDED, reason="THIMBLE_TRAJECTORIES names no recorded runs")
@pytest.mark.parametrize("flags", COMMANDS)
def test_the_page_of_costs_says_what_the_replay_says(flags: str) -> None:
    running = thimble("thimble.lab", "replay", RECORDED, *flags.replace("\\\n", " ").split(), stderr=subprocess.DEVNULL)
    out, _ = running.communicate(timeout=3600)
    page = " ".join(PAGE.read_text().split())
    assert running.returncode == 0
    header, _, *rows = [[cell.strip() for cell in line.split("|")] for line in out.splitlines() if line.startswith("|")]
    shown = [header.index(name) for name in ("strategy", "median run", "all tokens")]
    assert len(rows) > 4
    lines = [f"| {' | '.join(row[at] for at in shown)} |" for row in rows if row[1] != "none"]
    assert [line for line in lines if line not in page] == []
