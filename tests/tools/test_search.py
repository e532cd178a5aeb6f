"""The one search over articles and files, for a model that calls by schema."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from thimble.agent.messages import Message
from thimble.agent.protocols import Tool
from thimble.corpus.library import load
from thimble.tools.search import SHOWN, search_tools

HEAD = re.compile(r"\[([^\[\]\s]+)\] ")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("both")
    (folder / "articles").mkdir()
    (folder / "files").mkdir()
    for name, text in {
        "thimbles": "A thimble guards a finger.\n\n## Size\n\nA thimble holds two millilitres of water.",
        "needles": "A needle pulls the thread.\n\n## Rust\n\nA needle rusts in wet air.",
    }.items():
        (folder / "articles" / f"{name}.md").write_text(f"# {name.title()}\n\n{text}\n")
    (folder / "files" / "shop.toml").write_text('port = 8443\nowner = "Ada"\n')
    return folder


def tool(folder: Path, history: Sequence[Message] = ()) -> Tool:
    (found,) = search_tools(load(folder / "articles"), folder / "files", None, lambda: history)
    return found


def test_it_finds_articles_and_files_the_best_at_the_end(folder: Path) -> None:
    search = tool(folder)
    *_, last = search.run({"query": "How much water does a thimble hold?"}).splitlines()
    assert last == "[thimbles] Size: A thimble holds two millilitres of water."
    *_, last = search.run({"query": "port"}).splitlines()
    assert last == "[shop.toml:1] port = 8443"


def test_an_article_is_shown_with_its_summary_once(folder: Path) -> None:
    found = tool(folder).run({"query": "What does a thimble guard?"})
    assert found.count("A thimble guards a finger.") == 1


def test_a_half_question_leans_on_the_one_before(folder: Path) -> None:
    asked = [Message("m2", "user", "What is a needle?"), Message("m4", "user", "and when does it rust?")]
    *_, last = tool(folder, asked).run({"query": "and when does it rust?"}).splitlines()
    assert last.startswith("[needles] Rust")


def test_what_fits_nothing_is_said_first(folder: Path) -> None:
    search = tool(folder)
    assert search.run({"query": "chess cup winner"}) == 'No results for "chess cup winner".'
    first, *others = search.run({"query": "who holds the chess cup of the city"}).splitlines()
    assert first == 'Nothing fits "who holds the chess cup of the city" well. The nearest:' or HEAD.match(first)
    assert all(map(HEAD.match, others))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=80))
def test_each_line_names_its_source_whatever_is_asked(folder: Path, query: str) -> None:
    lines = tool(folder).run({"query": query}).splitlines()
    shown = [HEAD.match(line) for line in lines]
    assert len([one for one in shown if one]) <= SHOWN
    assert all(one and one[1].partition(":")[0] in ("thimbles", "needles", "shop.toml") for one in shown[1:])
