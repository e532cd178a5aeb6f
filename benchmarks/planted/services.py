"""Make responses of services: a list of issues, a nested order, a plan of Terraform, a settings file."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from benchmarks.planted.output import Output, marked, plain
from benchmarks.planted.words import CITIES, FAMILY, MORE, PEOPLE, SERVICES, THINGS, address, hexes, shuffled


def issues(random: Random) -> Output:
    """A list of issues as a REST API returns it: many fields, most of them always the same."""
    r, count, project = random.randint, random.randint(24, 32), random.choice(THINGS)
    views = ["view", "import", "export", "login", "report"]
    faults = ["slow", "empty", "cut off", "shown twice", "not sorted"]
    records: list[dict[str, Any]] = [
        {
            "number": 4_000 + 3 * at + r(0, 2),
            "title": f"{random.choice(MORE).title()} {random.choice(views)} is "
            f"{random.choice(faults)} with {random.choice(THINGS)}",
            "state": "open",
            "author": {"login": random.choice(PEOPLE), "type": "User", "site_admin": False},
            "labels": random.sample(["bug", "ui", "docs", "triage", "perf"], r(0, 2)),
            "assignee": None,
            "milestone": "3.2",
            "comments": r(0, 14),
            "locked": False,
            "created_at": f"2026-0{r(1, 6)}-{r(10, 28)}T{r(10, 23)}:{r(10, 59)}:{r(10, 59)}Z",
            "url": f"https://tracker.acme.dev/{project}/issues/{hexes(random, 8)}",
        }
        for at in range(count)
    ]
    loss, secure, busy, robot, closed, taken, later, one, two, three = places = random.sample(range(2, count - 2), 10)
    talk, table, port, build, milestone = (
        r(141, 890),
        f"audit_{hexes(random, 4)}",
        r(7_000, 9_999),
        r(500, 999),
        f"{r(4, 9)}.{r(11, 40)}",
    )
    records[loss]["title"] = f"Rows of {table} vanish when the import is stopped"
    records[secure]["title"] = f"Anybody can read invoices through port {port}"
    records[busy]["comments"], records[robot]["author"] = (
        talk,
        {"login": f"{project}-bot-{build}", "type": "Bot", "site_admin": False},
    )
    records[closed]["state"], records[taken]["assignee"] = (
        "closed",
        f"{random.choice(PEOPLE)}.{random.choice(FAMILY)}".lower(),
    )
    records[later]["milestone"] = milestone
    for at, place in enumerate((one, two, three)):
        records[place]["title"] += f" {at + 2} of {build + at}"
    number = {place: records[place]["number"] for place in places}
    facts = (
        marked("Which issue loses data, in which table?", number[loss], table),
        marked("Which issue is a hole in the security, and where?", number[secure], f"port {port}"),
        marked("Which issue is discussed most?", number[busy], talk),
        marked("Which issue was opened by a robot?", number[robot], f"{project}-bot-{build}"),
        marked("Which issue is closed?", number[closed], "closed"),
        marked("Which issue has somebody who works on it, and who?", number[taken], records[taken]["assignee"]),
        marked("Which issue waits for another milestone?", number[later], milestone),
        plain(f"When was issue {number[one]} opened?", number[one], records[one]["created_at"]),
        plain(f"What is issue {number[two]} about?", number[two], f"3 of {build + 1}"),
        plain(f"What is issue {number[three]} about?", number[three], f"4 of {build + 2}"),
    )
    arguments = {"method": "GET", "url": f"https://tracker.acme.dev/api/{project}/issues?per_page=50"}
    return Output("list of issues", "http_request", json.dumps(arguments), json.dumps(records, indent=2), facts)


def order(random: Random) -> Output:
    """One order with its parts, as nested JSON on one line."""
    r, currency = random.randint, random.choice(["EUR", "SEK", "PLN"])
    skus = random.sample(range(10_000, 99_999), 30)
    parts = [
        {
            "sku": f"K-{sku}",
            "name": f"{random.choice(MORE)} {random.choice(THINGS)}",
            "quantity": r(1, 4),
            "unit": {"amount": r(500, 9_900), "currency": currency},
            "tax_rate": 0.19,
            "stock": "reserved",
            "parcel": f"P{r(1, 3)}",
            "gift": False,
        }
        for sku in skus
    ]
    back, heavy, odd, gift, one, two = random.sample(range(2, 28), 6)
    wait, quantity, rate, amount = f"2026-{r(10, 12)}-{r(10, 28)}", r(120, 480), f"0.0{r(51, 59)}", r(10_000, 99_999)
    parts[back] |= {"stock": "backordered", "expected": wait}
    parts[heavy]["quantity"], parts[odd]["tax_rate"], parts[gift]["gift"] = quantity, float(rate), True
    parts[one]["unit"] = {"amount": amount / 10, "currency": currency}
    family, host, code, score, street = (
        random.choice(FAMILY),
        address(random),
        hexes(random, 10),
        r(81, 99),
        f"{random.choice(MORE).title()} lane {r(100, 999)}",
    )
    record = {
        "id": f"ord_{hexes(random, 12)}",
        "status": "on_hold",
        "version": r(3, 19),
        "channel": "web",
        "customer": {
            "id": f"cus_{hexes(random, 8)}",
            "name": f"{random.choice(PEOPLE).title()} {family}",
            "segment": "retail",
            "newsletter": False,
        },
        "addresses": [
            {"kind": "billing", "city": random.choice(CITIES), "street": f"Old road {r(1, 90)}", "verified": True},
            {"kind": "shipping", "city": random.choice(CITIES), "street": street, "verified": False},
        ],
        "parts": parts,
        "checks": [{"name": name, "result": "pass", "took_ms": r(4, 90)} for name in random.sample(SERVICES, 6)]
        + [{"name": "fraud", "result": "review", "score": score, "because": f"card country differs from {host}"}],
        "payment": {"method": "card", "authorisation": code, "captured": False, "refused_with": f"R{r(1_000, 9_999)}"},
        "totals": {"goods": r(400_000, 900_000), "shipping": 990, "discount": -r(1_001, 9_899), "currency": currency},
        "history": [
            {"at": f"2026-06-{day:02}T0{r(1, 9)}:{r(10, 59)}:00Z", "event": "price_checked", "by": "system"}
            for day in range(1, 13)
        ],
    }
    totals: Any = record["totals"]
    payment: Any = record["payment"]
    facts = (
        marked("Which part is not in stock, and when will it come?", parts[back]["sku"], wait),
        marked("Of which part did somebody order far too many?", parts[heavy]["sku"], quantity),
        marked("Which part has another tax rate?", parts[odd]["sku"], rate),
        marked("Why is the order on hold?", f"country differs from {host}"),
        marked("What is the score of the fraud check?", "fraud", score),
        marked("With which code was the card refused?", payment["refused_with"]),
        marked("What is the discount?", totals["discount"]),
        marked("Which street could not be verified?", street),
        plain(f"What does {parts[one]['sku']} cost?", parts[one]["sku"], amount / 10),
        plain(f"What is {parts[two]['sku']}?", parts[two]["sku"], parts[two]["name"]),
        plain("Which authorisation has the card?", code),
    )
    arguments = {"method": "GET", "url": f"https://shop.acme.dev/api/orders/{record['id']}?expand=all"}
    return Output("nested record", "http_request", json.dumps(arguments), json.dumps(record), facts)


def terraform_plan(random: Random) -> Output:
    """A plan of Terraform: most resources only get new tags, a few change or are replaced."""
    r, team = random.randint, random.choice(SERVICES)
    env, release = random.choice(["prod", "stage"]), f"{r(20, 60)}.{r(1, 9)}"

    def block(kind: str, name: str, sign: str, action: str, *lines: str, more: int = 0) -> str:
        head = f'  # {kind}.{name} will be {action}\n  {sign} resource "{kind}" "{name}" {{'
        return "\n".join(
            [head, *(f"      {line}" for line in lines), f"        # ({more} unchanged attributes hidden)", "    }", ""]
        )

    def tags(kind: str, name: str) -> str:
        return block(
            kind,
            name,
            "~",
            "updated in-place",
            f'  id   = "{kind[4:7]}-{hexes(random, 8)}"',
            "~ tags = {",
            f'    ~ "release" = "{release}" -> "{release}.1"',
            f'      "team"    = "{team}"',
            "  }",
            more=r(4, 30),
        )

    kinds = [
        "aws_security_group",
        "aws_lambda_function",
        "aws_sqs_queue",
        "aws_iam_role",
        "aws_s3_bucket",
        "aws_lb_target_group",
    ]
    ordinary = [
        tags(random.choice(kinds), f"{a}_{b}")
        for a, b in zip(random.sample(THINGS * 3, 24), random.sample(MORE * 3, 24), strict=True)
    ]
    names = [f"{a}_{hexes(random, 4)}" for a in random.sample(THINGS, 8)]
    storage, keep, cidr, memory, old, seconds, queue = (
        r(210, 480),
        r(14, 35),
        f"203.0.{r(100, 199)}.0/24",
        r(128, 200),
        r(2_000, 3_000),
        r(31, 89),
        r(101, 299),
    )
    special = [
        block(
            "aws_db_instance",
            names[0],
            "-/+",
            "replaced",
            f'~ engine_version    = "14.{keep}" -> "17.{keep}" # forces replacement',
            f"~ allocated_storage = {storage} -> {storage * 2}",
            more=r(30, 60),
        ),
        block(
            "aws_security_group_rule",
            names[1],
            "+",
            "created",
            f'+ cidr_blocks = ["{cidr}"]',
            f"+ from_port   = {old + 3_000}",
        ),
        block(
            "aws_s3_bucket_versioning",
            names[2],
            "-",
            "destroyed",
            f'- bucket = "acme-{names[2]}" -> null',
            '- status = "Enabled" -> null',
        ),
        block(
            "aws_lambda_function",
            names[3],
            "~",
            "updated in-place",
            f"~ memory_size = {old} -> {memory}",
            more=r(10, 20),
        ),
        block(
            "aws_db_parameter_group",
            names[4],
            "~",
            "updated in-place",
            f'~ value = "{seconds}s" -> "0s" # statement_timeout',
            more=3,
        ),
        block(
            "aws_sqs_queue",
            names[5],
            "~",
            "updated in-place",
            f'  id = "sqs-{queue}{names[5][-4:]}"',
            "~ tags = {",
            f'    ~ "release" = "{release}" -> "{release}.1"',
            "  }",
            more=9,
        ),
        block(
            "aws_lb_target_group",
            names[6],
            "~",
            "updated in-place",
            f'  id = "lb-{hexes(random, 6)}-{queue + 500}"',
            "~ tags = {",
            f'    ~ "release" = "{release}" -> "{release}.1"',
            "  }",
            more=11,
        ),
        block(
            "aws_iam_role",
            names[7],
            "~",
            "updated in-place",
            f'  path = "/service/{queue + 4_000}/"',
            "~ tags = {",
            f'    ~ "release" = "{release}" -> "{release}.1"',
            "  }",
            more=6,
        ),
    ]
    reading = [
        f"data.aws_{kind}.current: Read complete after {r(0, 3)}s [id={hexes(random, 9)}]"
        for kind in ("region", "partition", "caller_identity")
    ]
    text = "\n".join(
        [
            *reading,
            "",
            "Terraform will perform the following actions:",
            "",
            *shuffled(random, ordinary, *special),
            f"Plan: 2 to add, {len(ordinary) + 5} to change, 2 to destroy.",
            "",
            f"Warning: Value for undeclared variable\n\n  on {env}.tfvars line {queue + 900}: the variable "
            f"backup_region_{names[2][-4:]} is not declared.",
        ]
    )
    facts = (
        marked("Which database is replaced?", f"aws_db_instance.{names[0]}"[:40]),
        marked("Why is it replaced?", "engine_version", "# forces replacement"),
        marked("Which network gets access?", cidr.split("/")[0]),
        marked("Which bucket loses its versions?", f"# aws_s3_bucket_versioning.{names[2]}"[:40]),
        marked("From what to what does the memory of a function change?", f"{old} -> {memory}"),
        marked("Which timeout is taken away?", f"{seconds}s", "# statement_timeout"),
        marked("How many resources change in all?", f"{len(ordinary) + 5} to change"),
        marked("Which variable is not declared?", f"backup_region_{names[2][-4:]}"),
        plain(f"Which id has the queue {names[5]}?", f"sqs-{queue}{names[5][-4:]}"),
        plain(f"Which id has the target group {names[6]}?", special[6].split('"')[5]),
        plain(f"Which path has the role {names[7]}?", f"/service/{queue + 4_000}/"),
    )
    return Output(
        "plan of Terraform", "shell", json.dumps({"command": f"terraform plan -var-file={env}.tfvars"}), text, facts
    )


def settings(random: Random) -> Output:
    """A long settings file in YAML, with a line that is wrong, one that is dangerous, and one that is a leftover."""
    r = random.randint
    services = random.sample(SERVICES, 9)
    lines = [
        f"# Deployed by {random.choice(PEOPLE)}, generated from charts/base 4.{r(1, 30)}.{r(0, 9)}; see docs/deploy.md",
        "defaults:",
        "  region: eu-north-1",
        "  log_level: info",
        "",
    ]
    own = {services[4]: "BATCH_SIZE", services[6]: "RATE_LIMIT"}

    def extra(service: str) -> list[str]:
        keys = [
            f"BATCH_SIZE: {r(100, 990)}",
            f"RATE_LIMIT: {r(10, 99)}/min",
            f"QUEUE: {random.choice(MORE)}-{r(1, 9)}",
            f"GRACE_SECONDS: {r(10, 40)}",
            "FEATURE_NEW_CART: off",
            f"MAIL_FROM: {random.choice(PEOPLE)}@acme.dev",
            f"WORKERS: {r(2, 16)}",
        ]
        return [f"    {key}" for key in random.sample(keys, r(2, 5)) if not key.startswith(own.get(service, "-"))]

    starts: dict[str, int] = {}
    for service in services:
        starts[service] = len(lines)
        lines += [
            f"{service}:",
            f"  image: registry.local/{service}:{r(2, 9)}.{r(0, 30)}.{r(0, 9)}",
            f"  replicas: {r(2, 6)}",
            "  strategy: rolling",
            "  resources:",
            f"    cpu: {r(2, 9)}00m",
            f"    memory: {random.choice([256, 512, 768])}Mi",
            "  probes:",
            "    path: /healthz",
            f"    period_seconds: {r(5, 15)}",
            "    timeout_seconds: 2",
            "  env:",
            "    TZ: UTC",
            f"    POOL_SIZE: {r(8, 24)}",
            f"    CACHE_TTL: {r(30, 90)}s",
            *extra(service),
            "    TRACING: on",
            "  labels:",
            "    team: core",
            "    tier: backend",
            "",
        ]
    secret, port, replicas, size, user, host = (
        hexes(random, 12),
        r(30_000, 32_767),
        r(41, 90),
        r(31, 96),
        random.choice(FAMILY).lower(),
        address(random),
    )
    batch, limit, hour = r(1_100, 9_900), r(101, 299), f"{r(1, 5)}:{r(11, 59)}"

    def put(service: str, after: str, *new: str) -> None:
        at = next(at for at in range(starts[service], len(lines)) if lines[at].strip().startswith(after))
        lines[at + 1 : at + 1] = new
        starts.update({name: start + len(new) for name, start in starts.items() if start > starts[service]})

    put(services[0], "TRACING", f"    API_TOKEN: tok_{secret}  # move to the vault!")
    put(services[1], "strategy", f"  host_port: {port}", "  privileged: true")
    put(services[2], "replicas", f"  max_replicas: {replicas}  # was 6 until the sale")
    put(services[3], "POOL_SIZE", f"    DATABASE: postgres://{user}@{host}/main")
    put(services[4], "env", f"    BATCH_SIZE: {batch}")
    put(services[5], "team", f"    backup_at: '{hour}'")
    put(services[6], "TZ", f"    RATE_LIMIT: {limit}/min")
    put(services[3], "tier", f"    owner: {user}-{batch}")
    put(services[1], "timeout_seconds", f"    failure_threshold: {size}")
    text = "\n".join(
        [
            *lines,
            "ingress:",
            *(f"  - host: {one}.acme.dev\n    to: {one}\n    tls: letsencrypt" for one in services[:-1]),
            f"  - host: {services[-1]}.acme.dev\n    to: {services[-1]}-canary-{replicas}\n    tls: none",
        ]
    )
    facts = (
        marked("Which secret stands in the file?", f"tok_{secret}"),
        marked("Which port of the machine is open to a privileged service?", f"host_port: {port}"),
        marked("How many replicas can there be at most?", f"max_replicas: {replicas}"),
        marked("How many were there before?", "was 6 until the sale"),
        marked("Which database is named with its user?", f"{user}@{host}"),
        marked("Where does the host without TLS lead?", f"{services[-1]}-canary-{replicas}"),
        marked("After how many failures is the privileged one stopped?", f"failure_threshold: {size}"),
        plain("How large is a batch?", f"BATCH_SIZE: {batch}"),
        plain("When is the backup made?", f"backup_at: '{hour}'"),
        plain("Which rate limit is set?", f"RATE_LIMIT: {limit}/min"),
        plain("Who owns the service with the database?", f"{user}-{batch}"),
    )
    return Output("file of settings", "read_file", json.dumps({"path": "deploy/values.yaml"}), text, facts)
