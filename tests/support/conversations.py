"""Conversations in the chat-completions form, as other programs write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from tests.support.strict_server import refusal

Entry = dict[str, Any]


def objections(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """What a chat-completions server refuses; calls at the very end may still wait for their results."""
    return [*filter(None, [refusal(entries, may_wait=True, in_order=False)])]


TEXT = st.text(max_size=20)
EXTRA = st.dictionaries(st.sampled_from(["name", "refusal", "reasoning_content", "x"]), st.none() | TEXT, max_size=2)
THOUGHTS = st.sampled_from(
    [
        {"reasoning": "hm"},
        {"thinking": "hm"},
        {"reasoning_details": [{"type": "reasoning.text", "text": "hm"}, {"type": "reasoning.encrypted", "data": "x"}]},
        {"images": ["iVBORw0KGgo", "iVBORw0KGgo"]},
    ]
)
PARTS = st.lists(
    st.one_of(
        st.builds(lambda text: {"type": "text", "text": text}, TEXT),
        st.just({"type": "image_url", "image_url": {"url": "data:,"}}),
        st.just({"type": "refusal", "refusal": "no"}),
        st.just({"type": "thinking", "thinking": "hm", "signature": "x"}),
        st.sampled_from(["bare", {"text": "no type"}]),
    ),
    max_size=3,
)
CALL = st.fixed_dictionaries(
    {
        "function": st.fixed_dictionaries(
            {"name": st.sampled_from(["read", "find", ""])}, optional={"arguments": st.just({})}
        )
    },
    optional={
        "id": st.sampled_from(["", "a", "b", "c", None, 3]),
        "type": st.sampled_from(["function", None, 3]),
        "index": st.integers(0, 2),
    },
)
CALLS = st.none() | st.lists(CALL, max_size=3)


def entries() -> st.SearchStrategy[Entry]:
    """Any message that a program might write, careless ones too; none is in a form that cannot be read."""
    optional = {"tool_calls": CALLS, "tool_call_id": st.sampled_from(["", "a", "b", "c", None])}
    role = st.sampled_from(["system", "developer", "user", "assistant", "assistant", "tool", "tool"])
    own = st.fixed_dictionaries({"role": role, "content": TEXT | PARTS}, optional=optional)
    return st.builds(_merged, EXTRA | THOUGHTS, own, st.booleans())


def _merged(extra: Entry, own: Entry, bare: bool) -> Entry:
    """A message; without a content, if it is `bare` and has calls."""
    return {**extra, **own, **({"content": None} if bare and own.get("tool_calls") else {})}


def conversations() -> st.SearchStrategy[list[Entry]]:
    """Any list of them."""
    return st.lists(entries(), max_size=12)
