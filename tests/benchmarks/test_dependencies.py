"""The page of dependencies names what pyproject.toml does, and the figures are counted from what is installed."""

from __future__ import annotations

from benchmarks.dependencies import brought, declared, installed, licence, megabytes
from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "results" / "dependencies.md").read_text()


def test_the_page_names_each() -> None:
    assert all(needed.name.removesuffix("-slim").removesuffix("-harness") in PAGE for _, needed in declared(dev=False))


def test_figures() -> None:
    httpx = installed("httpx")
    assert httpx
    assert licence(httpx).startswith("BSD")
    assert brought("httpx") >= {"httpx", "httpcore", "anyio", "certifi", "idna"}
    assert "h2" not in brought("httpx")
    assert 0.1 < megabytes("httpx") < 10
    assert installed("no-such-package") is None
