"""The figures of the pages: how a page shows an output, and that each page shows what its commands print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts import results
from scripts.results import OUTPUT, made, pages
from tests.support.paths import ROOT
from thimble.agent.errors import UsageError

TABLES = r"print('First\n\n| x |\n|---|\n| 0 |\n\nSums\n\n| a | b | c |\n|---|--:|--:|\n| p\\\\|q | 2 | 3 |')"
FIGURES = re.compile(r"[\d.,%×−+ ]*\d[\d.,%×−+ ]*")


def page(code: str, options: str = "", body: str = "Typed by hand.") -> str:
    command = f'```console\npython -c "{code}"\n```'
    return f"# A page\n\n{command}\n\n<!-- output{options} -->\n\n{body}\n\n<!-- end -->\n\nIts end.\n"


def test_a_page_shows_the_columns_of_the_table_that_it_names() -> None:
    options = "; table: Sums; columns: c | a"
    wanted = page(TABLES, options, "| c | a |\n|--:|---|\n| 3 | p\\|q |")
    assert made(page(TABLES, options)) == wanted
    assert made(wanted) == wanted


def test_a_page_shows_all_that_is_printed_in_a_block_if_it_is_no_markdown() -> None:
    assert made(page("print('7 of 9')")) == page("print('7 of 9')", body="```text\n7 of 9\n```")
    assert "\n\nFirst\n\n| x |\n|---|\n| 0 |\n\nSums\n" in made(page(TABLES))


def test_a_page_stays_without_the_data_of_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    of = page("print('$NO_SUCH_DATA')")
    assert made(of) == of
    assert "NO_SUCH_DATA" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("code", "options", "what"),
    [
        (TABLES, "; table: Means", "no table below 'Means'"),
        (TABLES, "; table: Sums; columns: a | d", "no column d"),
        ("exit(3)", "", "exit code 3"),
    ],
)
def test_what_cannot_be_shown_is_an_error(code: str, options: str, what: str) -> None:
    with pytest.raises(UsageError) as error:
        made(page(code, options))
    assert what in error.value.what


def test_a_long_command_is_run_only_to_be_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "RECORDED", tmp_path)
    data = tmp_path / "runs.json"
    data.write_text("abc")
    monkeypatch.setenv("SOME_DATA", str(data))
    of = page("print(len('$SOME_DATA') > 6)", "; recorded: six")
    assert made(of) == of
    shown = made(of, record=True)
    run = r"\*Recorded on \d{4}-\d\d-\d\d, at commit \w+(-dirty)?, in \d+ s, on runs.json \(ba7816bf\)\.\*"
    assert re.search(rf"^{run}\n\n```text\nTrue\n```$", shown, re.MULTILINE)
    assert made(of) == shown
    with pytest.raises(UsageError):
        made(of.replace("> 6", "> 7"))


def test_the_check_of_a_page_and_its_mistakes() -> None:
    results.main(["results/slips", "--check"])
    for flags, what in ((["slipz"], "no page slipz shows an output"), (["--record"], "--record takes hours")):
        with pytest.raises(UsageError) as error:
            results.main(flags)
        assert what in error.value.what


def test_a_table_with_figures_is_an_output() -> None:
    for path in (ROOT / "docs" / "results").glob("*.md"):
        rows = re.findall(r"^\|(.*)\|$", OUTPUT.sub("", path.read_text()), re.MULTILINE)
        assert not [row for row in rows if any(FIGURES.fullmatch(cell) for cell in row.split("|"))], path.name


@pytest.mark.nightly
@pytest.mark.parametrize("name", pages())
def test_a_page_shows_what_its_commands_print(name: str) -> None:
    text = pages()[name].read_text("utf-8")
    assert made(text) == text
