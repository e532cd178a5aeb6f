"""log: each record is a unit with its lines; its shape is what it says, whatever its time and its values."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies.kinds.log import LOG

FORMS = {
    "iso": "2026-11-23T06:{:02}:00.123Z INFO app: {}",
    "python": "2026-11-23 06:{:02}:00,123 INFO app: {}",
    "root": "INFO:root:{1}",
    "bracketed": "[2026-11-23 06:{:02}:00] [info] {}",
    "level": "[INFO] {1}",
    "npm": "npm error {1}",
    "syslog": "Nov 23 06:{:02}:00 host app[77]: {}",
    "syslog, new": "<34>1 2026-11-23T06:{:02}:00Z host app 77 - - {}",
    "apache": "[Mon Nov 23 06:{:02}:00 2026] [error] {}",
    "access": '10.0.0.1 - - [23/Nov/2026:06:{:02}:00 +0000] "GET /a HTTP/1.1" 200 {}',
    "nginx": "2026/11/23 06:{:02}:00 [error] 77#77: {}",
    "kernel": "[   12.0000{:02}] usb: {}",
    "klog": "I1123 06:{:02}:00.123456   77 file.go:12] {}",
    "android": "11-23 06:{:02}:00.123  77  77 D Tag: {}",
    "windows": "2026-11-23 06:{:02}:00, Info       CBS    {}",
    "compose": "web-1  | 2026-11-23T06:{:02}:00Z INFO {}",
    "clock": "06:{:02}:00 INFO {}",
    "pairs": 'time=2026-11-23T06:{:02}:00Z level=info msg="{}" user=ann',
    "json": '{{"time": "2026-11-23T06:{:02}:00Z", "level": "info", "msg": "{}", "user": "ann"}}',
}
CONTINUED = st.sampled_from([[], [], ["\tat a.B.c(B.java:3)", "Caused by: x"], ["  detail", ""]])


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@given(numbers=st.lists(st.tuples(st.integers(0, 59), st.integers(0, 10**6), CONTINUED), min_size=3, max_size=20))
def test_records_of_one_message_have_one_shape_and_their_lines(
    form: str, numbers: list[tuple[int, int, list[str]]]
) -> None:
    records = ["\n".join([form.format(minute, f"served {number} of 9"), *more, ""]) for minute, number, more in numbers]
    units = LOG.units("".join(records))
    assert units is not None
    assert [unit.text for unit in units] == records
    assert len({unit.shape for unit in units}) == 1
    assert all(str(number) in unit.cells for unit, (_, number, _) in zip(units, numbers, strict=True))
    assert len({len(unit.cells) for unit in units}) == 1


def test_a_level_and_a_field_tell_records_apart() -> None:
    lines = [json.dumps({"ts": n, "level": "info", "msg": "served", "ms": n}) for n in range(5)]
    *same, other, field = LOG.units("\n".join([*lines, lines[0].replace("info", "error"), lines[0]])) or []
    assert other.shape != same[0].shape == field.shape
    assert same[3].cells == ("3",)


@pytest.mark.parametrize(
    "text",
    [
        "time,value\n" + "".join(f"2026-11-23 06:29:{n:02},{n},a\n" for n in range(30)),
        "".join(f'{{"time": {n}, "user": "ann"}}\n' for n in range(30)),
        json.dumps([{"time": "2026-11-23T06:29:00Z", "level": "info", "msg": "a"}] * 9, indent=1),
        "".join(f"1\n00:00:{n:02},000 --> 00:00:{n:02},900\nwords\n\n" for n in range(30)),
        "".join(f"-rw-r--r-- 1 root root 40 2026-11-23 06:29:{n:02} +0000 a\n" for n in range(30)),
        "".join(f"1a2b3c4d (Ann Lee 2026-11-23 06:29:{n:02} +0000 {n}) def a():\n" for n in range(30)),
        "commit 1a2b\nAuthor: Ann\nDate:   Mon Nov 23 06:29:00 2026 +0000\n\n    Words\n\n" * 9,
        "INFO = 20\nERROR = 40\nDEBUG = 10\nWARNING = 30\n",
        "A note: at 06:29:00 the train left.\nWords.\nMore words.\n",
    ],
    ids=["csv", "records", "json", "subtitles", "ls", "blame", "git log", "constants", "prose"],
)
def test_what_only_has_times_or_levels_is_no_log(text: str) -> None:
    assert LOG.units(text) is None
