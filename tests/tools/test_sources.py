"""The tools of a model that calls by schema: search, list and read, over articles and files at once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from thimble.agent.errors import ToolError
from thimble.agent.messages import Message
from thimble.agent.protocols import Tool
from thimble.corpus.library import ARTICLES, load_library
from thimble.corpus.observations import find_sources, is_useful, parse_observation
from thimble.tools.sources import PIECES, source_tools

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


def tools(folder: Path, history: Sequence[Message] = ()) -> dict[str, Tool]:
    made = source_tools(load_library(folder / "articles"), folder / "files", None, lambda: history)
    return {tool.name: tool for tool in made}


def search(folder: Path, query: str, history: Sequence[Message] = ()) -> list[str]:
    return tools(folder, history)["search"].run({"query": query}).splitlines()


def test_search_finds_articles_and_files_the_best_at_the_end(folder: Path) -> None:
    *_, last = search(folder, "How much water does a thimble hold?")
    assert last == "[thimbles] Size: A thimble holds two millilitres of water."
    *_, last = search(folder, "port")
    assert last == "[shop.toml:1] port = 8443"


def test_a_half_question_leans_on_the_one_before(folder: Path) -> None:
    asked = [Message("m2", "user", "What is a needle?"), Message("m4", "user", "and when does it rust?")]
    *_, last = search(folder, "and when does it rust?", asked)
    assert last.startswith("[needles] Rust")


def test_where_nothing_fits_one_piece_is_shown(folder: Path) -> None:
    assert search(folder, "chess cup winner") == ['No results for "chess cup winner".']
    first, *others = search(folder, "who holds the chess cup of the city")
    assert first == 'Nothing fits "who holds the chess cup of the city" well. The nearest:'
    assert len(others) == 1
    assert not is_useful("\n".join([first, *others]))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=80))
def test_each_line_names_its_source_whatever_is_asked(folder: Path, query: str) -> None:
    lines = search(folder, query)
    shown = [HEAD.match(line) for line in lines]
    assert len([one for one in shown if one]) <= PIECES
    assert all(one and one[1].partition(":")[0] in ("thimbles", "needles", "shop.toml") for one in shown[1:])


def test_a_list_names_articles_and_files(folder: Path) -> None:
    listed = tools(folder)["list"].run({"topic": ""})
    assert listed.splitlines() == ["2 articles, 1 file", "[needles] Needles", "[thimbles] Thimbles", "[shop.toml]"]
    assert find_sources(listed) == ["needles", "thimbles", "shop.toml"]
    assert [entry.slug for entry in parse_observation(listed, "list").entries] == ["needles", "thimbles"]
    about = tools(folder)["list"].run({"topic": "needles"})
    assert about.splitlines()[:2] == ['1 article about "needles"', "[needles] Needles"]
    assert not is_useful(tools(folder)["list"].run({"topic": "chess cup winner"}))


@pytest.mark.parametrize("name", ["thimbles", "Thimbles", "thimbles.md", "the thimbles"])
def test_an_article_is_read_by_any_of_its_names(folder: Path, name: str) -> None:
    text = tools(folder)["read"].run({"name": name})
    assert "holds two millilitres" in text
    assert "sections:" not in text
    assert parse_observation(text, "read").entries[0].slug == "thimbles"


def test_a_file_is_read_by_its_path(folder: Path) -> None:
    text = tools(folder)["read"].run({"name": "shop.toml"})
    assert [quote.text for quote in parse_observation(text, "read").said] == ["port = 8443", 'owner = "Ada"']


def test_an_unknown_name_is_an_error_that_names_the_nearest(folder: Path) -> None:
    with pytest.raises(ToolError, match=r"no article 'rusty needles'; nearest: needles; nor is there such a file"):
        tools(folder)["read"].run({"name": "rusty needles"})


def test_the_schema_lists_what_can_be_read(folder: Path) -> None:
    parameters = tools(folder)["read"].schema["function"]["parameters"]
    assert parameters["properties"]["name"]["enum"] == ["needles", "thimbles", "shop.toml"]


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("llm-testing", "testing-llm-applications"),
        ("testing", "testing-llm-applications"),
        ("sampling", "sampling"),
        ("context management", "hybrid-context-management"),
        ("evaluation of retrieval", "retrieval-evaluation"),
    ],
)
def test_a_name_is_found_by_its_words(name: str, slug: str) -> None:
    assert load_library(ARTICLES).find(name).slug == slug
