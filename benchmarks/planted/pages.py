"""Make pages that people read: a manual page, a README, an HTML page, minutes of meetings."""

from __future__ import annotations

import json
import textwrap
from random import Random

from benchmarks.planted.output import Output, marked, plain
from benchmarks.planted.words import CITIES, FAMILY, MORE, PEOPLE, THINGS, address, hexes, scattered, shuffled

DOES = ["Read", "Write", "Skip", "Print", "Sort", "Follow", "Compare", "Compress", "Copy", "Lock", "Check", "Split"]
WHAT = [
    "each block",
    "the index",
    "empty entries",
    "symbolic links",
    "the header",
    "old snapshots",
    "owners and modes",
    "the checksum",
    "sparse files",
    "locked files",
    "the journal",
    "extended attributes",
    "names in any case",
]
WHEN = [
    "before the first pass",
    "after each volume",
    "while the target is mounted",
    "unless the input is a terminal",
    "in the order of their inodes",
    "as the format of version 2 did",
    "even where the source is older",
    "and go on with the next one",
    "relative to the current folder",
    "once for each volume",
    "in the background",
]


def manual(random: Random) -> Output:
    """The manual page of a made-up program, as `man` prints it in 80 columns."""
    r = random.randint
    name = random.choice(MORE)[:5] + random.choice(["ctl", "sync", "pack", "fs"])
    flags = [f"--{a}-{b}" for a, b in zip(random.sample(THINGS * 2, 22), random.sample(MORE * 2, 22), strict=True)]
    flags += [f"--{b}" for b in random.sample(MORE, 8)]

    def filled(text: str, indent: int = 14) -> str:
        return textwrap.fill(text, 80, initial_indent=" " * indent, subsequent_indent=" " * indent)

    def option(flag: str, value: str, *sentences: str) -> str:
        return f"       {flag}{value}\n" + "\n".join(filled(sentence) for sentence in sentences if sentence) + "\n"

    def sentence() -> str:
        return f"{random.choice(DOES)} {random.choice(WHAT)} {random.choice(WHEN)}."

    def default() -> str:
        """A sentence on an option's default or history; usually empty."""
        number = r(2, 19)
        said = [
            f"The default is {number}.",
            "The default is never.",
            f"It was {number} in older releases.",
            f"See also {name}-{number}.",
        ]
        return random.choice([*said, "", "", "", ""])

    ordinary = [
        option(
            flag, random.choice(["", "=N", "=FILE", "=WHEN"]), " ".join(sentence() for _ in range(r(1, 3))), default()
        )
        for flag in flags
    ]
    purge, jobs, limit, since, conflict, colour = (
        f"--{hexes(random, 3)}{word}" for word in ("purge", "jobs", "limit", "since", "raw", "hue")
    )
    most, size, version, code, variable, error, block = (
        r(61, 250),
        r(300, 990),
        f"{r(5, 9)}.{r(11, 40)}",
        r(64, 113),
        hexes(random, 4).upper(),
        r(20, 63),
        r(1_030, 4_000),
    )
    special = [
        option(purge, "", f"Delete every snapshot that is not named. This cannot be undone, and {name} does not ask."),
        option(jobs, "=N", f"Run N jobs at once. The default is {most}."),
        option(limit, "=SIZE", f"Refuse a file larger than SIZE. The default is {size} GiB."),
        option(since, "=DATE", f"Obsolete since {version}, and without effect."),
        option(conflict, "", f"Write no header. Must not be given with {purge}."),
        option(colour, "=WHEN", sentence(), f"The default is block-{block}."),
        option(f"--{hexes(random, 3)}wait", "=SECONDS", sentence(), f"It was {code + 200} seconds in older releases."),
    ]
    user = random.choice(FAMILY)
    text = "\n".join(
        [
            f"{name.upper()}(8)                  System Manager's Manual                 {name.upper()}(8)",
            "",
            "NAME",
            f"       {name} - keep copies of volumes in step",
            "",
            "SYNOPSIS",
            f"       {name} [OPTION]... SOURCE... VAULT:{hexes(random, 4)}",
            "",
            "DESCRIPTION",
            *(filled(" ".join(sentence() for _ in range(4)), 7) + "\n" for _ in range(3)),
            "OPTIONS",
            *shuffled(random, ordinary, *special),
            "EXIT STATUS",
            "       0      Success.",
            f"       {error}     A volume was busy, and nothing was written.",
            f"       {code + 130}    The index is damaged; run {name} --{random.choice(MORE)}-again.",
            "",
            "ENVIRONMENT",
            f"       {name.upper()}_{variable}",
            filled("The folder of the index. Must be absolute."),
            "",
            "FILES",
            f"       /etc/{name}/vault-{hexes(random, 4)}.conf",
            f"       /var/lib/{name}/index",
            "",
            "BUGS",
            filled(f"Names longer than {code + 140} bytes are cut without a message.", 7),
            "",
            "AUTHORS",
            f"       {user} and others, {random.choice(CITIES)}.",
        ]
    )
    facts = (
        marked("Which option deletes without asking?", purge, "cannot be undone"),
        marked("How many jobs run if nothing is said?", jobs, f"default is {most}."),
        marked("Which files are refused?", limit, f"{size} GiB"),
        marked("Which option has no effect, and since when?", since, f"since {version}"),
        marked("Which two options exclude each other?", f"given with {purge}"),
        marked("What does it mean when it exits with the code of a busy volume?", f"{error} A volume was busy"),
        marked("Which variable names the folder of the index?", f"{name.upper()}_{variable}"),
        marked("From which length are names cut?", f"longer than {code + 140} bytes"),
        plain("Which colour is the default?", f"block-{block}"),
        plain("How long did it wait in older releases?", f"{code + 200} seconds"),
        plain("Who wrote it?", f"{user} and others"),
    )
    return Output("manual page", "shell", json.dumps({"command": f"man {name} | col -b"}), text, facts)


def readme(random: Random) -> Output:
    """A README: badges, features, installation, settings, a table of commands, known problems, a licence."""
    r = random.randint
    name, other = random.sample(THINGS, 2)
    port, python, chunk, commands = (
        r(3_100, 9_900),
        f"3.{r(10, 13)}.{r(2, 9)}",
        r(1_100, 4_000),
        random.sample(MORE, 10),
    )
    key, rate, issue, size, year, release, chat = (
        hexes(random, 5).upper(),
        r(31, 97),
        r(1_000, 3_999),
        r(101, 480),
        r(2027, 2031),
        f"{r(4, 9)}.{r(2, 9)}",
        hexes(random, 6),
    )

    def paragraph(sentences: int) -> str:
        subjects = [
            "The server",
            "Each worker",
            "A plugin",
            "The cache",
            "Your schema",
            "The command line",
            "Every query",
            "A session",
        ]
        verbs = ["starts", "reads", "keeps", "shares", "checks", "shows", "renews", "describes"]
        things = [
            "its own settings",
            "one queue",
            "what it has seen",
            "the same types",
            "only public names",
            "a small history",
            "its state in memory",
            "plain text",
        ]
        ends = [
            "by default",
            "without a restart",
            "on every platform",
            "until it is closed",
            "in the order of arrival",
            "so that tests stay fast",
            "as you would expect",
            "when you ask for it",
        ]
        return " ".join(
            f"{random.choice(subjects)} {random.choice(verbs)} {random.choice(things)} {random.choice(ends)}."
            for _ in range(sentences)
        )

    table = [
        f"| `{name} {one}` | {random.choice(['lists', 'shows', 'removes', 'renames', 'copies'])} "
        f"{random.choice(['jobs', 'tables', 'users', 'keys', 'views'])} | `--json`, `--quiet` |"
        for one in commands
    ]
    table[4] = f"| `{name} {commands[4]}` | drops all tables, asks nothing | `--dry-run`, `--{other}` |"
    features = [f"- **{random.choice(MORE).title()} {random.choice(THINGS)}**: {paragraph(1)}" for _ in range(8)]
    text = "\n".join(
        [
            f"# {name.title()}",
            "",
            *(
                f"[![{one}](https://badges.example/{name}/{one}.svg)](https://ci.example/{name}/{one})"
                for one in ("build", "coverage", "docs", "license")
            ),
            "",
            paragraph(4),
            "",
            "## Features",
            "",
            *scattered(
                random,
                [*features, *features[:1]] + ["- " + paragraph(1) for _ in range(5)],
                f"- **Chunks**: results come {chunk} rows at a time.",
            ),
            "",
            "## Installation",
            "",
            f"{name.title()} needs Python {python} or newer and 2 GB of memory.",
            "",
            "```sh",
            f"pip install {name}-{other}",
            f"{name} init --port {port}",
            "```",
            "",
            paragraph(5),
            "",
            f"> **Warning:** an upgrade from {release} rewrites the index. It takes about {rate} minutes for "
            f"each TB, and cannot be stopped.",
            "",
            paragraph(3),
            "",
            "## Settings",
            "",
            paragraph(3),
            "",
            f"Set `{name.upper()}_{key}` to encrypt what is kept on disk. Without it, files are readable.",
            "",
            paragraph(5),
            "",
            "### Limits",
            "",
            paragraph(3) + f" A request may have {size} filters. " + paragraph(3),
            "",
            "## Commands",
            "",
            "| command | does | flags |",
            "|---|---|---|",
            *table,
            "",
            "## Plugins",
            "",
            paragraph(6),
            "",
            paragraph(4) + f" Talk to us in room {chat}. " + paragraph(3),
            "",
            "## Known problems",
            "",
            "- " + paragraph(1),
            f"- On macOS the watcher misses renames, see #{issue}.",
            "- " + paragraph(1),
            "",
            "## Roadmap",
            "",
            f"Support for the old format ends in {year}.",
            "",
            paragraph(4),
            "",
            "## Contributing",
            "",
            paragraph(5),
            "",
            f"Send patches to {random.choice(PEOPLE)}@{other}-{chunk}.example.",
            "",
            "## License",
            "",
            "Apache License 2.0. The licenses of the parts that ship with it are in the folder `third_party`. "
            + paragraph(5),
        ]
    )
    facts = (
        marked("Which Python does it need?", f"Python {python}"),
        marked("How is it installed?", f"pip install {name}-{other}"),
        marked("Which port does the first command set?", f"--port {port}"),
        marked("From which release does an upgrade rewrite the index?", f"upgrade from {release}"),
        marked("How long does that take?", f"{rate} minutes"),
        marked("Which variable turns on encryption?", f"{name.upper()}_{key}"),
        marked("Which command drops all tables?", f"{name} {commands[4]}"),
        marked("Which issue is about renames on macOS?", f"#{issue}"),
        marked("When does the old format end?", f"ends in {year}"),
        plain("How many rows has a chunk?", f"{chunk} rows"),
        plain("How many filters may a request have?", f"{size} filters"),
        plain("In which room do people talk?", f"room {chat}"),
        plain("Where do patches go?", f"{other}-{chunk}.example"),
    )
    return Output("README", "read_file", json.dumps({"path": f"vendor/{name}/README.md"}), text, facts)


def web_page(random: Random) -> Output:
    """The HTML of a status page after an outage: navigation, cookie banner, article, timeline, footer."""
    r, brand = random.randint, random.choice(MORE).title()
    minutes, share, cable, region, credit, ticket = (
        r(101, 390),
        f"{r(11, 68)}.{r(1, 9)}",
        f"{random.choice(THINGS).title()}-{r(11, 99)}",
        random.choice(CITIES),
        r(11, 45),
        f"INC-{r(10_000, 99_999)}",
    )
    lost, engineer, old, new, room, fan, batch = (
        r(1_200, 9_800),
        random.choice(FAMILY),
        r(31, 58),
        r(301, 900),
        r(41, 99),
        r(41, 69),
        r(410, 990),
    )
    mirror = random.choice(CITIES)
    day = r(1, 9)
    menu = [
        f'<li class="nav__item nav__item--level-{r(1, 3)}"><a class="nav__link" href="/{a}/{b}" '
        f'data-track="nav-{b}">{a.title()} {b}</a></li>'
        for a, b in zip(random.sample(THINGS * 2, 20), random.sample(MORE * 2, 20), strict=True)
    ]

    def step(minute: int, text: str) -> str:
        at = f"{minute // 60}:{minute % 60:02}"
        time = f'<time datetime="2026-04-0{day}T{at}Z">{at}</time>'
        return f'<li class="timeline__step">{time} <span class="timeline__text">{text}</span></li>'

    calm = [
        "We continue to watch the situation.",
        "Traffic moves as expected.",
        "Engineers of the provider are on their way.",
        "We have no further news at this time.",
        "The next update follows within the hour.",
        "Caches are being filled again.",
    ]

    def said() -> str:
        """A line of the timeline that no question is about."""
        busy = [
            f"Rack {r(2, 40)} of hall {r(1, 9)} answers again.",
            f"Mirror {random.choice(CITIES)} takes {r(3, 40)} % of the traffic.",
            f"Batch {r(100, 399)} of the queue is sent again.",
            f"Row {r(5, 9)} is at {r(19, 29)} degrees.",
            f"{random.choice(FAMILY)} takes over the lead.",
        ]
        return random.choice([*calm, *busy])

    steps = [said() for _ in range(r(16, 30))]
    special = [
        f"The cause is found: the fibre {cable} was cut during road work.",
        f"The limit of connections is raised from {old} to {new}.",
        f"Rack {room} of hall 4 answers again.",
        f"Mirror {mirror} takes {fan} % of the traffic.",
        f"Batch {batch} of the queue is sent again.",
        f"{lost} messages could not be delivered and are lost.",
    ]
    told = scattered(random, steps, *special)
    timeline = [*map(step, sorted(random.sample(range(600, 1440), len(told))), told)]
    sent = timeline[told.index(special[4])].split("T")[1][:5]
    text = "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en" class="no-js theme-light">',
            "<head>",
            '<meta charset="utf-8">',
            f"<title>Outage in {region}: what happened | {brand} Status</title>",
            f'<link rel="stylesheet" href="/assets/app.{hexes(random, 8)}.css">',
            f'<script>window.__cfg={{"id":"{hexes(random, 12)}","sampling":0.1,"flags":["a","b"]}};</script>',
            "</head>",
            "<body>",
            '<div id="cookies" class="banner" role="dialog"><p>We use cookies to make this page better. You can '
            "change your mind at any time.</p>"
            '<button class="btn btn--primary">Accept all</button><button class="btn">Only what is needed</'
            "button></div>",
            f'<header class="header"><a class="logo" href="/">{brand}</a>',
            '<nav class="nav" aria-label="Main"><ul>',
            *menu,
            "</ul></nav></header>",
            '<main id="content">',
            f"<h1>Outage in {region}</h1>",
            f'<p class="meta">By {engineer}, reliability team. Reference: {ticket}</p>',
            f"<p>For {minutes} minutes, {share} % of all requests to {region} failed. We are sorry.</p>",
            "<p>This page tells what happened, what we do about it, and what you can expect from us. We write "
            "such a page after every large outage.</p>",
            "<h2>Timeline</h2>",
            '<ol class="timeline">',
            *timeline,
            "</ol>",
            "<h2>What we do now</h2>",
            "<p>We go through our alarms, our plans and our contracts. Some of this takes time, and we will "
            "report on it here.</p>",
            f"<p>Customers with a contract get {credit} % of the monthly fee back.</p>",
            "</main>",
            '<aside class="related"><h2>Related</h2><ul>',
            *(f'<li><a href="/history/2025-{at:02}">Report of month {at}</a></li>' for at in range(1, 13)),
            "</ul></aside>",
            '<footer class="footer"><ul>',
            *(
                f'<li><a href="/legal/{one}">{one.title()}</a></li>'
                for one in ("privacy", "terms", "imprint", "cookies", "security", "jobs")
            ),
            "</ul>",
            f"<p>&copy; 2026 {brand} Ltd. All rights reserved. All other names belong to their owners.</p></footer>",
            f'<script src="/assets/vendor.{hexes(random, 8)}.js" defer></script>',
            "</body>",
            "</html>",
        ]
    )
    facts = (
        marked("How long did it last?", f"{minutes} minutes"),
        marked("Which share of requests failed?", f"{share} %"),
        marked("What was the cause?", cable, "was cut"),
        marked("How many messages are lost?", f"{lost} messages"),
        marked("Which reference has the report?", ticket),
        marked("What do customers get back?", f"{credit} % of the monthly fee"),
        marked("Which limit was changed, from what to what?", f"from {old} to {new}"),
        marked("Who wrote the report?", f"By {engineer}"),
        plain("Which rack of hall 4 answered again?", f"Rack {room}"),
        plain(f"Which share does {mirror} take?", f"Mirror {mirror} takes {fan} %"),
        plain(f"When was batch {batch} sent again?", f"Batch {batch}", sent),
    )
    return Output(
        "HTML page",
        "fetch_page",
        json.dumps({"url": f"https://status.{brand.lower()}.example/incidents/{ticket}"}),
        text,
        facts,
    )


def minutes(random: Random) -> Output:
    """Minutes of a long meeting: who said what, with decisions and tasks in between."""
    r, people = (
        random.randint,
        [f"{a.title()} {b}" for a, b in zip(random.sample(PEOPLE, 6), random.sample(FAMILY, 6), strict=True)],
    )
    first, second, third, *_ = people
    project, rival = random.sample(THINGS, 2)
    budget, day, seats, cut, churn, room, version = (
        r(110, 980),
        f"{r(2, 28)} October",
        r(120, 390),
        f"{r(11, 49)}.{r(1, 9)}",
        f"{r(2, 9)}.{r(11, 99)}",
        f"{r(100, 899)}-{random.choice('ABCD')}",
        f"{r(5, 9)}.{r(10, 60)}",
    )
    host, phones, boxes = address(random), r(21, 99), r(1_010, 2_990)
    topics = [
        "the offer page",
        "the hiring plan",
        "the move to the new office",
        "the support queue",
        "the summer release",
        "the partner meeting",
        "translations",
        "the yearly survey",
    ]
    views = [
        "found that it takes longer than planned",
        "asked for another round of feedback",
        "said that customers like it",
        "reported no news since last week",
        "wanted to hear from the other teams first",
        "thanked everybody who helped",
        "showed the same slides as last time",
        "was in favour, with some doubts",
    ]

    def remark() -> str:
        one, other = random.sample(people, 2)
        topic, view, answer = random.choice(topics), *random.sample(views, 2)
        return f"{one} spoke about {topic} and {view}. {other.split()[0]} {answer}."

    special = [
        f"Decision: the budget of {project.title()} is cut to {budget} k EUR, all but one in favour.",
        f"Task: {second} sends the contract to {rival.title()} until {day}.",
        f"{third} warned that {cut} % of the disks in the old hall fail their self-test.",
        f"Decision: version {version} will not be released.",
        f"{first} quoted the churn of last quarter, which is {churn} %.",
        f"{second} said that the coffee machine moves to room {room}, and reported no news since last week.",
        f"{third} spoke about the new office, which has {seats} seats, and thanked everybody who helped.",
        f"{first} showed the same slides as last time, now kept on {host}.",
        f"{random.choice(people)} counted {phones} phones and {boxes} boxes for the move, and was in favour.",
    ]
    lines = shuffled(random, [remark() for _ in range(r(34, 46))], *special)
    for at, topic in enumerate(topics):
        lines.insert(at * 6 + 1, f"\n## {at + 1}. {topic.capitalize()}\n")
    missing, following = f"{random.choice(FAMILY)}-{random.choice(CITIES)}", f"{r(2, 28)} November"
    text = "\n".join(
        [
            f"# Minutes, {random.choice(CITIES)}",
            "",
            f"Present: {', '.join(people)}",
            f"Excused: {missing}",
            "",
            *lines,
            "",
            f"Next meeting: {following}",
        ]
    )
    facts = (
        marked("Which budget was decided?", project.title(), f"{budget} k EUR"),
        marked("Who sends the contract, and until when?", f"Task: {second}", f"until {day}"),
        marked("Which share of the disks fails?", f"{cut} %"),
        marked("Which version will not be released?", f"version {version}"),
        marked("How large is the churn?", f"{churn} %"),
        marked("Who was excused?", missing),
        marked("When is the next meeting?", f"meeting: {following}"),
        plain("Where does the coffee machine go?", f"room {room}"),
        plain("How many seats has the new office?", f"{seats} seats"),
        plain("How many boxes are to be moved?", f"{boxes} boxes"),
    )
    return Output("minutes", "read_file", json.dumps({"path": "notes/minutes.md"}), text, facts)
