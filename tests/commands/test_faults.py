"""Faults: what the next action needs and was not given, against a slow count of texts."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import astuple, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.estimate import EstimateCounter
from tests.support.histories import sound_histories
from tests.support.specs import Summariser
from thimble.agent.budget import Budget
from thimble.agent.messages import Message, ToolCall
from thimble.agent.side import SideModel
from thimble.agent.view import View, measure_view
from thimble.commands.faults import Faults, needs_of
from thimble.commands.replay import call_lengths, replay_strategy
from thimble.strategies.spec import make_strategy

BUDGET = Budget(10**9, EstimateCounter())
SPECS = ["none", "observation-masking:window=1,when=always", "sliding-window:window=1", "tidy+dedup", "truncate"]
LINES = [
    "def total(self, prices, taxes):",
    "  12\tdef total(self, prices, taxes):",
    "return sum(prices) + taxes_of(prices)",
    "a line of plain words, none of them a name",
    "short_name",
    "src/shop/prices.py:31: error",
    "understanding everything",
    "",
]


def words_of(message: Message) -> str:
    """What a message says, with the texts in its arguments as they are."""
    found = [message.content, message.thinking]
    for call in message.calls:
        try:
            value = json.loads(call.arguments)
        except ValueError:
            continue
        found += [one for one in (value.values() if isinstance(value, dict) else []) if isinstance(one, str)]
    return "\n".join(found)


def slowly(history: Sequence[Message], at: int, view: View) -> tuple[int, int, int, int]:
    """The faults of the action at this place: every text of every earlier result is looked for."""
    words, said = words_of(history[at]), [words_of(message) for message in view.messages]
    results = [message for message in history[:at] if message.role == "tool"]
    rows = {re.sub(r"^[\d:|→ \t]*", "", row).rstrip() for one in results for row in one.content.split("\n")}
    lines = {row for row in rows if len(row) >= 25 and row in words}
    for line in lines:
        words = words.replace(line, "\n")
    names = {run.strip("./-") for one in results for run in re.findall(r"[\w./-]+", one.content)}
    own = {run.strip("./-") for run in re.findall(r"[\w./-]+", words)}
    quoted = lines | {name for name in names & own if len(name) >= 10 and re.search(r"[\d_./]", name)}
    made = {call.id: call for message in history[:at] for call in message.calls}
    again = set()
    for call in history[at].calls:
        named = [text for text in words_of(Message("", "assistant", calls=(call,))).split("\n") if text][:1]
        before = [
            one.content
            for one in results
            if (call.name == "recall" and [one.id] == named)
            or (call.name != "recall" and made[one.call_id] == replace(call, id=one.call_id))
        ]
        again |= {*before[-1:]}
    lost = [sum(not any(text in one for one in said) for text in texts) for texts in (quoted, again)]
    return len(quoted), lost[0], len(again), lost[1]


@st.composite
def runs(draw: st.DrawFn) -> list[Message]:
    """Turns that print some lines, and then say some of them, in words or in the arguments of a call."""
    made = [Message("m0", "user", draw(st.sampled_from(LINES)))]
    texts = st.lists(st.sampled_from(LINES), max_size=4).map("\n".join)
    for turn in range(draw(st.integers(1, 6))):
        arguments = json.dumps({"text": draw(texts)})
        call = ToolCall(f"c{turn}", draw(st.sampled_from(["read", "write"])), arguments)
        made.append(Message(f"a{turn}", "assistant", draw(texts), draw(texts), calls=(call,)))
        made.append(Message(f"r{turn}", "tool", draw(texts), call_id=call.id, name=call.name))
    return made


@given(st.one_of(runs(), sound_histories()), st.sampled_from(SPECS), st.sampled_from([300, 10**9]))
def test_it_counts_what_a_slow_search_counts(history: list[Message], spec: str, limit: int) -> None:
    needs, budget = needs_of(history), Budget(limit, EstimateCounter())
    assert [*needs] == [at for at, message in enumerate(history) if message.role == "assistant"]
    for at, call in zip(
        call_lengths(history),
        replay_strategy(history, make_strategy(spec, SideModel(Summariser())), budget),
        strict=True,
    ):
        if call.view and at in needs:
            found = Faults()
            found.add(needs, call.view)
            assert astuple(found) == slowly(history, at, call.view)
            if spec == "none":
                assert found.quoted_lost == found.repeats == 0


def turn(number: int, text: str, call: str, result: str) -> list[Message]:
    asked = ToolCall(f"c{number}", *call.split(" ", 1))
    return [
        Message(f"a{number}", "assistant", text, calls=(asked,)),
        Message(f"m{number}", "tool", result, call_id=asked.id, name=asked.name),
    ]


READ = 'read {"path": "shop.py"}'
RUN = [
    Message("u", "user", "What is wrong with the totals?"),
    *turn(1, "I read it.", READ, "     1\tdef total(prices, taxes):\n     2\t    return sum(prices)\n"),
    *turn(2, "I search.", 'search {"for": "taxes_of"}', "src/shop/taxes.py:7:def taxes_of(prices): ..."),
    *turn(3, "", 'edit {"old": "def total(prices, taxes):\\n", "new": "..."}', "done"),
    *turn(4, "It is in src/shop/taxes.py, I think.", READ, "     1\tdef total(prices): ..."),
    *turn(5, "Once more.", 'recall {"id": "m2"}', "m2 · result of search"),
    Message("end", "assistant", "Done, understanding everything."),
]


def seen(at: int, *hidden: str) -> tuple[int, ...]:
    """The faults of the action there, if these messages are hidden."""
    messages = [one.rewritten("[hidden]", "why") if one.id in hidden else one for one in RUN[:at]]
    found = Faults()
    found.add(needs_of(RUN), measure_view(RUN[:at], messages, BUDGET))
    return astuple(found)


@pytest.mark.parametrize(
    ("at", "hidden", "faults"),
    [
        (1, (), (0, 0, 0, 0)),
        (5, (), (1, 0, 0, 0)),  # the line without its number, in an argument
        (5, ("m2",), (1, 0, 0, 0)),
        (5, ("m1",), (1, 1, 0, 0)),
        (7, (), (1, 0, 1, 0)),  # a name, and a call that was made before
        (7, ("m1", "m2"), (1, 1, 1, 1)),
        (9, ("m1",), (0, 0, 1, 0)),
        (9, ("m2",), (0, 0, 1, 1)),
        (11, ("m1", "m2", "m3", "m4", "m5"), (0, 0, 0, 0)),  # words are no names
    ],
)
def test_a_run_by_hand(at: int, hidden: tuple[str, ...], faults: tuple[int, ...]) -> None:
    assert seen(at, *hidden) == faults


def test_a_reference_is_not_believed() -> None:
    copy = RUN[2].rewritten("nothing of it", "it says that all is here", ref="here")
    found = Faults()
    found.add(needs_of(RUN), measure_view(RUN[:5], [*RUN[:2], copy, *RUN[3:5]], BUDGET))
    assert astuple(found) == (1, 1, 0, 0)
    moved = Message("note", "user", f"Of file 1:\n{RUN[2].content}")
    found.add(needs_of(RUN), measure_view(RUN[:5], [RUN[0], moved, *RUN[3:5]], BUDGET))
    assert astuple(found) == (2, 1, 0, 0)
