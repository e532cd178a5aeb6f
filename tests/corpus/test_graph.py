"""The graph of a library: its ranks solve their equation, and its links are what the texts say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thimble.corpus.article import parse_article
from thimble.corpus.graph import FOLLOW_PROBABILITY, Graph, graph_of
from thimble.corpus.library import load_library

LINKED = "# KV cache\n\nSee [masks](masking), [it](masking.md#how), [that](sub/long.md), [[Observation masking|them]]."


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Any graph of a few articles."""
    size = draw(st.integers(1, 8))
    places = st.integers(0, size - 1)
    links = draw(st.sets(st.tuples(places, places).filter(lambda link: link[0] != link[1])))
    return Graph(size, sorted(links))


@given(graphs(), st.data())
def test_pagerank_is_the_solution_of_its_equation(graph: Graph, data: st.DataObject) -> None:
    shares = st.lists(st.one_of(st.just(0.0), st.floats(0.01, 100)), min_size=graph.size, max_size=graph.size)
    restart = data.draw(shares.filter(any))
    ranks = np.array(graph.pagerank(restart))
    step = np.zeros((graph.size, graph.size))
    for source, target in graph.links:
        step[source, target] = 1 / sum(link[0] == source for link in graph.links)
    begun, stays = np.array(restart) / sum(restart), step.sum(axis=1, keepdims=True)
    whole = FOLLOW_PROBABILITY * step + (1 - FOLLOW_PROBABILITY * stays) * begun
    assert ranks.sum() == pytest.approx(1)
    assert ranks @ whole == pytest.approx(ranks, abs=1e-9)


def test_without_links_each_keeps_its_share() -> None:
    assert Graph(3, []).pagerank([2, 1, 1]) == [0.5, 0.25, 0.25]
    assert Graph(1, []).pagerank([1e-300]) == [1]
    assert Graph(1, []).list_neighbours(0, 5) == []


def test_near_are_the_articles_linked_to_and_then_those_that_link_back() -> None:
    graph = Graph(5, [(0, 2), (1, 0), (0, 4), (2, 0)])
    assert graph.list_neighbours(0, 5) == [2, 4, 1]
    assert graph.list_neighbours(0, 1) == [2]


def test_links_by_slug_file_and_title_and_none_that_lead_nowhere() -> None:
    texts = {
        "masking.md": "---\ntitle: Observation masking\n---\n[a](https://x.org/kv) [b](gone) [c](kv#x) [me](masking)",
        "kv.md": LINKED,
        "long.md": "long",
    }
    graph = graph_of([parse_article(text, path) for path, text in texts.items()])
    assert graph.links == [(0, 1), (1, 0), (1, 2)]


def test_the_articles_that_ship_are_linked() -> None:
    graph = load_library().graph
    assert len(graph.links) > 200
    assert all(graph.list_neighbours(article, 1) for article in range(graph.size))
