"""test_report: what a run of tests says: tests that passed, failures with their bodies, and the summary."""

from __future__ import annotations

import re
from collections.abc import Sequence

from strategies.kinds.kind import Kind, Unit
from strategies.kinds.stack_trace import ends_of, pieces

COUNT = (
    r"\d+ (?:passed|failed|errors?|skipped|passing|failing|pending|deselected|warnings?|x?failed|xpassed|total|todo)"
)
START = (
    r"=+ test session starts =|=== RUN |(?: {4})*--- (?:PASS|FAIL|SKIP): |running \d+ tests?$|TAP version \d"
    r"| {0,40}[✓✔✖✗✘×] [^\n]{1,300} \([\d.]+ ?m?s\)$"
)
SUMMED = (
    rf"(?:=+ )?{COUNT}\b.* in [\d.]+ ?m?s|=+ no tests ran in |Ran \d+ tests? in |test result: |(?:OK|FAILED) \(\w+="
    rf"|Test(?:s| Suites| Files):? +{COUNT}\b| +\d+ (?:pass|fail|pend|skipp)(?:ed|ing)(?: \(|$)"
    r"|(?:\[\w+\] )?Tests run: \d+, |# (?:tests|pass|fail) \d+$|(?:ok|FAIL|\?) {0,3}\t\S+\t"
    r"|\[ +\d+ (?:tests|containers) |\d+ tests? completed, |Test run finished after "
    r"|(?:Passed|Failed)! +- Failed: |\d+ examples?, \d+ |\d+ passed(?: and \d+ failed)?\.$"
)
TOLD = re.compile(rf"\n(?:{START}|{SUMMED})", re.MULTILINE)
"""What only a run of tests prints."""
SUMMARY = re.compile(SUMMED)
PASSED = re.compile(
    r"=== (?:RUN|PAUSE|CONT|NAME) |(?: {4})*--- (?:PASS|SKIP): |(?:platform|rootdir:|plugins:|cachedir:) |(?:_ ){9}"
    r"|\s{0,99}(?:ok \d|PASS\b|Passed |# Subtest: |duration_ms|\.\.\.$|---$)|(?:\S{1,300} )?[.sxX]+(?: +\[ *\d+%\])?$"
    r"|.{0,300}(?: PASSED\b| SKIPPED\b| XFAIL\b| \.\.\. (?:ok|ignored|skipped)\b|[✓✔√○])|Running \S+$"
)
FAILED = re.compile(
    r"_{3,} .{1,300} _{3,}$|(?: {4})*--- FAIL: |---- .{1,300} ----$|.{0,300}(?: FAILED\b| ERROR\b| FAIL\b|[✕✗✘×✖]|<<< )"
    r"|\s{0,99}(?:(?:FAIL|ERROR|FAILED|Failed)\b|not ok \d|●|\d+\) )"
)
SAYS = re.compile(
    r"E {3,}\S|> |\s{0,99}(?:(?:Expected|Received|expected|actual|left|right|error)\b.{0,9}: |[^\s:]{1,300}:\d+: )"
)
BITS = {SUMMARY: 10.0, PASSED: -8.0, FAILED: 8.0, SAYS: 4.0}
"""Bits of a summary, of a test that passed, of the name of one that failed, and of what that one says."""


def units(text: str) -> Sequence[Unit] | None:
    """Each line and each frame is a unit, if the first or the last lines hold what only a run of tests prints."""
    ends = ends_of(text)
    if not any(TOLD.search(f"\n{end}") for end in ends) or any("```" in end for end in ends):
        return None
    return [_unit(unit) for unit in pieces(text)]


def _unit(unit: Unit) -> Unit:
    """A line with what its role in the report adds; a frame as it is."""
    line = unit.text.partition("\n")[0]
    role = next((role for role in BITS if role.match(line)), None)
    if unit.shape == "frame" or not role:
        return unit
    shape, cells = ("passed", (line.strip(),)) if role is PASSED else (unit.shape, unit.cells)
    return Unit(unit.text, shape, cells, BITS[role])


TEST_REPORT = Kind("test report", "lines and frames", units)
