"""The sample files tell one story: their numbers agree."""

from __future__ import annotations

import csv
import doctest
import importlib.util
import re
import sys
import tomllib
from collections import Counter, defaultdict
from datetime import date, datetime
from types import ModuleType

import pytest
import yaml

from tests.support.paths import ROOT

FILES = ROOT / "corpus" / "files"
MONTHS = ("January", "February", "March", "April", "May", "June")
LOG = (FILES / "experiments" / "log.md").read_text()
SERVER_LOG = (FILES / "logs" / "server.log").read_text()
README = (FILES / "README.md").read_text()
CHANGELOG = (FILES / "CHANGELOG.md").read_text()
MEETINGS = {path.stem: path.read_text() for path in sorted((FILES / "meetings").glob("*.md"))}
FACTS = re.compile(
    r"^(r\d+)-(r\d+), (\S+): (\d+) of (\d+) right, ([\d.]+) turns, ([\d,]+) prompt tokens, ([\d.]+) % cached"
    r"(?:, ([\d,]+) paid units)?\.$",
    re.MULTILINE,
)
Row = dict[str, str]


def module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"sample_{name}", FILES / "src" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = loaded
    exec(compile((FILES / "src" / f"{name}.py").read_bytes(), name, "exec"), loaded.__dict__)  # leaves no file there
    return loaded


@pytest.fixture(scope="module")
def scoring() -> ModuleType:
    return module("scoring")


@pytest.fixture(scope="module")
def masking() -> ModuleType:
    return module("masking")


@pytest.fixture(scope="module")
def rows() -> dict[str, Row]:
    with (FILES / "experiments" / "results.csv").open(newline="") as file:
        return {row["run"]: row for row in csv.DictReader(file)}


def between(first: str, last: str) -> list[str]:
    return [f"r{number:02}" for number in range(int(first[1:]), int(last[1:]) + 1)]


def total(rows: list[Row], column: str) -> int:
    return sum(int(row[column]) for row in rows)


def units(rows: list[Row]) -> float:
    return total(rows, "prompt_tokens") - 0.9 * total(rows, "cached_tokens") + total(rows, "summary_tokens")


def euros(rows: list[Row]) -> float:
    prices = tomllib.loads((FILES / "config" / "prices.toml").read_text())
    return sum(
        (units([row]) * prices[row["model"]]["fresh"] + int(row["output_tokens"]) * prices[row["model"]]["output"])
        / 1e6
        for row in rows
    )


def test_every_run_is_possible(rows: dict[str, Row]) -> None:
    assert list(rows) == between("r01", f"r{len(rows)}")
    assert [row["date"] for row in rows.values()] == sorted(row["date"] for row in rows.values())
    for row in rows.values():
        assert 0 <= int(row["correct"]) <= 10
        assert int(row["cached_tokens"]) % 16 == 0
        assert int(row["cached_tokens"]) < int(row["prompt_tokens"]) <= int(row["turns"]) * int(row["largest_prompt"])
        assert (int(row["summary_tokens"]) > 0) <= row["strategy"].startswith(("summary", "hybrid"))
        assert row["stop"] in {"answered", "budget", "aborted"}
        assert (row["stop"] == "aborted") <= (row["valid"] == "no")
    asked = Counter(tuple(row[key] for key in ("model", "strategy", "task", "seed", "valid")) for row in rows.values())
    assert set(asked.values()) == {1}


def test_the_versions_are_those_of_the_changelog(rows: dict[str, Row]) -> None:
    released = re.findall(r"^## (\S+) - (\S+)$", CHANGELOG, re.MULTILINE)
    assert released == sorted(released, reverse=True)
    assert 8 <= len(released) <= 12
    for row in rows.values():
        newest_before = max(version for version, day in released if day < row["date"])
        assert row["version"] in {newest_before, *(version for version, day in released if day == row["date"])}


def test_the_tables_in_the_readme_are_what_the_scoring_gives(scoring: ModuleType) -> None:
    runs = scoring.read(FILES / "experiments" / "results.csv")
    tables = scoring.tables(runs)
    assert re.findall(r"^### (.+)$", README, re.MULTILINE) == list(tables)
    for heading, lines in tables.items():
        assert f"### {heading}\n\n" + "\n".join(lines) + "\n\n" in README
    assert all(re.search(rf"^- .*\b{run.strategy}\b.*:", README, re.MULTILINE) for run in runs)
    assert f"{len(runs)} runs of 10 questions each, {sum(not run.valid for run in runs)} of them invalid" in README
    with pytest.raises(ValueError, match="no valid run"):
        scoring.score(run for run in runs if not run.valid)


def test_every_file_stands_in_the_readme() -> None:
    named = {
        name for cell in re.findall(r"^\| (`.+?`) \|", README, re.MULTILINE) for name in re.findall(r"`(.+?)`", cell)
    }
    files = {path.relative_to(FILES).as_posix() for path in FILES.rglob("*.*") if "__pycache__" not in path.parts}
    folders = {"meetings/", "records/"}
    assert {"README.md", *named} == {next((one for one in folders if name.startswith(one)), name) for name in files}
    assert all((FILES / name).stat().st_size < 200_000 for name in files)


def test_the_experiment_log_agrees_with_the_results(rows: dict[str, Row]) -> None:
    entries = re.split(r"^## (\S+), .*$", LOG, flags=re.MULTILINE)[1:]
    days, texts = entries[::2], entries[1::2]
    assert days == sorted(days)
    assert 12 <= len(days) <= 16
    told: list[str] = []
    for day, text in zip(days, texts, strict=True):
        for first, last, strategy, right, of, turns, prompt, cached, paid in FACTS.findall(text):
            named = between(first, last)
            told += named
            batch = [rows[run] for run in named if rows[run]["stop"] != "aborted"]
            count = len(batch)
            assert {row["strategy"] for row in batch} == {strategy}
            assert max(row["date"] for row in batch) <= day
            assert (total(batch, "correct"), 10 * count) == (int(right), int(of))
            assert f"{total(batch, 'turns') / count:.1f}" == turns
            assert abs(total(batch, "prompt_tokens") / count - int(prompt.replace(",", ""))) <= 0.5
            share = 100 * total(batch, "cached_tokens") / total(batch, "prompt_tokens")
            assert f"{share:.{len(cached.partition('.')[2])}f}" == cached
            assert not paid or abs(units(batch) / count - int(paid.replace(",", ""))) <= 0.5
    assert told == list(rows)
    assert len(re.findall(r"^r\d+-r\d+, ", LOG, re.MULTILINE)) == len(FACTS.findall(LOG))


def test_what_the_log_says_of_single_runs(rows: dict[str, Row]) -> None:
    largest = {run: int(row["largest_prompt"]) for run, row in rows.items()}
    assert max(between("r01", "r10"), key=largest.__getitem__) == "r06"
    assert largest["r06"] == 26_413
    assert max(between("r31", "r60"), key=largest.__getitem__) == "r35"
    assert largest["r35"] == 17_514
    assert {largest[run] for run in between("r161", "r165")} == {8_192}
    assert max(largest[run] for run in between("r287", "r298")) == 12_582 < 16_000 / 1.27
    assert (
        max(
            largest[run]
            for run in rows
            if rows[run]["strategy"] == "masking-10-step-10" and rows[run]["date"] < "2026-04"
        )
        == 19_637
    )
    orchard = {
        first: total([rows[run] for run in between(first, last) if rows[run]["task"] == "orchard"], "correct")
        for first, last in (
            ("r01", "r10"),
            ("r11", "r20"),
            ("r21", "r30"),
            ("r41", "r50"),
            ("r51", "r60"),
            ("r61", "r70"),
        )
    }
    assert orchard == {"r01": 14, "r11": 12, "r21": 15, "r41": 8, "r51": 12, "r61": 14}
    seeds = Counter[str]()
    for run in between("r81", "r100"):
        seeds[rows[run]["seed"]] += int(rows[run]["correct"])
    assert (seeds["3"], seeds["4"]) == (28, 41)
    hybrid = [row for row in rows.values() if row["strategy"] == "hybrid-10"]
    assert (len(hybrid), total(hybrid, "summary_tokens")) == (48, 0)
    same = [row for row in hybrid if row["model"] == "wick-7b-q4" and row["seed"] in {"1", "2"}]
    assert (len(same), total(same, "correct"), round(units(same) / len(same))) == (12, 87, 68_965)


def test_the_budgets_were_kept(rows: dict[str, Row]) -> None:
    settings = tomllib.loads((FILES / "config" / "agent.toml").read_text())
    budgets = settings["budgets"] | {"hybrid-10": 20_000, "hybrid-10-b16": 16_000, "hybrid-10-b12": 12_000}
    for row in rows.values():
        assert int(row["largest_prompt"]) <= budgets.get(row["strategy"], 20_000)
        assert int(row["turns"]) <= (settings["runs"]["turn_limit"] if row["date"] >= "2026-05-05" else 45)
    stopped = Counter(
        (row["model"], row["strategy"]) for row in rows.values() if row["task"] == "census" and row["stop"] == "budget"
    )
    assert stopped["wick-7b-q4", "none"] + stopped["wick-14b-q4", "none"] == 8
    assert stopped["wick-7b-q4", "masking-10-step-10"] == 4
    assert stopped["wick-7b-q4", "hybrid-10"] + stopped["wick-14b-q4", "hybrid-10"] == 0


def test_the_invalid_runs_are_explained(rows: dict[str, Row]) -> None:
    invalid = [run for run, row in rows.items() if row["valid"] == "no"]
    section = README.split("## Invalid runs\n")[1].split("\n## ")[0]
    explained = [
        between(first, last or first) for first, last in re.findall(r"^- (r\d+)(?: to (r\d+))?", section, re.MULTILINE)
    ]
    assert [run for runs in explained for run in runs] == invalid
    counts = ", ".join(f"({len(runs)})" for runs in explained)
    assert (
        re.sub(r"[^(]*(\(\d+\))[^(]*", r"\1, ", MEETINGS["2026-06-18"].split("for four reasons:")[1].split("\n")[0])
        == counts + ", "
    )
    last = MEETINGS["2026-06-18"]
    assert f"{len(invalid)} of {len(rows)} runs are invalid" in last
    assert f"All {len(rows)} runs together cost {euros(list(rows.values())):.2f} euros" in last
    assert f"and {euros([rows[run] for run in invalid]):.2f} euros of that went into invalid runs" in last


def test_the_server_log_adds_up_to_the_results(rows: dict[str, Row]) -> None:
    calls: dict[str, list[tuple[int, int, float]]] = defaultdict(list)
    for run, prompt, cached, seconds in re.findall(
        r"run=(r\d+) turn=\d+ prompt=(\d+) cached=(\d+) prefill=[\d.]+s total=([\d.]+)s$", SERVER_LOG, re.MULTILINE
    ):
        calls[run].append((int(prompt), int(cached), float(seconds)))
    assert sorted(calls) == between("r31", "r70")
    summaries = Counter[str]()
    for run, prompt in re.findall(r"run=(r\d+) summary turns=\S+ prompt=(\d+) cached=0 ", SERVER_LOG):
        summaries[run] += int(prompt)
    for run, made in calls.items():
        row = rows[run]
        assert f" run={run} start strategy={row['strategy']} task={row['task']} seed={row['seed']}\n" in SERVER_LOG
        assert len(made) == int(row["turns"])
        assert sum(prompt for prompt, _, _ in made) == int(row["prompt_tokens"])
        assert sum(cached for _, cached, _ in made) == int(row["cached_tokens"])
        assert max(prompt for prompt, _, _ in made) == int(row["largest_prompt"])
        assert sum(seconds for _, _, seconds in made) == pytest.approx(float(row["seconds"]), abs=0.11)
        assert summaries[run] == int(row["summary_tokens"])


def test_the_server_log_has_one_error_and_it_is_the_clock(rows: dict[str, Row]) -> None:
    lines = SERVER_LOG.splitlines()
    assert 1_000 <= len(lines) <= 1_500
    times = [datetime.fromisoformat(line[:19]) for line in lines]
    assert times == sorted(times)
    assert {moment.date().isoformat() for moment in times} == {
        *(row["date"] for run, row in rows.items() if run in between("r31", "r70")),
        "2026-03-11",
    }
    (error,) = (number for number, line in enumerate(lines) if " ERROR " in line)
    assert "token 41 of the system prompt" in lines[error]
    assert "1,697 of 1,729 prompt tokens" in lines[error]
    assert "run=r31 turn=2 prompt=1729 cached=32 " in lines[error + 1]
    assert all("cached=32 " in line or "turn=1 " in line for line in lines[:290] if " turn=" in line)
    kept = [(int(some), int(all_)) for some, all_ in re.findall(r" numbers=(\d+)/(\d+) ", SERVER_LOG)]
    told = "kept {} of {} numbers".format(*(sum(column) for column in zip(*kept, strict=True)))
    assert told in lines[-2]
    assert told in LOG


def test_the_batches_of_the_server_log(rows: dict[str, Row]) -> None:
    mismatches = {
        run: int(count) for run, count in re.findall(r"run=(r\d+) end turns=\d+ prefix_mismatches=(\d+)", SERVER_LOG)
    }
    done = re.findall(r"batch (\S+) done: 10 runs, (\d+) prefix mismatches, cached share (\d+) %", SERVER_LOG)
    batches = [between(first, last) for first, last in (("r41", "r50"), ("r51", "r60"), ("r61", "r70"))]
    for (strategy, count, share), batch in zip(done, batches, strict=True):
        runs = [rows[run] for run in batch]
        assert {row["strategy"] for row in runs} == {strategy}
        assert sum(mismatches[run] for run in batch) == int(count)
        assert f"{total(runs, 'cached_tokens') / total(runs, 'prompt_tokens'):.0%}" == f"{share}%"
        if strategy.startswith("summary"):
            assert all(SERVER_LOG.count(f"run={run} summary ") == mismatches[run] for run in batch)


def test_the_masking_rule_does_what_it_says(masking: ModuleType) -> None:
    tested = doctest.testmod(masking)
    assert tested.attempted
    assert not tested.failed
    for keep, step in ((10, 1), (10, 5), (10, 10), (0, 3)):
        for observations in range(80):
            hidden = masking.masked(observations, keep, step)
            assert hidden % step == 0
            assert observations <= keep or keep <= observations - hidden <= keep + step - 1
            assert hidden >= masking.masked(max(0, observations - 1), keep, step)
    texts = [f"observation {number} " * 20 for number in range(17)]
    shown = masking.mask(texts, keep=10, step=5)
    assert shown[5:] == texts[5:]
    assert shown[:5] == [masking.placeholder(turn) for turn in range(1, 6)]
    with pytest.raises(ValueError, match="step"):
        masking.masked(12, step=0)


def test_the_masking_rule_is_what_the_server_saw(masking: ModuleType) -> None:
    prompts: dict[str, list[int]] = defaultdict(list)
    for run, prompt in re.findall(r"run=(r\d+) turn=\d+ prompt=(\d+)", SERVER_LOG):
        prompts[run].append(int(prompt))
    for run in between("r31", "r40") + between("r51", "r60"):
        made = prompts[run]
        shrunk = [turn for turn in range(2, len(made) + 1) if made[turn - 1] < made[turn - 2]]
        assert len(shrunk) >= 2
        assert set(shrunk) <= set(masking.moves(len(made), keep=10, step=5))
    for run in between("r51", "r60"):
        turns = len(prompts[run])
        assert f"run={run} end turns={turns} prefix_mismatches={len(masking.moves(turns))}\n" in SERVER_LOG


def test_the_settings_name_what_was_measured(rows: dict[str, Row]) -> None:
    settings = tomllib.loads((FILES / "config" / "agent.toml").read_text())
    servers = yaml.safe_load((FILES / "config" / "server.yaml").read_text())
    prices = tomllib.loads((FILES / "config" / "prices.toml").read_text())

    def values(column: str) -> set[str]:
        return {row[column] for row in rows.values()}

    assert settings["context"]["strategy"] in values("strategy")
    assert set(settings["budgets"]) <= values("strategy")
    assert set(settings["runs"]["tasks"]) == values("task")
    assert {str(seed) for seed in settings["runs"]["seeds"]} == values("seed")
    assert {server["model"] for server in servers["servers"]} == set(prices) == values("model")
    for server in servers["servers"]:
        assert server["window_tokens"] == settings["model"]["window_tokens"]
        assert settings["context"]["budget_tokens"] <= server["window_tokens"] / servers["servers"][0]["slots"]
    cache = servers["prefix_cache"]
    assert cache["block_tokens"] * cache["blocks"] == settings["model"]["window_tokens"]
    assert all(price["cached"] == pytest.approx(price["fresh"] / 10) for price in prices.values())
    newest = re.search(r"^## (\S+) - (\S+)$", CHANGELOG, re.MULTILINE)
    assert newest is not None
    assert f"# Wick {newest[1]}, in use since {newest[2]}\n" in (FILES / "config" / "agent.toml").read_text()


def test_the_meetings_say_who_does_what_by_when() -> None:
    for day, text in MEETINGS.items():
        met = date.fromisoformat(day)
        assert text.startswith(f"# Meeting, {met.day} {MONTHS[met.month - 1]} 2026\n")
        assert all(name in text for name in ("Ines", "Tomas", "Priya", "## Decided", "## Open"))
        to_do = text.split("## To do\n")[1].split("\n\n")[0].splitlines()
        assert len(to_do) == 3
        for line in to_do:
            owed = re.fullmatch(r"- (?:Ines|Tomas|Priya): .+, by (\d+) (\w+)\.", line)
            assert owed is not None
            assert date(2026, MONTHS.index(owed[2]) + 1, int(owed[1])) > met


def test_the_numbers_of_the_meetings(rows: dict[str, Row]) -> None:
    def of(strategy: str, model: str = "wick-7b-q4", long: bool = False, since: str = "") -> list[Row]:
        return [
            row
            for row in rows.values()
            if (row["strategy"], row["model"], row["valid"]) == (strategy, model, "yes")
            and (row["task"] == "census") == long
            and row["date"] >= since
        ]

    def mean(runs: list[Row]) -> str:
        return f"{units(runs) / len(runs):,.0f}"

    level = [of(name) for name in ("none", "masking-10-step-5", "masking-10-step-10", "summary-10-units")]
    right = [total(runs, "correct") for runs in level]
    assert "{}, {} and {} of 300 right".format(*right) in MEETINGS["2026-04-02"]
    assert f"with {right[3]} of 300" in MEETINGS["2026-04-02"]
    assert f"({mean(level[2])} against {mean(level[1])})" in MEETINGS["2026-04-02"]
    may, june = MEETINGS["2026-05-14"], MEETINGS["2026-06-18"]
    assert f"{total(of('hybrid-10', long=True), 'correct')} of 60 right on census" in may
    assert f"masking-10-step-5, has {total(of('masking-10-step-5', long=True), 'correct')}" in may
    assert f"({mean(of('none', long=True))} units)" in may
    cents = [
        100 * euros(of("hybrid-10", model)) / total(of("hybrid-10", model), "correct")
        for model in ("wick-14b-q4", "wick-7b-q4")
    ]
    assert f"costs {cents[0] / cents[1]:.1f} times as much ({cents[0]:.2f} against {cents[1]:.2f} cents)" in may
    assert f"costs {cents[1]:.2f} cents on wick-7b-q4 and {cents[0]:.2f} cents on wick-14b-q4" in LOG
    sixteen = of("hybrid-10-b16") + of("hybrid-10-b16", long=True)
    twelve = of("hybrid-10-b12") + of("hybrid-10-b12", long=True)
    assert f"({total(sixteen, 'correct')} against 87 of 120)" in june
    assert f"{mean(sixteen)} paid units a run against 68,965" in june
    assert f"{total(twelve, 'correct')} of 120 right, and at {mean(twelve)} paid units" in june
