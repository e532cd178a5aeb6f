from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.embedding import Counting
from thimble.agent.errors import ToolError
from thimble.agent.protocols import Embedder
from thimble.models.embeddings.static import static_embedder
from thimble.tools import files
from thimble.tools.files import file_tools
from thimble.tools.lines import COMPARED, COMPARED_CHARACTERS, MAX_NEAR_LINES, find_lines, index_texts, split_lines

LINES = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="\n\r\0"), max_size=30), min_size=1, max_size=200
)


def call(root: Path, name: str, /, embedder: Embedder | None = None, **arguments: Any) -> str:
    return next(tool for tool in file_tools(root, embedder) if tool.name == name).run(arguments)


@given(LINES, st.integers(1, 50))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_the_pages_are_the_whole_file_once(tmp_path: Path, lines: list[str], size: int) -> None:
    (tmp_path / "f.txt").write_text("\n".join([*lines, "end"]) + "\n", newline="")
    start: int | None = 1
    read: list[str] = []
    while start:
        head, *shown = call(tmp_path, "read_file", path="f.txt", start=start, lines=size).split("\n")
        first, last = map(int, re.findall(r"lines (\d+)-(\d+) of", head)[0])
        left = re.fullmatch(
            r"\[lines \d+-\d+ left: read_file\(path=\"f.txt\", start=(\d+)(, lines=\d+)?\)\]", shown[-1]
        )
        shown = shown[:-1] if left else shown
        assert first == start
        assert [line.split(": ", 1)[0] for line in shown] == [str(number) for number in range(first, last + 1)]
        read += [line.split(": ", 1)[1] for line in shown]
        start = int(left[1]) if left else None
    assert read == [*lines, "end"] or (lines[0].startswith("\ufeff") and read[1:] == [*lines, "end"][1:])


@given(st.text(), st.integers(), st.integers())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_any_request_is_answered_or_explained(tmp_path: Path, query: str, start: int, lines: int) -> None:
    (tmp_path / "f.txt").write_text("one two\nthree\n")
    for name, arguments in (
        ("read_file", {"path": "f.txt", "start": start, "lines": lines}),
        ("search_files", {"query": query}),
    ):
        try:
            observation = call(tmp_path, name, **arguments)
        except ToolError as error:
            observation = error.what
        assert observation


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "run.log").write_text("".join(f"row {number}\n" for number in range(1, 413)))
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfone\r\nTwo words\r\n")
    (tmp_path / "empty").write_text("")
    (tmp_path / "image.png").write_bytes(b"\x89PNG\0" + b"x" * 2000)
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    return tmp_path


def test_list(root: Path) -> None:
    assert call(root, "list_files") == (
        "5 files\n"
        "a.txt (19 bytes, 2 lines)\n"
        "empty (0 bytes, 0 lines)\n"
        "image.png (2.0 KB, binary)\n"
        "latin.txt (4 bytes, not readable)\n"
        "notes/run.log (3.1 KB, 412 lines)"
    )
    assert call(root, "list_files", folder="notes/") == "1 file\nnotes/run.log (3.1 KB, 412 lines)"
    with pytest.raises(ToolError, match=r'a.txt is a file: read_file\(path="a.txt"\) reads it'):
        call(root, "list_files", folder="a.txt")


def test_a_large_folder_is_limited_and_says_so(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(150):
        (root / "notes" / f"{number:03}.txt").touch()
    lines = call(root, "list_files").split("\n")
    assert (lines[0], len(lines)) == ("155 files", 102)
    assert lines[-1] == "[100 of 155 shown; folders here: notes]"
    monkeypatch.setattr(files, "FOLDER_FILES", 155)
    assert call(root, "list_files").startswith("more than 155 files\n")


def test_read(root: Path) -> None:
    assert call(root, "read_file", path="a.txt") == "a.txt · lines 1-2 of 2\n1: one\n2: Two words"
    lines = call(root, "read_file", path="notes/run.log").split("\n")
    assert lines[0] == "notes/run.log · lines 1-80 of 412"
    assert lines[1] == "1: row 1"
    assert lines[80] == "80: row 80"
    assert lines[81] == '[lines 81-412 left: read_file(path="notes/run.log", start=81)]'
    assert call(root, "read_file", path="notes/run.log", start="411", lines=9) == (
        "notes/run.log · lines 411-412 of 412\n411: row 411\n412: row 412"
    )
    assert call(root, "read_file", path="notes/run.log", start=3, lines=2).endswith(
        '4: row 4\n[lines 5-412 left: read_file(path="notes/run.log", start=5, lines=2)]'
    )
    assert call(root, "read_file", path="empty") == "empty · empty"


def test_long_lines_are_shortened_and_pages_end_early(root: Path) -> None:
    (root / "wide.txt").write_text(f"{'x' * 600}\n" * 80)
    observation = call(root, "read_file", path="wide.txt")
    assert observation.startswith(f"wide.txt · lines 1-13 of 80\n1: {'x' * 500}… [+100 characters]\n")
    assert observation.endswith('[lines 14-80 left: read_file(path="wide.txt", start=14)]')
    assert len(observation) < 8_000


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"path": "image.png"}, "image.png: it is binary, not text"),
        ({"path": "latin.txt"}, "latin.txt: it is not UTF-8 text"),
        ({"path": "notes"}, r'notes is a folder: list_files\(folder="notes"\) lists it'),
        ({"path": ""}, r"it is a folder|is a folder"),
        ({"path": "runs.log"}, "runs.log does not exist; nearest: notes/run.log"),
        ({"path": "a.txt", "start": 3}, "there is no line 3: a.txt has 2 lines"),
        ({"path": "a.txt", "start": 0}, "there is no line 0"),
    ],
)
def test_a_reading_that_fails_is_explained(root: Path, arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ToolError, match=said):
        call(root, "read_file", **arguments)


def test_a_file_has_a_size_limit(root: Path) -> None:
    (root / "big.txt").write_bytes(b"x" * 5_000_001)
    with pytest.raises(ToolError, match=r"big.txt: it is larger than 5 MB"):
        call(root, "read_file", path="big.txt")
    assert "big.txt (4,882.8 KB)\n" in call(root, "list_files")


def test_search(root: Path) -> None:
    skipped = "\n[2 files not searched: binary, too large or not readable]"
    assert call(root, "search_files", query="TWO w") == f'1 match for "TWO w"\na.txt:2: Two words{skipped}'
    assert call(root, "search_files", query="words two") == f'1 match for "words two"\na.txt:2: Two words{skipped}'
    assert call(root, "search_files", query="row 41", folder="notes") == (
        '4 matches for "row 41"\n'
        "notes/run.log:41: row 41\n"
        "notes/run.log:410: row 410\n"
        "notes/run.log:411: row 411\n"
        "notes/run.log:412: row 412"
    )
    assert call(root, "search_files", query="one", folder="a.txt") == '1 match for "one"\na.txt:1: one'
    assert call(root, "search_files", query="zzz", folder="notes") == 'No matches for "zzz".'
    with pytest.raises(ToolError, match="the query is empty"):
        call(root, "search_files", query=" ")


def test_a_match_in_a_long_line_is_shown_with_what_is_around_it(root: Path) -> None:
    (root / "long.txt").write_text("a" * 5_000 + "needle" + "b" * 5_000)
    found = call(root, "search_files", query="NEEDLE").split("\n")[1]
    assert re.fullmatch(r"long.txt:1: …a+needleb+…", found)
    assert len(found) < 250


@pytest.mark.parametrize(
    ("limit", "value", "said"),
    [("SEARCHED_BYTES", 10, "stopped after 1 of 5 files"), ("SEARCH_SECONDS", -1, "after -1 seconds and 0 of 5 files")],
)
def test_a_search_that_stops_early_says_so(
    root: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int, said: str
) -> None:
    monkeypatch.setattr(files, limit, value)
    observation = call(root, "search_files", query="row")
    assert observation.startswith('No matches for "row".\n[stopped after ')
    assert observation.endswith(f"{said}: name a folder to search the others]")


NOTES = {
    "meetings/2026-04-02.md": "# Meeting\n\n## Decided\n- The pier opens in May.\n- No boat is hired.\n",
    "runs.csv": "run,date,seconds\nr1,2026-03-01,12.5\nr2,2026-03-02,14.0\nr3,2026-03-02,9.0\n",
    "site.toml": "title = 'Pond'\n[gateway]\nport = 8080\n",
    "server.log": "2026-03-02 09:00 INFO start\n2026-03-02 09:05 ERROR valve stuck\n",
}


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    for name, text in NOTES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("when does the pier open, as decided on 2 April", "meetings/2026-04-02.md:4: The pier opens in May. "),
        ("seconds of run r2", "runs.csv:3: r2 · date: 2026-03-02 · seconds: 14.0. "),
        ("what error was in the server log", "server.log:2: 2026-03-02 09:05 ERROR valve stuck "),
        ("which port does the gateway listen on", "site.toml:3: [gateway] › port = 8080 "),
    ],
)
def test_where_no_line_has_every_word_the_nearest_passages_come_first(notes: Path, query: str, best: str) -> None:
    for embedder in (None, static_embedder(), Counting(fails=True)):
        said = call(notes, "search_files", embedder=embedder, query=query)
        assert re.match(rf'\d nearest passages? for "{query}"\n', said)
        assert said.split("\n", 1)[1].startswith(best)
        scores = [float(score) for score in re.findall(r"\(score (.+)\)$", said, re.MULTILINE)]
        assert len(scores) == said.count("\n") <= MAX_NEAR_LINES
        assert scores[0] == max(scores)


@pytest.mark.parametrize("query", ["ships that sail to Rome", "qqq", "🙂", '" OR *'])
def test_where_nothing_is_near_it_says_so(notes: Path, query: str) -> None:
    assert call(notes, "search_files", query=query).startswith("No matches for ")


def test_a_row_of_a_table_is_shown_under_the_names_of_its_columns(notes: Path) -> None:
    assert call(notes, "search_files", query="r3") == (
        '1 match for "r3"\nruns.csv:1: run,date,seconds\nruns.csv:4: r3,2026-03-02,9.0'
    )
    assert call(notes, "search_files", query="run").count("runs.csv:1:") == 1


@given(st.lists(st.text("aAbß \n", max_size=12), max_size=6), st.text("aAbß ", min_size=1, max_size=12))
def test_the_lines_found_are_those_that_hold_the_phrase_or_else_all_words(texts: list[str], query: str) -> None:
    phrase = query.strip()
    found, many = find_lines([(str(number), text) for number, text in enumerate(texts)], phrase, 2)
    lines = [(str(place), line.casefold()) for place, text in enumerate(texts) for line in split_lines(text)]
    held = [line for line in lines if all(word in line[1] for word in phrase.casefold().split())]
    whole = [line for line in held if phrase.casefold() in line[1]]
    assert [(line.path, line.text.casefold()) for line in found] == (whole or held)[:2]
    assert many == len(whole or held)


def test_a_word_is_searched_once_however_often_it_is_asked_for(root: Path) -> None:
    (root / "a.txt").write_text("b\n" * 100_000)
    observation = call(root, "search_files", query="b " * 3_000_000, folder="a.txt")
    assert observation.startswith('100,000 matches for "b b b')
    assert observation.endswith("[only the first 64 words of the query were searched, and of it 4,000 characters]")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.log", "ab\n" * 60_000),
        ("a.md", "a b c\n" * 170_000),
        ("a.csv", f"a,{'b' * 200_000}\n1,2\n"),
        ("b.csv", f"a,{'b' * 20_000}\n" + "1,2\n" * 5_000),
        ("a.toml", f"[{'a' * 20_000}]\n" + "b = 1\n" * 5_000),
    ],
)
def test_the_compared_text_is_bounded(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    observation = call(tmp_path, "search_files", query="q zz")
    assert observation.startswith('No matches for "q zz".')
    kept = index_texts(((name, text[:COMPARED_CHARACTERS]),))
    assert len(kept.rows) <= COMPARED
    ((size,),) = kept.ask("SELECT sum(length(said) + length(above)) FROM passages")
    assert size <= 40 * len(text)
    assert ("[only the beginning was compared" in observation) == (
        len(text) > COMPARED_CHARACTERS or len(kept.rows) == COMPARED
    )
