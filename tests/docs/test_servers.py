"""how-to/run-a-model.md: its arithmetic is right, its failures are the tested ones, its flags are ours."""

from __future__ import annotations

import re

import pytest

from tests.support.paths import ROOT
from tests.whole.test_failures import FAILURES
from thimble.models import call_room
from thimble.models.openai.server import PORTS
from thimble.models.wire import api_key
from thimble.session.settings import ADDRESSES, Settings

PAGE = (ROOT / "docs" / "how-to" / "run-a-model.md").read_text()
CONTEXT = 16_384
OTHERS = ("nothing listening", "wrong model", "no tool support", "a certificate that is not trusted", "a proxy")

# From config.json: hidden and intermediate size, layers, heads, KV heads, vocabulary; tied embeddings, biases, QK norm.
CONFIGS = {
    "Qwen2.5-3B": (2048, 11_008, 36, 16, 2, 151_936, True, True, False),
    "Qwen2.5-7B": (3584, 18_944, 28, 28, 4, 152_064, False, True, False),
    "Qwen3-8B": (4096, 12_288, 36, 32, 8, 151_936, False, False, True),
    "Qwen2.5-14B": (5120, 13_824, 48, 40, 8, 152_064, False, True, False),
    "Qwen2.5-32B": (5120, 27_648, 64, 40, 8, 152_064, False, True, False),
    "Qwen2.5-72B": (8192, 29_568, 80, 64, 8, 152_064, False, True, False),
}
HEAD = 128


def rows(first: str) -> list[list[str]]:
    """The rows of the table whose first column has this header."""
    (table,) = re.findall(rf"^\| {first} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


def parameters(name: str) -> int:
    hidden, intermediate, layers, heads, kv_heads, vocabulary, tied, biases, norms = CONFIGS[name]
    queries, keys = heads * HEAD, kv_heads * HEAD
    attention = 2 * hidden * queries + 2 * hidden * keys + biases * (queries + 2 * keys) + norms * 2 * HEAD
    layer = attention + 3 * hidden * intermediate + 2 * hidden
    return layers * layer + (1 if tied else 2) * vocabulary * hidden + hidden


@pytest.mark.parametrize("row", rows("model"), ids=lambda row: row[0])
def test_memory_is_computed_right(row: list[str]) -> None:
    name, layers, kv_heads, head, bf16, four_bit, per_token, whole = row
    assert (int(layers), int(kv_heads), int(head)) == (CONFIGS[name][2], CONFIGS[name][4], HEAD)
    assert bf16 == f"{parameters(name) * 2 / 1e9:.1f} GB"
    assert four_bit == f"{parameters(name) * 4.9 / 8 / 1e9:.1f} GB"
    token = 2 * int(layers) * int(kv_heads) * int(head) * 2
    assert per_token == f"{token:,}"
    assert whole == f"{token * CONTEXT / 1e9:.2f} GB"


def test_every_model_of_the_table_is_checked() -> None:
    assert [row[0] for row in rows("model")] == list(CONFIGS)


def test_the_worked_examples_follow_from_the_table() -> None:
    seven = parameters("Qwen2.5-7B") * 2 / 1e9
    cache = 57_344 * CONTEXT / 1e9
    assert f"that is {seven + cache:.1f} GB; from a 4-bit file, {seven * 4.9 / 16 + cache:.1f} GB" in squeezed(PAGE)
    left = 0.92 * 24 - round(seven, 1) - 1.5
    assert f"0.92 · 24 − 15.2 − 1.5 is {left:.1f} GB" in squeezed(PAGE)
    assert 93_000 <= left * 1e9 / 57_344 < 94_000
    assert 5 <= 93_000 / CONTEXT < 6
    assert f"are {parameters('Qwen2.5-72B') * 2 / 4 / 1e9:.1f} GB each" in squeezed(PAGE)


def test_the_context_holds_what_the_usual_budget_needs() -> None:
    assert CONTEXT / 2 < call_room(Settings().budget) <= CONTEXT
    assert set(re.findall(r"(?:--max-model-len|-c|--context-length) (\d+)", PAGE)) == {str(CONTEXT)}


def test_each_failure_of_the_page_is_tested_and_each_tested_one_is_there() -> None:
    named = [failure for row in rows("failure") for failure in re.split(r", (?!that)", row[0])]
    assert sorted(named) == sorted([*FAILURES, *OTHERS])


def test_variables_and_ports_are_ours() -> None:
    told = PAGE + (ROOT / "docs" / "reference" / "models.md").read_text()
    assert [name for name in (*ADDRESSES, *api_key.VARIABLES) if f"`{name}`" not in told] == []
    assert [port for port in PORTS.values() if f"port {port} of this machine" not in told] == []


def squeezed(text: str) -> str:
    return " ".join(text.split())
