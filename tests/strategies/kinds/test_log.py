"""log: each record is a unit with its lines; its shape is what it says, whatever its time and its values."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thimble.strategies.kinds.log import units

FORMS = {
    "iso": "2026-11-23T06:{:02}:00.123Z INFO app: {}",
    "python": "2026-11-23 06:{:02}:00,123 INFO app: {}",
    "root": "INFO:root:{1}",
    "bracketed": "[2026-11-23 06:{:02}:00] [info] {}",
    "level": "[INFO] {1}",
    "syslog": "Nov 23 06:{:02}:00 host app[77]: {}",
    "syslog, new": "<34>1 2026-11-23T06:{:02}:00Z host app 77 - - {}",
    "apache": "[Mon Nov 23 06:{:02}:00 2026] [error] {}",
    "access": '10.0.0.1 - - [23/Nov/2026:06:{:02}:00 +0000] "GET /a HTTP/1.1" 200 {}',
    "nginx": "2026/11/23 06:{:02}:00 [error] 77#77: {}",
    "klog": "I1123 06:{:02}:00.123456   77 file.go:12] {}",
    "android": "11-23 06:{:02}:00.123  77  77 D Tag: {}",
    "windows": "2026-11-23 06:{:02}:00, Info       CBS    {}",
    "compose": "web-1  | 2026-11-23T06:{:02}:00Z INFO {}",
    "clock": "06:{:02}:00 INFO {}",
}
CONTINUED = st.sampled_from([[], [], ["\tat a.B.c(B.java:3)", "Caused by: x"], ["  detail", ""]])


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@given(numbers=st.lists(st.tuples(st.integers(0, 59), st.integers(0, 10**6), CONTINUED), min_size=3, max_size=20))
def test_records_of_one_message_have_one_shape_and_their_lines(
    form: str, numbers: list[tuple[int, int, list[str]]]
) -> None:
    records = ["\n".join([form.format(minute, f"served {number} of 9"), *more, ""]) for minute, number, more in numbers]
    found = units("".join(records))
    assert found is not None
    assert [unit.text for unit in found] == records
    assert len({unit.shape for unit in found}) == 1
    assert all(str(number) in unit.cells for unit, (_, number, _) in zip(found, numbers, strict=True))
    assert len({len(unit.cells) for unit in found}) == 1


def test_a_level_and_a_field_tell_records_apart() -> None:
    lines = [f'time=2026-11-23T06:00:0{n}Z level=info msg="it is served" ms={n}' for n in range(5)]
    *same, other = units("\n".join([*lines, lines[0].replace("info", "error")])) or []
    assert other.shape == same[0].shape
    assert (same[3].cells[1:], other.cells[1:]) == (("info", '"it is served"', "3"), ("error", '"it is served"', "0"))


@pytest.mark.parametrize(
    "text",
    [
        "".join(f'{{"time": {n}, "user": "ann"}}\n' for n in range(30)),
        json.dumps([{"time": "2026-11-23T06:29:00Z", "level": "info", "msg": "a"}] * 9, indent=1),
        "".join(f"1\n00:00:{n:02},000 --> 00:00:{n:02},900\nwords\n\n" for n in range(30)),
        "commit 1a2b\nAuthor: Ann\nDate:   Mon Nov 23 06:29:00 2026 +0000\n\n    Words\n\n" * 9,
        "INFO = 20\nERROR = 40\nDEBUG = 10\nWARNING = 30\n",
        "A note: at 06:29:00 the train left.\nWords.\nMore words.\n",
    ],
    ids=["records", "json", "subtitles", "git log", "constants", "prose"],
)
def test_what_only_has_times_or_levels_is_no_log(text: str) -> None:
    assert units(text) is None
