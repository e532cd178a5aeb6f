"""Every form gives the same session, and whatever is wrong with a file, the user hears what."""

import gzip
import json
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.logs.samples import ANSWER, ASK, CHAT, CLAUDE, INSPECT, OUTPUT, SAMPLES, THOUGHT, document, lines
from thimble.agent.errors import UsageError
from thimble.logs.forms import FORMS, read_logs
from thimble.logs.log import Log
from thimble.models.chat import read_conversation

NAMES = sorted(SAMPLES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logs")


def logs_of(folder: Path, content: bytes) -> list[Log]:
    path = folder / "session"
    path.write_bytes(content)
    return read_logs(path)


def told(log: Log) -> list[tuple[str, str, list[tuple[str, object]]]]:
    """Role, words and calls of each message, as the intake takes them, without a system prompt."""
    messages = read_conversation(log.entries).repaired.messages
    return [
        (message.role, message.content.strip(), [(call.name, json.loads(call.arguments)) for call in message.calls])
        for message in messages
        if message.role != "system" and message.content != "Ask before you write." and "<env" not in message.content
    ]


@pytest.mark.parametrize("name", NAMES)
def test_every_form_tells_the_same_session(name: str, folder: Path) -> None:
    form, content = SAMPLES[name]
    (log,) = logs_of(folder, content)
    assert log.form == form
    assert told(log) == [
        ("user", ASK, []),
        ("assistant", THOUGHT, [("look", {"page": "report"})]),
        ("tool", OUTPUT, []),
        ("assistant", ANSWER, []),
    ]
    assert read_conversation(log.entries).repaired.lost == 0
    assert len(log.calls) == 2
    assert [log.entries[call.at]["role"] for call in log.calls] == ["assistant", "assistant"]
    assert len(log.contexts) == 1, "nothing was compacted"
    assert log.prompt(log.calls[1]) == [*range(log.calls[1].at)]


@pytest.mark.parametrize(
    ("name", "usage"),
    [
        ("claude", (3, 100, 5, 9)),
        ("codex", (50, 60, None, 7)),
        ("pi", (9, 90, None, None)),
        ("gemini", (20, 100, None, 15)),
        ("opencode", (20, 100, 0, 15)),
        ("openhands", (20, 100, None, 15)),
        ("swe-agent", (None, None, None, None)),
        ("inspect", (20, 100, None, 15)),
        ("atif", (20, 100, None, 15)),
        ("chat requests", (20, 100, None, 15)),
        ("anthropic requests", (3, 100, 5, 9)),
        ("responses", (20, 100, None, 15)),
    ],
)
def test_usage_is_counted_once_in_four_numbers(name: str, usage: tuple[int | None, ...], folder: Path) -> None:
    reported = logs_of(folder, SAMPLES[name][1])[0].calls[0].reported
    assert (reported.uncached, reported.cache_read, reported.cache_write, reported.output) == usage


@given(st.sampled_from(NAMES), st.floats(0, 1))
def test_a_file_that_was_cut_anywhere_gives_logs_or_a_usage_error(folder: Path, name: str, share: float) -> None:
    content = SAMPLES[name][1]
    try:
        logs = logs_of(folder, content[: int(share * len(content))])
    except UsageError:
        return
    for log in logs:
        assert all(0 <= place < len(log.entries) for call in log.calls for place in log.prompt(call))


JUNK = st.sampled_from([None, 7, "x", [], {}, [7], {"type": "new"}, {"text": None}, [[]], True])


@given(st.sampled_from(NAMES), st.integers(0, 400), JUNK)
def test_a_value_of_another_shape_gives_logs_or_a_usage_error(folder: Path, name: str, at: int, junk: object) -> None:
    """One value, anywhere in the file, is another than its form has."""
    left = [at]

    def spoiled(value: object) -> object:
        left[0] -= 1
        if left[0] == 0:
            return junk
        if isinstance(value, list):
            return [*map(spoiled, value)]
        return {key: spoiled(one) for key, one in value.items()} if isinstance(value, dict) else value

    content = SAMPLES[name][1]
    try:
        values = [json.loads(content)]
    except ValueError:
        values = [json.loads(line) for line in content.splitlines()] if name != "opencode" else []
    try:
        logs_of(folder, lines(*map(spoiled, values)))
    except UsageError:
        return


@pytest.mark.parametrize("name", ["claude", "codex", "pi", "gemini lines", "openhands, second"])
def test_lines_of_an_unknown_type_are_counted_by_it(name: str, folder: Path) -> None:
    known = logs_of(folder, SAMPLES[name][1])[0]
    new = {"type": "brand-new", "id": "9", "parentId": "4", "kind": "BrandNewEvent", "source": "agent"}
    log = logs_of(folder, SAMPLES[name][1] + lines(new, new) + b'{"type": "torn off in the mid')[0]
    assert log.entries == known.entries
    added = log.left_out - known.left_out
    assert added.pop("line that is not JSON") == 1
    ((kind, count),) = added.items()
    assert "rand" in kind
    assert count in (1, 2)


def test_what_a_file_is_does_not_depend_on_its_name(tmp_path: Path) -> None:
    packed = tmp_path / "notes.txt"
    packed.write_bytes(gzip.compress(b"\xef\xbb\xbf" + SAMPLES["codex"][1]))
    assert read_logs(packed)[0].form == "Codex"
    zipped = tmp_path / "log.eval"
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("samples/1_epoch_1.json", json.dumps(INSPECT["samples"][0]))  # type: ignore[index]
        archive.writestr("_journal/start.json", json.dumps({"version": 2, "eval": {}}))
    assert len(read_logs(zipped)[0].calls) == 2
    zipped.write_bytes(zipped.read_bytes()[:-30])
    with pytest.raises(UsageError, match="cannot be read"):
        read_logs(zipped)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            b"# aider chat started at 2025-01-01\n\n#### fix it\n> Tokens: 3k sent\n",
            "aider's history, which cannot be replayed",
        ),
        (document({"version": 2, "eval": {}, "samples": 7}), "looks like Inspect"),
        (document({"version": 2, "eval": {}, "samples": []}), "it has no messages"),
    ],
)
def test_a_refusal_says_what_it_is_and_which_forms_there_are(content: bytes, words: str, folder: Path) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        logs_of(folder, content)
    assert "\n" not in caught.value.what
    assert "aider" in words or all(title in caught.value.fix for title, _ in FORMS.values())


def test_a_file_of_no_known_form_is_no_log(folder: Path) -> None:
    for content in (b"", b"Dear diary,\n", document({**INSPECT})[:300], document({"size": 3}), document(CHAT)):
        assert logs_of(folder, content) == []


def test_runs_and_samples_are_logs_of_their_own(folder: Path) -> None:
    sample = INSPECT["samples"][0]  # type: ignore[index]
    assert len(logs_of(folder, document({**INSPECT, "samples": [sample, {**sample, "epoch": 2}]}))) == 2


def test_a_long_file_is_read_line_by_line(tmp_path: Path) -> None:
    """What the screen showed a second time does not stay in memory: it is most of a real file."""
    path = tmp_path / "long.jsonl"
    with path.open("wb") as file:
        file.write(lines(*CLAUDE))
        for at in range(300):
            file.write(lines({**CLAUDE[4], "uuid": f"n{at}", "toolUseResult": "x" * 50_000}))
    tracemalloc.start()
    (log,) = read_logs(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert log.left_out["toolUseResult"] == 301
    assert peak < path.stat().st_size / 5
