"""Make source code and search results: a module of Python, one of TypeScript, a diff, hits of a search."""

from __future__ import annotations

import json
from random import Random

from benchmarks.planted.output import Output, marked, plain
from benchmarks.planted.words import FAMILY, MORE, PEOPLE, THINGS, address, hexes, scattered, shuffled

LICENCE = """Licensed under the Example Public License, version 3. You may not use this file
except in compliance with the License. Unless required by law or agreed to in
writing, software is provided on an "AS IS" basis, WITHOUT WARRANTIES OR
CONDITIONS OF ANY KIND, either express or implied. See the License for the
specific language that governs permissions and limitations."""
ACTS = ["load", "store", "merge", "drop", "count", "check", "send", "fetch", "close", "open", "list", "render"]


def python_module(random: Random) -> Output:
    """A module of Python with a licence, constants, two classes and many small functions."""
    r, name = random.randint, random.choice(THINGS)
    nouns = random.sample(MORE + THINGS, r(17, 21))
    retries, timeout, limit, table, ticket, fee = (
        r(13, 48),
        f"{r(2, 9)}.{r(11, 99)}",
        r(110_000, 990_000),
        f"{name}_{hexes(random, 4)}",
        r(1_000, 9_999),
        f"0.0{r(101, 499)}",
    )
    slots, page, host, delay, width, code = (
        r(70, 127),
        r(131, 199),
        address(random),
        r(201, 299),
        r(301, 399),
        r(401, 599),
    )

    def function(noun: str, act: str, *body: str, head: str = "", doc: str = "") -> str:
        head = head or f"def {act}_{noun}(self, key: str, default: str = '') -> str:"
        usual = random.choice(
            [
                (
                    "    found = self._rows.get(key, default)",
                    f"    self._log.debug('{act} {noun} %s', key)",
                    "    return found",
                ),
                (
                    f"    with self._lock('{noun}'):",
                    "        self._rows[key] = default",
                    f"    return self._rows[key][:{r(20, 90)}]",
                ),
                (
                    "    if key not in self._rows:",
                    f"        raise {name.title()}Error(f'no {noun} for {{key!r}}')",
                    "    return self._rows[key]",
                ),
                (f"    parts = [key, default, '{noun}']", f"    return '-'.join(parts).ljust({r(20, 90)})"),
                (
                    "    for old in sorted(self._rows):",
                    "        if old < key:",
                    "            self._rows.pop(old)",
                    f"    return '{noun}'",
                ),
                (f"    self._{noun} += 1", f"    return self._rows.get(key, '{random.choice(MORE)}-{r(20, 90)}')"),
            ]
        )
        lines = [head, f'    """{doc or f"{act.title()} the {noun} of a key."}"""', *(body or usual)]
        return "\n".join(f"    {line}" for line in lines) + "\n"

    ordinary = [function(noun, random.choice(ACTS)) for noun in nouns]
    secret, rounds, legacy, batch, hook, lease, ratio, colour = (
        f"{random.choice(ACTS)}_{one}_{hexes(random, 3)}" for one in random.sample(MORE, 8)
    )
    special = [
        function(
            "",
            "",
            f"    digest = hmac.new(SALT, password.encode(), 'sha1').digest()  # FIXME {ticket}: weak",
            "    return digest.hex()",
            head=f"def {secret}(self, password: str) -> str:",
            doc="The digest of a password.",
        ),
        function(
            "",
            "",
            "    cents = amount * 100",
            f"    return int(cents * Decimal('{fee}') + Decimal('0.5'))",
            head=f"def {rounds}(self, amount: Decimal, *, country: str, card: bool = False) -> int:",
            doc="The fee in cents, rounded half up.",
        ),
        function(
            "",
            "",
            "    try:",
            "        self._remote.flush()",
            "    except Exception:",
            f"        pass  # {random.choice(PEOPLE)}: noisy in {hexes(random, 5)}",
            head=f"def {legacy}(self) -> None:",
            doc="Flush what is left.",
        ),
        function(
            "",
            "",
            f"    raise QuotaExceeded(f'{{count}} rows, at most {limit}')",
            head=f"def {batch}(self, count: int) -> NoReturn:",
            doc="Refuse a batch.",
        ),
        function(
            "",
            "",
            "    cursor.execute(f\"delete from {self._table} where owner = '{owner}'\")",
            f"    self._sent.clear()  # {table}",
            head=f"def {hook}(self, cursor: Cursor, owner: str) -> None:",
            doc="Remove the rows of an owner.",
        ),
        function(
            "",
            "",
            "    found = self._rows.get(key, '')",
            f"    return found[:{width}]",
            head=f"def {lease}(self, key: str) -> str:",
            doc="The lease of a key.",
        ),
        function(
            "",
            "",
            "    found = self._rows.get(key, '')",
            f"    return found.center({code})",
            head=f"def {ratio}(self, key: str) -> str:",
            doc="The ratio of a key.",
        ),
        function(
            "",
            "",
            f"    return self._rows.get(key, 'grey-{delay}')",
            head=f"def {colour}(self, key: str) -> str:",
            doc="The colour of a key.",
        ),
    ]
    body = scattered(random, ordinary, *special)
    text = "\n".join(
        [
            *(f"# {line}" for line in LICENCE.splitlines()),
            f'"""{name.title()}: keeps rows of a customer, and sends them on."""',
            "",
            "from __future__ import annotations",
            "",
            "import hmac",
            "import logging",
            "from decimal import Decimal",
            "from typing import NoReturn",
            "",
            "from acme.db import Cursor",
            f"from acme.errors import QuotaExceeded, {name.title()}Error",
            "",
            f"MOST_RETRIES = {retries}",
            f"TIMEOUT = {timeout}  # seconds, was 30 before the move",
            f'ENDPOINT = "https://{host}/v1"',
            f"SLOTS = {slots}",
            f"PAGE = {page}",
            "",
            "",
            f"class {name.title()}Store:",
            f'    """The rows of one customer in table {table}."""',
            "",
            "    def __init__(self, remote: Remote, table: str) -> None:",
            "        self._rows: dict[str, str] = {}",
            "        self._remote, self._table = remote, table",
            "        self._log = logging.getLogger(__name__)",
            "",
            *body[: len(body) // 2],
            "",
            f"class {name.title()}Cache({name.title()}Store):",
            '    """The same rows, kept for a while."""',
            "",
            *body[len(body) // 2 :],
        ]
    )
    facts = (
        marked("Which method hashes a password, and how weakly?", secret, "sha1"),
        marked("Which ticket is about that?", f"FIXME {ticket}"),
        marked("What is the signature of the fee?", f"def {rounds}"),
        marked("How large is the fee?", fee),
        marked("Which method hides every exception?", f"def {legacy}"),
        marked("How many rows are too many?", f"at most {limit}"),
        marked("Which method can be attacked with SQL?", f"def {hook}"),
        marked("How often is it tried again?", f"MOST_RETRIES = {retries}"),
        marked("How long is the timeout?", f"TIMEOUT = {timeout}"),
        plain("At which length is a lease cut?", f"found[:{width}]"),
        plain("To which width is a ratio centred?", f"center({code})"),
        plain("Which colour is used where none is set?", f"grey-{delay}"),
    )
    return Output("module of Python", "read_file", json.dumps({"path": f"acme/{name}.py"}), text, facts)


def typescript_module(random: Random) -> Output:
    """A module of TypeScript: imports, types, a client with many methods, a default export."""
    r, name = random.randint, random.choice(MORE).title()
    things = random.sample(THINGS, 11)
    wait, most, path, header, cast, todo, zone, step, buffer = (
        r(31_000, 90_000),
        r(21, 64),
        hexes(random, 5),
        hexes(random, 4),
        f"{random.choice(MORE)}Of{hexes(random, 3)}",
        r(100, 999),
        r(2, 11),
        r(1_100, 1_900),
        r(2_100, 2_900),
    )

    def method(thing: str, act: str) -> str:
        title, path = thing.title(), f"`/{thing}/${{encodeURIComponent(id)}}`"
        head, *body = random.choice(
            [
                (
                    f"async {act}{title}(id: string, options: Options = {{}}): Promise<{title}> {{",
                    f"const answer = await this.request<{title}>('GET', {path}, options);",
                    f"this.emit('{act}', {{ id, kind: '{thing}' }});",
                    "return answer.data;",
                ),
                (
                    f"async {act}{title}(row: {title}, dry = false): Promise<void> {{",
                    "if (dry) return this.emit('dry', row) as unknown as void;",
                    f"await this.request('PUT', '/{thing}', {{ row, weight: {r(2, 90)} }});",
                ),
                (
                    f"{act}{title}(rows: {title}[]): {title}[] {{",
                    f"const seen = new Set(rows.slice(0, {r(20, 90)}).map((row) => row.key));",
                    "return rows.filter((row) => !seen.has(row.key));",
                ),
                (
                    f"on{title}{act.title()}(then: (row: {title}) => void): () => void {{",
                    f"this.on('{thing}:{act}', then);",
                    f"return () => this.off('{thing}:{act}', then);",
                ),
            ]
        )
        return "\n".join([f"  {head}", *(f"    {line}" for line in body), "  }", ""])

    ordinary = [method(thing, act) for thing in things for act in random.sample(ACTS, 2)]
    special = [
        f"  async remove{name}All(force = true): Promise<void> {{\n    await this.request('DELETE', '/"
        f"all-{path}', {{ force }});\n  }}\n",
        f"  private {cast}(row: any): Row {{\n    // TODO({random.choice(PEOPLE)}): any hides #{todo + 4_000}\n "
        f"   return row as unknown as Row;\n  }}\n",
        f"  get pause(): number {{\n    return Math.min(this.tries ** 2 * {step}, {wait});\n  }}\n",
        f"  sign(body: string): Record<string, string> {{\n    return {{ 'x-acme-{header}': "
        f"createHash('md5').update(body).digest('hex') }};\n  }}\n",
        f"  private local(at: Date): Date {{\n    return new Date(at.getTime() + {zone} * 3_600_{todo});\n  }}\n",
        f"  read(size = {buffer}): Uint8Array {{\n    return this.ring.slice(0, size);\n  }}\n",
    ]
    text = "\n".join(
        [
            f"/**\n{chr(10).join(f' * {line}' for line in LICENCE.splitlines())}\n */",
            "import { createHash } from 'node:crypto';",
            "import { EventEmitter } from 'node:events';",
            f"import type {{ {', '.join(thing.title() for thing in things)} }} from './types.generated';",
            "",
            "export interface Options {\n  signal?: AbortSignal;\n  retries?: number;\n  locale?: string;\n}",
            "",
            f"export type Row = {{ key: string; weight: number; owner?: `usr_${{string}}_{hexes(random, 4)}` }};",
            "",
            f"const MOST_SOCKETS = {most};",
            f"const LEGACY = process.env.{name.upper()}_{header.upper()} === 'on';",
            "",
            f"export class {name}Client extends EventEmitter {{",
            "  private tries = 0;",
            f"  private readonly base = 'https://eu-{todo}.acme.dev/{path[:3]}';",
            "",
            *scattered(random, ordinary, *special),
            "}",
            "",
            f"export default new {name}Client();",
        ]
    )
    facts = (
        marked("Which path removes everything, by default without a question?", f"remove{name}All", f"all-{path}"),
        marked("How long is the longest pause?", wait),
        marked("Which header holds the signature?", f"x-acme-{header}"),
        marked("With which hash is it made?", "md5"),
        marked("Which method casts without a check?", f"private {cast}"),
        marked("Which issue does the any hide?", f"#{todo + 4_000}"),
        marked("How many sockets are there at most?", f"MOST_SOCKETS = {most}"),
        marked("Which variable turns on the old way?", f"{name.upper()}_{header.upper()}"),
        marked("What is the form of an owner?", text.split("usr_$")[1].split("`")[0].split("}")[1]),
        plain("How many hours are added to a date?", f"getTime() + {zone} *"),
        plain("How many bytes are read at once?", f"read(size = {buffer})"),
        plain("Which address does the client call?", f"eu-{todo}.acme.dev"),
    )
    return Output("module of TypeScript", "read_file", json.dumps({"path": f"src/{name.lower()}.ts"}), text, facts)


def diff(random: Random) -> Output:
    """The diff of a branch: one name renamed many times, and a few other changes."""
    r, (old, new) = random.randint, random.sample(MORE, 2)
    files = [f"src/{a}/{b}.py" for a in random.sample(THINGS, 4) for b in random.sample(THINGS, 3)]
    before, after, pool, was, off, key = r(11, 29), r(31, 59), r(61, 90), r(310, 990), r(3, 9), hexes(random, 8)
    dropped, user, minutes, owner, wide = (
        f"test_{random.choice(THINGS)}_{hexes(random, 4)}",
        random.choice(FAMILY),
        r(101, 190),
        hexes(random, 5),
        r(201, 290),
    )

    def context() -> list[str]:
        noun = random.choice(THINGS)
        lines = [
            f"     {noun} = session.{noun}()",
            f"     if not {noun}:",
            "         return None",
            f"     log.debug('{noun} done in %s', {random.choice(MORE)})",
            f"     return {noun}.value[:{r(20, 99)}]",
            f"     owner = 'team-{hexes(random, 5)}'",
            f"     every = {r(2, 99)} * 60",
            f"     for {noun} in rows:",
            f"         total += {noun}.{random.choice(['size', 'count', 'weight'])}",
            "",
        ]
        start = r(0, 7)
        return lines[start : start + 3]

    def hunk(*lines: str) -> str:
        return "\n".join([*context(), *lines, *context()])

    def headed(at: int, body: str) -> str:
        lines = body.split("\n")
        gone, came = (sum(not line.startswith(sign) for line in lines) for sign in "+-")
        return f"@@ -{at},{gone} +{at},{came} @@ def {random.choice(ACTS)}_{random.choice(THINGS)}(session):\n{body}"

    def rename() -> str:
        act = random.choice(ACTS)
        return hunk(
            f"-    result = {old}.{act}(session, strict=True)", f"+    result = {new}.{act}(session, strict=True)"
        )

    special = [
        hunk(f"-    if len(rows) <= {was}:", f"+    if len(rows) < {was}:"),
        hunk(f"-    timeout = {before}.5", f"+    timeout = {after}.5"),
        hunk(f"-    verify(token, '{key}')", "+    # verify later"),
        hunk(f"+    import pdb; pdb.set_trace()  # {user}"),
        hunk(f"-def {dropped}(client):", "-    assert client.get('/admin').status == 403"),
        hunk(f"-    pool = Pool({pool})", f"+    pool = Pool({off}{pool})"),
        hunk(
            f"     owner = 'team-{owner}'",
            f"-    result = {old}.send(session, strict=True)",
            f"+    result = {new}.send(session, strict=False)",
        ),
        hunk(
            f"     every = {minutes} * 60",
            f"-    result = {old}.list(session)",
            f"+    result = {new}.list(session)",
        ),
        hunk(
            f"     text = line[:{wide}]",
            f"-    result = {old}.load(session)",
            f"+    result = {new}.load(session)",
        ),
    ]
    hunks = shuffled(random, [rename() for _ in range(len(files) * 3 + r(0, 6))], *special)
    lines: list[str] = []
    for number, file in enumerate(files):
        lines += [f"diff --git a/{file} b/{file}", f"index {hexes(random, 7)}..{hexes(random, 7)} 100644"]
        lines += [f"--- a/{file}", f"+++ b/{file}"]
        at = r(3, 60)
        for body in hunks[number :: len(files)]:
            lines.append(headed(at, body))
            at += r(14, 160)
    script = f"scripts/{old}-{hexes(random, 3)}.sh"
    lines += [f"diff --git a/{script} b/{script}", "old mode 100644", "new mode 100755"]
    facts = (
        marked("Which check of a length became stricter?", f"len(rows) < {was}"),
        marked("To what did the timeout change, from what?", f"- timeout = {before}.5", f"+ timeout = {after}.5"),
        marked("Which token is not verified any more?", key),
        marked("Who left a debugger in?", f"# {user}"),
        marked("Which test was removed?", f"def {dropped}"),
        marked("How large is the pool now?", f"Pool({off}{pool})"),
        marked("Which call is not strict any more?", "strict=False"),
        marked("Which script may be run now?", script.rsplit("/", 1)[1], "new mode 100755"),
        plain("Which team owns the part that sends?", f"team-{owner}"),
        plain("How often is it listed?", f"every = {minutes} * 60"),
        plain("At which length is a line cut?", f"line[:{wide}]"),
    )
    return Output("diff", "shell", json.dumps({"command": f"git diff main...use-{new}"}), "\n".join(lines), facts)


def hits(random: Random) -> Output:
    """Hits of ripgrep: one name in many files, mostly imports, tests and comments."""
    r, name = random.randint, f"{random.choice(ACTS)}_{random.choice(MORE)}"
    folders, files = random.sample(THINGS, 6), random.sample(MORE, 8)
    home, default, deprecated, port, ticket, raw = (
        f"src/{folders[0]}/core_{hexes(random, 3)}.py",
        r(31, 99),
        f"{r(4, 9)}.{r(10, 50)}",
        r(2_000, 9_999),
        r(10_000, 99_999),
        hexes(random, 4),
    )
    paths = [f"{a}/{b}" for a in ("src", "tests", "docs") for b in folders]

    def ordinary() -> str:
        path, thing = f"{random.choice(paths)}/{random.choice(files)}", random.choice(THINGS)
        ending, text = random.choice(
            [
                ("py", f"from acme.core import {name}"),
                ("py", f"    assert {name}({thing}) is None"),
                ("py", f"    rows = {name}({thing}, strict=True)"),
                ("py", f"    mocker.patch('acme.core.{name}')"),
                ("md", f"Call `{name}({thing})` before you close the session."),
                ("py", f"# see {name} for the format"),
            ]
        )
        return f"{path}.{ending}:{r(3, 990)}:{text}"

    special = [
        f"{home}:{r(1_000, 1_999)}:def {name}(rows: Rows, *, strict: bool = False, most: int = {default}) -> "
        f"Rows | None:",
        f"src/{folders[1]}/old_{raw}.py:{r(2_000, 2_999)}:    {name} = deprecated(since='{deprecated}')(_{name})",
        f"src/{folders[2]}/jobs.py:{ticket}:    rows = {name}(everything)  # never strict here, breaks payroll",
        f'config/{folders[3]}.toml:{r(3_000, 3_999)}:hook = "acme.core:{name}_{raw}"',
        f"src/{folders[4]}/server.go:{port}:\t// keep in step with {name} in Python",
        f"migrations/0{default + 400}_{files[0]}.sql:12:-- replaces {name}, which ran for 9 hours",
        f"tests/{folders[5]}/test_{files[1]}.py:{port + 10_000}:    assert {name}({folders[1]}) is None",
        f"docs/{folders[0]}/{files[2]}.md:{default + 5_000}:Call `{name}({folders[2]}, most=7)` before you "
        f"close the session.",
        f"tests/{folders[3]}/test_{raw}.py:41:    mocker.patch('acme.core.{name}')",
    ]
    count = r(78, 110)
    text = "\n".join(shuffled(random, [ordinary() for _ in range(count)], *special))
    facts = (
        marked("Where is it defined?", home, f"def {name}"),
        marked("How many rows does it return at most, if nothing is said?", f"most: int = {default}"),
        marked("Since when is it deprecated?", f"since='{deprecated}'"),
        marked("Where must it never be strict?", f"jobs.py:{ticket}", "breaks payroll"),
        marked("Which other name do the settings use?", f"{name}_{raw}"),
        marked("Where is a copy in another language?", f"server.go:{port}"),
        marked("Which migration replaces it?", f"0{default + 400}_{files[0]}.sql"),
        plain(f"On which line does the test of {files[1]} assert it?", f"test_{files[1]}.py:{port + 10_000}"),
        plain("Where do the pages give it a limit?", f"{files[2]}.md:{default + 5_000}"),
        plain("Which test replaces it by a mock, in a file of its own?", f"test_{raw}.py:41"),
    )
    return Output("hits of a search", "shell", json.dumps({"command": f"rg -n {name}"}), text, facts)
