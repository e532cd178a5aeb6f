from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.repl.screen.test_sanitise import FORBIDDEN, NASTY
from tests.support.histories import budget, react_history
from thimble.agent import view as views
from thimble.agent.events import Prepared, SideCalled, ToolReturned
from thimble.agent.messages import Message, ToolCall
from thimble.agent.protocols import ModelId, Usage
from thimble.agent.view import View
from thimble.repl.screen import trace
from thimble.strategies.spec import make_strategy

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | NASTY, lambda inner: st.lists(inner, max_size=3), max_leaves=4
)


def returned(result: str = "", ok: bool = True, name: str = "search_articles", **arguments: Any) -> ToolReturned:
    call = ToolCall("c1", name, json.dumps(arguments))
    return ToolReturned(call, Message("m1", "tool", result, call_id="c1", name=name), 312, False, 0.004, ok)


def test_quotation_marks_in_a_question_do_not_break_the_line() -> None:
    event = returned('5 results for "What does "KV cache" mean for "caching" costs?"\n1. …')
    assert trace.tool_line(event, 80).split(" → ")[1].startswith("5 results · ")


def prepared(
    view: View, strategy: str = "observation-masking", exact: bool = True, before: View | None = None
) -> Prepared:
    return Prepared(1, strategy, "reader", view, exact, before=before)


def masked_view(before: View | None = None, turns: int = 8) -> View:
    strategy = make_strategy("observation-masking:when=always,window=2", None)  # type: ignore[arg-type]
    return views.prepare(react_history(turns), strategy, budget(20_000), before)


@given(NASTY, st.dictionaries(NASTY, JSON, max_size=3), NASTY, st.booleans(), st.integers(1, 120))
def test_a_tool_line_is_one_harmless_line_that_fits(
    name: str, arguments: dict[str, Any], result: str, ok: bool, width: int
) -> None:
    line = trace.tool_line(returned(result, ok, name, **arguments), width)
    assert cell_len(line) <= width
    assert not FORBIDDEN.search(line)
    assert "\n" not in line
    assert "\t" not in line


def test_an_edit_is_told_once() -> None:
    view = masked_view()
    assert trace.acted_line(prepared(masked_view(view), before=view)) is None
    later = masked_view(view, turns=9)
    (at,) = (place for place, pair in enumerate(zip(view.fates, later.fates, strict=False)) if len({*pair}) > 1)
    less = budget().count(view.messages[at]) - budget().count(later.messages[at])
    told = f"masked 1 result (−{less:,}): {later.tokens + less:,} → {later.tokens:,} of"
    assert told in (trace.acted_line(prepared(later, before=view)) or "")


def test_side_calls_are_told() -> None:
    event = SideCalled("summary", 2100, False, Usage(output_tokens=280), 0.4, model=ModelId("reader", "extractive"))
    assert trace.side_line(event) == "  ∑ summary asked of reader: ~2,100 in, 280 out, 0.4 s"
    beside = trace.side_line(replace(event, lag=2))
    assert beside == "  ∑ summary asked of reader in the background: ~2,100 in, 280 out, 0.4 s"
    assert trace.side_line(replace(event, lag=2, held_seconds=0.3)) == f"{beside}, the agent waited 0.3 s"
    assert "? out" in trace.side_line(SideCalled("summary", 2100, True, Usage(), 0.4))
    failed = trace.side_line(SideCalled("summary", 1, True, Usage(), 0.4, "the \x1b[31mserver\nis down"))
    assert failed == "  ✗ summary asked failed: the server is down; nothing is lost"
