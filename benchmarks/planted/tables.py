"""Make tables: of psql, a CSV export, a listing of folders, a table of measurements."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random

from benchmarks.planted.output import Output, marked, plain
from benchmarks.planted.words import CITIES, FAMILY, MORE, PEOPLE, SERVICES, THINGS, hexes


def psql_table(random: Random) -> Output:
    """Payments, as psql prints them: aligned columns, and a count at the end."""
    r, count = random.randint, random.randint(85, 125)
    methods = ["card", "card", "card", "sepa", "paypal"]
    rows = [
        [
            str(300_000 + 7 * at + r(0, 6)),
            f"2026-0{r(1, 6)}-{r(10, 28)}",
            f"{random.choice(PEOPLE)}.{random.choice(FAMILY)}".lower(),
            random.choice(methods),
            f"{r(900, 24_000) / 100:.2f}",
            "EUR",
            random.choice(["settled"] * 9 + ["pending"]),
            f"{r(1, 4)}",
            hexes(random, 8),
        ]
        for at in range(count)
    ]
    huge, refund, currency, disputed, retried, nulled, one, two, three = places = random.sample(range(5, count - 5), 9)
    amount, back, tries = f"{r(71_000, 99_000)}.{r(10, 99)}", f"-{r(301, 899)}.{r(10, 99)}", r(117, 480)
    rows[huge][4], rows[refund][4] = amount, back
    rows[currency][5], rows[disputed][6], rows[retried][7], rows[nulled][8] = "JPY", "chargeback", str(tries), ""
    for at, place in enumerate((one, two, three)):
        rows[place][4] = f"{r(240, 290)}.{at + 11}"
    ids = {place: rows[place][0] for place in places}
    head = ["id", "booked_on", "customer", "method", "amount", "currency", "state", "tries", "reference"]
    right = {0, 4, 7}
    widths = [max(len(row[at]) for row in [head, *rows]) for at in range(9)]

    def line(row: Sequence[str]) -> str:
        cells = (
            cell.rjust(width) if at in right else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        return " " + " | ".join(cells).rstrip()

    titles = " " + " | ".join(cell.center(width) for cell, width in zip(head, widths, strict=True))
    text = "\n".join(
        [titles, "-" + "-+-".join("-" * width for width in widths) + "-", *map(line, rows), f"({count} rows)"]
    )
    facts = (
        marked("Which payment is by far the largest?", ids[huge], amount),
        marked("Which payment was paid back?", ids[refund], back),
        marked("Which payment is in another currency?", ids[currency], "JPY"),
        marked("Which payment is disputed by the bank?", ids[disputed], "chargeback"),
        marked("Which payment was tried again and again, and how often?", ids[retried], tries),
        marked("Which payment has no reference?", ids[nulled]),
        marked("How many rows are there?", f"({count} rows)"),
        plain(f"What did payment {ids[one]} amount to?", ids[one], rows[one][4]),
        plain(f"Who made payment {ids[two]}?", ids[two], rows[two][2]),
        plain(f"What is the reference of payment {ids[three]}?", ids[three], rows[three][8]),
    )
    query = "select * from payments where booked_on > '2026-01-01' order by id"
    return Output("psql table", "query_database", json.dumps({"sql": query}), text, facts)


def csv_export(random: Random) -> Output:
    """Sensor readings as CSV, with one failure as a small number and one in a text column."""
    r, count = random.randint, random.randint(120, 180)
    sites = random.sample(CITIES, 5)
    rows = [
        [
            f"2026-05-{1 + at // 60:02}T{at % 24:02}:{r(0, 59):02}:{r(0, 59):02}Z",
            random.choice(sites),
            f"s{r(100, 899)}",
            f"{r(2_010, 2_390) / 100:.2f}",
            f"{r(44, 58)}",
            f"{r(10_090, 10_190) / 10:.1f}",
            f"{r(3_610, 4_190)}",
            "ok",
            f"{r(2, 4)}.{r(0, 9)}.1",
        ]
        for at in range(count)
    ]
    cold, battery, status, version, site, negative, one, two, three = random.sample(range(5, count - 5), 9)
    sensors = random.sample(range(9_000, 9_999), 9)
    for place, sensor in zip((cold, battery, status, version, site, negative, one, two, three), sensors, strict=True):
        rows[place][2] = f"s{sensor}"
    freezing, low, voltage = f"{r(2, 9)}.{r(10, 99)}", r(110, 290), r(3_610, 4_190)
    rows[cold][3], rows[battery][6], rows[status][7] = freezing, str(low), f"stuck since 04-{r(10, 30)}"
    rows[version][8], rows[site][1], rows[negative][5] = (
        f"1.0.{r(10, 99)}-debug",
        f"{random.choice(MORE).title()} depot",
        f"-{r(1, 9)}.{r(1, 9)}",
    )
    rows[one][6] = str(voltage)
    head = "time,site,sensor,temperature_c,humidity_pct,pressure_hpa,battery_mv,status,firmware"
    text = "\n".join([head, *(",".join(row) for row in rows)])
    facts = (
        marked("Which sensor reports a temperature that cannot be, and which?", f"s{sensors[0]}", freezing),
        marked("Which battery is nearly empty?", f"s{sensors[1]}", low),
        marked("Which sensor is stuck, and since when?", f"s{sensors[2]}", rows[status][7]),
        marked("Which sensor runs a debug firmware?", f"s{sensors[3]}", rows[version][8]),
        marked("Which sensor stands in a place of its own?", f"s{sensors[4]}", rows[site][1]),
        marked("Which pressure is below zero?", f"s{sensors[5]}", rows[negative][5]),
        marked("In which unit is the battery given?", "battery_mv"),
        plain(f"What is the battery of s{sensors[6]}?", f"s{sensors[6]}", voltage),
        plain(f"Where does s{sensors[7]} stand?", f"s{sensors[7]}", rows[two][1]),
        plain(f"When was s{sensors[8]} read?", f"s{sensors[8]}", rows[three][0]),
    )
    return Output("CSV export", "read_file", json.dumps({"path": "exports/readings.csv"}), text, facts)


def listing(random: Random) -> Output:
    """A listing of folders with `ls -lR`: builds, logs and data of a service."""
    r, root = random.randint, f"/srv/{random.choice(SERVICES)}"
    user, intruder = random.sample(PEOPLE, 2)

    def entry(name: str, size: int, mode: str = "-rw-r--r--", owner: str = "", date: str = "") -> str:
        date = date or f"{random.choice(['Mar', 'Apr', 'May'])} {r(1, 28):2} {r(0, 23):02}:{r(0, 59):02}"
        return f"{mode} 1 {(owner or user):<8} app {size:>12} {date} {name}"

    folders = {
        name: [entry(f"{a}-{r(10, 99)}.{ending}", r(2_000, 90_000)) for a in random.sample(THINGS + MORE, r(11, 15))]
        for name, ending in (
            ("bin", "sh"),
            ("conf", "yaml"),
            ("data/2025", "parquet"),
            ("data/2026", "parquet"),
            ("logs", "log.gz"),
            ("lib", "so"),
            ("tmp", "part"),
        )
    }
    big, key, core, stamp, line, tool = (
        r(48_000_000_000, 94_000_000_000),
        hexes(random, 6),
        r(2_000, 9_999),
        r(11, 28),
        r(101, 999),
        hexes(random, 4),
    )
    small, size, version = r(210_000, 290_000), r(310_000, 390_000), r(3, 19)
    added = (
        ("logs", entry(f"trace-{key}.log", big)),
        ("data/2025", entry(f"orders-{line}.parquet", 0)),
        ("conf", entry(f"server-{key}.pem", 3_272, "-rwxrwxrwx")),
        ("bin", entry(f"restore-{tool}.sh", 8_801, "-rwsr-xr-x", "root")),
        ("tmp", entry(f"core.{core}", r(700_000_000, 900_000_000), "-rw-------")),
        ("lib", entry(f"current-{tool}.so -> ../lib-old/libcore.so.{version}", 31, "lrwxrwxrwx")),
        ("data/2026", entry(f"notes-{line}.parquet", 41_200, owner=intruder)),
        ("data/2026", entry(f"prices-{core}.parquet", 52_300, date=f"Jan {stamp:2}  1998")),
        ("conf", entry(f"limits-{small}.yaml", 7_700)),
        ("lib", entry(f"libz-{version}.{stamp}.so", size)),
        ("bin", entry(f"rotate-{line}.sh", small)),
    )
    for folder, one in added:
        folders[folder].insert(r(2, len(folders[folder]) - 2), one)
    total, blocks = "", []
    for name, lines in folders.items():
        total = str(r(400, 90_000))
        blocks.append("\n".join([f"{root}/{name}:", f"total {total}", *lines]))
    facts = (
        marked("Which file fills the disk?", f"trace-{key}.log", big),
        marked("Which file of data is empty?", f"orders-{line}.parquet"),
        marked("Which key can everybody write?", f"server-{key}.pem", "-rwxrwxrwx"),
        marked("Which program runs as root for everybody?", f"restore-{tool}.sh", "-rwsr-xr-x"),
        marked("Which process left a dump of its memory?", f"core.{core}"),
        marked("Which version does the link point to?", f"libcore.so.{version}"),
        marked("Which file belongs to somebody else?", f"notes-{line}.parquet", f"{intruder} "),
        marked("Which file has a date that cannot be?", f"prices-{core}.parquet", "1998"),
        plain("How large is the script that rotates?", f"rotate-{line}.sh", small),
        plain("How large is libz?", f"libz-{version}.{stamp}.so", size),
        plain("Which file has the limits?", f"limits-{small}.yaml"),
    )
    return Output("listing of folders", "shell", json.dumps({"command": f"ls -lR {root}"}), "\n\n".join(blocks), facts)


def measurements(random: Random) -> Output:
    """A table in Markdown, as a benchmark prints it, with settings above and conclusions below."""
    r, machine = random.randint, f"{random.choice(CITIES).lower()}-{random.randint(11, 99)}"
    configurations = [
        f"{a}/{b}-{n}" for a in random.sample(THINGS, 8) for b in random.sample(MORE, 4) for n in (1, 8, 64)
    ]
    rows = [
        [
            one,
            f"{r(9_100, 10_900)}",
            f"{r(112, 139) / 10:.1f}",
            f"{r(280, 390) / 10:.1f}",
            "0",
            f"{r(610, 690)}",
            f"{r(71, 88)}.{r(1, 9)}%",
        ]
        for one in configurations
    ]
    slow, tail, errors, memory, idle, one, two = random.sample(range(3, len(rows) - 3), 7)
    few, late, failed, much, lazy = (
        r(1_100, 4_900),
        f"{r(2_100, 8_900)}.{r(1, 9)}",
        r(113, 480),
        r(9_200, 15_000),
        f"1{r(1, 9)}.{r(1, 9)}%",
    )
    rows[slow][1], rows[tail][3], rows[errors][4], rows[memory][5], rows[idle][6] = (
        str(few),
        late,
        str(failed),
        str(much),
        lazy,
    )
    rows[one][1], rows[two][5] = f"{r(9_100, 10_900)}", f"{r(610, 690)}"
    kernel, commit, gain = f"6.{r(5, 12)}.{r(10, 90)}", hexes(random, 7), f"{r(11, 39)}.{r(1, 9)}"
    table = [
        "| configuration | requests/s | p50 ms | p99 ms | errors | MB | CPU |",
        "|---|--:|--:|--:|--:|--:|--:|",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]
    text = "\n".join(
        [
            f"# Load test on {machine}",
            "",
            f"Commit {commit}, kernel {kernel}, {r(16, 96)} cores, governor performance, 3 runs of 60 s each, "
            f"median shown.",
            "Clients and server on separate machines, network of 25 Gbit/s, TLS on.",
            "",
            *table,
            "",
            f"Against the last release the median of requests/s rose by {gain} %.",
            f"Runs marked with errors were stopped early; see ticket PERF-{r(1_000, 9_999)}.",
        ]
    )
    facts = (
        marked("Which configuration serves the fewest requests, and how many?", configurations[slow], few),
        marked("Which has the worst tail, and how long is it?", configurations[tail], late),
        marked("Which has errors, and how many?", configurations[errors], failed),
        marked("Which needs the most memory?", configurations[memory], much),
        marked("Which leaves the processor idle?", configurations[idle], lazy),
        marked("By how much did the median rise?", f"{gain} %"),
        marked("Which commit was measured?", commit),
        marked("Which ticket tells about the errors?", text.rsplit(" ", 1)[1].rstrip(".")),
        plain(f"How many requests does {configurations[one]} serve?", configurations[one], rows[one][1]),
        plain(f"How much memory does {configurations[two]} need?", configurations[two], rows[two][5]),
        plain("Which kernel was it?", kernel),
    )
    return Output("table of measurements", "read_file", json.dumps({"path": f"bench/{machine}.md"}), text, facts)
