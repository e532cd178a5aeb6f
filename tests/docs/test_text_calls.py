"""What docs/text-react.md says is so."""

from __future__ import annotations

import re

import pytest

from models.counting.choose import counter_for
from models.counting.vocabulary import qwen_file
from models.text_calls.prompt import TextCounter, told
from tests.support.paths import ROOT
from tests.support.printed_replies import call, deltas
from tests.support.sessions import scripted

PAGE = (ROOT / "docs" / "text-react.md").read_text()
EXAMPLES = re.findall(r"^\| (.*?) \| `(.*)` \|$", PAGE, re.MULTILINE)


def test_the_model_is_told_what_the_page_shows() -> None:
    assert f"```text\n{told(scripted().agent.schemas())}\n```" in PAGE


@pytest.mark.skipif(qwen_file() is None, reason="the vocabulary of the Qwen models is not installed")
def test_the_tokens_are_those_of_the_page() -> None:
    schemas, counter = scripted().agent.schemas(), counter_for("qwen2.5:7b")
    in_text, as_schemas = (each.overhead(schemas) - counter.overhead(()) for each in (TextCounter(counter), counter))
    assert f"{in_text} tokens where the same tools as JSON schemas take {as_schemas} " in PAGE


def test_every_form_of_the_page_is_recognised() -> None:
    assert len(EXAMPLES) == 9
    for form, example in EXAMPLES:
        assert deltas(example, labelled=form == "ReAct") == [call(slug="x")], form
        if "fence" in form:
            assert deltas(f"```\n{example}\n```") == [call(slug="x")], form
