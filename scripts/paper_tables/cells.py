"""Compare each printed cell with the recomputed one, and say why they differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from scripts.paper_tables.printed import (
    AGAINST_RAW,
    COST,
    HYBRID,
    MASKING,
    NAIVE_HYBRID,
    NUMBER,
    RAW,
    SOLVED,
    SUMMARY,
    TABLES,
    TURNS,
    half_unit,
)
from scripts.paper_tables.published import CODER
from scripts.paper_tables.recomputed import (
    Figure,
    Recomputed,
    absolute,
    change,
    difference,
    probability,
    rounds,
    summary_cost,
    summary_share,
)
from thimble.lab.statistics import holm

SAME, WITHIN, ROUNDED, DIFFERS = VERDICTS = ("same", "within", "rounded", "differs")
MEANING = (
    "same: equal as printed. within: within Monte Carlo error, four standard errors of both draws. "
    "rounded: print follows from rounded figures in print. differs: none of these."
)
SIGNIFICANT, MARK = 0.05, "†"
MARKED = ("1", "3", "4")
COPIED = "this is the figure of Table 1, of 500 instances"


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell as printed and recomputed. `verdict`: that of its worst figure; `reason`: why the figures differ.

    If the paper does not print the cell, these three are empty.
    """

    table: str
    model: str
    strategy: str
    column: str
    printed: str
    recomputed: str
    verdict: str
    reason: str


def cells(models: Mapping[str, Recomputed], table: str) -> Iterator[Cell]:
    """Every cell of a table, in printed order."""
    for (model, strategy, column), printed in TABLES[table].cells().items():
        of = models[model]
        figures = [*_figures(of, table, model, strategy, column)]
        marked = table in MARKED and strategy != RAW
        p = probability(of.compared(strategy, _measure(column)).p) if marked else None
        yield Cell(table, model, strategy, column, printed, *agreement(printed, figures, p))


def _figures(of: Recomputed, table: str, model: str, strategy: str, column: str) -> Iterable[Figure]:
    every, first, measure = TABLES[table].cells(), TABLES["1"].cells(), _measure(column)
    printed = every[model, strategy, column]
    match table:
        case "2" if measure == COST:
            return [summary_cost(of, printed)]
        case "2":
            costs = {name: first[model, name, COST] for name in (MASKING, SUMMARY)}
            return [summary_share(of, printed, every[model, strategy, TABLES["2"].columns[0]], costs)]
        case "4":
            return difference(of, strategy, measure, printed)
        case "turns" if column != TURNS:
            base = RAW if column == AGAINST_RAW else MASKING
            means = [every.get((model, name, TURNS), "") for name in (strategy, base)]
            return [change(of.mean(strategy, TURNS), of.mean(base, TURNS), printed, *means)]
    found = absolute(of, strategy, measure, printed, every[model, RAW, column])
    copied = table == "hybrid" and printed in first.get((CODER, strategy, column), "")
    return [replace(one, reason=COPIED) for one in found] if copied else found


def _measure(column: str) -> str:
    if column.startswith(TURNS):
        return TURNS
    return COST if column.endswith("$") else SOLVED


def agreement(printed: str, figures: Sequence[Figure], p: Figure | None = None) -> tuple[str, str, str]:
    """The figures as the paper formats them, the verdict, and the reasons. With a p, the † is a figure, too."""
    numbers = NUMBER.findall(printed)
    verdicts = [verdict(number, figure) for number, figure in zip(numbers, figures, strict=True)]
    reasons = [one.reason for one, found in zip(figures, verdicts, strict=True) if found in (ROUNDED, DIFFERS)]
    values = iter(figures)
    text = NUMBER.sub(lambda number: _in_form(next(values).value, number[0]), printed).removesuffix(f" {MARK}")
    if p:
        text += f" {MARK}" * (p.value < SIGNIFICANT)
        if text.endswith(MARK) != printed.endswith(MARK):
            verdicts.append(WITHIN if p.low < SIGNIFICANT <= p.high else DIFFERS)
            reasons.append(f"p is {p.value:.4f}")
    return text, max(verdicts, key=VERDICTS.index), "; ".join(dict.fromkeys(reasons))


def verdict(printed: str, figure: Figure) -> str:
    """Whether a printed number agrees with a figure."""
    half = half_unit(printed)
    if rounds(figure.value, printed):
        return SAME
    if figure.low < figure.high and figure.low - half <= float(printed) <= figure.high + half:
        return WITHIN
    return ROUNDED if figure.own is not None and rounds(figure.own, printed) else DIFFERS


def _in_form(value: float, printed: str) -> str:
    """The value with as many decimals as the printed number, and a plus if that has one."""
    return format(value, f"{'+' if printed[0] == '+' else ''}z.{len(printed.partition('.')[2])}f")


def notes(models: Mapping[str, Recomputed], table: str) -> Iterator[str]:
    """Findings in the rows that go beyond the printed cells of a table."""
    if table == "4":
        keys = [*TABLES["4"].cells()]
        yield _corrected({key: models[key[0]].compared(key[1], _measure(key[2])).p for key in keys})
    if table == "direct":
        main = dict.fromkeys(model for model, _, _ in TABLES["1"].cells())
        keys = [(model, SUMMARY, measure) for model in main for measure in (SOLVED, COST, TURNS)]
        yield _corrected({key: models[key[0]].compared(*key[1:], MASKING).p for key in keys})
    if table == "hybrid":
        (of,) = {models[model] for model, _, _ in TABLES[table].cells()}
        for baseline in (RAW, MASKING, SUMMARY, NAIVE_HYBRID):
            cost, solved = (of.compared(HYBRID, measure, baseline) for measure in (COST, SOLVED))
            yield (
                f"{HYBRID} against {baseline} on these {len(of.instances)} instances: "
                f"{100 * cost.difference / of.mean(baseline, COST):+.1f} % of the cost, "
                f"{cost.difference:.2f} $ [{cost.low:.2f}, {cost.high:.2f}], p {cost.p:.4f}; "
                f"{solved.difference:+z.1f} points of the solve rate [{solved.low:z.1f}, {solved.high:z.1f}], "
                f"p {solved.p:.4f}."
            )


def _corrected(ps: Mapping[tuple[str, str, str], float]) -> str:
    """The differences that remain after correction for many comparisons; `ps` by model, strategy and column."""
    lost = [
        f"{', '.join(key)} (p {p:.4f}, corrected {corrected:.4f})"
        for (key, p), corrected in zip(ps.items(), holm([*ps.values()]), strict=True)
        if p < SIGNIFICANT <= corrected
    ]
    marked = sum(p < SIGNIFICANT for p in ps.values())
    left = f"Holm's correction for {len(ps)} comparisons leaves {marked - len(lost)} of {marked} {MARK}"
    return f"{left}; lost: {'; '.join(lost)}." if lost else f"{left}."
