"""`thimble lab table`: the statistics of rows of outcomes, and the errors."""

from __future__ import annotations

import csv
import gzip
import json
import re
from pathlib import Path
from statistics import mean, quantiles

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thimble.agent.errors import UsageError
from thimble.lab.statistics import compare_paired, holm, wilson_interval
from thimble.lab.table.command import main
from thimble.lab.table.outcomes import box, differences, strategy_rates


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    main([str(argument) for argument in arguments], "lab table")
    return capsys.readouterr().out


# --- rows of one's own ------------------------------------------------------------------------------------------------

outcomes = st.dictionaries(
    st.sampled_from("abc"),
    st.dictionaries(st.sampled_from("123456"), st.tuples(st.integers(0, 1), st.integers(0, 99)), min_size=1),
    min_size=1,
)


@given(outcomes)
def test_the_rows_of_strategies(found: dict[str, dict[str, tuple[int, int]]]) -> None:
    baseline, *others = found
    given_rows = [
        {"strategy": strategy, "instance": name, "solved": 100 * right, "cost": cost / 8}
        for strategy, run in found.items()
        for name, (right, cost) in run.items()
    ]
    of = {strategy: [row for row in given_rows if row["strategy"] == strategy] for strategy in found}
    made = {row["strategy"]: strategy_rates(of[row["strategy"]]) | row for row in differences(given_rows, baseline)}
    assert list(made) == list(found)
    for strategy, run in found.items():
        row, solved = made[strategy], sum(right for right, _ in run.values())
        assert (row["instances"], row["cost"]) == (len(run), pytest.approx(mean(cost for _, cost in run.values()) / 8))
        assert (row["solved_low"], row["solved_high"]) == pytest.approx(
            [100 * end for end in wilson_interval(solved, len(run))]
        )
        assert row["unpaired"] == sorted(run.keys() ^ found[baseline].keys())
    ps = []
    for strategy in others:
        both = sorted(found[strategy].keys() & found[baseline].keys())
        assert made[strategy]["pairs"] == len(both)
        for place, (measure, unit) in enumerate({"solved": 100, "cost": 1 / 8}.items()):
            if both:
                a, b = ([unit * found[name][each][place] for each in both] for name in (strategy, baseline))
                row, right = made[strategy], compare_paired(a, b)
                ends = [row[f"{measure}_difference{end}"] for end in ("", "_low", "_high")]
                assert ends == pytest.approx([right.difference, right.low, right.high])
                assert row[f"{measure}_p"] == right.p
                ps.append((right.p, row[f"{measure}_p_holm"]))
    assert [corrected for _, corrected in ps] == holm([p for p, _ in ps])


OWN = "instance,strategy,solved,cost\na,none,1,2\nb,none,0,3\na,mask,TRUE,1\nb,mask,1,1.5\nc,mask,0,9\n"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    path.write_text(OWN)
    return path


def test_what_is_left_out_is_said(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = own.with_suffix(".html")
    for form in ([], ["--markdown", "--report", str(page)]):
        told = said(capsys, own, *form)
        assert "Only mask or only none has c: left out of Δ." in told
        assert "mask has 2 pairs: so few" in told
        assert "Δ is against none." in told
    assert "-1.25 [-1.5, -1]" in told
    assert "<td>mask</td><td class=n>2</td><td class=n>+50.0 [+0.0, +100.0]</td>" in page.read_text()
    assert "mask has 2 pairs: so few" in page.read_text()
    assert next(csv.DictReader(said(capsys, own, "--csv").splitlines()))["strategy"] == "none"
    back = json.loads(said(capsys, own, "--baseline", "mask", "--json"))
    assert (back[0]["cost_difference"], back[1]["cost_difference"]) == (1.25, None)
    own.write_text(OWN + "".join(f"i{number},mask,1,1\n" for number in range(29)))
    assert " and 10 more (--json names all): left out of Δ." in " ".join(said(capsys, own).split())


def test_turns_are_compared_if_the_file_has_them(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own.write_text("instance,strategy,solved,cost,turns\na,none,1,2,10\nb,none,0,3,20\na,mask,1,1,13\nb,mask,1,2,27\n")
    page = own.with_suffix(".html")
    told = said(capsys, own, "--markdown", "--report", str(page))
    assert "| mask | 2 | 100.0 [34.2, 100.0] | 1.5 [1, 2] | 20 [13, 27] | 20 |" in told
    assert [title in page.read_text() for title in ("<h2>Cost against solve rate</h2>", "<h2>Turns</h2>")] == [True] * 2
    assert "| strategy | pairs | Δ solved, points | p | Holm | Δ cost | p | Holm | Δ turns | p | Holm |" in told
    assert "| +5 [+3, +7] | 0.0000 |" in told
    own.write_text(OWN)
    assert "turns" not in said(capsys, own, "--markdown")


@given(st.lists(st.integers(0, 250), min_size=2, max_size=30))
def test_a_box_has_quartiles_and_ends_at_values(turns: list[int]) -> None:
    low, first, middle, third, high, average = box(turns)
    assert [first, middle, third, average] == pytest.approx([*quantiles(turns, method="inclusive"), mean(turns)])
    reach = 1.5 * (third - first) + 1e-9
    assert {low, high} <= {*turns}
    assert all(low <= one <= high or one < first - reach or one > third + reach for one in turns)
    assert first - reach <= low <= high <= third + reach


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + OWN.encode(),
        OWN.replace("\n", "\r\n").encode(),
        gzip.compress(OWN.encode()),
        OWN.replace("a,", '"a",').replace("\n", "\n\n").encode(),
        re.sub("$", ",x", OWN.strip(), flags=re.MULTILINE).encode(),
    ],
    ids=["byte order mark", "Windows", "gzip", "quotes and blank lines", "more columns"],
)  # fmt: skip
def test_the_same_rows_in_other_files(data: bytes, own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = said(capsys, own, "--json")
    own.write_bytes(data)
    assert said(capsys, own, "--json") == plain


# --- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "it is empty"),
        ("instance,strategy,solved\n", "line 1: there is no column cost"),
        ("instance;strategy;solved;cost\na;b;1;1\n", "line 1: there is no column instance, strategy, solved, cost"),
        ("instance,strategy,solved,cost,cost\n", "line 1: two columns share a name"),
        ("instance,strategy,solved,cost\n", "has no rows"),
        (f"{OWN}a,none,1,1\n", "line 7: none already has a"),
        (f"{OWN}d,none,1\n", "line 7: a record needs 4 fields"),
        (f"{OWN}d,none,1,cheap\n", "line 7: cost 'cheap' is not a number"),
        (f"{OWN}d,none,1,1e300\n", "line 7: cost '1e300' is not a number"),
        (f"{OWN}d,none,maybe,1\n", "line 7: solved 'maybe' is neither 1 nor 0"),
        (f"{OWN}\x1b[2J,none,1,1\n", r"line 7: '\x1b[2J' is not a valid instance"),
        (f'{OWN}"d,none,1,1\n', "line 7: this is not CSV"),
    ],
)
def test_a_wrong_file_is_an_error_with_its_line(text: str, what: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match=re.escape(what)) as caught:
        main([str(path)], "lab table")
    assert caught.value.fix
    assert "\n" not in caught.value.what + caught.value.fix
    assert "commas" in caught.value.fix or ";" not in text


def test_wrong_flags(own: Path) -> None:
    with pytest.raises(UsageError, match="no strategy 'maks'") as caught:
        main([str(own), "--baseline", "maks"], "lab table")
    assert caught.value.fix == "did you mean mask? the file has none, mask"
