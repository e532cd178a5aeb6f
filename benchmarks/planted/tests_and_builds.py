"""Make the output of tests and builds: pytest, go test, a build with CMake, an installation with npm."""

from __future__ import annotations

import json
from random import Random

from benchmarks.planted.output import Output, marked, plain
from benchmarks.planted.words import MORE, PEOPLE, THINGS, hexes, scattered, shuffled

ACTS = ["accepts", "rejects", "keeps", "rounds", "merges", "splits", "sorts", "reads", "writes", "ignores", "limits"]


def pytest_run(random: Random) -> Output:
    """A verbose run of pytest with two failures, an error in a fixture, and the slowest tests."""
    r = random.randint
    modules = random.sample(THINGS, 6)
    acts = r(5, 8)
    tests = [
        f"tests/test_{one}.py::test_{act}_{thing}"
        for one in modules
        for act in random.sample(ACTS, acts)
        for thing in random.sample(MORE, 2)
    ]
    wrong, lost, broken, skipped, expected = (tests[at] for at in random.sample(range(5, len(tests) - 5), 5))
    got, wanted, line, key, port = (
        r(11_000, 18_999),
        r(11_000, 18_999),
        r(200, 899),
        hexes(random, 6),
        r(15_000, 64_000),
    )
    seconds, slowest, seed, ticket, took = (
        r(61, 99),
        f"{r(21, 39)}.{r(10, 99)}",
        r(1_000_000, 9_999_999),
        r(2_000, 2_999),
        r(3, 8),
    )
    outcome = {
        wrong: "FAILED",
        lost: "FAILED",
        broken: "ERROR",
        skipped: f"SKIPPED (needs libgeos {r(3, 9)}.{r(11, 60)})",
        expected: "XFAIL",
    }
    ran = [
        f"{test} {outcome.get(test, 'PASSED')}".ljust(72) + f"[{100 * at // len(tests):3}%]"
        for at, test in enumerate(tests, 1)
    ]

    def name(test: str) -> str:
        return test.rsplit("::", 1)[1]

    def failure(test: str, *body: str) -> list[str]:
        return [f" {name(test)} ".center(100, "_"), "", *body, ""]

    slow = [f"0.{r(10, 99)}s call     {test}" for test in random.sample(tests, 9)]
    passed = len(tests) - 5
    lines = [
        " test session starts ".center(100, "="),
        f"platform linux -- Python 3.12.{r(1, 9)}, pytest-8.{r(1, 4)}.{r(0, 3)}, pluggy-1.5.0 -- /opt/venv/bin/python",
        f"Using --randomly-seed={seed}",
        "rootdir: /srv/app, configfile: pyproject.toml",
        f"plugins: cov-6.0.0, asyncio-0.2{r(1, 9)}.{r(3, 9)}, xdist-3.6.1, randomly-3.16.0",
        f"collected {len(tests)} items",
        "",
        *ran,
        "",
        " ERRORS ".center(100, "="),
        *failure(
            broken,
            "    @pytest.fixture",
            "    def store(tmp_path):",
            "        server = start(tmp_path)",
            ">       return server.connect(timeout=2)",
            "",
            "tests/conftest.py:" + str(line - 150) + ": ",
            "_ " * 30,
            f"E       ConnectionRefusedError: nothing listens on 127.0.0.1:{port}",
        ),
        " FAILURES ".center(100, "="),
        *failure(
            wrong,
            f"    def {name(wrong)}(cart):",
            "        cart.add(price=Decimal('0.335'), count=7)",
            "        cart.close()",
            ">       assert cart.cents == expected(cart)",
            f"E       assert {got} == {wanted}",
            f"E        +  where {got - 1} = Cart(open=False).cents",
            "",
            f"{wrong.split('::')[0]}:{line}: AssertionError",
        ),
        *failure(
            lost,
            f"    def {name(lost)}(tmp_path):",
            "        index = Index(tmp_path)",
            "        index.add(rows())",
            ">       row = index.find('last')",
            "",
            f"src/{modules[0]}/index.py:{line + 1_000}: in find",
            "    return self._rows[self._slot(key)]",
            f"E   KeyError: 'slot-{key}'",
        ),
        " warnings summary ".center(100, "="),
        *(
            f"tests/test_{one}.py: {r(2, 9)} warnings\n  /opt/venv/lib/python3.12/site-packages/jose/jwt.py:311: "
            f"DeprecationWarning: datetime.utcnow() is deprecated"
            for one in modules[:4]
        ),
        f"src/{modules[1]}/codec.py:{line + 3_000}: ResourceWarning: unclosed file 'cache-{key}.bin'",
        "",
        " slowest 10 durations ".center(100, "="),
        f"{slowest}s call     {tests[2]}",
        f"{took}.{r(10, 99)}s setup    {tests[3]}",
        *sorted(slow, reverse=True),
        " short test summary info ".center(100, "="),
        f"FAILED {wrong} - AssertionError",
        f"FAILED {lost} - KeyError",
        f"ERROR {broken} - ConnectionRefusedError",
        f"==== 2 failed, {passed} passed, 1 skipped, 1 xfailed, {r(11, 30)} warnings, 1 error in "
        f"{seconds}.{ticket % 100:02}s ====",
    ]
    facts = (
        marked("Which two values differ in the failed assertion?", f"assert {got} == {wanted}"),
        marked("On which line is that assertion?", f"{wrong.split('::')[0]}:{line}: "[:40].strip()),
        marked("Which key was not found?", f"slot-{key}"),
        marked("Where in the source was it looked up?", f"index.py:{line + 1_000}"),
        marked("Which test could not be set up?", f"ERROR {broken}"[:40].strip()),
        marked("Which port does nothing listen on?", f"127.0.0.1:{port}"),
        marked("How long did the slowest test take?", f"{slowest}s call"),
        marked("How many passed, and in how many seconds?", f"{passed} passed", f"{seconds}.{ticket % 100:02}s"),
        marked("Which file was not closed?", f"cache-{key}.bin"),
        marked("Why was a test skipped?", outcome[skipped][9:-1]),
        plain("With which seed can the order be repeated?", seed),
        plain("Which version of pytest ran?", lines[1].split()[6].rstrip(",")),
        plain("Which is the version of the asyncio plugin?", lines[4].split()[2].rstrip(",")),
    )
    return Output("pytest", "run_tests", json.dumps({"command": "pytest -v --durations=10"}), "\n".join(lines), facts)


def go_tests(random: Random) -> Output:
    """A run of `go test -v -race -cover` over the packages of a module."""
    r, module = random.randint, f"git.acme.dev/{random.choice(PEOPLE)}/{random.choice(MORE)}"
    packages = random.sample(THINGS, r(8, 10))
    cover, race, got, want, line = r(3, 9), r(300, 699), r(400, 900), r(901, 1_400), r(101, 480)
    address, index, size, flaky, cents = hexes(random, 8), r(17, 60), r(3, 16), r(120, 190), r(1_000, 9_999)
    lines: list[str] = []
    for at, package in enumerate(packages):
        names = [f"Test{a.title()}{t.title()}" for a in random.sample(ACTS, 6) for t in random.sample(MORE, 2)]
        body: list[str] = []
        for name in names:
            said = [
                f"    {package}_test.go:{r(20, 99)}: shard {r(10_000, 19_999)} holds {r(5_000, 5_999)} keys",
                f"    {package}_test.go:{r(20, 99)}: compaction took {r(200, 290)}ms for level {r(2, 9)}",
                f"    {package}_test.go:{r(20, 99)}: {r(2, 9)} retries, then ok",
            ]
            body += [f"=== RUN   {name}", *random.choices(said, k=r(0, 1)), f"--- PASS: {name} (0.{r(10, 99)}s)"]
        special = {
            0: [
                f"    {package}_test.go:{line}: after merge: got {got} rows, want {want}\n--- FAIL: "
                f"Test{package.title()}Totals (0.31s)"
            ],
            1: [
                f"WARNING: DATA RACE\nWrite at 0x00c000{address} by goroutine {race}:\n  {module}/"
                f"{package}.(*Pool).drain()\n"
                f"      /src/{package}/pool.go:{line + 500} +0x1d4\nPrevious read at 0x00c000{address} by "
                f"goroutine 9:\n"
                f"  {module}/{package}.(*Pool).Len()\n      /src/{package}/pool.go:{line + 1_000} +0x44"
            ],
            2: [
                f"panic: runtime error: index out of range [{index}] with length {size}\n\ngoroutine 41 [running]:\n"
                f"{module}/{package}.decode(0xc0001, 0x{size})\n\t/src/{package}/frame.go:{line + 1_500} +0x2f1"
            ],
            3: [
                f"--- SKIP: Test{package.title()}Cluster (0.00s)\n    {package}_test.go:{line + 2_000}: set "
                f"ETCD_PEERS to run it"
            ],
            4: [f"    {package}_test.go:88: shard {cents} holds {flaky + 4_000} keys"],
            5: [f"    {package}_test.go:93: compaction took {flaky}ms for level {size + 20}"],
        }.get(at, [])
        lines += scattered(random, body, *special)
        if at in (0, 1, 2):
            lines += ["FAIL", f"FAIL\t{module}/{package}\t{r(1, 9)}.{r(100, 999)}s"]
        else:
            share = f"{cover}.4%" if at == 6 else f"{r(61, 97)}.{r(5, 9)}%"
            lines += ["PASS", f"coverage: {share} of statements", f"ok  \t{module}/{package}\t0.{r(100, 999)}s"]
    missing = f"{module}/internal/{hexes(random, 5)}"
    lines += [f"?   \t{missing}\t[no test files]", "FAIL"]
    facts = (
        marked("What did the failing test get, and what did it want?", f"got {got} rows", f"want {want}"),
        marked("On which line?", f"{packages[0]}_test.go:{line}:"),
        marked("Which method writes without a lock?", "Pool).drain", f"pool.go:{line + 500}"),
        marked("Which goroutine wrote?", f"goroutine {race}"),
        marked("Which index was out of range, of how many?", f"range [{index}] with length {size}"),
        marked("Where did it panic?", f"frame.go:{line + 1_500}"),
        marked("Which coverage is far too low?", f"coverage: {cover}.4%"),
        marked("Why was a test skipped?", "ETCD_PEERS", f"_test.go:{line + 2_000}"),
        plain(f"How many keys are in shard {cents}?", f"shard {cents}", f"{flaky + 4_000} keys"),
        plain(f"How long did the compaction of level {size + 20} take?", f"compaction took {flaky}ms"),
        plain("Which package has no tests?", missing.rsplit("/", 1)[1]),
    )
    return Output(
        "go test", "run_tests", json.dumps({"command": "go test -v -race -cover ./..."}), "\n".join(lines), facts
    )


def build(random: Random) -> Output:
    """A build with CMake and GCC that stops at the linker."""
    r, project, (lib, other) = random.randint, random.choice(MORE), random.sample(THINGS, 2)
    symbol, line, width, version, column = (
        f"{lib}_{random.choice(ACTS)}_{hexes(random, 4)}",
        r(210, 990),
        r(33, 63),
        r(11, 14),
        r(8, 40),
    )
    first = [
        f"-- The CXX compiler identification is GNU {version}.{r(1, 4)}.0",
        "-- Detecting CXX compile features - done",
        f'-- Found ZLIB: /usr/lib/x86_64-linux-gnu/libz.so (found version "1.3.{r(1, 9)}")',
        f"-- Could NOT find {other.upper()}_CUDA (missing: {other.upper()}_CUDA_HOME), building without",
        "-- Performing Test HAVE_AVX512 - Failed",
        f"-- Build type: RelWithDebInfo, jobs: {r(5, 48)}",
        f"-- Configuring done ({r(2, 9)}.{r(1, 9)}s)",
        f"-- Build files have been written to: /build/{project}-{width * 7}",
    ]
    stale, cast, unused = r(1_000, 1_999), r(2_000, 2_999), r(3_000, 3_999)
    files = [f"{a}/{b}.cc" for a in random.sample(THINGS, r(5, 8)) for b in random.sample(MORE, 9)]
    compiled = [
        f"[{97 * at // len(files):3}%] Building CXX object src/CMakeFiles/{project}.dir/{one}.o"
        for at, one in enumerate(files, 1)
    ]
    boring = [
        random.choice(
            [
                f"/src/vendor/fmt/core.h:{r(4_000, 4_999)}:9: warning: unused parameter 'spec' [-Wunused-parameter]",
                f"/src/vendor/zip/zip.c:{r(4_000, 4_999)}:3: warning: 'inflateBack' defined but not used "
                f"[-Wunused-function]",
                f"/src/vendor/sql/lex.c:{r(4_000, 4_999)}:7: warning: this statement may fall through "
                f"[-Wimplicit-fallthrough=]",
                f"/src/vendor/fmt/core.h:{r(4_000, 4_999)}:5: note: declared here, deprecated since {lib} 0.{r(1, 9)}",
                f"Generating proto/{random.choice(THINGS)}_{r(100, 299)}.pb.cc",
            ]
        )
        for _ in range(r(14, 24))
    ]
    for one in boring:
        compiled.insert(r(3, len(compiled) - 3), one)
    special = [
        f"/src/{lib}/clock.cc:{stale}:{column}: warning: comparison of integer expressions of different signedness: "
        f"'int' and 'size_t' [-Wsign-compare]\n  {stale} |   if (tick > ring.size() - {width})\n       |       "
        f"~~~~~^~~~~~",
        f"/src/{other}/frame.cc:{cast}:17: warning: 'memcpy' writing {width + 200} bytes into a region of size {width} "
        f"overflows the destination [-Wstringop-overflow=]",
        f"/src/{other}/legacy.cc:{unused}:5: note: declared here, deprecated since {lib} {version}.{column}",
        f"Generating proto/{lib}_{column + 300}.pb.cc",
    ]
    last = [
        f"[ 98%] Linking CXX executable bin/{project}d",
        f"/usr/bin/ld: src/CMakeFiles/{project}.dir/{files[3]}.o: in function `{lib.title()}::open(int)':",
        f"/src/{files[3]}:{line}: undefined reference to `{symbol}'",
        f"/usr/bin/ld: lib/lib{other}.a({other}_io.cc.o): relocation R_X86_64_32 against "
        f"`.rodata.{hexes(random, 3)}x' cannot be used",
        "collect2: error: ld returned 1 exit status",
        f"gmake[2]: *** [src/CMakeFiles/{project}d.dir/build.make:{line + 1_000}: bin/{project}d] Error 1",
        "gmake[1]: *** [CMakeFiles/Makefile2:211: all] Error 2",
        "gmake: *** [Makefile:146: all] Error 2",
    ]
    facts = (
        marked("Which symbol is missing?", f"reference to `{symbol}"),
        marked("Who uses it, on which line?", f"{files[3]}:{line}"),
        marked("Which section breaks the relocation?", last[3].split("`")[1].split("'")[0]),
        marked("Which rule of make failed?", f"build.make:{line + 1_000}"),
        marked(
            "How many bytes are written past a region of which size?", f"writing {width + 200} bytes", f"size {width}"
        ),
        marked("Where is that?", f"frame.cc:{cast}"),
        marked("Which comparison mixes signs?", f"clock.cc:{stale}:{column}"),
        marked("Which part is built without its GPU code?", f"NOT find {other.upper()}_CUDA"),
        plain(f"Which sources were made for part {column + 300}?", f"proto/{lib}_{column + 300}.pb.cc"),
        plain("Since which version is the function of legacy.cc deprecated?", f"since {lib} {version}.{column}"),
        plain("Into which folder was it built?", f"/build/{project}-{width * 7}"),
    )
    text = "\n".join([*first, *shuffled(random, compiled, *special), *last])
    return Output("build", "shell", json.dumps({"command": "cmake -B build && cmake --build build"}), text, facts)


def installation(random: Random) -> Output:
    """A clean install with npm in a workspace, with its warnings and its audit."""
    r = random.randint
    scope, app = random.sample(MORE, 2)
    names = [f"{a}-{b}" for a in random.sample(THINGS, 9) for b in random.sample(MORE, 9)]
    random.shuffle(names)
    peer, script, severe, plain_one, stale, tar, slow, odd, pinned = names[:9]
    major, code, seconds, packages, node = r(4, 19), r(71, 139), r(71, 240), r(911, 1_900), r(19, 23)

    def ordinary() -> str:
        name, version = random.choice(names[9:]), f"{r(0, 6)}.{r(0, 30)}.{r(0, 9)}"
        return random.choice(
            [
                f"npm http fetch GET 200 https://registry.acme.dev/{name} {r(20, 340)}ms (cache miss)",
                f"npm http fetch GET 200 https://registry.acme.dev/{name}/-/{name}-{version}.tgz {r(20, 340)}ms "
                f"(cache hit)",
                f"npm warn deprecated {name}@{version}: This version is no longer supported",
                f"npm silly placeDep ROOT {name}@{version} OK for: {app}@1.0.0 want: ^{version}",
                f"npm silly reify mark retired [ '/srv/{app}/node_modules/{name}' ]",
            ]
        )

    special = [
        f"npm warn ERESOLVE overriding peer dependency\nnpm warn While resolving: {peer}@2.{code}.0\nnpm warn Found: "
        f"react@{major + 10}.2.0\nnpm warn Could not resolve dependency: peer react@^{major + 9}.0.0 from "
        f"{peer}@2.{code}.0",
        f"npm http fetch GET 200 https://registry.acme.dev/{slow} {r(21_000, 48_000)}ms attempt 3 (cache miss)",
        f"npm warn EBADENGINE Unsupported engine: {odd}@{major}.{code}.1 needs node >={node}.{code}, current is "
        f"v18.20.4",
        f"npm warn deprecated {severe}@0.{code}.2: publishes secrets of .npmrc, remove it at once",
        f"npm silly placeDep ROOT {pinned}@3.{code}.7-beta OK for: {app}@1.0.0 want: 3.{code}.7-beta",
        f"npm http fetch GET 200 https://mirror.{scope}.example/{tar}-9.{code}.tgz 88ms (cache miss)",
        f"npm silly placeDep ROOT {plain_one}@7.{code}.3 OK for: {app}@1.0.0 want: ^7.{code}.1",
        f"npm warn deprecated {stale}@9.{code}.4: This version is no longer supported",
    ]
    end = [
        f"npm error code {code}",
        f"npm error path /srv/{app}/node_modules/{script}",
        "npm error command failed",
        "npm error command sh -c node-gyp rebuild",
        "npm error gyp info using node-gyp@10.2.0",
        f"npm error gyp ERR! stack Error: `make` failed: fatal error: {scope}_{code}.h: No such file or directory",
        f"npm error A complete log of this run can be found in: /root/.npm/_logs/2026-{hexes(random, 6)}-debug-0.log",
        f"added {packages} packages, and audited {packages + 1} packages in {seconds}s",
        f"{major} vulnerabilities (2 low, {major - 3} high, 1 critical)",
    ]
    facts = (
        marked("The script of which package failed?", f"node_modules/{script}"),
        marked("Which header is missing?", f"{scope}_{code}.h"),
        marked("Which package leaks secrets?", f"{severe}@0.{code}.2"),
        marked("Which package needs another React?", f"While resolving: {peer}"[:40]),
        marked("Which package took far too long to fetch?", f"acme.dev/{slow} {special[1].split()[-5]}"[:40]),
        marked("Which node does a package need?", f"node >={node}.{code}"),
        marked("How many packages, in how long?", f"added {packages}", f"in {seconds}s"),
        marked("How many high vulnerabilities?", f"{major - 3} high"),
        marked("Where is the complete log?", end[6].rsplit("/", 1)[1]),
        plain("Which beta is installed?", f"ROOT {pinned}@3.{code}.7-beta"),
        marked("What was fetched from another host?", f"mirror.{scope}.example", f"{tar}-9.{code}"),
        plain(f"Which version of {plain_one} is installed?", f"ROOT {plain_one}@7.{code}.3"),
        plain(f"Which version of {stale} is no longer supported?", f"{stale}@9.{code}.4"),
    )
    text = "\n".join([*shuffled(random, [ordinary() for _ in range(r(95, 130))], *special), *end])
    return Output("npm install", "shell", json.dumps({"command": "npm ci --loglevel silly"}), text, facts)
