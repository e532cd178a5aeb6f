"""The tables of refusals: each pattern finds its own examples and no other row's, over the wire as in the table."""

from __future__ import annotations

import json
import re

import pytest

from tests.support.both_servers import SERVERS, failure
from thimble.models.ollama import errors as ollama
from thimble.models.openai import errors as openai
from thimble.models.wire.http import Refusal

TABLES = {"ollama": ollama.CHAT_REFUSALS, "pull": ollama.PULL_REFUSALS, "openai": openai.REFUSALS}
EXAMPLES = [(name, row, example) for name, table in TABLES.items() for row in table for example in row.examples]


@pytest.mark.parametrize(("table", "row", "example"), EXAMPLES)
def test_an_example_is_matched_by_its_own_row_alone(table: str, row: Refusal, example: str) -> None:
    assert [each.what for each in TABLES[table] if re.search(each.pattern, example, re.IGNORECASE)] == [row.what]


SHAPES = {
    "an object": '{{"error": {{"message": {}, "code": 400}}}}',
    "flat": '{{"error": {}}}',
    "a message": '{{"message": {}, "object": "error"}}',
    "a detail": '{{"detail": {}}}',
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("status", [400, 500])
@pytest.mark.parametrize("server", SERVERS)
def test_a_refusal_is_recognised_in_every_shape(server: str, status: int, shape: str) -> None:
    row = TABLES[server][0]
    error = failure(server, (status, SHAPES[shape].format(json.dumps(row.examples[0])).encode()))
    assert isinstance(error, row.kind)
    assert error.what == row.what.format(model=SERVERS[server].model, error=row.examples[0])
    assert error.fix == row.fix


@pytest.mark.parametrize("server", SERVERS)
def test_so_is_one_that_is_bare_text_or_comes_in_the_stream(server: str) -> None:
    row = TABLES[server][0]
    assert isinstance(failure(server, (400, row.examples[0].encode())), row.kind)
    assert isinstance(
        failure(server, (200, SHAPES["an object"].format(json.dumps(row.examples[0])).encode())), row.kind
    )
