"""Conversations in the chat-completions form, as other programs write them, and what a server objects to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

Entry = dict[str, Any]

# --- what a server objects to -----------------------------------------------------------------------------------------


def objections(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """What a chat-completions server refuses; calls at the very end may still wait for their results."""
    wrong, open_calls = [], []
    for at, entry in enumerate(entries):
        role = entry.get("role")
        if role not in ("system", "developer", "user", "assistant", "tool"):
            wrong.append(f"{at}: role {role!r}")
        if open_calls and role != "tool":
            wrong.append(f"{at}: calls {open_calls} have no result")
            open_calls = []
        if role == "tool":
            if entry.get("tool_call_id") in open_calls:
                open_calls.remove(entry["tool_call_id"])
            else:
                wrong.append(f"{at}: a result of no call")
        if not isinstance(entry.get("content"), str | list) and not entry.get("tool_calls"):
            wrong.append(f"{at}: no content")
        if isinstance(parts := entry.get("content"), list) and not (parts and all("type" in part for part in parts)):
            wrong.append(f"{at}: a content of no parts, or a part without a type")
        if "tool_calls" in entry:
            wrong += [f"{at}: {problem}" for problem in _calls_objections(entry)]
            open_calls = [call.get("id") for call in entry["tool_calls"] or ()]
    return wrong


def _calls_objections(entry: Mapping[str, Any]) -> list[str]:
    calls = entry["tool_calls"]
    if not isinstance(calls, list) or not calls:
        return ["calls that are no list, or an empty one"]
    ids = [call.get("id") for call in calls]
    wrong = [] if entry["role"] == "assistant" else ["a call that the assistant did not make"]
    wrong += [] if all(ids) and len(set(ids)) == len(ids) else ["a call without an id of its own"]
    for call in calls:
        function = call.get("function")
        if call.get("type") != "function" or not isinstance(function.get("arguments"), str) or not function.get("name"):
            wrong.append("a call of no function, or whose arguments are no text")
    return wrong


# --- Hypothesis -------------------------------------------------------------------------------------------------------

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
