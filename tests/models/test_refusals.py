"""The tables of refusals: each pattern finds its own examples and no other row's, over the wire as in the table."""

from __future__ import annotations

import json
import re

import pytest

from models.ollama import errors as ollama
from models.openai import errors as openai
from models.wire.refusals import Refusal
from tests.support.both_servers import SERVERS, failure

TABLES = {"ollama": ollama.REFUSALS, "pull": ollama.PULL_REFUSALS, "openai": openai.REFUSALS}
EXAMPLES = [(name, row, example) for name, table in TABLES.items() for row in table for example in row.examples]


@pytest.mark.parametrize(("table", "row", "example"), EXAMPLES)
def test_an_example_is_matched_by_its_own_row_alone(table: str, row: Refusal, example: str) -> None:
    assert [each.what for each in TABLES[table] if re.search(each.pattern, example, re.IGNORECASE)] == [row.what]


@pytest.mark.parametrize(("server", "row", "example"), [each for each in EXAMPLES if each[0] in SERVERS])
@pytest.mark.parametrize("status", [400, 500, 200])
@pytest.mark.parametrize("shape", ["object", "flat", "text"])
def test_a_refusal_is_recognised_in_every_shape(
    server: str, row: Refusal, example: str, status: int, shape: str
) -> None:
    body = {
        "object": json.dumps({"error": {"message": example, "code": 400}}),
        "flat": json.dumps({"error": example} if server == "ollama" else {"message": example, "object": "error"}),
        "text": example,
    }[shape].encode()
    if status == 200 and shape != "object":
        status = 400
    error = failure(server, (status, body))
    assert isinstance(error, row.kind)
    assert error.what == row.what.format(model=SERVERS[server].model, error=example)
    assert error.fix == row.fix
