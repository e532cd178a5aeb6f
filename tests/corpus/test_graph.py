"""The graph of a library: its ranks are those of a dense matrix, and its edges are what the texts say."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from corpus.article import parse
from corpus.graph import FOLLOWS, Graph, graph_of
from corpus.library import load

LINKED = "# KV cache\n\nSee [masks](masking), [it](masking.md#how), [that](sub/long.md), [[Observation masking|them]]."


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Any graph of a few articles."""
    size = draw(st.integers(1, 8))
    places = st.integers(0, size - 1)
    links = draw(st.sets(st.tuples(places, places).filter(lambda link: link[0] != link[1])))
    sharing = draw(st.lists(st.sets(places, min_size=2).map(sorted), max_size=6)) if size > 1 else []
    return Graph(size, sorted(links), [each for each in sharing if len(each) < size])


def chances(graph: Graph) -> NDArray[np.float64]:
    """The chance to go from each article to each other one, from the definition alone."""
    by_link, by_term = np.zeros((2, graph.size, graph.size))
    for source, target in graph.links:
        by_link[source, target] = 1
    for having in graph.sharing:
        for one in having:
            for other in set(having) - {one}:
                by_term[one, other] += log(graph.size / len(having)) / (len(having) - 1)
    made = np.zeros((graph.size, graph.size))
    for row in range(graph.size):
        ways = [way[row] / way[row].sum() for way in (by_link, by_term) if way[row].sum()]
        made[row] = sum(ways) / len(ways) if ways else 0
    return made


@given(graphs(), st.data())
def test_pagerank_is_the_solution_of_its_equation(graph: Graph, data: st.DataObject) -> None:
    shares = st.lists(st.one_of(st.just(0.0), st.floats(0.01, 100)), min_size=graph.size, max_size=graph.size)
    restart = data.draw(shares.filter(any))
    ranks = np.array(graph.pagerank(restart))
    begun, step = np.array(restart) / sum(restart), chances(graph)
    stays = step.sum(axis=1, keepdims=True)
    whole = FOLLOWS * step + (1 - FOLLOWS * stays) * begun
    assert ranks.sum() == pytest.approx(1)
    assert ranks @ whole == pytest.approx(ranks, abs=1e-9)
    solved = np.linalg.solve(
        np.vstack([(whole.T - np.eye(graph.size))[1:], np.ones(graph.size)]), np.eye(graph.size)[-1]
    )
    assert ranks == pytest.approx(solved, abs=1e-9)
    assert graph.pagerank(restart) == ranks.tolist()


@given(graphs(), st.integers(1, 5))
def test_near_are_the_likeliest_next_ones(graph: Graph, most: int) -> None:
    step = chances(graph)
    for article in range(graph.size):
        near = graph.near(article, most)
        assert len(near) == min(most, np.count_nonzero(step[article]))
        others = [step[article, other] for other in range(graph.size) if other not in near]
        assert min(step[article, near], default=1) >= max(others, default=0) - 1e-12


def test_without_edges_each_keeps_its_share() -> None:
    assert Graph(3, [], []).pagerank([2, 1, 1]) == [0.5, 0.25, 0.25]
    assert Graph(1, [], []).pagerank([1e-300]) == [1]
    assert Graph(1, [], []).near(0, 5) == []


def test_a_rare_term_leads_more_readers_to_each_article() -> None:
    graph = Graph(9, [], [[0, 1], [0, 2, 3, 4]])
    assert graph.near(0, 5) == [1, 2, 3, 4]
    ranks = graph.pagerank([1, 0, 0, 0, 0, 0, 0, 0, 0])
    assert ranks[1] > 3 * ranks[2]


def test_links_by_slug_file_and_title_and_none_that_lead_nowhere() -> None:
    texts = {
        "masking.md": "---\ntitle: Observation masking\n---\n[a](https://x.org/kv) [b](gone) [c](kv#x) [me](masking)",
        "kv.md": LINKED,
        "long.md": "long",
    }
    graph = graph_of([parse(text, path) for path, text in texts.items()])
    assert graph.links == [(0, 1), (1, 0), (1, 2)]


def test_terms_are_those_of_titles_tags_headings_and_bold_print() -> None:
    texts = [
        "---\ntitle: Caches\ntags: [moss]\n---\nwords",
        "# Trams\n\n**Moss.** words",
        "# Trams\n\n## About caching\nwords",
        "# Beet\n\nA moss and a cache in plain words.",
    ]
    assert graph_of([parse(text, f"{at}.md") for at, text in enumerate(texts)]).sharing == [[0, 2], [0, 1], [1, 2]]


def test_the_articles_that_ship_are_linked() -> None:
    graph = load().graph
    assert len(graph.links) > 200
    assert all(graph.near(article, 1) for article in range(graph.size))
