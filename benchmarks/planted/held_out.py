"""The held-out set: for a seed, believable outputs of everyday tools, each with the facts somebody would ask of it.

The same seed always gives the same outputs; another seed gives other names, numbers, places and lengths. Whoever wrote
it had not seen how any strategy shortens a text, and whoever works on one reads only its figures, never this file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from random import Random

from benchmarks.planted.output import Fact, Output
from benchmarks.planted.output import marked as _ask
from benchmarks.planted.output import plain as _ask_plain

SURNAMES = (
    "Okafor", "Lindqvist", "Varga", "Tanaka", "Moreau", "Pereira", "Haugen", "Castell", "Novak", "Abara", "Rinaldi",
    "Petrov", "Osei", "Keller", "Dumont", "Halloran", "Iyer", "Brandt", "Sorensen", "Quispe", "Farkas", "Mbeki",
)  # fmt: skip
FIRST_NAMES = (
    "Amara", "Ilse", "Jonas", "Mireille", "Tomas", "Priya", "Sven", "Lucia", "Kofi", "Hanne", "Diego", "Yuki",
    "Marta", "Owen", "Zofia", "Rafael", "Nadia", "Emil", "Greta", "Paolo",
)  # fmt: skip
TOWNS = (
    "Halden", "Vigo", "Tartu", "Gdynia", "Brest", "Turku", "Leiria", "Graz", "Lund", "Ghent", "Rijeka", "Cork",
    "Bergen", "Split", "Trieste", "Aarhus", "Kiel", "Porto", "Riga", "Bilbao",
)  # fmt: skip


def _hex(rng: Random, length: int) -> str:
    """Draw a lower-case hexadecimal string."""
    return "".join(rng.choice("0123456789abcdef") for _ in range(length))


def _word(rng: Random, length: int) -> str:
    """Draw letters and digits as generated names carry them."""
    return "".join(rng.choice("bcdfghjklmnpqrstvwxz2456789") for _ in range(length))


def _names(rng: Random, count: int) -> list[str]:
    """Draw different full names."""
    surnames = rng.sample(SURNAMES, count)
    return [f"{rng.choice(FIRST_NAMES)} {surname}" for surname in surnames]


def _weave(rng: Random, noise: Sequence[str], special: Sequence[str]) -> list[str]:
    """Put the special entries, in their order, at drawn places between the ordinary ones."""
    places = sorted(rng.randint(2, max(3, len(noise) - 2)) for _ in special)
    woven: list[str] = []
    waiting = list(zip(places, special, strict=True))
    for index, entry in enumerate(noise):
        while waiting and waiting[0][0] <= index:
            woven.append(waiting.pop(0)[1])
        woven.append(entry)
    woven.extend(entry for _, entry in waiting)
    return woven


def _start(rng: Random) -> datetime:
    """Draw a moment at which an output begins."""
    moment = datetime(2026, rng.randint(1, 9), rng.randint(1, 28), rng.randint(0, 21), rng.randint(0, 59))
    return moment + timedelta(milliseconds=rng.randint(0, 59_999))


def _stamps(rng: Random, count: int, most_ms: int) -> list[datetime]:
    """Draw rising moments, at most so many milliseconds apart."""
    now = _start(rng)
    moments: list[datetime] = []
    for _ in range(count):
        moments.append(now)
        now += timedelta(milliseconds=rng.randint(3, most_ms))
    return moments


def _arguments(**values: object) -> str:
    """Write the arguments of a call as JSON."""
    return json.dumps(values)


# ---------------------------------------------------------------------------------------------- application logs


def _ingest_noise(rng: Random, batches: Sequence[int]) -> list[str]:
    """Make the ordinary lines of an ingest worker."""
    lines: list[str] = []
    for batch in batches:
        shard, took = rng.randint(0, 31), rng.randint(84, 390)
        lines.append(f'INFO msg="batch flushed" shard={shard} batch={batch} rows={rng.randint(410, 960)} took={took}ms')
        roll = rng.random()
        if roll < 0.30:
            lines.append(f'DEBUG msg="lease renewed" shard={shard} node=ingest-{rng.randint(1, 6)} ttl=30s')
        elif roll < 0.42:
            lines.append(f'INFO msg="spool usage" used={rng.randint(21, 44)}% files={rng.randint(120, 390)}')
        elif roll < 0.52:
            lines.append(f'WARN msg="write retried" shard={shard} attempt=1 err="broken pipe"')
            lines.append(f'INFO msg="write ok after retry" shard={shard} attempt=2')
        elif roll < 0.60:
            lines.append(f'WARN msg="clock ahead of peer" peer=ingest-{rng.randint(1, 6)} skew={rng.randint(11, 49)}ms')
    return lines


def _ingest_log(rng: Random) -> Output:
    """Make the log of an ingest worker in key=value form, where most trouble is logged as information."""
    batches = rng.sample(range(410_000, 489_999), rng.randint(40, 110))
    slow, small, *usual = batches
    version, commit = f"4.{rng.randint(3, 28)}.{rng.randint(0, 9)}", _hex(rng, 7)
    schema, spool, batch_cap = rng.randint(61, 96), rng.randint(17, 44) * 256, rng.randint(12, 29) * 100
    slow_s, few = f"{rng.randint(31, 58)}.{rng.randint(10, 99)}", rng.randint(2, 9)
    segment, lost = f"seg-{_hex(rng, 8)}", rng.randint(1_100_000, 9_900_000)
    shard, old, new = rng.randint(0, 31), *rng.sample(range(1, 7), 2)
    used, key = rng.randint(88, 97), f"raw/{rng.choice(TOWNS).lower()}/{_hex(rng, 6)}.avro"
    pending, tries = rng.randint(3, 48), rng.randint(5, 9)
    noise = _ingest_noise(rng, usual)
    known = re.compile(r"batch=(\d+) rows=(\d+)")
    quiet = [found for line in noise[len(noise) // 4 : 3 * len(noise) // 4] if (found := known.search(line))]
    first, second = rng.sample(quiet, 2)
    special = [
        f'INFO msg="schema migrated" from={schema} to={schema + 1} took={rng.randint(200, 900)}ms',
        f'INFO msg="batch flushed" shard={rng.randint(0, 31)} batch={slow} rows={rng.randint(410, 960)} took={slow_s}s',
        f'INFO msg="segment discarded" segment={segment} bytes={lost} reason="crc mismatch"',
        f'INFO msg="shard moved" shard={shard} from=ingest-{old} to=ingest-{new} cause="lease not renewed"',
        f'INFO msg="batch flushed" shard={rng.randint(0, 31)} batch={small} rows={few} took={rng.randint(84, 390)}ms',
        f'INFO msg="spool usage" used={used}% files={rng.randint(1400, 3900)}',
        f'ERROR msg="giving up on object" key={key} attempts={tries} err="context deadline exceeded"',
    ]
    head = [
        (
            f'INFO msg="starting ingestd" version={version} commit={commit} '
            f"go=go1.{rng.randint(21, 23)}.{rng.randint(1, 9)}"
        ),
        f'INFO msg="config loaded" path=/etc/ingestd.toml max_batch={batch_cap} spool_limit={spool}MiB flush_every=5s',
        f'INFO msg="listening" addr=0.0.0.0:{rng.randint(7100, 7999)} tls=true',
    ]
    tail = [
        'INFO msg="signal received" signal=terminated',
        f'INFO msg="drain finished" pending={pending} elapsed={rng.randint(4, 29)}.{rng.randint(1, 9)}s',
    ]
    entries = [*head, *_weave(rng, noise, special), *tail]
    stamps = _stamps(rng, len(entries), 2400)
    lines = [f"time={at.isoformat(timespec='milliseconds')}Z level={e}" for at, e in zip(stamps, entries, strict=True)]
    facts = (
        _ask("Which version and commit of ingestd was running?", f"version={version}", f"commit={commit}"),
        _ask_plain("What is the limit of the spool set to?", f"spool_limit={spool}MiB"),
        _ask_plain("From and to which schema version did the worker migrate?", f"from={schema} to={schema + 1}"),
        _ask("Which batch took far longer than the rest to flush, and how long?", f"batch={slow}", f"took={slow_s}s"),
        _ask("Which batch held hardly any rows?", f"batch={small}", f"rows={few}"),
        _ask("Was data thrown away? Which segment, and how much?", segment, f"bytes={lost}"),
        _ask("Which shard changed its node, and between which?", f"shard={shard} from=ingest-{old} to=ingest-{new}"),
        _ask("How full did the spool get at worst?", f"used={used}%"),
        _ask("Which object was never written, after how many tries?", key, f"attempts={tries}"),
        _ask("How many entries were pending when it stopped?", f"pending={pending}"),
        _ask_plain(f"How many rows did batch {first[1]} have?", f"batch={first[1]}", f"rows={first[2]}"),
        _ask_plain(f"How many rows did batch {second[1]} have?", f"batch={second[1]}", f"rows={second[2]}"),
    )
    call = _arguments(command=f"cat /var/log/ingestd/worker-{rng.randint(1, 6)}.log")
    return Output("application log", "bash", call, "\n".join(lines) + "\n", facts)


def _shop_noise(rng: Random, orders: Sequence[int]) -> list[str]:
    """Make the ordinary lines of a web shop."""
    lines: list[str] = []
    for order in orders:
        items, cents = rng.randint(1, 7), rng.randint(10, 99)
        total = f"{rng.randint(14, 390)}.{cents}"
        lines.append(f"INFO     shop.checkout: order {order} placed, {items} items, total {total} EUR")
        roll = rng.random()
        if roll < 0.25:
            lines.append(f"DEBUG    shop.session: renewed session {_hex(rng, 12)} for {rng.randint(20, 60)} min")
        elif roll < 0.40:
            slow = rng.randint(410, 790)
            lines.append(f"WARNING  shop.render: template product/detail.html took {slow} ms (budget 400 ms)")
        elif roll < 0.52:
            lines.append(
                f"INFO     shop.cache: warmed {rng.randint(30, 400)} entries of catalogue, hit rate 0.9{cents}"
            )
        elif roll < 0.60:
            lines.append("WARNING  shop.geo: lookup timed out, using country of billing address")
        elif roll < 0.70:
            lines.append(f"INFO     shop.ship: label {_word(rng, 9).upper()} printed for order {order}")
    return lines


def _shop_log(rng: Random) -> Output:
    """Make the log of a web shop in the manner of Python's logging, with quiet trouble."""
    orders = rng.sample(range(5_200_000, 5_299_999), rng.randint(46, 120))
    refused, twice, free, bounced, *usual = orders
    release, web = f"2026.{rng.randint(1, 9)}.{rng.randint(11, 39)}", f"shop-web-{rng.randint(2, 14)}"
    reason = rng.choice(("card_velocity_exceeded", "issuer_unavailable", "mandate_revoked", "cvc_check_skipped"))
    sku, stock = f"{rng.choice('KMRT')}X-{rng.randint(1000, 9899)}", rng.randint(2, 19)
    flag = rng.choice(("express_checkout", "gift_wrapping", "split_delivery", "saved_carts"))
    who = f"{rng.choice('abdegjmnp')}.{rng.choice(SURNAMES).lower()}"
    holder, victim = rng.sample(range(3100, 9800), 2)
    event, bounce = f"evt_{_word(rng, 14)}", rng.choice(("550 5.1.1", "552 5.2.2", "554 5.7.1"))
    exported, skipped = rng.randint(11_000, 18_900), rng.randint(101, 399)
    table = rng.choice(("cart_line", "stock_level", "voucher_use"))
    noise = _shop_noise(rng, usual)
    known = re.compile(r"order (\d+) placed, \d items, total ([\d.]+) EUR")
    quiet = [found for line in noise[len(noise) // 5 : 4 * len(noise) // 5] if (found := known.search(line))]
    first, second, third = rng.sample(quiet, 3)
    special = [
        f"INFO     shop.payment: provider answered 402 for order {refused}: {reason}",
        f"WARNING  shop.stock: SKU {sku} stands at -{stock} after reservation",
        f"INFO     shop.flags: {flag} switched off by {who}",
        f"WARNING  shop.db: deadlock, pid {holder} blocks pid {victim}, rolled back UPDATE {table}",
        f"INFO     shop.payment: webhook {event} delivered again, second capture booked on order {twice}",
        f"INFO     shop.checkout: order {free} placed, 2 items, total 0.00 EUR",
        f"INFO     shop.feed: exported {exported} products, {skipped} left out: no tax class",
        f"INFO     shop.mail: confirmation of order {bounced} returned, {bounce}",
    ]
    rng.shuffle(special)
    head = [f"INFO     shop.boot: release {release} on {web}, {rng.randint(4, 12)} workers"]
    entries = [*head, *_weave(rng, noise, special)]
    stamps = _stamps(rng, len(entries), 5200)
    lines = [
        f"{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d} [gthread-{rng.randint(1, 8)}] {entry}"
        for at, entry in zip(stamps, entries, strict=True)
    ]
    facts = (
        _ask("Which release of the shop is this, and on which host?", release, web),
        _ask("Why did the payment provider refuse an order, and which?", f"order {refused}", reason),
        _ask("Which article has less than nothing in stock?", sku, f"stands at -{stock}"),
        _ask("Who turned a feature off, and which feature?", flag, who),
        _ask("Which processes were in the deadlock, on which table?", f"pid {holder}", f"pid {victim}", table),
        _ask("Which order was charged twice, by which webhook event?", event, str(twice)),
        _ask("Which order went through for nothing?", f"order {free}", "total 0.00 EUR"),
        _ask("How many products are missing from the feed, and why?", f"{skipped} left out", "no tax class"),
        _ask("Whose confirmation mail bounced (order), with which code?", str(bounced), bounce),
        *(_ask_plain(f"What did order {o[1]} come to?", f"order {o[1]}", f"total {o[2]}") for o in (first, second)),
        _ask_plain(f"What was the total of order {third[1]}?", f"order {third[1]}", f"total {third[2]}"),
    )
    call = _arguments(command=f"docker logs --since 10m {web}")
    return Output("application log", "bash", call, "\n".join(lines) + "\n", facts)


# ------------------------------------------------------------------------------------------------------ build log

BUILD_UNITS = {
    "net": ("socket", "resolver", "tls", "listener", "frame_reader", "backoff", "proxy", "keepalive"),
    "store": ("page_cache", "btree", "wal", "checkpoint", "compactor", "bloom", "manifest", "snapshot"),
    "codec": ("varint", "delta", "dictionary", "bitpack", "frame", "crc32c", "lz_window"),
    "query": ("lexer", "parser", "planner", "cost_model", "hash_join", "aggregate", "sort_merge", "cursor", "window"),
    "cli": ("main", "repl", "import_csv", "dump", "progress"),
}


def _gcc_say(path: str, line: int, column: int, message: str, source: str, mark: str = "^~~~~~") -> list[str]:
    """Print a message of the compiler with its line of source and its caret."""
    lead = f"{line:5d} | "
    return [
        f"{path}:{line}:{column}: {message}",
        f"{lead}{source}",
        f"      | {' ' * (column - 1)}{mark}",
    ]


def _unused_parameter(rng: Random, part: str, unit: str) -> list[str]:
    """Print a warning that nobody in this project heeds."""
    name = rng.choice(("context", "flags", "reason", "hint", "opaque"))
    method = rng.choice(("on_idle", "on_close", "visit", "reset", "notify"))
    owner = "".join(piece.title() for piece in unit.split("_"))
    source = f"void {owner}::{method}(int {name}) {{"
    path = f"/builds/tidewater/src/{part}/{unit}.cpp"
    column = source.index(f"int {name}") + 5
    mark = "^" + "~" * (len(name) - 1)
    head = f"{path}: In member function ‘void tw::{part}::{owner}::{method}(int)’:"
    message = f"warning: unused parameter ‘{name}’ [-Wunused-parameter]"
    return [head, *_gcc_say(path, rng.randint(30, 480), column, message, source, mark)]


def _configure_lines(rng: Random, gcc: str, ssl: str, zstd: str, build_type: str) -> list[str]:
    """Print what CMake says before the build."""
    lines = [f"-- The CXX compiler identification is GNU {gcc}", "-- Detecting CXX compiler ABI info"]
    lines += ["-- Detecting CXX compiler ABI info - done", "-- Check for working CXX compiler: /usr/bin/c++ - skipped"]
    lines += ["-- Detecting CXX compile features", "-- Detecting CXX compile features - done"]
    for header in ("sys/epoll.h", "linux/io_uring.h", "immintrin.h", "sys/random.h", "pthread.h"):
        lines += [f"-- Looking for C++ include {header}", f"-- Looking for C++ include {header} - found"]
    lines += [
        "-- Found Threads: TRUE",
        f'-- Found OpenSSL: /usr/lib/x86_64-linux-gnu/libcrypto.so (found version "{ssl}")',
    ]
    lines += [
        f'-- Could NOT find zstd (missing: ZSTD_LIBRARY ZSTD_INCLUDE_DIR) (Required is at least version "{zstd}")'
    ]
    lines += [f"-- tidewater: build type {build_type}, sanitizers OFF, tests ON"]
    lines += [f"-- Configuring done ({rng.randint(1, 4)}.{rng.randint(0, 9)}s)", "-- Generating done (0.1s)"]
    return [*lines, "-- Build files have been written to: /builds/tidewater/build"]


def _compiler_trouble(path: str, unit: str, member: str, at: tuple[int, int], header: int) -> list[str]:
    """Print the error that stops the build, with the note that belongs to it."""
    source = f"    if (!cursor.{member}(mark, depth)) {{"
    lines = [f"{path}: In function ‘tw::query::Plan tw::query::build_{unit}(tw::query::Cursor&)’:"]
    message = f"error: ‘class tw::query::Cursor’ has no member named ‘{member}’; did you mean ‘rewind’?"
    lines += _gcc_say(path, at[0], at[1], message, source)
    where = "/builds/tidewater/include/tw/query/cursor.h"
    return [*lines, *_gcc_say(where, header, 8, "note: ‘rewind’ declared here", "  void rewind(Mark mark);")]


def _compile_command(unit: str) -> str:
    """Print the long call that ninja shows when a file of the query part fails."""
    target = f"src/query/CMakeFiles/tw_query.dir/{unit}.cpp.o"
    flags = "-DTW_CODEC_ZSTD=0 -I/builds/tidewater/include -O2 -g -DNDEBUG -std=gnu++20 -Wall -Wextra"
    return f"/usr/bin/c++ {flags} -MD -MT {target} -MF {target}.d -o {target} -c /builds/tidewater/src/query/{unit}.cpp"


def _build_log(rng: Random) -> Output:
    """Make the log of a CMake and Ninja build that stops at two files."""
    gcc, ssl = f"{rng.randint(11, 14)}.{rng.randint(1, 4)}.0", f"3.{rng.randint(0, 3)}.{rng.randint(7, 18)}"
    zstd, build_type = f"1.{rng.randint(4, 5)}.{rng.randint(0, 7)}", rng.choice(("RelWithDebInfo", "MinSizeRel"))
    broken, killed = rng.sample([u for u in BUILD_UNITS["query"] if u not in ("cursor", "lexer")], 2)
    risky_unit = rng.choice(BUILD_UNITS["codec"])
    risky_name = rng.choice(("length", "carry", "base_offset", "run_end"))
    member = rng.choice(("rewind_to", "seek_mark", "rollback_to"))
    lines = _configure_lines(rng, gcc, ssl, zstd, build_type)
    total = sum(len(units) for units in BUILD_UNITS.values()) + len(BUILD_UNITS) + rng.randint(9, 40)
    step = 0
    error_line, header_line = rng.randint(101, 488), rng.randint(21, 96)
    error_at = (error_line, 17)
    risky_line, codec_step, failed_step = rng.randint(60, 390), 0, 0
    for part, units in BUILD_UNITS.items():
        for unit in rng.sample(units, len(units)):
            step += 1
            object_path = f"src/{part}/CMakeFiles/tw_{part}.dir/{unit}.cpp.o"
            if part == "query" and unit == broken:
                failed_step = step
                lines += [f"[{step}/{total}] Building CXX object {object_path}", f"FAILED: {object_path}"]
                lines.append(_compile_command(unit))
                lines += _compiler_trouble(
                    f"/builds/tidewater/src/query/{unit}.cpp", unit, member, error_at, header_line
                )
                continue
            lines.append(f"[{step}/{total}] Building CXX object {object_path}")
            if part == "query" and unit == killed:
                lines += [f"FAILED: {object_path}", _compile_command(unit)]
                lines.append("c++: fatal error: Killed signal terminated program cc1plus")
                lines.append("compilation terminated.")
            elif part == "codec" and unit == risky_unit:
                path = f"/builds/tidewater/src/codec/{unit}.cpp"
                lines.append(f"{path}: In function ‘size_t tw::codec::decode_{unit}(Span, Sink&)’:")
                note = f"warning: ‘{risky_name}’ may be used uninitialized [-Wmaybe-uninitialized]"
                lines += _gcc_say(
                    path,
                    risky_line,
                    12,
                    note,
                    f"    return {risky_name} + in.tell();",
                    "^" + "~" * (len(risky_name) - 1),
                )
            elif rng.random() < 0.55:
                lines += _unused_parameter(rng, part, unit)
        if part not in ("query", "cli"):
            step += 1
            codec_step = step if part == "codec" else codec_step
            lines.append(f"[{step}/{total}] Linking CXX static library lib/libtw_{part}.a")
    lines.append("ninja: build stopped: cannot make progress due to previous errors.")
    facts = (
        _ask_plain("Which version of GCC compiled this?", f"identification is GNU {gcc}"),
        _ask_plain("Which OpenSSL did the build find?", "Found OpenSSL", ssl),
        _ask("Which library was not found, and which version does it need?", "Could NOT find zstd", zstd),
        _ask_plain("What is the build type?", f"build type {build_type}"),
        _ask("Where is the error that stops the build?", f"src/query/{broken}.cpp:{error_line}:17", "error"),
        _ask("Which member does the code call that does not exist?", "has no member named", member),
        _ask("Where is the method declared that the compiler suggests?", f"tw/query/cursor.h:{header_line}:8"),
        _ask("Which object failed because of the code?", "FAILED: src/query/CMakeFiles", f"{broken}.cpp.o"),
        _ask("Is there a warning to take seriously, and where?", f"{risky_unit}.cpp:{risky_line}:12", risky_name),
        _ask("Which other compilation died, and how?", "Killed signal terminated program cc1plus"),
        _ask_plain("At which step was libtw_codec.a linked?", f"[{codec_step}/{total}]", "libtw_codec.a"),
        _ask("At which step did the build break?", f"[{failed_step}/{total}]", f"{broken}.cpp.o"),
    )
    call = _arguments(command="cmake -G Ninja -B build && ninja -C build -k 0")
    return Output("build log", "bash", call, "\n".join(lines) + "\n", facts)


# ---------------------------------------------------------------------------------------------------- search hits

HIT_FOLDERS = ("billing", "catalogue", "delivery", "accounts", "reports", "gateway", "search", "imports")
HIT_FILES = ("client", "tasks", "views", "service", "worker", "adapters", "helpers", "signals")
HIT_LINES = (
    "    {s} = settings.get({d!r}, {s})",
    "        self.{s} = {s}",
    "    if attempt >= self.{s}:",
    "        for attempt in range({s}):",
    "    log.debug('giving up after %d tries', {s})",
    "    return send(request, {s}={s})",
    "        assert client.{s} > 0",
    "    :param {s}: how often to try before it is an error",
    "    client = make_client(url, {s}=settings.{s})",
)


def _hit_noise(rng: Random, symbol: str) -> list[str]:
    """Make the ordinary hits, sorted by path and line as ripgrep prints them with --sort path."""
    hits: list[tuple[str, int, str]] = []
    for folder in HIT_FOLDERS:
        for name in rng.sample(HIT_FILES, rng.randint(2, 4)):
            for line in sorted(rng.sample(range(9, 460), rng.randint(2, 6))):
                text = rng.choice(HIT_LINES).format(s=symbol, d=f"{folder}.{symbol}")
                hits.append((f"src/{folder}/{name}.py", line, text))
    return [f"{path}:{line}:{text}" for path, line, text in sorted(hits)]


def _search_hits(rng: Random) -> Output:
    """Make the hits of a search for one name through a repository."""
    symbol = rng.choice(("max_attempts", "retry_limit", "send_attempts", "redelivery_cap"))
    noise = _hit_noise(rng, symbol)
    usual, odd, cap = rng.randint(4, 7), rng.randint(41, 95), rng.randint(11, 19)
    line = rng.sample(range(480, 990), 8)
    folders = rng.sample(HIT_FOLDERS, 4)
    upper, ticket, release = symbol.upper(), rng.randint(2100, 9800), f"{rng.randint(3, 8)}.{rng.randint(10, 39)}"
    alias = rng.choice(("tries", "max_tries", "retry_count"))
    number = f"{rng.randint(31, 99):04d}"
    planted = {
        "definition": f"src/core/policy.py:{line[0]}:def resolve_{symbol}(route: str, default: int = {usual}) -> int:",
        "odd": f"src/{folders[0]}/client.py:{line[1]}:    client = make_client(url, {symbol}={odd})",
        "zero": f"src/{folders[1]}/tasks.py:{line[2]}:        self.{symbol} = 0  # never again, see the double refunds",
        "todo": f"src/{folders[2]}/worker.py:{line[3]}:    # TODO({ticket}): {symbol} is read before the settings load",
        "alias": f"src/core/compat.py:{line[4]}:    warn('{alias} is deprecated, use {symbol}', DeprecationWarning)",
        "compare": f"src/{folders[3]}/service.py:{line[5]}:    if attempt > self.{symbol}:",
        "deploy": f"deploy/production/values.yaml:{line[6] // 9}:  {upper}: {cap}",
        "column": f"migrations/{number}_routes.sql:{line[7] // 20}:ALTER TABLE route ADD COLUMN {symbol} smallint;",
        "changes": f"CHANGELOG.md:{rng.randint(20, 300)}:- {release}: `{symbol}` now counts the first try, too",
    }
    hits = sorted([*noise, *planted.values()], key=lambda hit: (hit.split(":")[0], int(hit.split(":")[1])))
    plain = rng.sample([h for h in noise if "self." not in h and "param" not in h], 3)
    places = [":".join(hit.split(":")[:2]) for hit in plain]
    tails = [re.sub(r"\W+$", "", hit.split(":", 2)[2].strip()) for hit in plain]
    facts = (
        _ask(
            f"Where is {symbol} worked out, and from what default?", f"src/core/policy.py:{line[0]}", f"int = {usual}"
        ),
        _ask("Which caller passes its own large number?", f"src/{folders[0]}/client.py:{line[1]}", f"{symbol}={odd}"),
        _ask(
            "Who turned retries off, and why?",
            f"{folders[1]}/tasks.py:{line[2]}",
            "see the double refunds",
        ),
        _ask("Which open ticket speaks of this name?", f"TODO({ticket})", f"{folders[2]}/worker.py"),
        _ask("Which old name is deprecated for it?", f"{alias} is deprecated"),
        _ask(
            "Which comparison is off by one against the others?",
            f"{folders[3]}/service.py:{line[5]}",
            "attempt > self.",
        ),
        _ask("What is it set to in production?", "deploy/production/values.yaml", f"{upper}: {cap}"),
        _ask("In which release did its meaning change?", f"- {release}:", "now counts the first try"),
        _ask_plain("Which migration added the column?", f"migrations/{number}_routes.sql"),
        *(
            _ask_plain(f"What does {place} do with {symbol}?", place + ":", re.split(r"[('\"]", tail)[0].strip()[:40])
            for place, tail in zip(places, tails, strict=True)
        ),
    )
    call = _arguments(pattern=f"(?i){symbol}", path=".", sort="path")
    return Output("search hits", "grep", call, "\n".join(hits) + "\n", facts)


# ---------------------------------------------------------------------------------------------------- test output

TEST_AREAS = {
    "accounts": ("open_account", "close_account", "freeze", "rename_holder", "joint_holder", "dormant", "reopen"),
    "postings": ("debit_credit", "rounding", "reversal", "batch", "foreign_currency", "value_date", "memo_length"),
    "interest": ("daily", "leap_year", "negative_rate", "capitalise", "grace_days", "tiered", "backdated_rate"),
    "statements": ("monthly", "empty_month", "pdf_layout", "page_break", "carry_over", "language", "camt_export"),
    "limits": ("daily_cap", "overdraft", "card_cap", "four_eyes", "temporary_raise", "reset_at_midnight"),
    "imports": ("mt940", "pain001", "duplicate_file", "bad_checksum", "huge_file", "latin1", "resume"),
}


def _test_line(rng: Random, node: str, verdict: str, done: int, total: int) -> str:
    """Print one line of a verbose run with its percentage on the right."""
    share = f"[{100 * done // total:3d}%]"
    return f"{node} {verdict} ".ljust(74) + share


def _failure_text(area: str, name: str, body: Sequence[str], error: str, place: str) -> list[str]:
    """Print one failure in pytest's long form."""
    title = f" test_{name} "
    lines = [title.center(80, "_"), "", f"    def test_{name}(ledger):", *body]
    return [*lines, f"E       {error}", "", f"tests/test_{area}.py:{place}: AssertionError"]


def _test_output(rng: Random) -> Output:  # noqa: PLR0915
    """Make a verbose pytest run with two failures, an error in a fixture and slow tests."""
    names = [(area, name) for area, group in TEST_AREAS.items() for name in group]
    keep = sorted(rng.sample(range(len(names)), rng.randint(33, len(names))))
    names = [names[index] for index in keep]
    areas = rng.sample(list(TEST_AREAS), len(TEST_AREAS))
    names.sort(key=lambda pair: (areas.index(pair[0]), rng.random()))
    wrong, late, broken, left_out, surprise = rng.sample(names, 5)
    wrong, late = sorted((wrong, late), key=names.index)
    port, seed = rng.randint(15_400, 15_499), rng.randint(1_000_000, 4_000_000_000)
    got, want = (
        f"{whole}.{cents:02d}"
        for whole, cents in zip(rng.sample(range(210, 980), 2), rng.sample(range(100), 2), strict=True)
    )
    days, place, late_place = rng.sample(range(17, 59), 2), rng.randint(40, 180), rng.randint(190, 380)
    reason = rng.choice(("needs libhsm on the runner", "flaky since the move to UTC", "sandbox of the bank is shut"))
    runs = [(area, name, value) for area, name in names for value in rng.sample(("EUR", "CHF", "JPY", "SEK", "KWD"), 2)]
    total, lines, done = len(runs) + 5 - 10, [], 0
    python, pytest = f"3.{rng.randint(10, 13)}.{rng.randint(1, 9)}", f"8.{rng.randint(0, 3)}.{rng.randint(0, 5)}"
    verdicts = {wrong: "FAILED", late: "FAILED", broken: "ERROR", left_out: f"SKIPPED ({reason})", surprise: "XPASS"}
    seen: set[tuple[str, str]] = set()
    for area, name, value in runs:
        pair = (area, name)
        if pair in seen and pair in verdicts:
            continue
        seen.add(pair)
        done += 1
        suffix = "" if pair in verdicts else f"[{value}]"
        node = f"tests/test_{area}.py::test_{name}{suffix}"
        lines.append(_test_line(rng, node, verdicts.get(pair, "PASSED"), done, total))
    rng_slow = rng.sample(names, 6)
    slowest = f"{rng.randint(41, 88)}.{rng.randint(10, 99)}s"
    passed, spent = total - 5, f"{rng.randint(101, 190)}.{rng.randint(10, 99)}s"
    versions = f"platform linux -- Python {python}, pytest-{pytest}, pluggy-1.5.0 -- /opt/venv/bin/python"
    head = [" test session starts ".center(80, "="), versions, "cachedir: .pytest_cache"]
    head += [f"Using --randomly-seed={seed}", "rootdir: /srv/ledger", "configfile: pyproject.toml"]
    head += ["plugins: cov-5.0.0, randomly-3.15.0, timeout-2.3.1", f"collecting ... collected {total} items", ""]
    lines = [*head, *lines, "", " ERRORS ".center(80, "="), f" ERROR at setup of test_{broken[1]} ".center(80, "_"), ""]
    lines += ["    @pytest.fixture", "    def ledger(tmp_path):", ">       connection = psycopg.connect(DSN)", ""]
    lines += ["tests/conftest.py:31: ", "_ " * 40]
    refused = f'connection to server at "127.0.0.1", port {port} failed: server closed the connection unexpectedly'
    lines += [f"E   psycopg.OperationalError: {refused}", ""]
    lines += ["/opt/venv/lib/python3/site-packages/psycopg/connection.py:748: OperationalError"]
    lines += [" FAILURES ".center(80, "=")]
    body = [f'        ledger.book(account="{rng.randint(10_000, 99_999)}", amount=amount)']
    body += ["        balance = ledger.balance(at=cutoff)", ">       assert balance == expected"]
    lines += _failure_text(wrong[0], wrong[1], body, f"assert Decimal('{got}') == Decimal('{want}')", str(place))
    lines += ["----------------------------- Captured stderr call -----------------------------"]
    lines += [f"ledger.fx: no rate for 2026-02-{rng.randint(10, 28)}, taking the one before" for _ in range(2)]
    body = ["        rows = ledger.rows(since=start)", ">       assert [r.age for r in rows][-1] == limit"]
    lines += _failure_text(late[0], late[1], body, f"assert {days[0]} == {days[1]}", str(late_place))
    deprecated = rng.choice(("Account.iban_text", "Posting.raw_amount", "Statement.as_bytes"))
    lines += [" warnings summary ".center(80, "="), f"tests/test_{names[2][0]}.py: {rng.randint(12, 60)} warnings"]
    lines += [
        f"  /srv/ledger/src/ledger/api.py:{rng.randint(20, 300)}: DeprecationWarning: {deprecated} goes away in 9.0"
    ]
    lines += ["", "-- Docs: https://docs.pytest.org/en/stable/how-to/capture-warnings.html"]
    lines += [" slowest 6 durations ".center(80, "=")]
    lines += [f"{slowest} call     tests/test_{rng_slow[0][0]}.py::test_{rng_slow[0][1]}"]
    times = sorted((rng.uniform(0.4, 3.9) for _ in range(5)), reverse=True)
    lines += [f"{t:.2f}s setup    tests/test_{a}.py::test_{n}" for t, (a, n) in zip(times, rng_slow[1:], strict=True)]
    lines += [" short test summary info ".center(80, "=")]
    lines += [f"FAILED tests/test_{a}.py::test_{n} - AssertionError" for a, n in (wrong, late)]
    lines += [f"ERROR tests/test_{broken[0]}.py::test_{broken[1]} - psycopg.OperationalError"]
    lines += [f" 2 failed, {passed} passed, 1 skipped, 1 xpassed, 1 error in {spent} ".center(80, "=")]
    facts = (
        _ask("How did the run end, and how long did it take?", "2 failed", f"{passed} passed", f"in {spent}"),
        _ask("By which amounts does the balance differ?", got, want),
        _ask("On which line does the first failure stand?", f"test_{wrong[0]}.py:{place}:", "AssertionError"),
        _ask("What age did the last row have, and what was expected?", f"assert {days[0]} == {days[1]}"),
        _ask("Which test could not even start?", f"ERROR at setup of test_{broken[1]}"),
        _ask("Why could the fixture not connect?", f"port {port} failed", "server closed the connection"),
        _ask("Which test took longest?", f"{slowest} call", f"test_{rng_slow[0][1]}"),
        _ask("Which test was left out, and why?", f"test_{left_out[1]} SKIPPED", reason),
        _ask("Which test passes though it should not?", f"test_{surprise[1]} XPASS"),
        _ask_plain("With which seed can the order be repeated?", f"randomly-seed={seed}"),
        _ask_plain("Which Python and pytest ran?", f"Python {python}", f"pytest-{pytest}"),
        _ask_plain("Which attribute will be removed in 9.0?", f"{deprecated} goes away"),
    )
    call = _arguments(command="python -m pytest -vv --durations=6")
    return Output("test output", "bash", call, "\n".join(lines) + "\n", facts)


# --------------------------------------------------------------------------------------------------- unified diff


def _hunks(rng: Random, pieces: Sequence[tuple[str, Sequence[str]]], first: int = 0) -> list[str]:
    """Print the hunks of one file, from top to bottom, with headers whose numbers are right."""
    at, shift, printed = first or rng.randint(20, 160), 0, []
    for where, lines in pieces:
        old, new = sum(not x.startswith("+") for x in lines), sum(not x.startswith("-") for x in lines)
        printed += [f"@@ -{at},{old} +{at + shift},{new} @@ {where}".rstrip(), *lines]
        at, shift = at + old + rng.randint(11, 140), shift + new - old
    return printed


def _file_head(rng: Random, path: str, old_path: str = "") -> list[str]:
    """Print what git writes above the hunks of a file."""
    lines = [f"diff --git a/{old_path or path} b/{path}"]
    if old_path:
        lines += [f"similarity index {rng.randint(81, 98)}%", f"rename from {old_path}", f"rename to {path}"]
    return [*lines, f"index {_hex(rng, 7)}..{_hex(rng, 7)} 100644", f"--- a/{old_path or path}", f"+++ b/{path}"]


def _lock_file(rng: Random, package: str, old: str, new: str) -> list[str]:
    """Print the noise of a lock file, in which one version of weight changes."""
    pieces: list[tuple[str, Sequence[str]]] = []
    for name in sorted(rng.sample(("certifi", "idna", "platformdirs", "tzdata", "pytz", "charset-normalizer"), 5)):
        year, stem, minor = rng.randint(20, 25), name.replace("-", "_"), rng.randint(1, 6)
        before, after = f"{year}.{minor}.0", f"{year}.{minor + 3}.1"
        changed = [f' name = "{name}"', f'-version = "{before}"', f'+version = "{after}"']
        changed += [f' description = "See {name}.readthedocs.io"', " optional = false"]
        hashes = []
        for sign, number in (("-", before), ("+", after)):
            for kind in ("-py3-none-any.whl", ".tar.gz"):
                hashes.append(f'{sign}    {{file = "{stem}-{number}{kind}", hash = "sha256:{_hex(rng, 64)}"}},')
        pieces += [
            ("", [" [[package]]", *changed]),
            ("", [' python-versions = ">=3.8"', " files = [", *hashes, " ]", " "]),
        ]
    changed = [" [[package]]", f' name = "{package}"', f'-version = "{old}"', f'+version = "{new}"']
    pieces.append(("", [*changed, ' description = "A library"', " optional = false"]))
    return _file_head(rng, "poetry.lock") + _hunks(rng, pieces)


def _tidied_file(rng: Random, path: str) -> list[str]:
    """Print a file in which a formatter changed nothing that matters."""
    model = rng.choice(("Parcel", "Refund", "Slot", "Voucher"))
    imports = [
        " import logging",
        " ",
        f"-from app.models import {model}, Base",
        f"+from app.models import Base, {model}",
    ]
    pieces: list[tuple[str, Sequence[str]]] = [("", [*imports, " ", " log = logging.getLogger(__name__)"])]
    for field in rng.sample(("kind", "label", "owner", "note", "origin"), rng.randint(1, 4)):
        name = rng.choice(("row", "item", "entry", "record"))
        changed = ["     found = {}", f"     for {name} in self.pending:", f"-        found[{name}.{field}]={name}"]
        changed += [f"+        found[{name}.{field}] = {name}", "         if self.closed:", "             break"]
        pieces.append((f"def by_{field}(self):", changed))
    return _file_head(rng, path) + _hunks(rng, pieces, first=rng.randint(1, 4))


def _git_diff(rng: Random) -> Output:
    """Make the diff of a branch in which much is tidied and little matters."""
    old_wait, new_wait = rng.randint(20, 60), rng.randint(2, 6)
    package = rng.choice(("cryptography", "sqlalchemy", "pyjwt", "urllib3"))
    old, new = f"{rng.randint(2, 20)}.{rng.randint(0, 9)}.1", f"{rng.randint(21, 43)}.{rng.randint(0, 9)}.0"
    guard = rng.choice(("is_suspended", "must_reset", "is_locked_out", "lacks_consent"))
    old_name, new_name = rng.choice(
        (("purge_stale", "purge_all"), ("merge_into", "merge_over"), ("soft_drop", "hard_drop"))
    )
    bound = rng.choice(("quota", "ceiling", "headroom"))
    team, branch = rng.choice(("payments", "identity", "platform")), rng.choice(("release", "stable", "hotfix"))
    mode, size = rng.choice(("0o644", "0o666", "0o755")), rng.randint(3, 9) * 1024
    module = rng.choice(("tokens", "grants", "sessions"))
    comment = rng.choice(
        ("remove once the old app is gone", "ask legal before this ships", "keep in step with the edge")
    )
    blocks = [_tidied_file(rng, f"app/{name}.py") for name in rng.sample(HIT_FOLDERS, rng.randint(4, 7))]
    waits = [" class UpstreamClient:", "     retries = 3", f"-    read_timeout = {old_wait}.0"]
    waits += [f"+    read_timeout = {new_wait}.0", "     verify = True", " "]
    blocks.append([*_file_head(rng, "app/upstream.py"), *_hunks(rng, [("", waits)])])
    login = [
        "     form.check()",
        "     user = find_user(form.email)",
        f"-    if user.{guard}:",
        "-        raise Forbidden(user.pk)",
        " ",
    ]
    login += [
        "     log.info(_MESSAGE)",
        "     token = issue(user)",
        "-    return token",
        "+    return token  # type: ignore[no-any-return]",
    ]
    blocks.append([*_file_head(rng, "app/login.py"), *_hunks(rng, [("def sign_in(form: Form) -> Token:", login)])])
    clean = [
        " ",
        " ",
        f"-def {old_name}(session: Session, limit: int) -> int:",
        f"+def {new_name}(session: Session) -> int:",
    ]
    clean += ['     """Tidy up at night."""', "     rows = session.scalars(query)"]
    blocks.append([*_file_head(rng, "app/nightly.py"), *_hunks(rng, [("", clean)])])
    compare = [
        "     # Both in bytes.",
        "     used = measure(tenant)",
        f"-    if used <= tenant.{bound}:",
        f"+    if used < tenant.{bound}:",
    ]
    compare += [
        "         return Verdict.OK",
        f"+    # {comment}",
        "     log.info(_FULL, used)",
        "     return Verdict.FULL",
    ]
    blocks.append(
        [*_file_head(rng, "app/quotas.py"), *_hunks(rng, [("def judge(tenant: Tenant) -> Verdict:", compare)])]
    )
    moved = [" import secrets", " ", f"-TOKEN_BYTES = {rng.randint(40, 64)}", "+TOKEN_BYTES = 16", " ", " "]
    blocks.append([*_file_head(rng, f"app/core/{module}.py", f"app/{module}.py"), *_hunks(rng, [("", moved)], first=7)])
    export = [
        "     target.mkdir(exist_ok=True)",
        "     path = target / name",
        f"-    path.write_bytes(data)\n+    path.write_bytes(data[:{size}])",
    ]
    export = [piece for line in export for piece in line.split("\n")] + [f"     path.chmod({mode})", "     count(path)"]
    blocks.append(
        [*_file_head(rng, "app/export.py"), *_hunks(rng, [("def store(name: str, data: bytes) -> None:", export)])]
    )
    flow = [" on:", "   push:", "-    branches: [main]", f"+    branches: [main, {branch}]", " permissions:"]
    flow += ["-  contents: read", "+  contents: write", f"   # owned by team {team}"]
    blocks.append([*_file_head(rng, ".github/workflows/publish.yml"), *_hunks(rng, [("", flow)], first=2)])
    blocks.append(_lock_file(rng, package, old, new))
    blocks.sort(key=lambda block: block[0].split(" b/")[1])
    lines = [line for block in blocks for line in block]
    facts = (
        _ask("What is the new read timeout of the upstream client?", f"+ read_timeout = {new_wait}.0"),
        _ask("Which check is gone from the login?", f"- if user.{guard}:"),
        _ask("What did the nightly function become?", f"+def {new_name}(session: Session)"),
        _ask("Which comparison became strict?", f"+ if used < tenant.{bound}:"),
        _ask("How long are tokens now?", "+TOKEN_BYTES = 16"),
        _ask("Where did that module move?", f"rename to app/core/{module}.py"),
        _ask("Is exported data cut, and where?", f"+ path.write_bytes(data[:{size}])"),
        _ask("What may the publishing workflow do now?", "+ contents: write"),
        _ask(f"To which version does {package} go?", "+version", new),
        _ask_plain("On which branches does publishing run now?", "+ branches: [main", branch),
        _ask_plain("Which team owns the workflow?", f"owned by team {team}"),
        _ask_plain("What does the new comment in the quotas ask for?", comment),
    )
    return Output(
        "unified diff", "bash", _arguments(command="git diff -U2 main...HEAD"), "\n".join(lines) + "\n", facts
    )


# ---------------------------------------------------------------------------------------------------- stack trace

TRANSLATE_FRAMES = """
org.springframework.orm.jpa.vendor.HibernateJpaDialect.convertHibernateAccessException(HibernateJpaDialect.java:290)
org.springframework.orm.jpa.vendor.HibernateJpaDialect.translateExceptionIfPossible(HibernateJpaDialect.java:241)
org.springframework.dao.support.DataAccessUtils.translateIfNecessary(DataAccessUtils.java:343)
org.springframework.dao.support.PersistenceExceptionTranslationInterceptor.invoke(PersistenceExceptionTranslationInterceptor.java:160)
org.springframework.aop.framework.ReflectiveMethodInvocation.proceed(ReflectiveMethodInvocation.java:184)
org.springframework.aop.framework.JdkDynamicAopProxy.invoke(JdkDynamicAopProxy.java:223)
jdk.proxy2/jdk.proxy2.$Proxy214.flushAll(Unknown Source)
""".strip().splitlines()
PROXY_FRAMES = """
java.base/jdk.internal.reflect.DirectMethodHandleAccessor.invoke(DirectMethodHandleAccessor.java:103)
java.base/java.lang.reflect.Method.invoke(Method.java:580)
org.springframework.aop.support.AopUtils.invokeJoinpointUsingReflection(AopUtils.java:351)
org.springframework.aop.framework.ReflectiveMethodInvocation.invokeJoinpoint(ReflectiveMethodInvocation.java:196)
org.springframework.aop.framework.ReflectiveMethodInvocation.proceed(ReflectiveMethodInvocation.java:163)
org.springframework.transaction.interceptor.TransactionAspectSupport.invokeWithinTransaction(TransactionAspectSupport.java:379)
org.springframework.transaction.interceptor.TransactionInterceptor.invoke(TransactionInterceptor.java:119)
org.springframework.aop.framework.CglibAopProxy$DynamicAdvisedInterceptor.intercept(CglibAopProxy.java:720)
""".strip().splitlines()
WEB_FRAMES = """
org.springframework.web.method.support.InvocableHandlerMethod.doInvoke(InvocableHandlerMethod.java:255)
org.springframework.web.servlet.mvc.method.annotation.RequestMappingHandlerAdapter.handleInternal(RequestMappingHandlerAdapter.java:891)
org.springframework.web.servlet.DispatcherServlet.doDispatch(DispatcherServlet.java:1089)
org.springframework.web.servlet.DispatcherServlet.doService(DispatcherServlet.java:979)
org.springframework.web.servlet.FrameworkServlet.processRequest(FrameworkServlet.java:1014)
org.springframework.web.servlet.FrameworkServlet.doPost(FrameworkServlet.java:914)
jakarta.servlet.http.HttpServlet.service(HttpServlet.java:590)
""".strip().splitlines()
FILTERS = ("RequestContext", "FormContent", "ServerHttpObservation", "CharacterEncoding", "Cors", "Csrf", "Logout")
TOMCAT_FRAMES = """
org.apache.catalina.core.StandardWrapperValve.invoke(StandardWrapperValve.java:167)
org.apache.catalina.core.StandardContextValve.invoke(StandardContextValve.java:90)
org.apache.catalina.core.StandardHostValve.invoke(StandardHostValve.java:115)
org.apache.catalina.connector.CoyoteAdapter.service(CoyoteAdapter.java:344)
org.apache.coyote.http11.Http11Processor.service(Http11Processor.java:389)
org.apache.tomcat.util.net.NioEndpoint$SocketProcessor.doRun(NioEndpoint.java:1741)
org.apache.tomcat.util.threads.ThreadPoolExecutor.runWorker(ThreadPoolExecutor.java:1191)
java.base/java.lang.Thread.run(Thread.java:1583)
""".strip().splitlines()
BATCH_FRAMES = """
org.hibernate.exception.internal.SQLStateConversionDelegate.convert(SQLStateConversionDelegate.java:97)
org.hibernate.exception.internal.StandardSQLExceptionConverter.convert(StandardSQLExceptionConverter.java:58)
org.hibernate.engine.jdbc.spi.SqlExceptionHelper.convert(SqlExceptionHelper.java:108)
org.hibernate.engine.jdbc.batch.internal.BatchImpl.performExecution(BatchImpl.java:278)
org.hibernate.engine.spi.ActionQueue.executeActions(ActionQueue.java:641)
org.hibernate.event.internal.DefaultFlushEventListener.onFlush(DefaultFlushEventListener.java:41)
org.hibernate.internal.SessionImpl.doFlush(SessionImpl.java:1425)
""".strip().splitlines()
DRIVER_FRAMES = """
org.postgresql.core.v3.QueryExecutorImpl.receiveErrorResponse(QueryExecutorImpl.java:2725)
org.postgresql.core.v3.QueryExecutorImpl.processResults(QueryExecutorImpl.java:2412)
org.postgresql.core.v3.QueryExecutorImpl.execute(QueryExecutorImpl.java:579)
org.postgresql.jdbc.PgStatement.internalExecuteBatch(PgStatement.java:896)
org.postgresql.jdbc.PgPreparedStatement.executeBatch(PgPreparedStatement.java:1779)
com.zaxxer.hikari.pool.HikariProxyPreparedStatement.executeBatch(HikariProxyPreparedStatement.java)
""".strip().splitlines()


def _frames(names: Sequence[str]) -> list[str]:
    """Print frames of libraries, which nobody reads."""
    return [f"\tat {name}" for name in names]


def _filter_frames(rng: Random) -> list[str]:
    """Print the filters of the web server that a request went through."""
    names: list[str] = []
    for name in rng.sample(FILTERS, rng.randint(2, len(FILTERS))):
        names.append("org.springframework.web.filter.OncePerRequestFilter.doFilter(OncePerRequestFilter.java:116)")
        names.append(
            f"org.springframework.web.filter.{name}Filter.doFilterInternal({name}Filter.java:{len(name) * 11})"
        )
        names.append("org.apache.catalina.core.ApplicationFilterChain.doFilter(ApplicationFilterChain.java:140)")
    return _frames(names)


def _spring_noise(rng: Random, count: int) -> list[tuple[str, str, str]]:
    """Make ordinary lines of a Spring service: level, logger, message."""
    lines: list[tuple[str, str, str]] = []
    for _ in range(count):
        number, small = rng.randint(10_000, 19_999), rng.randint(9, 88)
        lines.append(
            rng.choice(
                (
                    ("DEBUG", "c.n.leasing.api.QuoteController", f"quote {number} served in {small} ms"),
                    (" INFO", "c.n.leasing.jobs.ReminderJob", f"{small} reminders queued"),
                    (" WARN", "c.n.leasing.rates.RateClient", "answer without ETag, not cached"),
                    (" INFO", "c.n.leasing.api.AuditFilter", f"GET /v2/quotes/{number} 200"),
                    ("DEBUG", "o.h.engine.internal.StatisticalLog", f"{small} statements prepared"),
                    (" WARN", "o.s.w.s.PageNotFound", "No mapping for GET /favicon.ico"),
                )
            )
        )
    return lines


def _stack_trace(rng: Random) -> Output:  # noqa: PLR0915
    """Make a service's log around one long exception with two causes."""
    java, started = f"21.0.{rng.randint(2, 9)}", f"{rng.randint(6, 19)}.{rng.randint(101, 999)} seconds"
    contract, request = rng.randint(70_100, 79_999), _hex(rng, 16)
    method = rng.choice(("settleEarly", "transferLessee", "extendTerm", "splitInstalment"))
    own_line, repo_line = rng.randint(61, 420), rng.randint(30, 190)
    index = rng.choice(("uq_instalment_due", "uq_contract_lessee", "ck_residual_value"))
    day = f"2026-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}"
    waiting, active = rng.randint(17, 58), rng.randint(20, 30)
    tries, lock_ms, pid = rng.randint(3, 6), rng.randint(3001, 9999), rng.randint(2_000, 31_000)
    breaker, rate = rng.choice(("residuals", "schufa", "registry")), f"{rng.randint(51, 79)}.{rng.randint(1, 9)}%"
    batch, more = rng.randint(301, 899), rng.randint(38, 79)
    host, build = f"leasing-{_word(rng, 5)}", f"{rng.randint(2, 9)}.{rng.randint(1, 40)}.{rng.randint(0, 9)}"
    boot = [
        (" INFO", "c.n.leasing.LeasingApplication", f"Starting LeasingApplication v{build} using Java {java} on {host}")
    ]
    boot += [(" INFO", "c.n.leasing.LeasingApplication", "The following 2 profiles are active: cloud, batch")]
    boot += [(" INFO", "com.zaxxer.hikari.HikariDataSource", "leasing-pool - Start completed.")]
    boot += [(" INFO", "c.n.leasing.LeasingApplication", f"Started LeasingApplication in {started}")]
    before = _spring_noise(rng, rng.randint(14, 45))
    pool = f"leasing-pool - Pool stats (total={active}, active={active}, idle=0, waiting={waiting})"
    before.insert(
        rng.randint(4, 9), (" INFO", "c.n.leasing.jobs.IndexJob", f"indexed {batch} contracts, cursor at {day}")
    )
    before.insert(len(before) - 2, ("DEBUG", "com.zaxxer.hikari.pool.HikariPool", pool))
    after = _spring_noise(rng, rng.randint(10, 40))
    after.insert(3, (" INFO", "c.n.leasing.resilience.Breakers", f"{breaker} CLOSED to OPEN, failure rate {rate}"))
    after.insert(8, (" INFO", "c.n.leasing.jobs.Outbox", f"contract {contract}: event parked after {tries} tries"))
    failed = (
        "ERROR",
        "c.n.leasing.api.ProblemAdvice",
        f"500 for POST /v2/contracts/{contract}/{method} request={request}",
    )
    trace = [
        "org.springframework.dao.DataIntegrityViolationException: could not execute batch",
        *_frames(TRANSLATE_FRAMES),
    ]
    trace += [f"\tat com.northlea.leasing.contract.ContractService.{method}(ContractService.java:{own_line})"]
    trace += _frames(PROXY_FRAMES)
    trace += [f"\tat com.northlea.leasing.contract.ContractService$$SpringCGLIB$$0.{method}(<generated>)"]
    trace += [*_frames(WEB_FRAMES), *_filter_frames(rng), *_frames(TOMCAT_FRAMES)]
    trace += ["Caused by: org.hibernate.exception.ConstraintViolationException: could not execute batch"]
    trace += _frames(BATCH_FRAMES)
    trace += [f"\tat com.northlea.leasing.store.InstalmentStore.flushAll(InstalmentStore.java:{repo_line})"]
    trace += [*_frames(PROXY_FRAMES[:2]), f"\t... {more} common frames omitted"]
    broken = f'new row for relation "instalment" violates constraint "{index}"'
    trace += [f"Caused by: org.postgresql.util.PSQLException: ERROR: {broken}"]
    trace += [f"  Detail: Failing row contains ({contract}, {day}, null, {lock_ms})."]
    trace += [*_frames(DRIVER_FRAMES), f"\t... {more + rng.randint(3, 20)} common frames omitted"]
    entries = [*boot, *before, failed, *after]
    lines: list[str] = []
    for at, entry in zip(_stamps(rng, len(entries), 1900), entries, strict=True):
        level, logger, message = entry
        thread = "main" if any(entry is early for early in boot) else f"nio-8080-exec-{rng.randint(1, 9)}"
        when = at.isoformat(timespec="milliseconds")
        lines.append(f"{when}+02:00 {level} {pid} --- [leasing] [{thread:>15}] {logger:<40} : {message}")
        if entry is failed:
            lines += ["", *trace, ""]
    facts = (
        _ask("Which request failed, for which contract?", "500 for POST", f"/v2/contracts/{contract}", method),
        _ask("What is the id of the failed request?", f"request={request}"),
        _ask("Which constraint was violated in the end?", "PSQLException: ERROR: new row", index),
        _ask("Which row broke it?", "Failing row contains", str(contract), day),
        _ask("Where in our own service did it start?", f"ContractService.java:{own_line}"),
        _ask("Which of our stores wrote the row, on which line?", f"InstalmentStore.java:{repo_line}"),
        _ask("Was the connection pool short just before?", f"active={active}", f"waiting={waiting}"),
        _ask("Which breaker opened afterwards, at what rate?", f"{breaker} CLOSED to OPEN", f"failure rate {rate}"),
        _ask("What became of the contract's event?", f"contract {contract}: event parked", f"after {tries} tries"),
        _ask_plain("Which build and Java is this?", f"LeasingApplication v{build}", f"Java {java}"),
        _ask_plain("How long did the start take?", "Started LeasingApplication in", started),
        _ask_plain("How many contracts did the index job handle?", f"indexed {batch} contracts"),
    )
    call = _arguments(command=f"kubectl logs {host} -n leasing --tail=400")
    return Output("stack trace", "bash", call, "\n".join(lines) + "\n", facts)


# ------------------------------------------------------------------------------------------------------------ CSV

CSV_HEAD = "shipment_id,created_at,carrier,origin,destination,weight_kg,pieces,declared_eur,status,customs_code,clerk"


def _csv_export(rng: Random) -> Output:
    """Make an export of shipments in which a few rows are not like the others."""
    numbers = sorted(rng.sample(range(300_000, 399_999), rng.randint(45, 150)))
    clerks = [name.split()[1].lower() for name in _names(rng, 6)]
    carriers = ("Norrfrakt", "Delta Cargo", "Alpenspedition", "MareLine")
    stamps = _stamps(rng, len(numbers), 5_400_000)
    rows: list[list[str]] = []
    for number, at in zip(numbers, stamps, strict=True):
        origin, destination = rng.sample(TOWNS, 2)
        weight, value = f"{rng.uniform(180, 940):.1f}", f"{rng.randint(900, 8900)}.{rng.randint(0, 99):02d}"
        code = f"{rng.randint(3901, 9405)}.{rng.randint(10, 90)}"
        row = [f"SH{number}", f"{at:%Y-%m-%dT%H:%M:%SZ}", rng.choice(carriers), origin, destination, weight]
        rows.append([*row, str(rng.randint(1, 24)), value, "delivered", code, rng.choice(clerks)])
    picked = rng.sample(range(3, len(rows) - 3), 11)
    light, back, misspelt, nowhere, early, cheap, stranger, empty, *quiet = picked
    tiny, stray = f"0.{rng.randint(11, 98)}", rng.choice(("Delta Crago", "Norfrakt", "MareLIne", "Alpenspediton"))
    outsider = rng.choice(("tmp_import", "root", "nightly-sync", "migration2"))
    rows[light][5], rows[back][8], rows[misspelt][2], rows[nowhere][4] = tiny, "delivered_to_sender", stray, ""
    rows[early][1] = rows[early][1].replace("2026-", "2062-")
    rows[cheap][7], rows[stranger][10], rows[empty][6] = "1.00", outsider, "0"
    text = "\n".join([CSV_HEAD, *(",".join(row) for row in rows)]) + "\n"
    code = rows[nowhere][9]

    def name(index: int) -> str:
        return rows[index][0]

    facts = (
        _ask("Which shipment weighs next to nothing?", name(light), tiny),
        _ask("Which shipment went back to its sender?", name(back), "delivered_to_sender"),
        _ask("Which row spells its carrier wrongly, and how?", name(misspelt), stray),
        _ask("Which shipment has no destination, from where is it?", name(nowhere), rows[nowhere][3], code),
        _ask("Which row is dated in an impossible year?", name(early), rows[early][1]),
        _ask("Which shipment was declared at a euro?", name(cheap), "1.00"),
        _ask("Which row was not entered by a clerk, but by what?", name(stranger), outsider),
        _ask("Which shipment consists of no piece at all?", name(empty), rows[empty][5]),
        *(_ask_plain(f"What was declared for {name(i)}?", name(i), rows[i][7]) for i in quiet),
    )
    return Output("CSV", "bash", _arguments(command="cat exports/shipments.csv"), text, facts)


# -------------------------------------------------------------------------------------------------- aligned table

PODS = (
    ("cart", "api"), ("cart", "worker"), ("search", "indexer"), ("search", "front"), ("media", "resize"),
    ("media", "upload"), ("auth", "session"), ("auth", "keys"), ("billing", "ledger"), ("billing", "export"),
    ("monitoring", "node-exporter"), ("monitoring", "alertmanager"), ("kube-system", "coredns"),
    ("kube-system", "kube-proxy"), ("ingress", "nginx"), ("mail", "relay"), ("mail", "bounce"),
)  # fmt: skip


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Align columns as kubectl does: three blanks between them."""
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    return ["   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]


def _pod_table(rng: Random) -> Output:
    """Make the table of all pods of a cluster, some of which are unwell in quiet ways."""
    nodes = [f"pool-b-{_word(rng, 5)}" for _ in range(5)]
    drained, age = f"spot-{_word(rng, 5)}", rng.randint(21, 88)
    rows: list[list[str]] = []
    for space, app in PODS:
        stem = f"{app}-{_hex(rng, 9)}"
        for _ in range(rng.randint(1, 5)):
            address = f"10.{rng.randint(40, 47)}.{rng.randint(0, 250)}.{rng.randint(2, 250)}"
            days = f"{age + rng.randint(0, 9)}d"
            rows.append([space, f"{stem}-{_word(rng, 5)}", "2/2", "Running", "0", days, address, rng.choice(nodes)])
    rows.sort(key=lambda row: (row[0], row[1]))
    picked = rng.sample(range(1, len(rows)), 11)
    looping, unready, no_image, waiting, evicted, often, young, lonely, *quiet = picked
    restarts, many, minutes = (
        rng.randint(61, 190),
        rng.randint(700, 2900),
        f"{rng.randint(2, 9)}m{rng.randint(10, 59)}s",
    )
    rows[looping][2:5] = ["1/2", "CrashLoopBackOff", f"{restarts} ({rng.randint(2, 4)}m ago)"]
    rows[unready][2] = "1/2"
    rows[no_image][2:4] = ["0/2", "ImagePullBackOff"]
    rows[waiting][2:4], rows[waiting][6:8] = ["0/2", "Pending"], ["<none>", "<none>"]
    rows[evicted][2:4], rows[evicted][6] = ["0/2", "Evicted"], "<none>"
    rows[often][4], rows[young][5], rows[lonely][7] = f"{many} (9h ago)", minutes, drained
    head = [
        "NAMESPACE",
        "NAME",
        "READY",
        "STATUS",
        "RESTARTS",
        "AGE",
        "IP",
        "NODE",
        "NOMINATED NODE",
        "READINESS GATES",
    ]
    text = "\n".join(_columns([head, *([*row, "<none>", "<none>"] for row in rows)])) + "\n"

    def name(index: int) -> str:
        return rows[index][1]

    facts = (
        _ask(
            "Which pod crashes again and again, how often so far?", name(looping), "CrashLoopBackOff", f"{restarts} ("
        ),
        _ask("Which pod says Running but is not ready?", name(unready), "1/2 Running"),
        _ask("Which pod cannot fetch its image?", name(no_image), "ImagePullBackOff"),
        _ask("Which pod has found no node?", name(waiting), "Pending"),
        _ask("Which pod was evicted, from which node?", name(evicted), "Evicted", rows[evicted][7]),
        _ask("Which pod looks well but restarts all the time?", name(often), f"Running {many} ("),
        _ask("Which pod is new?", name(young), minutes),
        _ask("Which pod runs outside the ordinary pool, on what?", name(lonely), drained),
        *(_ask_plain(f"What is the address of {name(i)}?", name(i), rows[i][6]) for i in quiet),
    )
    return Output("aligned table", "bash", _arguments(command="kubectl get pods -A -o wide"), text, facts)


# ------------------------------------------------------------------------------------------------- Markdown page


def _option_rows(rng: Random) -> list[tuple[str, str, str]]:
    """Draw the options of a program: name, default, meaning."""
    cache, depth, keep = rng.randint(65, 980), rng.randint(11, 39), rng.randint(41, 89)
    return [
        ("listen", f"127.0.0.1:{rng.randint(8100, 8999)}", "Address of the HTTP interface."),
        ("workers", "number of cores", "Threads that serve requests."),
        ("cache_mib", str(cache), "Memory for decoded tiles."),
        ("max_zoom", str(depth), "Deepest zoom level that is rendered."),
        ("log_format", "text", "Either text or json."),
        ("keep_days", str(keep), "How long finished jobs are kept."),
        ("trust_proxy", "false", "Whether X-Forwarded-For is believed."),
        ("style_dir", "/usr/share/tileforge/styles", "Where styles are looked for."),
        ("font_fallback", "Noto Sans", "Font for glyphs that a style lacks."),
        ("metrics", "true", "Whether /metrics is served."),
    ]


def _markdown_page(rng: Random) -> Output:  # noqa: PLR0915
    """Make the README of a small server, with options, exit codes and a few traps."""
    options = _option_rows(rng)
    version, dropped = f"{rng.randint(3, 7)}.{rng.randint(1, 19)}.0", f"{rng.randint(8, 9)}.0"
    postgis, go, codes = f"3.{rng.randint(2, 5)}", f"1.{rng.randint(21, 24)}", sorted(rng.sample(range(64, 114), 6))
    secret = rng.choice(("TILEFORGE_SIGNING_KEY", "TILEFORGE_SESSION_SALT", "TILEFORGE_ADMIN_HASH"))
    room, hours = f"#tileforge-{rng.choice(TOWNS).lower()}:matrix.org", rng.randint(31, 70)
    bug, ram, flag = (
        rng.randint(1100, 4900),
        rng.randint(3, 14),
        rng.choice(("--rebuild-all", "--wipe-index", "--reseed")),
    )
    owner, licence = _names(rng, 1)[0], rng.choice(("AGPL-3.0-only", "MPL-2.0", "EUPL-1.2"))
    planet = f"{rng.randint(410, 890)} GB"
    lines = [
        "# tileforge",
        "",
        "[![build](https://ci.example.org/tileforge/badge.svg)](https://ci.example.org/tileforge)",
    ]
    lines += [
        f"[![release](https://img.example.org/badge/release-{version}-blue)](https://example.org/tileforge/releases)"
    ]
    lines += [
        "",
        "A server that turns OpenStreetMap extracts into vector and raster tiles, one binary, no message queue.",
        "",
    ]
    sections = ("Features", "Requirements", "Quick start", "Options", "Upgrading", "Running behind nginx", "Exit codes")
    lines += [f"- [{name}](#{name.lower().replace(' ', '-')})" for name in (*sections, "Contributing", "Licence")]
    lines += [
        "",
        "## Features",
        "",
        "- Renders on demand and keeps what was asked for",
        "- Styles in the Mapbox GL format",
    ]
    lines += ["- Labels in any script, right-to-left included", "- Incremental updates from minutely diffs", ""]
    lines += ["## Requirements", "", "| What | At least | Note |", "| --- | --- | --- |"]
    lines += [f"| PostGIS | {postgis} | with `hstore` |", f"| Go | {go} | only to build from source |"]
    lines += [
        f"| Memory | {ram} GB | per worker for country extracts |",
        f"| Disk | {planet} | for the whole planet |",
        "",
    ]
    lines += ["## Quick start", "", "```sh", f"curl -LO https://example.org/tileforge/v{version}/tileforge-linux-amd64"]
    lines += ["chmod +x tileforge-linux-amd64", "createdb tiles && psql tiles -c 'CREATE EXTENSION postgis'"]
    lines += ["./tileforge-linux-amd64 import extract.osm.pbf", "./tileforge-linux-amd64 serve", "```", ""]
    lines += [
        "Open the address that it prints. The first tiles are slow, because nothing is kept yet; reload once.",
        "",
    ]
    lines += [f"> **Warning**  `import {flag}` drops every table in the database, not only those of tileforge.", ""]
    lines += [
        "## Options",
        "",
        "Options are read from `tileforge.toml`, then from the environment, then from the command line.",
        "",
    ]
    lines += ["| Option | Default | Meaning |", "| --- | --- | --- |"]
    lines += [f"| `{name}` | {default} | {meaning} |" for name, default, meaning in rng.sample(options, len(options))]
    lines += [
        "",
        f"`{secret}` has no default. Without it the server starts, but signs nothing and says so only at debug level.",
    ]
    lines += ["", "## Upgrading", ""]
    for step in range(rng.randint(3, 24)):
        lines += [
            f"### To {version.split('.')[0]}.{step}",
            "",
            rng.choice(
                (
                    "Nothing to do.",
                    "Restart once.",
                    "Stop all workers first, then start the new version on one of them.",
                )
            ),
            "",
        ]
    lines += [f"The XML styles still load, with a warning. They will be removed in {dropped}.", ""]
    lines += [f"A full reindex of Europe took {hours} hours on our machine; plan for twice that.", ""]
    lines += ["## Running behind nginx", "", "```nginx", "location /tiles/ {"]
    lines += [
        "    proxy_pass http://tileforge;",
        "    proxy_http_version 1.1;",
        f"    proxy_read_timeout {hours + 101}s;",
        "}",
    ]
    lines += [
        "```",
        "",
        f"Do not turn on `proxy_cache_lock`: see issue {bug}, where two renderers waited for each other.",
        "",
    ]
    meanings = [
        "the configuration file is invalid",
        "the database cannot be reached",
        "the schema is newer than the program",
    ]
    meanings += ["the port is taken", "the extract is cut short", "a style refers to a missing source"]
    lines += ["## Exit codes", "", "| Code | Meaning |", "| ---: | --- |"]
    lines += [f"| {code} | {meaning} |" for code, meaning in zip(codes, meanings, strict=True)]
    lines += ["", "## Contributing", "", "Run `make check` before you send a patch. Small patches are read sooner.", ""]
    lines += [f"Questions go to `{room}`. Report holes in security to {owner}, never in the open tracker.", ""]
    lines += ["## Licence", "", f"{licence}. The bundled fonts are under the SIL Open Font License.", ""]
    value = {name: default for name, default, _ in options}
    facts = (
        _ask("Which option of import destroys data?", f"import {flag}", "drops every table"),
        _ask("What must be set that has no default?", secret, "has no default"),
        _ask("When are XML styles removed?", f"They will be removed in {dropped}"),
        _ask("Which setting of nginx makes it hang, by which issue?", "proxy_cache_lock", f"issue {bug}"),
        _ask("Where does it listen by default?", "listen", value["listen"]),
        _ask("What does it exit with if the schema is too new?", str(codes[2]), "schema is newer"),
        _ask("Which release does the quick start fetch?", f"tileforge/v{version}/tileforge-linux-amd64"),
        _ask("To whom are holes in security reported?", f"security to {owner}"),
        _ask_plain("How much memory does a worker need?", f"Memory | {ram} GB"),
        _ask_plain("How long are finished jobs kept?", "keep_days", value["keep_days"]),
        _ask_plain("How long did a reindex of Europe take?", "reindex of Europe", f"{hours} hours"),
        _ask("Under which licence is it?", licence),
    )
    return Output("Markdown page", "read_file", _arguments(path="tileforge/README.md"), "\n".join(lines), facts)


# ------------------------------------------------------------------------------------------------------ HTML page

NAVIGATION = (
    "Overview",
    "Guides",
    "Reference",
    "Pricing",
    "Changelog",
    "Status",
    "Community",
    "Blog",
    "Careers",
    "Legal",
)
ENDPOINTS = (
    "parcels",
    "labels",
    "pickups",
    "rates",
    "tracking",
    "returns",
    "manifests",
    "addresses",
    "webhooks",
    "customs",
    "depots",
    "insurance",
    "quotes",
    "batches",
    "carriers",
    "claims",
    "slots",
    "zones",
    "invoices",
    "users",
)


def _html_shell(rng: Random) -> tuple[list[str], list[str]]:
    """Write what stands above and below the text of a page: styles, scripts, navigation, footer."""
    links = [
        f'        <li class="nav__item"><a href="/{n.lower()}" data-track="nav-{n.lower()}">{n}</a></li>'
        for n in NAVIGATION
    ]
    sheet = [
        f'  <link rel="stylesheet" href="/assets/{name}.{_hex(rng, 8)}.css">' for name in ("base", "docs", "print")
    ]
    script = (
        f"  <script>window.dataLayer=window.dataLayer||[];dataLayer.push({{id:'{_word(rng, 10)}',consent:0}});</script>"
    )
    top = ["<!DOCTYPE html>", '<html lang="en">', "<head>", '  <meta charset="utf-8">']
    top += [
        '  <meta name="viewport" content="width=device-width, initial-scale=1">',
        "  <title>Limits and retries | Parcelo</title>",
    ]
    top += [
        *sheet,
        script,
        "</head>",
        '<body class="docs docs--wide">',
        '  <a class="skip" href="#main">Skip to content</a>',
    ]
    top += [
        '  <header class="top">',
        '    <nav aria-label="Main">',
        '      <ul class="nav">',
        *links,
        "      </ul>",
        "    </nav>",
    ]
    top += ["  </header>", '  <div class="cookie" hidden><p>We use cookies to see which pages help.</p>']
    top += ['    <button type="button" data-consent="1">Accept</button> <button type="button">Refuse</button></div>']
    foot = ['  <footer class="foot">']
    for column in ("Product", "Company", "Help"):
        foot += [f'    <section class="foot__col"><h4>{column}</h4><ul>']
        foot += [f'      <li><a href="/{n.lower()}?from=footer">{n}</a></li>' for n in rng.sample(NAVIGATION, 5)] + [
            "    </ul></section>"
        ]
    foot += ["    <small>&copy; 2014&ndash;2026 Parcelo BV. All rights reserved.</small>", "  </footer>"]
    foot += [f'  <script src="/assets/app.{_hex(rng, 8)}.js" defer></script>', "</body>", "</html>"]
    return top, foot


def _html_page(rng: Random) -> Output:
    """Make a page of a shipping API's documentation about its limits."""
    top, foot = _html_shell(rng)
    endpoints = rng.sample(ENDPOINTS, rng.randint(6, len(ENDPOINTS)))
    limits = dict(zip(endpoints, rng.sample(range(121, 990), len(endpoints)), strict=True))
    odd, plain_one, plain_two = rng.sample(endpoints, 3)
    limits[odd] = rng.randint(12, 29)
    header, burst = rng.choice(("X-Parcelo-Budget", "X-Quota-Left", "Parcelo-Remaining")), rng.randint(12, 48)
    sunset = f"{rng.randint(1, 28)} {rng.choice(('October', 'November', 'December'))} 2026"
    old, tries, first = rng.choice(("v1", "v2")), rng.randint(5, 9), rng.choice((250, 400, 750))
    code, days = rng.choice((420, 425, 509)), rng.randint(31, 89)
    mail, address = f"limits-{_word(rng, 3)}@parcelo.example", f"203.0.113.{rng.randint(16, 200)}/29"
    edited, editor = f"2026-0{rng.randint(1, 9)}-{rng.randint(10, 28)}", _names(rng, 1)[0]
    body = ['  <main id="main">', "    <h1>Limits and retries</h1>"]
    body += [f'    <p class="meta">Last edited <time datetime="{edited}">{edited}</time> by {editor}</p>']
    body += [
        (
            f'    <div class="note note--warn"><p>Keys of {old} stop working on <b>{sunset}</b>. There is no '
            "grace time.</p></div>"
        )
    ]
    body += [
        "    <p>Every key has a budget per minute and per endpoint. The budget is refilled on the full minute, not",
    ]
    body += ["      bit by bit, so a client that starts at second 59 may send two budgets in two seconds.</p>"]
    body += [
        '    <h2 id="budgets">Budgets</h2>',
        '    <table class="tbl tbl--zebra">',
        "      <thead><tr><th>Endpoint</th><th>Requests</th></tr></thead>",
    ]
    for name, limit in limits.items():
        body += ["      <tr>", f'        <td><code>/{name}</code></td><td class="num">{limit}</td>', "      </tr>"]
    body += [
        "    </table>",
        f"    <p>What is left of it stands in the header <code>{header}</code> of each answer.</p>",
    ]
    body += [
        '    <h2 id="burst">Bursts</h2>',
        f"    <p>At most {burst} requests may be open at once. More are not queued but dropped.</p>",
    ]
    body += [
        '    <h2 id="errors">When you are over</h2>',
        f"    <p>We answer <code>{code}</code> rather than 429, for reasons of history.</p>",
    ]
    body += [
        "    <pre><code>HTTP/2 " + str(code),
        "content-type: application/problem+json",
        "retry-after: 17",
        "</code></pre>",
    ]
    body += [
        '    <h2 id="retries">Retries</h2>',
        f"    <p>Wait {first} ms first, then double it; stop after {tries} tries.</p>",
    ]
    body += ["    <p>A request to create something carries an idempotency key."]
    body += [f"      We remember such keys for {days} hours; after that the parcel is sent a second time.</p>"]
    body += ['    <h2 id="network">Network</h2>', f"    <p>Webhooks come from <code>{address}</code> only.</p>"]
    for name in ("curl", "Python", "PHP", "Ruby"):
        body += [
            (
                f'    <div class="tab" data-lang="{name.lower()}"><h3>{name}</h3><p>See the <a '
                f'href="/guides/{name.lower()}">guide</a>.</p></div>'
            )
        ]
    body += [
        '    <h2 id="more">More than that</h2>',
        f'    <p>Write to <a href="mailto:{mail}">{mail}</a> with a week of numbers.</p>',
        "  </main>",
    ]
    facts = (
        _ask("When does the old version stop working?", f"Keys of {old} stop working", sunset),
        _ask("Which endpoint has a tiny budget?", f"/{odd}", str(limits[odd])),
        _ask("Which header says what is left?", f"{header}", "of each answer"),
        _ask("Which status is sent when one is over the limit?", str(code), "rather than 429"),
        _ask("How many requests may be open at once?", f"At most {burst} requests"),
        _ask(
            "How often should a client try, and after what wait?", f"Wait {first} ms first", f"stop after {tries} tries"
        ),
        _ask("How long are idempotency keys remembered?", f"such keys for {days} hours"),
        _ask("Where do webhooks come from?", address),
        _ask("Where to write for a higher limit?", mail),
        _ask_plain("Who edited this page last, when?", editor, edited),
        _ask_plain(f"What is the budget of /{plain_one}?", f"/{plain_one}", str(limits[plain_one])),
        _ask_plain(f"What is the budget of /{plain_two}?", f"/{plain_two}", str(limits[plain_two])),
    )
    call = _arguments(url="https://docs.parcelo.example/reference/limits")
    return Output("HTML page", "fetch_url", call, "\n".join([*top, *body, *foot]) + "\n", facts)


# ---------------------------------------------------------------------------------------------------- source file

LICENSE_HEAD = """/*
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *     http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS.
 */"""


GETTERS = {
    "depth": "Entries that wait, those that are parked included.",
    "waiting": "Entries that wait for a free place.",
    "oldest": "Age of the oldest entry in ms, as far as this process knows.",
    "throughput": "Entries per minute, averaged over the last five.",
    "failures": "Failures since the board was made. Never reset.",
    "retries": "Tries beyond the first one.",
    "idle": "Milliseconds without any work.",
    "latency": "Median wait in ms.",
    "parked": "Entries put aside by hand.",
    "held": "Places that this process holds.",
}


def _getter(rng: Random, name: str) -> list[str]:
    """Write a small method of the sort that fills a class."""
    guard = rng.choice((["    if (this.closed) return 0;"], ["    if (this.closed) {", "      return 0;", "    }"], []))
    head = [f"  /** {GETTERS[name]} */", f"  get {name}(): number {{"]
    return [*head, *guard, f"    return this.totals.get('{name}') ?? 0;", "  }", ""]


def _source_file(rng: Random) -> Output:
    """Make a TypeScript file with a scheduler, its constants and its public functions."""
    lease, slots, fence = rng.randint(17, 58) * 1000 + 500, rng.randint(6, 48), rng.randint(101, 997)
    verb, noun = rng.choice(("claim", "reserve", "borrow")), rng.choice(("Lane", "Slot", "Berth"))
    ticket, grace = rng.randint(300, 2900), rng.randint(61, 240)
    event = rng.choice(("lane:stolen", "lane:orphaned", "lane:expired"))
    code, jitter = f"E_{rng.choice(('FENCE', 'LEASE', 'DRAIN'))}_{rng.randint(10, 99)}", f"0.{rng.randint(11, 48)}"
    weight, path = f"1.{rng.randint(101, 899)}", f"/internal/{verb}s/{_word(rng, 4)}"
    extra = rng.choice(("abort?: AbortSignal", "owner: OwnerId", "deadline: Temporal.Instant"))
    lines = [*LICENSE_HEAD.split("\n"), "", "import { EventEmitter } from 'node:events';"]
    lines += ["import { setTimeout as sleep } from 'node:timers/promises';", "import type { Logger } from '../log.js';"]
    lines += ["import { Backoff, type OwnerId } from './backoff.js';", "import { Store } from './store.js';", ""]
    lines += [f"const LEASE_MS = {lease};", f"const MAX_SLOTS = {slots};", f"const ENDPOINT = '{path}';"]
    lines += ["const NOOP = () => undefined;", "", f"export interface {noun} {{", "  readonly id: string;"]
    lines += ["  readonly token: bigint;", "  readonly since: number;", "}", "", "export interface Options {"]
    for name in rng.sample(("quiet", "eager", "dryRun", "trace", "strict", "shared"), 4):
        lines += ["  /** Off unless it is asked for. */", f"  {name}?: boolean;"]
    lines += [
        "}",
        "",
        f"export class {noun}Board extends EventEmitter {{",
        "  private readonly totals = new Map<string, number>();",
    ]
    lines += [
        "  private closed = false;",
        "",
        "  constructor(private readonly store: Store, private readonly log: Logger) {",
    ]
    lines += ["    super();", f"    this.setMaxListeners({fence});", "  }", ""]
    for name in rng.sample(list(GETTERS), rng.randint(6, len(GETTERS))):
        lines += _getter(rng, name)
    lines += [f"  async {verb}{noun}(id: string, ttl = LEASE_MS): Promise<{noun} | undefined> {{"]
    lines += ["    const row = await this.store.read(id);", "    if (row !== undefined && row.until > Date.now()) {"]
    lines += [
        "      return undefined;",
        "    }",
        f"    // Clocks of our hosts differ by up to {grace} ms, measured in ticket {ticket}.",
    ]
    lines += [
        f"    const until = Date.now() + ttl - {grace};",
        "    const token = await this.store.swap(id, row?.token, until);",
    ]
    lines += ["    if (token === undefined) {", f"      this.emit('{event}', id);", "      return undefined;", "    }"]
    lines += ["    return { id, token, since: Date.now() };", "  }", ""]
    lines += [
        f"  async release(lane: {noun}): Promise<void> {{",
        "    try {",
        "      await this.store.clear(lane.id, lane.token);",
    ]
    lines += [
        "    } catch {",
        "      // Somebody else holds it by now, which is what we wanted anyway.",
        "    }",
        "  }",
        "",
    ]
    lines += [
        "  async close(): Promise<void> {",
        "    this.closed = true;",
        "    this.totals.clear();",
        "    await this.store.end();",
    ]
    lines += ["  }", "}", "", f"export async function drain{noun}s(board: {noun}Board, {extra}): Promise<number> {{"]
    lines += [
        "  let moved = 0;",
        "  for await (const id of board.ids()) {",
        "    moved += Number(await board.move(id));",
        "  }",
    ]
    lines += [
        "  if (moved > MAX_SLOTS) {",
        f"    throw new LaneError('{code}', `moved ${{moved}} lanes`);",
        "  }",
        "  return moved;",
        "}",
        "",
    ]
    lines += [
        "function score(age: number, failures: number): number {",
        f"  return age * {weight} - failures ** 2;",
        "}",
        "",
    ]
    lines += ["export function pause(attempt: number): Promise<void> {", f"  const spread = Math.random() * {jitter};"]
    lines += ["  return sleep(Backoff.ms(attempt) * (1 + spread));", "}", "", f"export default {noun}Board;"]
    facts = (
        _ask(f"What is the signature of {verb}{noun}?", f"async {verb}{noun}(id: string", "ttl = LEASE_MS"),
        _ask(f"What does drain{noun}s take and return?", f"function drain{noun}s(board: {noun}Board", extra),
        _ask("How long is a lease?", f"LEASE_MS = {lease}"),
        _ask("How many slots are there at most?", f"MAX_SLOTS = {slots}"),
        _ask("With which code does draining fail?", code),
        _ask("Which event is sent when somebody was faster?", event),
        _ask("What class does the file export?", f"export class {noun}Board extends"),
        _ask("Why is time taken off the lease?", f"differ by up to {grace} ms", f"ticket {ticket}"),
        _ask("Which endpoint does it speak to?", path),
        _ask_plain("How many listeners may the board have?", f"setMaxListeners({fence})"),
        _ask_plain("By what is age multiplied in the score?", f"age * {weight}"),
        _ask_plain("How much are pauses spread?", f"Math.random() * {jitter}"),
    )
    call = _arguments(path=f"packages/board/src/{noun.lower()}-board.ts")
    return Output("source file", "read_file", call, "\n".join(lines) + "\n", facts)


# ------------------------------------------------------------------------------------------------ JSON of an API


def _run_record(rng: Random, number: int, at: datetime) -> dict[str, object]:
    """Make one ordinary record of a list of pipeline runs."""
    ident = f"run_{_word(rng, 10)}"
    return {
        "id": ident,
        "object": "pipeline_run",
        "number": number,
        "branch": rng.choice(("main", "main", "release", f"fix/{_word(rng, 5)}")),
        "commit": _hex(rng, 12),
        "conclusion": "success",
        "runner": {"pool": "linux-large", "image": "ubuntu-24.04", "self_hosted": False},
        "started_at": f"{at:%Y-%m-%dT%H:%M:%SZ}",
        "duration_ms": rng.randint(201_000, 399_000),
        "triggered_by": {"type": "user", "login": f"{rng.choice('abcdejkmn')}{rng.choice(SURNAMES).lower()}"},
        "artifacts_bytes": rng.randint(40_000_000, 59_000_000),
        "error": None,
        "links": {"self": f"https://ci.example.com/api/v4/runs/{ident}"},
    }


def _api_list(rng: Random) -> Output:
    """Make the answer of a CI service that lists its latest runs."""
    count, newest = rng.randint(13, 39), rng.randint(20_500, 98_000)
    stamps = sorted(_stamps(rng, count, 2_800_000), reverse=True)
    runs = [_run_record(rng, newest - index, at) for index, at in enumerate(stamps)]
    picked = rng.sample(range(1, count - 1), 9)
    failed, slow, short, other, robot, tiny, *quiet = picked
    reason = f"step {rng.choice(('link', 'publish', 'e2e-mobile'))} exited with {rng.choice((134, 137, 139))}"
    slow_ms, short_ms, bytes_left = (
        rng.randint(3_100_000, 9_900_000),
        rng.randint(1100, 8900),
        rng.randint(10_210, 99_990),
    )
    image, bot = f"ubuntu-20.04-{_word(rng, 4)}", f"renovate-{_word(rng, 4)}"
    runs[failed]["conclusion"], runs[failed]["error"] = "failure", {"message": reason, "retryable": False}
    runs[slow]["duration_ms"], runs[short]["duration_ms"] = slow_ms, short_ms
    runs[other]["runner"] = {"pool": "linux-large", "image": image, "self_hosted": True}
    runs[robot]["triggered_by"] = {"type": "app", "login": bot}
    runs[tiny]["artifacts_bytes"] = bytes_left
    total, cursor, left = rng.randint(100_000, 190_000), _word(rng, 18), rng.randint(11, 96)
    answer = {"object": "list", "total_count": total, "rate_limit_remaining": left, "data": runs, "next_cursor": cursor}
    text = json.dumps(answer, indent=2) if rng.random() < 0.75 else json.dumps(answer, indent=1)

    def name(index: int) -> str:
        return f"runs/{runs[index]['id']}"

    facts = (
        _ask("Which run failed, and by what?", name(failed), reason),
        _ask("Which run took far too long, how many milliseconds?", name(slow), str(slow_ms)),
        _ask("Which run was over suspiciously soon?", name(short), str(short_ms)),
        _ask("Which run used another image than the rest?", name(other), image),
        _ask("Which run was started by a program, by which?", name(robot), bot),
        _ask("Which run left hardly any artifacts?", name(tiny), str(bytes_left)),
        _ask("How many runs are there in all?", str(total)),
        _ask("With which cursor does one get the next page?", cursor),
        *(
            _ask_plain(f"Of which commit is run {runs[i]['number']}?", str(runs[i]["number"]), str(runs[i]["commit"]))
            for i in quiet
        ),
    )
    call = _arguments(method="GET", url="https://ci.example.com/api/v4/runs", query={"limit": count})
    return Output("JSON list", "http_request", call, text + "\n", facts)


# --------------------------------------------------------------------------------------------- JSON configuration

SERVICES = ("accounts", "basket", "catalogue", "checkout", "invoices", "loyalty", "notices", "search", "stock")


def _service_block(rng: Random, name: str, port: int) -> dict[str, object]:
    """Make the configuration of one ordinary service."""
    return {
        "listen": f"0.0.0.0:{port}",
        "log": {"level": "info", "sink": "stdout", "sample_debug": 0.01},
        "database": {
            "url": f"postgres://{name}@pg-main.internal:5432/{name}",
            "pool": {"min": 2, "max": 20, "idle_timeout": "5m", "statement_timeout": "30s"},
            "tls": "verify-full",
        },
        "upstreams": [
            {"name": "identity", "timeout": "2s", "retries": {"attempts": 3, "backoff": "exponential"}},
            {"name": "pricing", "timeout": "2s", "retries": {"attempts": 3, "backoff": "exponential"}},
        ],
        "features": {"audit_trail": True, "shadow_reads": False, "cohort": f"{name}-{rng.choice('abc')}"},
    }


def _put(tree: dict[str, object], path: Sequence[str | int], value: object) -> None:
    """Set a value deep in a tree of objects and lists."""
    here: object = tree
    for step in path[:-1]:
        here = here[step] if isinstance(here, dict) and isinstance(step, str) else here
        here = here[step] if isinstance(here, list) and isinstance(step, int) else here
    if isinstance(here, dict):
        here[path[-1]] = value


def _nested_config(rng: Random) -> Output:
    """Make the configuration of a platform, whose services are alike but for a few values."""
    ports = dict(zip(SERVICES, sorted(rng.sample(range(9001, 9990), len(SERVICES))), strict=True))
    names = rng.sample(SERVICES, rng.randint(7, len(SERVICES)))
    services = {name: _service_block(rng, name, ports[name]) for name in names}
    insecure, loud, slow, elsewhere, linear, crowded, quick = rng.sample(names, 7)
    replica, wait, pool = f"pg-replica-{rng.randint(2, 9)}.internal", f"{rng.randint(41, 97)}s", rng.randint(140, 490)
    tenant, bucket = f"{_hex(rng, 8)}-{_hex(rng, 4)}", f"cold-{rng.choice(TOWNS).lower()}-{rng.randint(10, 99)}"
    region, since = rng.choice(("eu-north-1", "eu-south-2", "ca-west-1")), rng.randint(1400, 2900)
    cut = f"{rng.randint(2, 9)}ms"
    _put(services[insecure], ("database", "tls"), "allow")
    _put(services[loud], ("log", "level"), "trace")
    _put(services[slow], ("upstreams", 1, "timeout"), wait)
    _put(services[elsewhere], ("database", "url"), f"postgres://{elsewhere}@{replica}:5432/{elsewhere}")
    _put(services[linear], ("upstreams", 0, "retries", "backoff"), "none")
    _put(services[crowded], ("database", "pool", "max"), pool)
    _put(services[quick], ("database", "pool", "statement_timeout"), cut)
    tree = {
        "$schema": "https://config.example.internal/platform/v6.json",
        "revision": since,
        "region": region,
        "identity": {"issuer": "https://login.example.internal", "tenant": tenant, "clock_skew": "60s"},
        "services": services,
        "backup": {"schedule": f"{rng.randint(2, 58)} 3 * * 0", "target": {"kind": "s3", "bucket": bucket, "keep": 35}},
    }
    schedule = str(tree["backup"]["schedule"]) if isinstance(tree["backup"], dict) else ""

    def name(service: str) -> str:
        return f"0.0.0.0:{ports[service]}"

    facts = (
        _ask("Which service (port) does not insist on TLS to its database?", name(insecure), "allow"),
        _ask("Which service logs at another level than info?", name(loud), "trace"),
        _ask("Which service waits very long for an upstream?", name(slow), wait),
        _ask("Which service writes to a replica?", f"{elsewhere}@{replica}"),
        _ask("Which service retries without any backoff?", name(linear), "none"),
        _ask("Which service has a far larger pool?", name(crowded), f": {pool}"),
        _ask("Which service cuts its statements off almost at once?", name(quick), cut),
        _ask("Which tenant do logins belong to?", tenant),
        _ask("Where are backups put?", bucket),
        _ask_plain("Which revision of the configuration is this?", str(since)),
        _ask_plain("In which region does it run?", region),
        _ask_plain("When do backups run?", schedule),
    )
    return Output(
        "nested JSON", "read_file", _arguments(path="deploy/platform.json"), json.dumps(tree, indent=2) + "\n", facts
    )


# -------------------------------------------------------------------------------------------------- prose article


HARBOURS = ("Sandvaag", "Ostermole", "Kirkness", "Lyngholm", "Varrel", "Aldermouth", "Norhaven", "Tessel", "Grimsund")


def _article_middle(rng: Random, town: str, names: Sequence[str]) -> list[str]:
    """Write the paragraphs of colour, of which a drawn number is kept."""
    hour, cups = rng.randint(4, 6), rng.randint(31, 88)
    paragraphs = [
        (
            f"On a weekday morning the waiting room in {town} opens at {hour}. The heating knocks, somebody has "
            "left a paper on "
            "the bench, and the machine that sells coffee takes coins only. Nobody seems in a hurry. The "
            "regulars know to the "
            "minute how long they can stand here before they have to walk down to the ramp."
        ),
        (
            f"{names[4]}, who ran the kiosk beside the ramp until last winter, used to sell {cups} cups before "
            "the first "
            "crossing. She talks about it without bitterness. People come and go, she says; that is what a "
            "landing is for."
        ),
        (
            "It is easy to be sentimental about boats. The timetable of the nineteen-sixties, framed in the town "
            "hall, shows "
            "more crossings on a Sunday than there are now in a week, but it also shows what they cost, and few "
            "families went "
            "over twice in a summer."
        ),
        (
            "The bridge changed that, as bridges do. Lorries went first, then the commuters with cars, then the "
            "buses. What was "
            "left were schoolchildren, cyclists, people with a doctor on the other side, and the visitors of "
            "July and August."
        ),
        (
            "Elsewhere the same sum has been done with other results. Some places made their boats free and "
            "counted them as "
            "roads. Some sold them to the hotels. One, further up the coast, lets the fire brigade run it and "
            "calls that training."
        ),
        (
            "The council's papers on the matter fill eleven binders. They are in no particular order, and at "
            "least two of them "
            "hold only invoices for paint. The clerk who looks after them keeps a list of who has asked to see them."
        ),
        (
            "Engineers like the boat better than accountants do. The hull is sound, they say, and the wheelhouse "
            "is a model of "
            "its kind, with brass that somebody still polishes though nobody has ordered it for years."
        ),
        (
            "There were meetings. There was a petition, and then a second petition because the first had been "
            "printed without "
            "a line for the address. A choir sang on the quay. The regional paper ran a photograph of it across "
            "four columns."
        ),
        (
            "In the evening the light on the water is the colour of weak tea, and the last passengers stand "
            "outside even when "
            "it rains. None of them wanted to be quoted about money. All of them wanted to talk about the captain."
        ),
    ]
    return rng.sample(paragraphs, rng.randint(5, len(paragraphs)))


def _article(rng: Random) -> Output:
    """Write a reporter's piece on the end of a small ferry line, with the figures spread through it."""
    town, other, yard = rng.sample(HARBOURS, 3)
    surnames = rng.sample(SURNAMES, 5)
    given = (
        "Hanne",
        rng.choice(("Jonas", "Zofia")),
        rng.choice(("Nadia", "Greta", "Ilse")),
        rng.choice(("Sven", "Emil")),
        "Marta",
    )
    names = [f"{first} {surname}" for first, surname in zip(given, surnames, strict=True)]
    boat = rng.choice(("Solvej", "Marianna", "Tern", "Gudrun", "Kittiwake"))
    loss, repair = f"{rng.randint(2, 8)}.{rng.randint(1, 9)} million", f"{rng.randint(310, 940)} thousand"
    riders, once = f"{rng.randint(31, 68)} thousand", f"{rng.randint(210, 390)} thousand"
    share, built, fare = (
        rng.randint(51, 67),
        rng.randint(1958, 1984),
        f"{rng.randint(3, 7)}.{rng.choice((20, 40, 60, 80))}",
    )
    votes = (rng.randint(14, 19), rng.randint(9, 13))
    last = f"{rng.randint(2, 28)} {rng.choice(('October', 'November'))}"
    part = rng.choice(("reduction gear", "stern thruster", "shaft seal", "ramp hydraulics"))
    weeks, buyer = rng.randint(13, 29), rng.choice(("a museum in Rostock", "a salmon farm", "a diving school"))
    minutes, crew, fuel = rng.randint(11, 19), rng.randint(21, 39), rng.randint(41, 76)
    lead = [
        f"# The last crossing from {town}",
        (
            f"For {2026 - built} years the {boat} carried people across the sound to {other}. This autumn the "
            "council let her go, "
            "and hardly anybody noticed how the decision was made."
        ),
        f"By {names[0]}",
        (
            f"The {boat} was launched in {built} at a yard in {yard} that has since become flats. She takes "
            f"{minutes} minutes for "
            "the crossing in still air and rather longer when the wind stands against the tide."
        ),
    ]
    told = [
        (
            f"What ended her was not the bridge but a {part}. It began to fail in March, and the only firm that still "
            "makes one wanted "
            f"{repair} euros and {weeks} weeks. The council had set aside less than half of that."
        ),
        (
            f"The line lost {loss} euros last year, according to the accounts that the auditor {names[1]} signed "
            "in May. That is "
            "less than the town spends on its two swimming pools, a comparison that its friends make often."
        ),
        (
            f"Passengers had become few. The counters at the ramp show {riders} for last year, many of them regulars; "
            f"in the last year before the bridge it was {once}."
        ),
        (
            f"A single fare stands at {fare} euros, unchanged for nine years, because each "
            "proposal to raise "
            "it was put off until after an election."
        ),
        (
            f"The vote itself was close, {votes[0]} to {votes[1]}, and it turned on one member, {names[2]}, who "
            "had promised in "
            "writing to keep the boat and then stayed for the count and raised her hand with the others."
        ),
        (
            f"Asked about it in her office, she does not dodge. Fuel alone had risen by {fuel} per cent in three "
            "years, she says, "
            "and nobody had told her so before she signed anything."
        ),
        (
            f"{crew} people work on the line. Most have been offered places with the buses, at lower pay; the "
            f"captain, {names[3]}, "
            "has taken none of them and repairs outboard motors in his garage."
        ),
        (
            f"A survey by the school found that {share} per cent of the pupils who used the boat now get up an "
            "hour earlier."
        ),
        f"The {boat} herself goes to {buyer}, which paid one euro and the cost of the tow.",
    ]
    closing = f"Her last crossing is on {last}. It is not in the timetable; one has to know, and be there at seven."
    middle = _article_middle(rng, town, names)
    body = [*told]
    for paragraph in middle:
        body.insert(rng.randint(0, len(body)), paragraph)
    facts = (
        _ask("What broke and put an end to the line?", "not the bridge but", part),
        _ask("What would the repair have cost, how long taken?", f"{repair} euros", f"{weeks} weeks"),
        _ask("How much did the line lose last year?", f"lost {loss} euros"),
        _ask("How many passengers were there last year, and before?", riders, once),
        _ask("How did the vote end, and whose vote decided it?", f"{votes[0]} to {votes[1]}", names[2]),
        _ask("When is the last crossing?", f"last crossing is on {last}"),
        _ask("Who gets the boat?", f"goes to {buyer}"),
        _ask("By how much did fuel become dearer?", f"Fuel alone had risen by {fuel} per cent"),
        _ask("When and where was she built?", f"launched in {built}", f"a yard in {yard}"),
        _ask_plain("What is the fare?", f"stands at {fare} euros"),
        _ask_plain("What does the captain do now, what is his name?", names[3], "repairs outboard motors"),
        _ask_plain("How many pupils get up earlier?", f"{share} per cent of the pupils"),
    )
    call = _arguments(url=f"https://weekly.example/{town.lower()}/last-crossing", format="text")
    return Output("prose article", "fetch_url", call, "\n\n".join([*lead, *body, closing]) + "\n", facts)


# --------------------------------------------------------------------------------------------------- Terraform plan


def _plan_block(sign: str, address: str, verb: str, fields: Sequence[tuple[str, str, str]], hidden: int) -> list[str]:
    """Print one resource of a plan; every field has its own sign, name and value."""
    kind, name = address.split(".")[-2:]
    width = max(len(field) for _, field, _ in fields)
    lines = [f"  # {address} {verb}", f'{sign:>3} resource "{kind}" "{name}" {{']
    lines += [f"      {mark} {field.ljust(width)} = {value}" for mark, field, value in fields]
    if hidden:
        lines += [f"        # ({hidden} unchanged attributes hidden)"]
    return [*lines, "    }", ""]


def _tag_change(rng: Random, name: str) -> list[str]:
    """Print a change that touches a tag only."""
    old, new = rng.sample(range(1000, 9999), 2)
    fields = [
        (" ", "id", f'"{name[:3]}-{_hex(rng, 8)}"'),
        ("~", "tags_all", f'{{ "cost_centre" = "{old}" -> "{new}" }}'),
    ]
    kind = rng.choice(
        ("aws_ecr_repository", "aws_sqs_queue", "aws_sns_topic", "aws_iam_role", "aws_cloudwatch_log_group")
    )
    return _plan_block("~", f"module.{name}.{kind}.this", "will be updated in-place", fields, rng.randint(5, 19))


def _terraform_plan(rng: Random) -> Output:  # noqa: PLR0915
    """Make a plan in which tags change everywhere and a few resources really do."""
    region, zone, other = rng.choice(("eu-central-1", "eu-west-3")), *rng.sample("abc", 2)
    names = rng.sample((*SERVICES, "mailer", "exports", "ledger", "geo"), rng.randint(6, 12))
    blocks = [_tag_change(rng, name) for name in names]
    ident, old_id = f"db-{_word(rng, 10).upper()}", f"vol-{_hex(rng, 17)}"
    old_class, new_class = rng.sample(("db.r6g.large", "db.r6g.2xlarge", "db.t4g.medium", "db.m6g.xlarge"), 2)
    keep, less, port = rng.randint(21, 35), rng.randint(1, 3), rng.choice((5432, 6379, 9200, 27017))
    key, size = f"alias/{rng.choice(names)}-{_word(rng, 4)}", rng.randint(210, 990)
    version, cidr = f"1.{rng.randint(27, 31)}", f"10.{rng.randint(20, 90)}.0.0/19"
    doomed, memory, handler = rng.choice(("archive", "uploads", "receipts")), rng.randint(9, 40) * 64, rng.choice(names)
    fields = [
        ("~", "allocated_storage", f"{size} -> {size + 200}"),
        ("~", "backup_retention_period", f"{keep} -> {less}"),
    ]
    fields += [("~", "instance_class", f'"{old_class}" -> "{new_class}"'), (" ", "resource_id", f'"{ident}"')]
    blocks.append(_plan_block("~", "module.data.aws_db_instance.primary", "will be updated in-place", fields, 48))
    fields = [
        ("~", "availability_zone", f'"{region}{zone}" -> "{region}{other}" # forces replacement'),
        ("~", "id", f'"{old_id}" -> (known after apply)'),
    ]
    fields += [(" ", "size", f"{size + 7}"), ("+", "snapshot_id", "(known after apply)")]
    blocks.append(_plan_block("-/+", "module.search.aws_ebs_volume.index", "must be replaced", fields, 4))
    fields = [("-", "arn", f'"arn:aws:s3:::acme-{doomed}-{region}" -> null')]
    fields += [("-", "bucket", f'"acme-{doomed}-{region}" -> null'), ("-", "force_destroy", "true -> null")]
    fields += [("-", "object_lock_enabled", "false -> null"), ("-", "tags", "{} -> null")]
    blocks.append(_plan_block("-", f"aws_s3_bucket.{doomed}", "will be destroyed", fields, 0))
    fields = [("+", "cidr_ipv4", '"0.0.0.0/0"'), ("+", "from_port", str(port)), ("+", "ip_protocol", '"tcp"')]
    fields += [("+", "security_group_rule_id", "(known after apply)"), ("+", "to_port", str(port))]
    blocks.append(
        _plan_block("+", "module.data.aws_vpc_security_group_ingress_rule.debug", "will be created", fields, 0)
    )
    fields = [
        ("+", "cidr_block", f'"{cidr}"'),
        ("+", "id", "(known after apply)"),
        ("+", "vpc_id", f'"vpc-{_hex(rng, 17)}"'),
    ]
    blocks.append(_plan_block("+", "module.network.aws_subnet.spare", "will be created", fields, 0))
    fields = [("~", "kms_key_id", f'"{key}" -> "alias/aws/lambda"'), ("~", "memory_size", f"{memory} -> 128")]
    fields += [(" ", "function_name", f'"{handler}-thumbnails"')]
    blocks.append(_plan_block("~", "module.media.aws_lambda_function.thumbs", "will be updated in-place", fields, 27))
    rng.shuffle(blocks)
    refresh = [f"module.{name}.aws_iam_role.this: Refreshing state... [id={name}-{_word(rng, 5)}]" for name in names]
    refresh += [
        f"module.data.aws_db_instance.primary: Refreshing state... [id={ident}]",
        f"module.search.aws_ebs_volume.index: Refreshing state... [id={old_id}]",
        f"aws_s3_bucket.{doomed}: Refreshing state... [id=acme-{doomed}-{region}]",
        f"module.media.aws_lambda_function.thumbs: Refreshing state... [id={handler}-thumbnails]",
    ]
    rng.shuffle(refresh)
    drift = f"module.cluster.aws_eks_cluster.main: version {version} reaches end of support"
    head = [
        *refresh,
        f"data.aws_caller_identity.current: Read complete after 0s [id={rng.randint(10**11, 10**12 - 1)}]",
        "",
    ]
    head += [
        "Terraform used the selected providers to generate the following execution plan.",
        "Resource actions are indicated with the following symbols:",
    ]
    head += [
        "  + create",
        "  ~ update in-place",
        "  - destroy",
        "-/+ destroy and then create replacement",
        "",
        "Terraform will perform the following actions:",
        "",
    ]
    changed = len(names) + 2
    tail = [
        f"Plan: 3 to add, {changed} to change, 2 to destroy.",
        "",
        "Changes to Outputs:",
        f'  ~ reader_host = "{handler}.{_word(rng, 6)}.{region}.rds" -> (known after apply)',
    ]
    tail += [
        "",
        "Warning: Kubernetes version",
        "",
        f"  {drift}",
        "",
        "Note: You didn't use the -out option to save this plan, so Terraform can't",
    ]
    tail += ["guarantee to take exactly these actions if you run terraform apply now."]
    lines = [*head, *(line for block in blocks for line in block), *tail]
    facts = (
        _ask("How much is added, changed, destroyed?", "Plan: 3 to add", f"{changed} to change", "2 to destroy"),
        _ask("Which resource is destroyed for good?", f"aws_s3_bucket.{doomed} will be destroyed"),
        _ask("What must be replaced?", "aws_ebs_volume.index must be replaced"),
        _ask("Which attribute forces the replacement?", "availability_zone", "forces replacement"),
        _ask("What becomes of the backups of the database?", f"backup_retention_period = {keep} -> {less}"),
        _ask("Which class does the database get?", "instance_class", new_class),
        _ask("Is a port opened to the world, and which?", "from_port", str(port)),
        _ask("Which key does the function no longer use?", "kms_key_id", key),
        _ask("What happens to the function's memory?", f"{memory} -> 128"),
        _ask_plain("Which network does the spare subnet get?", cidr),
        _ask_plain("Which version of the cluster is near its end?", f"version {version} reaches end of support"),
        _ask_plain("To what does the storage of the database grow?", "allocated_storage", f"-> {size + 200}"),
    )
    call = _arguments(command=f"terraform -chdir=envs/{region} plan -no-color")
    return Output("infrastructure plan", "bash", call, "\n".join(lines) + "\n", facts)


# ------------------------------------------------------------------------------------------------------ system log


def _journal_noise(rng: Random, count: int) -> list[str]:
    """Make ordinary lines of a machine's journal."""
    lines: list[str] = []
    for _ in range(count):
        peer = f"198.51.100.{rng.randint(2, 250)}"
        number, pid, port = rng.randint(100, 9000), rng.randint(700, 31_000), rng.randint(32_768, 60_999)
        lines.append(
            rng.choice(
                (
                    f"systemd[1]: Started session-{number}.scope - Session {number} of User deploy.",
                    f"systemd[1]: session-{number}.scope: Deactivated successfully.",
                    f"CRON[{pid}]: pam_unix(cron:session): session opened for user root(uid=0) by (uid=0)",
                    f"CRON[{pid}]: pam_unix(cron:session): session closed for user root",
                    (f"sshd[{pid}]: Failed password for invalid user admin from {peer} port {port} ssh2"),
                    (f"sshd[{pid}]: Connection closed by authenticating user root {peer} port {port} [preauth]"),
                    (
                        "systemd-resolved[612]: Using degraded feature set UDP instead of UDP+EDNS0 for DNS server "
                        f"10.0.0.{pid % 9 + 2}."
                    ),
                    f'dockerd[1104]: level=info msg="ignoring event" container={_hex(rng, 64)} topic=/tasks/delete',
                    "systemd[1]: logrotate.service: Deactivated successfully.",
                    f"chronyd[688]: Source 203.0.113.{number % 99} replaced with 203.0.113.{pid % 99}",
                )
            )
        )
    return lines


def _journal(rng: Random) -> Output:
    """Make the journal of a machine that runs out of memory, with other small misfortunes."""
    host = f"{rng.choice(TOWNS).lower()}-app-{rng.randint(11, 48)}"
    victim, pid, rss = (
        rng.choice(("java", "postgres", "clickhouse", "gitaly")),
        rng.randint(40_000, 90_000),
        rng.randint(9_100_000, 29_000_000),
    )
    kernel, disk = f"6.{rng.randint(1, 11)}.0-{rng.randint(21, 98)}-generic", rng.choice(("nvme0n1", "nvme1n1", "sdc"))
    sector, unit = rng.randint(10**8, 10**9), rng.choice(("restic-backup", "fstrim-data", "mirror-sync"))
    status, user = rng.randint(101, 250), f"{rng.choice('abcdegm')}{rng.choice(SURNAMES).lower()}"
    source, key = f"192.0.2.{rng.randint(2, 250)}", "".join(rng.choice("ABCDEFGHabcdefgh0123456789") for _ in range(14))
    offset, mount = (
        f"{rng.randint(11, 98)}.{rng.randint(100, 999)}",
        rng.choice(("/srv/media", "/var/lib/registry", "/data/wal")),
    )
    link, free, days = rng.choice(("eno1", "enp3s0f0", "bond0")), rng.randint(11, 96), rng.randint(3, 9)
    package = f"openssl_3.0.{rng.randint(2, 19)}-1ubuntu{rng.randint(2, 9)}"
    special = [
        f"kernel: mce: CPU{rng.randint(2, 30)}: Package temperature/speed normal",
        (
            f"needrestart[{rng.randint(900, 9000)}]: upgraded {package}; services still use the old library, not "
            "restarting"
        ),
        (
            f"sshd[{rng.randint(900, 9000)}]: Accepted publickey for {user} from {source} port 52114 ssh2: "
            f"ED25519 SHA256:{key}"
        ),
        f"chronyd[688]: System clock was stepped by {offset} seconds",
        f"kernel: blk_update_request: critical medium error, dev {disk}, sector {sector} op 0x0:(READ)",
        f"kernel: igb 0000:02:00.0 {link}: igb: {link} NIC Link is Up 100 Mbps Full Duplex, Flow Control: RX/TX",
        (
            f"kernel: Out of memory: Killed process {pid} ({victim}) total-vm:{rss * 2}kB, anon-rss:{rss}kB, "
            "file-rss:0kB, UID:1001"
        ),
        f"systemd[1]: {unit}.service: Main process exited, code=exited, status={status}/n/a",
        f"certbot[{rng.randint(900, 9000)}]: certificate of {host}.example.net expires in {days} days, renewal skipped",
        f"monit[812]: '{mount}' space free {free} MB matches resource limit [space free < 500 MB]",
    ]
    threads = rng.choice((8, 12, 16, 24, 32, 48, 64))
    boot = [
        f"kernel: Linux version {kernel} (buildd@lcy02) (x86_64-linux-gnu-gcc-12)",
        f"kernel: smp: Brought up 1 node, {threads} CPUs",
    ]
    boot += [
        "systemd[1]: Starting systemd-journald.service - Journal Service...",
        "systemd[1]: Reached target basic.target - Basic System.",
    ]
    entries = [*boot, *_weave(rng, _journal_noise(rng, rng.randint(45, 170)), special)]
    began = _start(rng)
    stamps = [began + timedelta(seconds=index // 2) for index in range(len(boot))]
    for _ in entries[len(boot) :]:
        stamps.append(stamps[-1] + timedelta(seconds=rng.randint(0, 90)))
    lines = [f"{at:%b %d %H:%M:%S} {host} {entry}" for at, entry in zip(stamps, entries, strict=True)]
    facts = (
        _ask(
            "What did the kernel kill for want of memory, how big was it?",
            f"Killed process {pid} ({victim})",
            f"anon-rss:{rss}kB",
        ),
        _ask("Which disk has a bad sector, and where?", f"dev {disk}", f"sector {sector}"),
        _ask("Which unit failed, with which status?", f"{unit}.service", f"status={status}"),
        _ask("Who did log in, and from where?", f"publickey for {user}", f"from {source}"),
        _ask("Did the clock jump, by how much?", f"stepped by {offset} seconds"),
        _ask("Which link came up at too low a speed?", f"{link} NIC Link is Up 100 Mbps"),
        _ask("When does the certificate run out?", f"expires in {days} days", "renewal skipped"),
        _ask("Which file system is nearly full?", mount, f"space free {free} MB"),
        _ask_plain("Which kernel was booted?", f"Linux version {kernel}"),
        _ask_plain("Which package was upgraded without a restart?", f"upgraded {package}"),
        _ask_plain("How many CPUs does the machine have?", "Brought up 1 node", f"{threads} CPUs"),
    )
    call = _arguments(command="journalctl -b --no-pager")
    return Output("system log", "bash", call, "\n".join(lines) + "\n", facts)


# ------------------------------------------------------------------------------------------------------ all of it

DRAWS = 40
NEEDLE = re.compile(r"[^\"'`{},\n]{2,40}")
MAKERS = (
    _ingest_log, _shop_log, _build_log, _search_hits, _test_output, _git_diff, _stack_trace, _csv_export, _pod_table,
    _markdown_page, _html_page, _source_file, _api_list, _nested_config, _article, _terraform_plan, _journal,
)  # fmt: skip


def outputs(seed: int) -> list[Output]:
    """One output of each maker."""
    return [_sound_one(maker, seed) for maker in MAKERS]


def _sound_one(maker: Callable[[Random], Output], seed: int) -> Output:
    """The first draw that is sound."""
    draws = (maker(Random(f"{seed}/{maker.__name__}/{draw}")) for draw in range(DRAWS))
    return next(filter(_sound, draws))


def _sound(output: Output) -> bool:
    """Whether the output has its length and its facts, and no other line has the needles of a fact by chance."""
    lines = [_squeezed(line) for line in output.text.splitlines()]
    return (
        2_500 <= len(output.text) <= 25_000
        and 8 <= len(output.facts) <= 12
        and len({frozenset(fact.needles) for fact in output.facts}) == len(output.facts)
        and all(NEEDLE.fullmatch(needle) and needle == _squeezed(needle) for f in output.facts for needle in f.needles)
        and all(_identified(fact, lines) for fact in output.facts)
    )


def _identified(fact: Fact, lines: Sequence[str]) -> bool:
    """Whether one line has all the needles; or no line, and each needle stands on one."""
    together = sum(all(needle in line for needle in fact.needles) for line in lines)
    return together == 1 or (not together and all(sum(one in line for line in lines) == 1 for one in fact.needles))


def _squeezed(text: str) -> str:
    """The text, where any run of blanks is one blank."""
    return " ".join(text.split())
