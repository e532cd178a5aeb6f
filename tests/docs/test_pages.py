"""The pages: every command runs, every transcript is what the program prints, every link leads somewhere."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from scripts import reference
from tests.support.branched_sessions import run as typed
from tests.support.family import family
from tests.support.paths import ROOT
from thimble.corpus.passages import MOST_WORDS
from thimble.corpus.ranking import ASKING_WEIGHT, CITED_ARTICLE_BONUS, CONTEXT_WEIGHT, REPEATED_WEIGHT
from thimble.models.reader import answer
from thimble.models.reader.answer import SECOND_SCORE_SHARE
from thimble.models.reader.evidence import MIN_ANSWER_SCORE, NEAR_SCORE
from thimble.repl.cli.headless import DONE
from thimble.repl.cli.laws import BROKEN
from thimble.repl.cli.recordings import load_recording, playback_settings
from thimble.session.playback import Playback
from thimble.session.session import Session
from thimble.session.settings import Settings

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
ROOMS = sorted((ROOT / "thimble").glob("*/README.md"))
EXAMPLE = ROOT / "docs" / "examples" / "thimble-oldest" / "README.md"
"""Its commands install something: tests/whole/test_plugins.py runs them."""
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def page(name: str) -> str:
    """The text of the page in docs/ whose file has this name, without its ending."""
    (found,) = (ROOT / "docs").rglob(f"{name}.md")
    return found.read_text()


def blocks(language: str, name: str = "") -> list[str]:
    """The fenced blocks of a language, on one page or on all of them."""
    texts = [page(name)] if name else [each.read_text() for each in PAGES]
    return [body for text in texts for found, body in FENCE.findall(text) if found == language]


def commands(name: str = "") -> list[str]:
    """The lines of the `sh` blocks, of one page or of all."""
    return lines_of(blocks("sh", name))


def lines_of(bodies: list[str]) -> list[str]:
    """The commands of these blocks."""
    return [line for body in bodies for line in body.strip().splitlines() if line[:1] != "#"]


# ---- commands --------------------------------------------------------------------------------------------------------


@pytest.fixture
def workshop(tmp_path: Path, forked: Path) -> Path:
    """A folder with `mine.py`, the strategy of README and tutorial, and the classes, each in a file of its name."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "thimble").symlink_to(forked)
    (mine,) = {body for body in blocks("python") if "def prepare(messages, budget):" in body and "class" not in body}
    (tmp_path / "mine.py").write_text(mine)
    for name in ("Oldest", "Fuse", "Gist"):
        (body,) = {body for body in blocks("python") if f"class {name}:" in body}
        (tmp_path / f"{name.lower()}.py").write_text(body)
    (tmp_path / "conversation.json").write_text(blocks("json", "use-as-a-filter")[0])
    for folder in ("benchmarks", "docs"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    return tmp_path


def run_in(workshop: Path, command: str) -> subprocess.CompletedProcess[str]:
    path = [str(workshop / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
    return subprocess.run(
        command,
        shell=True,
        cwd=workshop,
        env={**os.environ, "PATH": os.pathsep.join(path), "PYTHONPATH": str(ROOT), "THIMBLE_BACKEND": "reader"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )


PROMISE = re.compile(
    r"^```sh\n([^\n]+)\n```\n\n(?:(?!```)[^\n]+\n)*(?!```)[^\n]+:\n\n```text\n(.*?)^```$", re.DOTALL | re.M
)


def promised(command: str) -> set[str]:
    """The lines that the pages show of what a command prints: a `text` block after its own, one paragraph between."""
    shown = [body for each in PAGES for found, body in PROMISE.findall(each.read_text()) if found == command]
    return {line for body in shown for line in body.splitlines()}


def by_day() -> set[str]:
    """The first session of each page; `make nightly` runs the others, and those that measure."""
    sessions = [
        [line for line in lines_of(found) if is_session(line)]
        for found in map(sh_blocks, PAGES)
        if found != sh_blocks(EXAMPLE)
    ]
    return {first for first, *_ in filter(None, sessions)}


def sh_blocks(of: Path) -> list[str]:
    """Those of a page."""
    return [body for language, body in FENCE.findall(of.read_text()) if language == "sh"]


def is_session(command: str) -> bool:
    """Whether a command only asks and shows, and does not take its time as a slow server does."""
    others = "thimble lab", "thimble laws", "python", "--pace", "make ", "export "
    return not any(word in command for word in others)


@pytest.mark.parametrize("command", family(sorted({*commands()} - {*lines_of(sh_blocks(EXAMPLE))}), *by_day()))
def test_every_shown_command_runs_and_prints_what_the_page_shows(command: str, workshop: Path) -> None:
    run = run_in(workshop, re.sub(r"^make\b", f"make -n -C {ROOT}", command))
    assert run.returncode in (DONE, BROKEN if "thimble laws" in command else DONE), (
        f"{command}\n{run.stdout}\n{run.stderr}"
    )
    assert promised(command) <= {line.rstrip() for line in f"{run.stdout}\n{run.stderr}".splitlines()}


def test_the_installed_program_acts_as_the_readme_shows(workshop: Path) -> None:
    (command,) = re.findall(r"^thimble --strategy .*$", (ROOT / "README.md").read_text(), re.MULTILINE)
    (workshop / "bin" / "thimble").unlink()  # the next on the path is the installed one
    run = run_in(workshop, command)
    assert len(promised(command)) == 2
    assert promised(command) <= {*run.stdout.splitlines(), *run.stderr.splitlines()}


def test_a_strategy_of_ones_own_says_why(workshop: Path) -> None:
    (command,) = (line for line in commands("2-your-own-strategy") if "oldest.py" in line)
    said = run_in(workshop, command).stdout
    assert "message 4 (list_articles), dropped, 204 → 0 tokens: the oldest turns go until the view fits" in said


def test_the_lesson_is_the_lines_to_type_and_shows_what_it_says(workshop: Path) -> None:
    lines = re.findall(r"^\| \d+ \| `(.+?)` \|", page("3-teach-it"), re.MULTILINE)
    (command,) = commands("3-teach-it")
    assert [text for flag, text in pairwise(shlex.split(command)) if flag == "-p"] == lines
    told = run_in(workshop, f"{command} 2>&1").stdout
    for said in (
        "1,100/5,000 22%", "Planted in message 10", " 782 tokens over", "hold 3,748 of 5,000",
        "Predicted: 14 of 17 right", "message 10 (read_file), masked", "miss: ", "hit: ", "known answer: right",
        "Branch 2 starts after exchange 1 of branch 1, under offload", "branch: 2 (in use); turns: 4",
    ):  # fmt: skip
        assert said in told, said
    assert "known answer: wrong" not in told
    assert told.count("hit: ") == 2
    assert "over budget" not in told.partition("Branch 2 starts")[2]


def test_the_first_look_shows_what_the_program_prints(workshop: Path) -> None:
    *_, command = commands("1-first-look")
    run = run_in(workshop, command)
    rows = re.findall(r"^\| `.+?` \| (.*?) \|", page("1-first-look"), re.MULTILINE)
    figures = re.findall(r"\d[\d,]*\d", " ".join(rows))
    assert [figure for figure in figures if figure not in run.stdout + run.stderr] == []


def test_the_page_on_prepare_shows_what_comes_out(workshop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    conversation, expected = map(json.loads, blocks("json", "use-as-a-filter"))
    (command,) = commands("use-as-a-filter")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(workshop)
    assert json.loads(subprocess.check_output(command, shell=True)) == expected
    shown: dict[str, Any] = {}
    exec(*blocks("python", "use-as-a-filter"), shown)
    thimble = shlex.split(command.partition("<")[0])
    assert shown["prepared"](conversation, command=thimble) == expected
    assert shown["prepared"](conversation)["messages"] == conversation


# ---- transcripts -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shown", reference.TRANSCRIPTS)
def test_a_transcript_is_what_the_program_prints(shown: reference.Transcript) -> None:
    assert shown.on_page() == shown.printed(), "make it anew: make reference"


def test_the_timeline_on_the_page_is_that_of_the_recording() -> None:
    (shown,) = (body for body in blocks("text", "screen") if body.startswith("› /timeline"))
    recording = load_recording("reader/comem", ROOT)
    playback = Playback(recording, "reader/comem", lambda seconds, line: 0.0)
    session = Session(playback_settings(Settings(), recording), playback=playback)
    for _, line in recording.typed_lines[:3]:
        typed(session, line)
    assert f"› /timeline\n{typed(session, '/timeline', drawn=True)}\n" == shown


def test_the_figures_of_a_prediction_come_out_of_the_command_beside_it(workshop: Path) -> None:
    sample = next(body for body in blocks("text", "test-what-is-lost") if body.startswith("Predicted"))
    run = run_in(workshop, commands("test-what-is-lost")[0])
    printed = run.stdout + run.stderr
    assert [figure for figure in re.findall(r"\d[\d,.]+", sample) if figure.strip(",.") not in printed] == []


def test_the_life_of_a_fact_on_the_page_comes_out_of_the_command_above_it(workshop: Path) -> None:
    rows = next(body for body in blocks("text", "test-what-is-lost") if "of 5 calls" in body).splitlines()
    (command,) = (line for line in commands("test-what-is-lost") if line.endswith('-p "/probe"'))
    shown = [re.sub(r"( ‹)? +[█·!×▒]+ +", ": ", row[2:], count=1) for row in rows]
    printed = run_in(workshop, command).stdout.replace(" (in use)", "").splitlines()
    assert shown == [row.strip() for row in printed if row.strip() in shown]


# ---- tables ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", reference.PAGES)
def test_a_page_of_the_reference_is_what_the_code_says(name: str) -> None:
    assert page(name) == reference.page(name), "make it anew: make reference"


def test_the_manual_is_what_the_code_says_and_no_line_is_lost_in_it() -> None:
    text = (reference.FOLDER / "thimble.1").read_text()
    assert text == reference.manual(), "make it anew: make reference"
    requests = {line.split()[0] for line in text.splitlines() if line.startswith((".", "'"))}
    assert requests == {".TH", ".SH", ".TP", ".B", ".nf", ".fi"}


def test_the_page_on_the_reader_has_the_figures_of_the_code() -> None:
    told = " ".join(page("how-the-reader-answers").split())
    for figure in (
        f"at most {MOST_WORDS} words",
        f"From {MIN_ANSWER_SCORE} on, a passage is an answer",
        f"best passage has less than {NEAR_SCORE}, none is shown",
        f"needs a score of {NEAR_SCORE}",
        f"weigh {ASKING_WEIGHT} of the others in every search",
        f"{SECOND_SCORE_SHARE:.0%} of the score of the first, and if there is room in {answer.QUOTED_WORDS} words",
        f"count {'half' if REPEATED_WEIGHT == 0.5 else REPEATED_WEIGHT} when the second",
        f"weigh {CONTEXT_WEIGHT} of the others, and each passage of these articles gets {CITED_ARTICLE_BONUS} more",
        f"has less than {MIN_ANSWER_SCORE}, or",
    ):
        assert figure in told


# ---- links -----------------------------------------------------------------------------------------------------------


def anchors(page: Path) -> set[str]:
    """What its headings are called in an address."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_resolve_to_a_file_and_a_heading_of_it() -> None:
    for each in [*PAGES, *ROOMS]:
        for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", FENCE.sub("", each.read_text())):
            file = each.parent / target if target else each
            assert file.exists(), f"{each.name}: {target}"
            assert not anchor or anchor in anchors(file), f"{each.name}: {target}#{anchor}"


def test_every_file_of_the_project_that_a_page_names_is_there() -> None:
    for each in PAGES:
        for path in re.findall(r"(?<![\w/.-])(?:thimble|tests|docs|scripts|benchmarks)/[\w./-]*\w", each.read_text()):
            assert "NAME" in path or (ROOT / path).exists(), f"{each.name}: {path}"


def test_every_page_is_in_the_contents() -> None:
    contents = ROOT / "docs" / "README.md"
    linked = {(contents.parent / target).resolve() for target in re.findall(r"\]\(([^)#]+)\)", contents.read_text())}
    assert {*PAGES[2:]} - linked == {contents}
