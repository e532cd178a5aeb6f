"""Make logs of a Java service, of nginx and of systemd, and the state of a cluster."""

from __future__ import annotations

import json
from random import Random

from benchmarks.planted.output import Output, marked, plain
from benchmarks.planted.words import (
    CITIES,
    MORE,
    PEOPLE,
    SERVICES,
    THINGS,
    address,
    hexes,
    moments,
    scattered,
    shuffled,
)


def application_log(random: Random) -> Output:
    """The log of a Spring service, in which one database stops answering."""
    r, name, partner = random.randint, *random.sample(SERVICES, 2)
    title, host = name.title(), f"{partner}-db-{r(2, 9)}.internal:{r(5433, 5999)}"
    asked, invoice, slow, rows, flag = r(20_000, 29_999), r(700_000, 799_999), r(6_000, 9_800), r(3, 48), r(11, 98)
    order, customer, refund, cents, batch = (
        r(100_000, 199_999),
        r(30_000, 39_999),
        r(400, 999),
        r(1_010, 9_990),
        r(50, 99),
    )

    sku, age = r(10_000, 19_999), r(1, 59)

    def ordinary() -> str:
        thread = f"[nio-8080-exec-{r(1, 12)}]"
        return random.choice(
            [
                f" INFO 1 --- {thread} c.acme.{name}.api.OrderController : Accepted order {r(200_000, 699_999)} "
                f"of customer {r(10_000, 19_999)}, {r(1, 9)} items",
                f" INFO 1 --- {thread} c.acme.{name}.api.RequestLog : GET /api/v2/{name}/{r(200_000, 699_999)} "
                f"200 in {r(11, 240)} ms",
                f" INFO 1 --- {thread} c.acme.{name}.api.RequestLog : POST /api/v2/{name} 201 in {r(30, 390)} ms",
                f"DEBUG 1 --- {thread} c.acme.{name}.cache.PriceCache : hit for sku-{r(1_000, 9_999)}, age "
                f"{r(1, 59)} s",
                f" INFO 1 --- [scheduling-{r(1, 3)}] c.acme.{name}.job.Exporter : Wrote {r(38_000, 44_000)} rows to "
                f"s3://acme-exports/{name}/part-{r(100, 999)}.parquet",
                f" WARN 1 --- [scheduling-{r(1, 3)}] c.z.h.pool.HikariPool : Retrograde clock change detected, "
                f"soft-evicting connections from pool",
                f" WARN 1 --- {thread} c.acme.{name}.http.Retrying : Attempt 1 of 3 to {partner} failed with 503, "
                f"attempt 2 succeeded in {r(40, 300)} ms",
                f" INFO 1 --- [kafka-consumer-{r(0, 3)}] o.a.k.c.c.ConsumerCoordinator : Committed offset "
                f"{r(5_000_000, 5_999_999)} for {name}-events-{r(0, 7)}",
                f" INFO 1 --- {thread} c.acme.{name}.api.RefundController : Refunded {r(100, 990)}.{r(0, 99):02} EUR "
                f"on receipt rc-{r(1_000, 9_999)}",
                f" INFO 1 --- {thread} c.acme.{name}.mail.Outbox : Queued mail {hexes(random, 6)} with template "
                f"{random.choice(MORE)}-{r(1, 9)}",
            ]
        )

    trace = "\n".join(
        [
            f"ERROR 1 --- [nio-8080-exec-{r(1, 12)}] c.acme.{name}.api.Failures : Invoice {invoice} was not written",
            f"org.springframework.dao.DataAccessResourceFailureException: could not flush {title}Batch",
            "\tat org.springframework.orm.jpa.vendor.HibernateJpaDialect.convert(HibernateJpaDialect.java:277)",
            "\tat org.springframework.orm.jpa.JpaTransactionManager.doCommit(JpaTransactionManager.java:566)",
            f"\tat com.acme.{name}.store.{title}Writer.flush({title}Writer.java:{asked})",
            *(
                f"\tat org.apache.catalina.core.StandardPipeline.step{at}(StandardPipeline.java:{at * 31})"
                for at in range(14)
            ),
            f"Caused by: java.net.SocketTimeoutException: connect timed out: {host}",
            "\tat java.base/sun.nio.ch.NioSocketImpl.timedFinishConnect(NioSocketImpl.java:546)",
            "\tat java.base/sun.nio.ch.NioSocketImpl.connect(NioSocketImpl.java:597)",
            "\t... 42 common frames omitted",
        ]
    )
    special = [
        f" INFO 1 --- [main] c.acme.{name}.{title}Application : Started {title}Application in {r(5, 9)}.{flag}7 "
        f"seconds",
        f" INFO 1 --- [config-watch] c.acme.{name}.Flags : rounding.mode is now HALF_EVEN, was HALF_UP, set by "
        f"{(who := random.choice(PEOPLE))}@acme",
        f" INFO 1 --- [nio-8080-exec-3] c.acme.{name}.api.RequestLog : GET /api/v2/{name}/summary 200 in {slow} ms",
        f" INFO 1 --- [scheduling-2] c.acme.{name}.job.Exporter : Wrote {rows} rows to "
        f"s3://acme-exports/{name}/part-{batch}x.parquet",
        f" INFO 1 --- [nio-8080-exec-7] c.acme.{name}.api.OrderController : Accepted order {order} of customer "
        f"{customer}, 4 items",
        f" INFO 1 --- [nio-8080-exec-9] c.acme.{name}.api.RefundController : Refunded "
        f"{cents // 100}.{cents % 100:02} EUR "
        f"on receipt rc-0{refund}",
        f"DEBUG 1 --- [nio-8080-exec-5] c.acme.{name}.cache.PriceCache : hit for sku-{sku}, age {age} s",
        trace,
        f" WARN 1 --- [nio-8080-exec-1] c.acme.{name}.http.Breaker : {partner} changed from CLOSED to OPEN after "
        f"{flag + 100} calls",
        f" INFO 1 --- [nio-8080-exec-2] c.acme.{name}.store.Fallback : {r(2, 9)}{flag} invoices parked in "
        f"/var/spool/{name}/{hexes(random, 8)}",
    ]
    bodies = shuffled(random, [ordinary() for _ in range(r(85, 125))], *special)
    stamps = moments(random, 9)
    text = "\n".join(f"{next(stamps):%Y-%m-%d %H:%M:%S.%f}"[:-3] + f" {body}" for body in bodies)
    parked = special[9].rsplit("/", 1)[-1]
    facts = (
        marked("Which host and port did the service fail to reach?", host),
        marked("Where in our own code did the write fail?", f"{title}Writer.java:{asked}"),
        marked("Which invoice was lost?", invoice),
        marked("What changed in the settings, and who did it?", "HALF_EVEN", f"{who}@acme"),
        marked("How long did the slowest request take?", f"{slow} ms"),
        marked("Which export was nearly empty, and how many rows had it?", f"Wrote {rows} rows", f"part-{batch}x"),
        marked("After how many calls did the breaker open?", "CLOSED to OPEN", f"{flag + 100} calls"),
        marked("In which folder are the invoices that wait?", parked),
        plain(f"Which customer sent order {order}?", order, customer),
        plain(f"How much was refunded on rc-0{refund}?", f"{cents // 100}.{cents % 100:02} EUR", f"rc-0{refund}"),
        plain(f"How old was the cached price of sku-{sku}?", f"sku-{sku}", f"age {age} s"),
    )
    return Output("application log", "read_logs", json.dumps({"service": name, "lines": 200}), text, facts)


def access_log(random: Random) -> Output:
    """An access log of nginx, with the upstream's times at the end of each line."""
    r, stamps, shop = random.randint, moments(random, 6), random.choice(THINGS)
    agents = [
        "Mozilla/5.0 (X11; Linux x86_64; rv:142.0) Gecko/20100101 Firefox/142.0",
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148",
        "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
    ]
    regulars = [address(random) for _ in range(14)]
    scanner, buyer, eraser, uploader = (f"203.0.113.{n}" for n in random.sample(range(100, 250), 4))
    item, cart, size, slow, gone, coupon = (
        r(71_000, 79_999),
        hexes(random, 8),
        r(48_000_000, 96_000_000),
        r(21, 58),
        r(3_100, 3_999),
        r(310, 980),
    )
    seen = r(90_000, 99_999)

    def line(host: str, request: str, status: int, size: int, took: str, agent: str = "", came: str = "-") -> str:
        agent = agent or random.choice(agents)
        return f'{host} - - [@] "{request} HTTP/1.1" {status} {size} "{came}" "{agent}" rt={took}'

    def ordinary() -> str:
        took, came = f"0.{r(4, 380):03}", f"https://{shop}.example/list?page={r(1, 30)}"
        request, status, size = random.choice(
            [
                (f"GET /product/{r(10_000, 69_999)}", 200, r(8_000, 31_000)),
                (f"GET /product/{r(10_000, 69_999)}", 200, r(8_000, 31_000)),
                (f"GET /static/app.{shop}.js", 304, 0),
                (f"GET /static/fonts/{random.choice(MORE)}-{r(100, 300)}.woff2", 200, r(30_000, 60_000)),
                (f"GET /voucher/{random.choice(MORE)}-{r(10, 99)}", 200, r(900, 1_900)),
                (f"GET /list?page={r(1, 30)}", 200, r(15_000, 44_000)),
                ("GET /favicon.ico", 404, 153),
                ("POST /cart", 302, 0),
                ("GET /health", 200, 2),
            ]
        )
        return line(random.choice(regulars), request, status, size, took, came=came)

    special = [
        line(buyer, f"POST /checkout/{cart}", 502, 157, f"{slow}.0{r(10, 99)}"),
        line(scanner, "GET /wp-login.php", 404, 153, "0.002", f"masscan-{shop}/1.3"),
        line(eraser, f"DELETE /api/customers/{gone}", 204, 0, "0.088", f"curl/8.{coupon % 20}.1"),
        line(regulars[0], f"GET /export/orders-{coupon}.zip", 200, size, f"4.{r(100, 999)}"),
        line(uploader, "PUT /api/feed/stock.xml", 413, 183, "0.031", "python-requests/2.32"),
        line(regulars[3], f"GET /product/{item}", 200, 0, f"0.0{r(10, 99)}"),
        line(regulars[5], f"GET /voucher/spring-{coupon}", 410, 97, "0.005"),
        line(regulars[6], f"GET /product/8{gone}", 200, 19_000 + coupon, "0.112"),
        line(regulars[7], f"GET /list?page={gone}", 200, r(15_000, 44_000), "0.203"),
        line(regulars[8], f"GET /static/fonts/{shop}-{coupon}.woff2", 200, 61_000 + coupon, "0.009"),
        line(regulars[9], f"GET /product/{seen}", 200, r(8_000, 31_000), "0.140"),
    ]
    bodies = shuffled(random, [ordinary() for _ in range(r(75, 98))], *special)
    text = "\n".join(body.replace("@", f"{next(stamps):%d/%b/%Y:%H:%M:%S +0000}") for body in bodies)
    facts = (
        marked("Which checkout got a bad gateway, and after how long?", cart, "502 157"),
        marked("Who paid with it: which address?", buyer),
        marked("Which address scans for WordPress?", scanner),
        marked("Which customer was deleted, and from where?", f"customers/{gone}", eraser),
        marked("Which download was by far the largest?", f"orders-{coupon}.zip", size),
        marked("Who was refused because the upload is too large?", uploader, "413"),
        marked("Which product page came back empty?", item),
        marked("Which voucher has expired?", f"voucher/spring-{coupon}"),
        plain(f"Which address looked at product {seen}?", f"product/{seen}", regulars[9]),
        plain(f"How many bytes has the page of product 8{gone}?", f"product/8{gone}", 19_000 + coupon),
        plain(f"How large is font {shop}-{coupon}?", f"{shop}-{coupon}.woff2", 61_000 + coupon),
        marked("Which page of the list was asked for that cannot exist?", f"page={gone}"),
    )
    return Output(
        "access log", "shell", json.dumps({"command": f"tail -n 120 /var/log/nginx/{shop}.access.log"}), text, facts
    )


def journal(random: Random) -> Output:
    """The journal of a machine that runs out of memory."""
    r, host, stamps = random.randint, f"{random.choice(CITIES).lower()}-{random.randint(11, 49)}", moments(random, 40)
    unit, other = random.sample(SERVICES, 2)
    pid, sector, disk, key, peak = (
        r(31_000, 39_999),
        r(800_000_000, 899_999_999),
        f"nvme{r(1, 4)}n1",
        hexes(random, 10),
        r(27, 61),
    )
    guest, closed, offset, build = f"198.51.100.{r(11, 240)}", address(random), r(2_100, 4_900), r(500, 899)
    port, worker, buffers, who = r(1_000, 9_999), r(100, 999), r(300, 2_400), random.choice(PEOPLE)

    def ordinary() -> str:
        return random.choice(
            [
                f"systemd[1]: Started session-{r(100, 499)}.scope - Session of User {random.choice(PEOPLE)}.",
                f"CRON[{r(10_000, 29_999)}]: (root) CMD (command -v debian-sa1 > /dev/null && debian-sa1 1 1)",
                "systemd[1]: logrotate.service: Deactivated successfully.",
                f"sshd[{r(10_000, 29_999)}]: Connection closed by {address(random)} port {r(30_000, 65_000)} [preauth]",
                "systemd-resolved[611]: Using degraded feature set UDP instead of UDP+EDNS0 for DNS server 10.0.0.2.",
                f"kernel: [UFW BLOCK] IN=eth0 OUT= SRC={address(random)} DST=10.0.0.7 LEN=40 TTL=2{r(10, 50)} "
                f"PROTO=TCP DPT=23",
                f'dockerd[902]: time="{r(10, 23)}:{r(10, 59)}" level=info msg="ignoring event" '
                f"container={hexes(random, 12)}",
                f"{other}[{r(1_000, 1_999)}]: checkpoint complete: wrote {r(300, 2_400)} buffers, "
                f"sync={r(1, 9)}.{r(100, 999)} s",
                "snapd[715]: storehelpers.go:1055: cannot refresh: snap has no updates available",
                f"systemd[1]: Finished {random.choice(THINGS)}-clean.service - Cleanup of {random.choice(MORE)}.",
                f"{unit}[{r(1_000, 1_999)}]: GC pause {r(4, 60)} ms, heap {r(300, 900)}M of 1024M",
                f"systemd-networkd[588]: eth1: DHCPv4 address {address(random)}/22 renewed",
                f"postfix/smtp[{r(10_000, 29_999)}]: {hexes(random, 10).upper()}: status=sent (250 2.0.0 Ok)",
                f"kernel: audit: type=1400 apparmor=ALLOWED operation=open profile={random.choice(MORE)} "
                f"pid={r(1_000, 9_999)}",
            ]
        )

    special = [
        f"kernel: oom-kill:constraint=CONSTRAINT_MEMCG,task_memcg=/system.slice/{unit}.service,task=java,pid={pid}\n"
        f"@ kernel: Memory cgroup out of memory: Killed process {pid} (java) anon-rss:{peak}12{r(100, 999)}kB",
        f"systemd[1]: {unit}.service: Main process exited, code=killed, status=9/KILL",
        f"systemd[1]: {unit}.service: Scheduled restart job, restart counter is at {r(12, 29)}.",
        f"kernel: blk_update_request: I/O error, dev {disk}, sector {sector} op 0x0:(READ) flags 0x80700",
        f"sshd[{r(40_000, 49_999)}]: Accepted publickey for root from {guest} port 52{r(100, 999)} ssh2: "
        f"ED25519 SHA256:{key}",
        f"chronyd[640]: System clock wrong by -{offset}.{r(100, 999)} seconds",
        f"{other}-migrate[{r(50_000, 59_999)}]: relation ledger_{build} has no column settled_at, skipped",
        f"sshd[{r(10_000, 29_999)}]: Connection closed by {closed} port 1{port} [preauth]",
        f"{other}[4{worker}]: checkpoint complete: wrote {buffers} buffers, sync=2.{r(100, 999)} s",
        f"systemd[1]: Started session-{build}.scope - Session of User {who}.",
    ]
    bodies = scattered(random, [ordinary() for _ in range(r(90, 130))], *special)
    text = "\n".join(f"@ {body}" for body in bodies)
    while "@" in text:
        text = text.replace("@", f"{next(stamps):%b %d %H:%M:%S} {host}", 1)
    facts = (
        marked("Which process was killed for its memory?", f"Killed process {pid}"),
        marked("How large was it?", special[0].rsplit(":", 1)[-1]),
        marked("How often has the unit been started again?", special[2].rsplit(" ", 1)[-1], "restart counter"),
        marked("Which disk has a bad sector, and where?", disk, sector),
        marked("From where did somebody log in as root?", guest, "for root"),
        marked("How wrong was the clock?", f"-{offset}."),
        marked("Which column did the migration not find?", f"ledger_{build}", "settled_at"),
        plain(f"Which address closed its connection on port 1{port}?", closed, f"port 1{port}"),
        plain(f"How many buffers did process 4{worker} write?", f"[4{worker}]", f"{buffers} buffers"),
        plain(f"Whose is session {build}?", f"session-{build}.scope", f"User {who}"),
    )
    return Output(
        "journal of a machine", "shell", json.dumps({"command": "journalctl -b --no-pager | tail -n 140"}), text, facts
    )


def cluster(random: Random) -> Output:
    """The pods and events of a cluster, as kubectl prints them."""
    r = random.randint
    nodes = [f"ip-10-0-{r(1, 9)}{at}-{r(10, 99)}" for at in range(5)]
    rows, names = [], []
    for at in range(r(42, 60)):
        service = random.choice(SERVICES)
        names.append(f"{service}-{random.choice(THINGS)}-{hexes(random, 9)}-{hexes(random, 5)}")
        often = random.choice(["0", "0", "0", "1 (9d ago)", "2 (31h ago)"])
        rows.append(
            [
                service,
                names[-1],
                "1/1",
                "Running",
                often,
                f"{r(2, 60)}d",
                f"10.42.{r(0, 9)}.{at + 11}",
                random.choice(nodes),
            ]
        )
    crash, pull, waits, drained, one, moved, stopped = random.sample(range(6, len(rows) - 6), 7)
    restarts, tag, code, spare, port = (
        r(113, 480),
        f"v{r(4, 9)}.{r(10, 40)}.{r(1, 9)}-rc{r(1, 9)}",
        r(3, 99),
        r(2, 5),
        r(8_100, 8_999),
    )
    rows[crash][2:5] = ["0/1", "CrashLoopBackOff", f"{restarts} (3m11s ago)"]
    rows[pull][2:4] = ["0/1", "ImagePullBackOff"]
    rows[waits][2:4] = ["0/1", "Pending"]
    rows[waits][6:8] = ["<none>", "<none>"]
    rows[drained][7] = f"ip-10-9-{r(10, 99)}-{r(10, 99)}"
    rows[moved][5] = f"{r(12, 58)}s"
    head = ["NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP", "NODE"]
    widths = [max(len(row[at]) for row in [head, *rows]) + 3 for at in range(8)]
    table = [
        "".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in [head, *rows]
    ]
    events = [
        f"{r(1, 59)}m   Normal    Scheduled          pod/{name}   Successfully assigned {name.split('-')[0]} to "
        f"{random.choice(nodes)}"
        for name in random.sample(names, 12)
    ] + [
        f"{r(1, 59)}m   Warning   Unhealthy          pod/{random.choice(names)}   Readiness probe failed once, "
        f"then passed"
        for _ in range(5)
    ]
    events += [
        f"{r(1, 59)}m   Normal    Killing            pod/{random.choice(names)}   Stopping container "
        f"sidecar-{r(7_000, 7_999)}"
        for _ in range(8)
    ]
    special = [
        f"3m    Warning   BackOff            pod/{names[crash]}   Back-off restarting failed container migrate, "
        f"exit code {code + 100}",
        f"7m    Warning   Failed             pod/{names[pull]}   Failed to pull image registry.local/"
        f"{rows[pull][0]}:{tag}: not found",
        f"12m   Warning   FailedScheduling   pod/{names[waits]}   0/5 nodes are available: {spare} Insufficient "
        f"nvidia.com/gpu",
        f"44m   Normal    Killing            pod/{names[stopped]}   Stopping container sidecar-{port}",
    ]
    lines = [*table, "", "LAST  TYPE      REASON             OBJECT   MESSAGE", *shuffled(random, events, *special)]
    facts = (
        marked("Which pod crashes again and again, and how often did it?", names[crash], f"{restarts} (3m11s ago)"),
        marked("What is the exit code of the container that crashes?", f"exit code {code + 100}"),
        marked("Which image does not exist?", f"{rows[pull][0]}:{tag}"),
        marked("Which pod waits for its image?", names[pull], "ImagePullBackOff"),
        marked("What is missing for the pod that is pending?", "nvidia.com/gpu", f"{spare} Insufficient"),
        marked("Which pod runs on a node of another network?", names[drained], rows[drained][7]),
        marked("Which pod was started less than a minute ago?", names[moved], rows[moved][5]),
        plain(f"Which address has the pod {names[one]}?", names[one], rows[one][6]),
        plain(f"In which pod was sidecar-{port} stopped?", names[stopped], f"sidecar-{port}"),
    )
    return Output(
        "pods and events",
        "shell",
        json.dumps({"command": "kubectl get pods -A -o wide; kubectl get events -A"}),
        "\n".join(lines),
        facts,
    )
