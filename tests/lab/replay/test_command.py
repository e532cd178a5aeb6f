"""Replay: its figures against a slow recomputation from the views, its tables, prices, errors and command line."""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.logs import samples
from tests.support.histories import LIMITS, nasty_histories, react_history, sound_histories
from tests.support.paths import ROOT
from thimble.agent.budget import UNLIMITED, Budget, Prices
from thimble.agent.errors import BudgetError, UsageError
from thimble.agent.messages import Message
from thimble.agent.prompts import SUMMARY_TAG
from thimble.agent.protocols import Text
from thimble.agent.side import SideModel
from thimble.agent.view import prepare
from thimble.commands.trajectories import Trajectory
from thimble.lab.experiment_flags import price_cards, settings_of
from thimble.lab.replay.command import ReplayCase, dominates, main, view_line
from thimble.lab.replay.cost_tables import describe_runs, make_tables, turn_class
from thimble.lab.replay.fake_model import FakeModel
from thimble.lab.replay.recorded_replay import ReplaySetting, counter_of, replay_run, run_cost, run_figures
from thimble.models import READER, chat
from thimble.session.session import Session
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
    "hybrid:window=1,every=2,tail=1",
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
    return Trajectory(name, chat.read_messages([chat.write_message(message) for message in history]))


def setting(strategy: str, limit: int = UNLIMITED, side_cache: bool = True) -> ReplaySetting:
    return ReplaySetting(strategy, limit, PRICES[0], MODEL, 40, side_cache)


def slowly(
    lines: Sequence[dict[str, Any]], overhead: int, limit: int, prices: Prices, side_cache: bool = True
) -> tuple[int, int, int, float]:
    """Prompt, prefill, calls over the budget and cost, recomputed from the lines of a views file alone."""
    counter = counter_of(MODEL)
    plain = counter.overhead(())

    def size(messages: Sequence[Any]) -> int:
        return sum(counter.count(message) for message in chat.read_messages(messages))

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
    how = setting(spec, limit, side_cache)
    calls = list(replay_run(run, how))
    found = run_figures(run, calls, counter_of(MODEL))
    overhead = counter_of(MODEL).overhead(run.tools)
    lines = [json.loads(view_line(ReplayCase(run, how, PRICES[:1]), call, PRICES[0])) for call in calls if call.view]
    for prices in PRICES:
        prompt, prefill, over, costs = slowly(lines, overhead, limit, prices, side_cache)
        assert (found["prompt_tokens"], found["prefill_tokens"], found["over_budget"]) == (prompt, prefill, over)
        if not any(call.asked for call in calls if not call.view):
            assert run_cost(found, prices) == pytest.approx(costs)
    assert found["calls"] == len(lines)
    assert found["calls"] + found["refused"] == run.turns


@given(nasty_histories(), LIMITS)
def test_every_strategy_is_sent_the_same_calls(history: list[Message], limit: int) -> None:
    run = recorded(history)
    sent = {spec: [call.turn for call in replay_run(run, setting(spec, limit)) if call.view] for spec in SPECS}
    assert all(turns == sent["none"] for turns in sent.values()), sent


@given(sound_histories(), LIMITS)
def test_a_call_is_left_out_only_where_no_view_fits(history: list[Message], limit: int) -> None:
    run = recorded(history)
    budget = Budget(limit, counter_of(MODEL), counter_of(MODEL).overhead(()))

    class Fitted(NoManagement):
        fitted = True

    for before, call in zip(run.calls, replay_run(run, setting("none", limit)), strict=True):
        try:
            fits = bool(prepare(run.messages[:before], Fitted(), budget).messages) or not before
        except BudgetError:
            fits = False
        assert fits == bool(call.view)


@given(nasty_histories(), st.sampled_from(SPECS))
def test_a_summary_that_no_cache_holds_changes_no_view_and_is_never_cheaper(history: list[Message], spec: str) -> None:
    run = recorded(history)
    held, whole = (list(replay_run(run, setting(spec, UNLIMITED, cache))) for cache in (True, False))
    assert [call.view and call.view.messages for call in held] == [call.view and call.view.messages for call in whole]
    less, more = (run_figures(run, calls, counter_of(MODEL)) for calls in (held, whole))
    assert more["side_cached_tokens"] == 0
    assert (less["side_calls"], less["side_prompt_tokens"]) == (more["side_calls"], more["side_prompt_tokens"])
    assert all(run_cost(less, prices) <= run_cost(more, prices) for prices in PRICES)


def row(strategy: str, run: str, turns: int, price: float, prompt: int, **more: Any) -> dict[str, Any]:
    """A row of a run in which nothing is cached."""
    none = (
        *("refused", "over_budget", "edits", "side_calls", "acted", "observation_tokens", "lag", "change"),
        *("quoted", "quoted_lost"),
    )
    size = ("prompt_tokens", "prefill_tokens", "history_tokens", "cost")
    of_run = {"strategy": strategy, "run": run, "turns": turns, "calls": turns, "budget": None, "cached_price": price}
    repaired = {"repairs": 3, "characters_mended": 12, "characters_left_out": 3, "repeats": 1}
    return {**dict.fromkeys(none, 0), **dict.fromkeys(size, prompt), **of_run, **repaired, **more}


RUNS = st.lists(st.tuples(st.integers(0, 100), st.sampled_from([0, 0, 0, 2]), st.integers(-90, 200)), max_size=9)
"""Turns, refused calls, and the change of the cost against `none` in percent."""


@given(RUNS)
def test_tables_are_of_the_runs_that_are_sent(runs: list[tuple[int, int, int]]) -> None:
    made = [
        row(spec, f"r{at}", turns, price, 100 + own * change, refused=refused, change=float(own * change))
        for (own, spec), price in product(enumerate(("none", "x")), (1.0, 0.1))
        for at, (turns, refused, change) in enumerate([*runs, (3, 1, 0)])
    ]
    sent = [(turns, change) for turns, refused, change in runs if not refused]
    assert describe_runs(made).startswith(
        f"{len(sent)} run{'s' * (len(sent) != 1)}, {sum(turns for turns, _ in sent):,} call"
    )
    repairs = 3 * (len(runs) + 1)
    assert f" {repairs} repairs changed {4 * repairs:,} characters, and left out {repairs} of them." in describe_runs(
        made
    )
    assert f"Not counted: {len(runs) - len(sent) + 1} run" in describe_runs(made)
    found = {table.title: table for table in make_tables(made, ["x"]) if table.rows}

    def twice(changes: Sequence[float]) -> str:
        return " ".join([f"{changes:+.0f}".replace("-", "−") if round(changes) else "0"] * 2)

    every = [change for _, change in sent]
    tokens, raw = sum(every) + 100 * len(every), 100 * len(every)
    cells = [twice(100 * (tokens / raw - 1)) if raw else "– –", f"{tokens:,}"]
    assert found["All tokens together"].rows[0][1:3] == cells
    most = sum(turns for turns, _ in sent)
    assert found["All tokens together"].rows[0][-1] == (f"{100 * len(every) / most:.1f}" if most else "–")
    if len(sent) > 1:
        _, middle, _, worst = found["Run by run"].rows[0][1:]
        assert (middle, worst) == (twice(median(every)), twice(max(every)))
    apart: dict[str, list[int]] = {}
    for turns, change in sorted(sent):
        apart.setdefault(turn_class(turns), []).append(change)
    if len(apart) > 1:
        table = found["The median run by the length of the runs"]
        assert [name.split()[0] for name in table.columns[1:]] == [*apart]
        assert table.rows[0][1:] == [twice(median(changes)) for changes in apart.values()]


def test_two_large_runs_turn_the_sum_but_not_the_median() -> None:
    sizes = [100] * 7 + [9000] * 2
    raw = [row("none", f"r{at}", size // 100, 1.0, size) for at, size in enumerate(sizes)]
    less = [one | {"strategy": "x", "change": -90.0, "cost": one["cost"] / 10} for one in raw[7:]]
    more = [one | {"strategy": "x", "change": 10.0, "cost": one["cost"] * 1.1} for one in raw[:7]]
    assert "half of them in 2 runs" in describe_runs(raw)
    sums, spread, classes, _ = make_tables([*raw, *more, *less], ["x"])
    assert sums.rows[0][:3] == ["x", "−86", "19k"]
    assert (spread.rows[0][1:], classes.rows[0][1:]) == (["+10"] * 4, ["+10", "−90"])
    names = ["<20", "<20", "20–40", "20–40", "40–80", "40–80", ">80"]
    assert [turn_class(turns) for turns in (0, 19, 20, 39, 40, 80, 81)] == names


# --- prices ----------------------------------------------------------------------------------------------------------


def test_price_cards() -> None:
    assert price_cards([]) == [Prices(1.0), Prices(0.4), Prices(0.25), Prices(0.1)]
    assert price_cards(["cached=0.1"]) == [Prices(0.1)]
    assert price_cards(["cached=1,.5, 0.5,output=3"]) == [Prices(1.0, 3.0), Prices(0.5, 3.0)]
    assert price_cards(["output=5", "cached=0"]) == [Prices(0.0, 5.0)]
    for text in ("", "0.1", "cache=0.1", "cached=", "cached=nan", "cached=-1", "cached=1.5", "output=1,2", "a=b=1"):
        with pytest.raises(UsageError, match="price"):
            price_cards([text])


# --- the stand-in that writes summaries -------------------------------------------------------------------------------


def asked(server: FakeModel, *contents: str, most: int | None = None) -> str:
    messages = [Message(f"m{number}", "user", content) for number, content in enumerate(contents)]
    return "".join(delta.text for delta in server.stream(messages, (), max_tokens=most) if isinstance(delta, Text))


@given(st.integers(0, 1500), st.none() | st.integers(1, 1500), st.sampled_from([MODEL, "qwen2.5:7b"]))
@settings(max_examples=30)
def test_a_summary_is_as_long_as_was_asked_and_never_longer_than_allowed(
    tokens: int, most: int | None, model: str
) -> None:
    server, again, behind = (FakeModel(counter_of(model), tokens) for _ in range(3))
    texts = [asked(server, "x", most=most) for _ in range(3)]
    wanted = min(tokens, most or tokens)
    assert all(wanted - 4 <= output <= wanted for _, output in server.drain())
    assert len(set(texts)) == (3 if wanted > 9 else len(set(texts)))
    assert texts == [asked(again, "y", most=most) for _ in range(3)]
    if tokens and not most:  # a strategy gets the whole summary
        assert SideModel(behind).ask([Message("m0", "user", "x")], "summary", tokens) == texts[0]


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of three runs: 3, 25 and 45 turns."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "runs.jsonl"
    several = [
        {"id": f"r{steps}", "messages": [chat.write_message(one) for one in react_history(steps, 100)]}
        for steps in (3, 25, 45)
    ]
    file.write_text("\n".join(map(json.dumps, several)))
    return file


def replayed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    main([*arguments, "--model", MODEL, "--json", "--jobs", "1"], "replay")
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found


def test_observations_of_a_text_protocol_are_replayed_as_such(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["Find the fault.", *["I look.\n```\nls\n```", "It prints:" + " ready" * 90] * 12]
    text_run = [{"role": "assistant" if at % 2 else "user", "content": text} for at, text in enumerate(texts)]
    runs.write_text(json.dumps(text_run))
    for flags, told, share in (
        ([], "0 observations recognised: --observations PATTERN", "; 0% of"),
        (["--observations", "^It prints:"], "observations recognised in user messages: 12\n", "; 88% of"),
    ):
        main([str(runs), "--strategy", "none", "--budget", "800", *flags, "--model", MODEL, "--jobs", "1"], "x")
        printed = capsys.readouterr()
        assert told in printed.err
        assert share in printed.out


def test_a_later_summary_in_the_background_makes_longer_prompts(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = (str(runs), "--strategy", "comem", "--budget", "100000", "--summary-tokens", "50", "--price", "cached=1")
    soon, late, again = (replayed(capsys, *flags, "--lag", lag)[-1] for lag in ("0", "3", "3"))
    assert late == again
    assert late["prompt_tokens"] > soon["prompt_tokens"]
    assert soon["side_calls"] > late["side_calls"] > 0


def test_secrets_are_kept_if_asked(runs: Path) -> None:
    key = "AKIA" + "ABCDEFGH" * 2
    said = samples.claude("user", "u", None, key), samples.claude("assistant", "a", "u", "Yes.", id="m")
    runs.write_bytes(samples.lines(*said))
    for flags in ([], ["--keep-secrets"]):
        main([str(runs), "--strategy", "tidy", "--views", "v.jsonl", *flags, "--model", MODEL, "--jobs", "1"], "x")
        assert (key in Path("v.jsonl").read_text()) is bool(flags)


@pytest.mark.parametrize("name", ["views.jsonl", "views.jsonl.gz"])
def test_rows_are_what_the_views_file_says(runs: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.py").write_text(PRICED)
    priced, specs = "./mine.py:ByPrice", ["hybrid:every=5,tail=2", "./mine.py:ByPrice"]
    flags = ("--budget", "2500", "--price", "cached=1.0,0.1,output=3", "--views", name)
    found = replayed(capsys, str(runs), "--strategy", *specs, *flags)
    data = Path(name).read_bytes()
    lines = [json.loads(one) for one in (gzip.decompress(data) if name.endswith("gz") else data).splitlines()]
    names = [(spec, run, price) for spec in ("none", *specs) for run in ("r3", "r25", "r45") for price in (1.0, 0.1)]
    assert [(one["strategy"], one["run"], one["cached_price"]) for one in found] == names
    assert [*dict.fromkeys((one["strategy"], one["run"]) for one in lines)] == [one[:2] for one in names[6::2]]
    assert {one.get("price") for one in lines if one["strategy"] != priced} == {None}
    for (spec, run, price), one in [*zip(names, found, strict=True)][6:]:
        at = spec, run, price if spec == priced else None
        own = [view for view in lines if (view["strategy"], view["run"], view.get("price")) == at]
        assert [view["turn"] for view in own] == [*range(1, one["turns"] + 1)]
        *tokens, costs = slowly(own, counter_of(MODEL).overhead(()), 2500, Prices(price, 3.0))
        assert [one["prompt_tokens"], one["prefill_tokens"], one["over_budget"]] == tokens
        assert one["cost"] == pytest.approx(costs)
        (raw,) = (raw["cost"] for raw in found[:6] if (raw["run"], raw["cached_price"]) == (run, price))
        assert one["change"] == pytest.approx(100 * (one["cost"] / raw - 1))
        assert (one["budget"], one["calls"], one["lag"]) == (2500, one["turns"], 0)
    dear, cheap = found[-2:]
    assert dear["prompt_tokens"] < cheap["prompt_tokens"]


def test_csv_has_the_rows_and_a_store_keeps_them(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.py").write_text(PRICED)
    flags = (str(runs), "--strategy", "./mine.py", "--store", "s.jsonl")
    found = replayed(capsys, *flags)
    stored = Path("s.jsonl").read_bytes()
    main([*flags, "--model", MODEL, "--csv"], "replay")
    lines = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert lines == [{key: "" if value is None else str(value) for key, value in one.items()} for one in found]
    assert Path("s.jsonl").read_bytes() == stored
    Path("mine.py").write_text(PRICED.replace("0.5", "0.05"))
    assert replayed(capsys, *flags) != found  # another strategy, under the same name


def test_tables_for_people(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--strategy", "none", "observation-masking:when=always,window=2", "--model", MODEL, "--jobs", "1"]
    main([str(runs), *flags, "--report", "page.html"], "replay")
    text = capsys.readouterr().out
    assert "3 runs, 73 calls, no budget" in text
    assert "20–40 turns, 1 run" in text
    assert ">80" not in text
    assert "Run by run" in text
    assert Path("page.html").read_text().count("<polyline") == 2
    main([str(runs), *flags, "--markdown"], "replay")
    assert "| none | 0 0 0 0 | 0 0 0 0 |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "what"),
    [
        (["--strategy", "slidingwindow"], "there is no strategy 'slidingwindow'"),
        (["--strategy", "./fails.py"], "./fails.py failed on r"),
        (["--budget", "0"], "budget cannot be '0' (flag --budget)"),
        (["--jobs", "0"], "--jobs 0 is not valid"),
        (["--csv", "--json"], "not allowed with"),
        (["--lag", "1001"], "--lag 1001 is not valid"),
        (["--summary-tokens", "-1"], "--summary-tokens -1 is not valid"),
        (["--views", "no/such/folder"], "no/such/folder cannot be written"),
        (["--views", "./runs.jsonl"], "is one of the input files"),
        (["--views", "views", "--store", "s"], "--views needs every view"),
        (["--act", "qwen"], "'qwen' is not a model"),
        (["--strategy", "./leaves.py"], "./leaves.py failed on "),
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
    assert sum(row["calls"] for row in json.loads(texts[0][0])) == 4 * 73
    assert "thimble lab replay" in thimble("thimble", "lab").communicate(timeout=60)[0]
    for name, what, fix in (
        ("repay", "there is no experiment 'repay'", "fix: did you mean replay? "),
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
    found = re.fullmatch(r"thimble lab: stopped: ([0-3]) of 6 cases(?: are kept; --store (\S+) continues)?\n", told)
    assert found
    done, kept = found.groups()
    assert (int(done) > 0) == (kept is not None)
    assert kept is None or len(Path(kept).read_text().splitlines()) == int(done)


def test_a_strategy_is_beaten_by_one_that_costs_and_loses_no_more() -> None:
    points = {"a": (10.0, -50.0), "b": (10.0, -40.0), "c": (5.0, -40.0), "d": (20.0, -50.0), "e": (1.0, 0.0)}
    left = [name for name, point in points.items() if not any(dominates(point, other) for other in points.values())]
    assert left == ["a", "c", "e"]
    assert not dominates((1.0, 1.0), (1.0, 1.0))


# --- the next action on each view (CoMem, Eq. 9) ----------------------------------------------------------------------


def test_the_agent_agrees_with_its_own_run_and_writes_the_summaries(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session = Session(settings_of(READER, budget=64_000))
    for question in ("What is observation masking?", "And what does it cost?", "What is a prefix cache?", "Who?"):
        list(session.ask(question))
    messages = [chat.write_message(message) for message in session.agent.history]
    path, views = tmp_path / "run.json", tmp_path / "views.jsonl"
    path.write_text(json.dumps({"messages": messages, "tools": session.agent.schemas()}))
    specs = ["comem:k=1,summary=none", "llm-summary:every=1,tail=0"]
    flags = [str(path), "--act", READER, "--strategy", *specs, "--jobs", "1"]
    main([*flags, "--json", "--price", "cached=1", "--views", str(views)], "replay")
    raw, window, summary = (one["agreement"] for one in json.loads(capsys.readouterr().out))
    assert raw == pytest.approx(1)
    assert 0 <= window < 1
    assert 0 <= summary <= 1
    shown = [one["content"] for line in views.read_text().splitlines() for one in json.loads(line)["messages"]]
    summaries = [text for text in shown if text.startswith(SUMMARY_TAG)]
    assert any("masking" in text for text in summaries)
    assert not any("what was found so far" in text for text in summaries)
    main(flags, "replay")
    assert "Agreement of the next action" in capsys.readouterr().out
