"""List the slips of the documents that thimble is built from: statements that another place or arithmetic contradicts.

    python -m scripts.slips --markdown        # the table of docs/results/slips.md

Rows that need the published data name their command: `python -m scripts.paper_tables FILE --table NAME`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial

from scripts.paper_tables.printed import COST, HYBRID, MASKING, NUMBER, RAW, SOLVED, SUMMARY, TABLES
from scripts.paper_tables.published import CODER, FIFTY
from thimble.lab.exit_code import exit_code
from thimble.lab.experiment_flags import add_output
from thimble.lab.findings import Findings, ResultTable, publish_findings
from thimble.session.parser import Parser

PROG = "python -m scripts.slips"
COLUMNS = ("where", "it says", "but")
Slip = tuple[str, str, str]
MODELS = tuple(dict.fromkeys(model for model, _, _ in TABLES["1"].cells()))
N, M, N_HYBRID, TURN_LIMIT = 21, 10, 43, 250
COMEM_RESOLVED = {"DeepSWE": (40.4, 41.0), "Qwen3-Coder-Max": (57.2, 51.0), "GLM-4.7": (69.0, 62.7)}
"""CoMem, Table 1: resolved with the full context and with its trained memory, in percent …"""
COMEM_SECONDS = {
    "without offload": [(9457.78, 5622.33), (6291.11, 3917.68), (6361.49, 3318.42)],
    "with it": [(6390.62, 4400.89), (5129.90, 3594.51), (5869.42, 2821.38)],
}
"""… and the seconds of both."""


def table_1(model: str, strategy: str, column: str) -> float:
    """A printed mean of Table 1."""
    return float(NUMBER.findall(TABLES["1"].cells()[model, strategy, column])[0])


def changes(strategy: str, column: str) -> list[float]:
    """The changes against Raw Agent in the five settings: of the cost in percent, of the solve rate in points."""
    pairs = [(table_1(model, strategy, column), table_1(model, RAW, column)) for model in MODELS]
    return [100 * (mine / raw - 1) if column == COST else mine - raw for mine, raw in pairs]


def summaries(first: int, period: int) -> range:
    """The turns at which a run makes a summary."""
    return range(first, TURN_LIMIT + 1, period)


def slips() -> Iterator[Slip]:
    """All slips, document by document."""
    yield from _complexity_trap()
    yield from _pages()
    yield from _comem()


def _complexity_trap() -> Iterator[Slip]:
    paper = "The Complexity Trap"
    raw, masked = (table_1(CODER, strategy, COST) for strategy in (RAW, MASKING))
    yield f"{paper}, abstract", "raw agent 53.8 %", f"Table 1: {table_1(CODER, RAW, SOLVED)} %; 53.8 % is {SUMMARY}"
    yield f"{paper}, abstract", "masking halves the cost", f"Table 1: {_listed(changes(MASKING, COST))} %"
    yield f"{paper}, Figure 2", "52 % cheaper", f"Table 1: {raw} and {masked}, {100 * (1 - masked / raw):.1f} %"
    yield (
        f"{paper}, Figure 2",
        "masking is always on the frontier",
        f"Table 1, Qwen3-32B: {SUMMARY} solves {table_1('Qwen3-32B', SUMMARY, SOLVED)} % at "
        f"{table_1('Qwen3-32B', SUMMARY, COST):.2f} $, masking {table_1('Qwen3-32B', MASKING, SOLVED)} % at "
        f"{table_1('Qwen3-32B', MASKING, COST):.2f} $",
    )
    yield f"{paper}, 3.1", "masking is Figure 3b", "its caption says 3c"
    yield f"{paper}, 4.4", "52 turns are 15 % more than 44", f"{100 * (52 / 44 - 1):.0f} % (`--table turns`)"
    yield f"{paper}, Figure 4", "summaries are always longest", "shortest in two of five settings (`--table figure-4`)"
    yield f"{paper}, Table 1", "24.8 % is 23.0 % + 7.3 %", f"+{100 * (24.8 / 23.0 - 1):.1f} %"
    yield f"{paper}, Table 1", "two settings think", "their rows have 0 thinking tokens (`--table experiments`)"
    spent, cost = 0.0439, table_1(CODER, SUMMARY, COST)
    yield f"{paper}, Table 2", "summaries cost 7.20 %", f"{spent} of {cost} is {100 * spent / cost:.1f} %"
    yield f"{paper}, D", "Figure 6 is of SWE-bench Lite-50", "its caption: 150 of SWE-bench Verified"


def _pages() -> Iterator[Slip]:
    by_code, every_n = summaries(N_HYBRID, N_HYBRID - M), summaries(N + M, N)
    ours, theirs = (float(TABLES["hybrid"].cells()[FIFTY, name, COST]) for name in (HYBRID, MASKING))
    yield "hybrid, results", "57.4 % of 50 instances", f"{0.574 * 50:.1f} instances"
    yield (
        "hybrid, results",
        f"{100 * (1 - ours / theirs):.0f} % cheaper than masking",
        f"{ours} is of 50 instances, {theirs} of 500; on the 50: 10 % (`--table hybrid`)",
    )
    fewer = 100 * (1 - len(by_code) / len(every_n))
    told = f"{len(by_code)} and {len(every_n)} in {TURN_LIMIT} turns, {fewer:.0f} % fewer"
    yield "hybrid, why it works", "about half the summaries", told
    yield "hybrid, why it works", "first at 43, then every 43", f"by its code {', '.join(map(str, by_code[:3]))}"
    yield (
        "hybrid, its code",
        "old turns are in the summary",
        f"only the first one is ever made: at turn 120, {120 - (N_HYBRID - M) - M} turns are in no prompt",
    )
    bound, longest = (1_000 + 500 + 150 + turns * 800 for turns in (M, N + M - 1))
    yield "summaries, bounds", f"at most {bound:,} tokens", f"the bound forgets N: {longest:,} before a summary"
    yield (
        "summaries, its code",
        "the others stay",
        f"it shows M turns at any time: before the first summary, {N - 1} of {N + M - 1} are in no prompt",
    )
    yield "summaries, its code", "a summary keeps the meaning", "it reads 300 characters of each observation"
    points, costs = changes(SUMMARY, SOLVED), changes(SUMMARY, COST)
    yield (
        "the demo, finding",
        "summaries: −45 %, −0.4 to +1.2 % solved",
        f"Table 1: {_listed(costs)} %; {_listed(points)} points",
    )
    better = sum(mask > other for mask, other in zip(changes(MASKING, SOLVED), points, strict=True))
    cheaper = sum(mask < other for mask, other in zip(changes(MASKING, COST), costs, strict=True))
    yield (
        "the demo, finding",
        "masking is better in 4 of 5",
        f"Table 1: cheaper in {cheaper}, solves more in {better}",
    )


def _comem() -> Iterator[Slip]:
    ratios = {name: [full / memory for full, memory in pairs] for name, pairs in COMEM_SECONDS.items()}
    told = ", ".join(f"{min(of):.2f} to {max(of):.2f} {name}" for name, of in ratios.items())
    yield "CoMem, abstract; end", "1.4×; up to 2.1×", f"Table 1: {told}"
    points = [mine - full for full, mine in COMEM_RESOLVED.values()]
    yield "CoMem, end", "full-context performance", f"Table 1: {_listed(points)} points"
    yield (
        "CoMem, Algorithm 1",
        "the agent has the full history",
        "turn t − k is in neither: summary to t − 1 − k, buffer from t − k + 1",
    )


def _listed(values: list[float]) -> str:
    return ", ".join(f"{value:+z.1f}".replace("-", "−") for value in values)


def main(arguments: list[str]) -> None:
    """Print the table."""
    parser = Parser(PROG, description="Print the slips of the documents.", allow_abbrev=False)
    add_output(parser)
    rows = [*slips()]
    table = ResultTable("Slips", COLUMNS, rows, texts=len(COLUMNS))
    records = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    publish_findings(Findings("Slips in print", [], [table], records), parser.parse_args(arguments), PROG, arguments)


if __name__ == "__main__":
    sys.exit(exit_code(PROG, partial(main, sys.argv[1:])))
