"""markdown keeps code blocks and tables as they are and lets sentences lose words; badges weigh little."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies.kinds.markdown import MARKDOWN, pieces
from strategies.self_information import fewer_words

PAGE = """\
# Thimble

[![build](https://a.example/b.svg)](https://a.example) [![docs](https://a.example/d.svg)](https://a.example)

It keeps what the model needs. It is small, and it is not a framework for everything that one can think of.

## Use

```sh
# in the folder that holds the project
pip install the thing that you need
```

| name | what it is |
|------|------------|
| none | all of the history stays as it is |
"""
PARTS = st.sampled_from(["# a\n", "\n", "```\n", "| a |\n", "![", "](", ")", "A b. C", "- ", "---\n", " ", "é"])


def test_only_sentences_lose_words() -> None:
    units = MARKDOWN.units(PAGE) or ()
    whole = [unit.text for unit in units if not unit.prose]
    assert "# in the folder that holds the project\n" in whole
    assert "| none | all of the history stays as it is |\n" in whole
    assert len("".join(fewer_words([unit.text for unit in units if unit.prose], 0.2))) < 0.3 * len(PAGE)


def test_headings_weigh_most_and_badges_least() -> None:
    units = MARKDOWN.units(PAGE) or ()
    by_weight = sorted(units, key=lambda unit: unit.weight)
    assert by_weight[0].text.startswith("[![build]")
    assert {unit.text.strip() for unit in by_weight[-2:]} == {"# Thimble", "## Use"}


@pytest.mark.parametrize(
    "text",
    [
        "# make build\ncc -c a.c\n# make test\nok\n" * 9,
        "# The port.\nport = 1\n\n# The host.\nhost = a\n" * 9,
        "A page without headings.\n\n- one\n- two\n" * 9,
        "## a\n## b\n## c\n" * 9,
    ],
)
def test_other_texts_are_not_markdown(text: str) -> None:
    assert MARKDOWN.units(text) is None


@given(st.lists(PARTS, max_size=60).map("".join))
def test_units_joined_are_the_text(text: str) -> None:
    assert "".join(unit.text for unit in pieces(text)) == text


@pytest.mark.parametrize("part", ["#", "![", "[![](", "a ", "`" * 3 + "\n", "\n", "a\n", "|", "A. "])
def test_hostile_texts_cost_linear_time(part: str) -> None:
    text = PAGE + part * 30_000
    assert "".join(unit.text for unit in MARKDOWN.units(text) or ()) == text
