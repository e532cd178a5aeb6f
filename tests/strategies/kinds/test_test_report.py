"""test_report: the summary weighs most, then what failed and why; tests that passed weigh least."""

from __future__ import annotations

import io
import unittest

import pytest

from strategies.kinds.excerpt import excerpt
from strategies.kinds.test_report import BITS, FAILED, PASSED, SUMMARY, TEST_REPORT

PASSES = {
    "pytest": "tests/test_a.py::test_{} PASSED                          [ 48%]\n",
    "unittest": "test_{} (test_a.T) ... ok\n",
    "go": "--- PASS: Test{} (0.00s)\n",
    "jest": "    ✓ case {} (7 ms)\n",
    "cargo": "test tests::case{} ... ok\n",
    "junit": "|   +-- case{}() [OK] ✔\n",
    "tap": "ok {} - case\n",
    "gradle": "CartTest > case{}() PASSED\n",
}
FAILS = {
    "pytest": (
        "________ test_add ________\n\n>   assert add(2, 2) == 5\nE   assert 4 == 5\n\n"
        "tests/test_a.py:9: AssertionError\n",
        "=========== 1 failed, 99 passed in 0.32s ===========\n",
    ),
    "unittest": (
        "=====\nFAIL: test_add (test_a.T)\n-----\nTraceback (most recent call last):\n"
        '  File "test_a.py", line 9, in test_add\n'
        "    self.assertEqual(4, 5)\nAssertionError: 4 != 5\n",
        "Ran 100 tests in 0.002s\n\nFAILED (failures=1)\n",
    ),
    "go": ("--- FAIL: TestAdd (0.00s)\n    a_test.go:4: got 4, want 5\n", "FAIL\texample.com/shop\t0.006s\n"),
    "jest": (
        "  ● sum › add\n\n    Expected: 5\n    Received: 4\n\n      at Object.add (sum.test.js:2:113)\n",
        "Tests:       1 failed, 99 passed, 100 total\n",
    ),
    "cargo": (
        "---- tests::add stdout ----\n\nthread 'tests::add' panicked at src/lib.rs:6:21:\n"
        "assertion failed\n  left: 4\n right: 5\n",
        "test result: FAILED. 99 passed; 1 failed; 0 ignored; finished in 0.16s\n",
    ),
    "junit": (
        "    [X] add() expected: <5> but was: <4> ✘\n",
        "Test run finished after 64 ms\n[        99 tests successful      ]\n[         1 tests failed          ]\n",
    ),
    "tap": ("not ok 8 - add\n  error: 'got 4'\n  expected: 5\n  actual: 4\n", "# tests 100\n# pass 99\n# fail 1\n"),
    "gradle": (
        "CartTest > add() FAILED\n    org.opentest4j.AssertionFailedError: expected: <5> but was: <4>\n"
        "        at CartTest.add(CartTest.java:9)\n",
        "100 tests completed, 1 failed\n",
    ),
}


@pytest.mark.parametrize("runner", PASSES)
@pytest.mark.parametrize("place", [0, 40, 99])
def test_an_excerpt_keeps_what_failed_why_and_the_summary(runner: str, place: int) -> None:
    failure, summary = FAILS[runner]
    passes = [PASSES[runner].format(n) for n in range(99)]
    text = "".join([*passes[:place], failure, *passes[place:], summary])
    units = TEST_REPORT.units(text)
    assert units is not None
    assert "".join(unit.text for unit in units) == text
    assert {unit.weight for unit in units if unit.text in passes} == {BITS[PASSED]}
    assert units[-1].weight == max(unit.weight for unit in units) == BITS[SUMMARY]
    assert any(unit.weight == BITS[FAILED] for unit in units)
    short = excerpt(text, len(failure) + len(summary) + 300)
    assert all(line in short for line in (failure + summary).split("\n") if line.strip(" =-"))


class Case(unittest.TestCase):
    """Tests that a test runs."""

    def fails(self) -> None:
        self.fail("4 is not 5")

    def passes(self) -> None:
        pass


def test_what_unittest_of_this_python_prints() -> None:
    written = io.StringIO()
    tests = unittest.TestSuite([*[Case("passes") for _ in range(200)], Case("fails")])
    unittest.TextTestRunner(written, verbosity=2).run(tests)
    units = TEST_REPORT.units(written.getvalue())
    assert units is not None
    assert sum(unit.shape == "passed" for unit in units) == 200
    short = excerpt(written.getvalue(), 1_500)
    assert all(text in short for text in ("FAIL: fails", "4 is not 5", "Ran 201 tests", "FAILED (failures=1)"))


def test_a_report_that_was_cut_off_before_its_summary_is_one() -> None:
    text = "".join(f"✔ case {n} (0.{n}ms)\n" for n in range(40)) + "✖ add (1.5ms)\n  AssertionError: 4 is not 5\n"
    units = TEST_REPORT.units(text)
    assert units is not None
    assert [unit.text for unit in units if unit.weight == BITS[FAILED]] == ["✖ add (1.5ms)\n"]


@pytest.mark.parametrize(
    "text",
    [
        "Words.\n\n```\n=== 1 failed, 3 passed in 0.1s ===\n```\n",
        "We ran 5 tests in a day. 3 passed.\nThe others FAILED.\n",
        "| feature | here |\n|---|---|\n| tests | ✓ |\n| lint | ✗ |\n",
        'print("=== 1 failed in 0.1s ===")\nok = 1\n',
    ],
    ids=["page", "prose", "table", "source"],
)
def test_a_text_about_tests_is_none(text: str) -> None:
    assert TEST_REPORT.units(text) is None
