"""A result of more than 400,000 characters is not rewritten: it is sent, cut by `fit`, hidden or dropped."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.support.estimate import EstimateCounter
from tests.support.histories import Story
from tests.support.specs import build
from thimble.agent.budget import Budget
from thimble.agent.messages import MAX_CONTENT_CHARACTERS, Message
from thimble.agent.view import prepare

WORDS = "one line of this file, which comes again and again and is as long as others are"
RECORD = json.dumps({"state": "open", "name": "a name", "words": WORDS}) + ",\n"


def results(spec: str, characters: int, limit: int = 10**7) -> Sequence[Message]:
    """What the next call is sent of a result that is so long, and comes twice."""
    text = f"[{RECORD * (characters // len(RECORD) - 1)}{{}}"
    text += " " * (characters - len(text) - 1) + "]"
    told = Story().ask("?").turn(0).turn(0).turn(0).messages
    history = [
        replace(one, content=text if at < 6 else "new") if one.role == "tool" else one for at, one in enumerate(told)
    ]
    view = prepare(history, build(f"tidy+{spec}"), Budget(limit, EstimateCounter()))
    return [message for message in view.messages if message.role == "tool"]


@pytest.mark.parametrize("spec", ["none", "dedup"])
def test_a_result_is_rewritten_up_to_a_bound(spec: str) -> None:
    assert any(one.why for one in results(spec, MAX_CONTENT_CHARACTERS))
    assert not any(one.why for one in results(spec, MAX_CONTENT_CHARACTERS + 1))


@pytest.mark.parametrize("spec", ["compress", "retrieval:by=words"])
def test_over_the_budget_a_longer_result_is_cut_or_hidden(spec: str) -> None:
    for one in results(spec, MAX_CONTENT_CHARACTERS + 1, 8_000):
        assert one.content == "new" or "tokens cut" in one.content or one.content.startswith("[masked")
