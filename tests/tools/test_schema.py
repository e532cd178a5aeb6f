from __future__ import annotations

import functools
import json
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thimble.agent.errors import ToolError
from thimble.agent.protocols import Tool
from thimble.tools.schema import ERROR_LIMIT, RESULT_CHARACTERS, FunctionTool, cut_to_limit, tool

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def sample(
    path: str,
    start: int = 1,
    share: float = 0.5,
    deep: bool = False,
    mode: Literal["full", "short"] = "full",
    tags: list[str] | None = None,
) -> str:
    """Read a thing,
    as it is: whole.

    Args:
        path: Where it stands,
            relative: to the root.
        start (int): First line.
        tags: Only these.

    Returns:
        text: not an argument.
    """
    return json.dumps([path, start, share, deep, mode, tags])


SAMPLE = tool(sample)
SIGNATURE = (
    "sample(path: str, start: int = 1, share: float = 0.5, deep: bool = False, "
    "mode: Literal['full', 'short'] = \"full\", tags: list[str] | None = None)"
)


def run(**arguments: Any) -> Any:
    return json.loads(SAMPLE.run({"path": "p", **arguments}))


def error(**arguments: Any) -> str:
    with pytest.raises(ToolError) as raised:
        SAMPLE.run(arguments)
    return str(raised.value)


@given(st.dictionaries(st.sampled_from(["path", "start", "share", "deep", "mode", "tags", "x"]), JSON))
def test_any_arguments_run_or_are_explained(arguments: dict[str, Any]) -> None:
    try:
        observation = SAMPLE.run(arguments)
    except ToolError as refused:
        observation = refused.what
    assert observation.startswith("[") or observation.endswith(f"Call it as {SAMPLE.signature}.")
    assert observation.encode()


@given(st.text(st.characters(codec="utf-8")))
def test_a_text_comes_through_as_it_is(text: str) -> None:
    assert run(path=text)[0] == text


@given(st.text(st.sampled_from("ab\n "), max_size=300), st.integers(60, 120))
def test_a_cut_keeps_the_limit_and_the_beginning(text: str, limit: int) -> None:
    shown = cut_to_limit(text, limit)
    assert len(shown) <= limit
    if len(text) <= limit:
        assert shown == text
    else:
        kept, said = shown.rsplit("\n", 1)
        assert text.startswith(kept)
        assert said == f"[cut: {len(kept)} of {len(text)} characters shown]"


def test_the_schema() -> None:
    assert SAMPLE.schema == {
        "type": "function",
        "function": {
            "name": "sample",
            "description": "Read a thing, as it is: whole.",
            "parameters": {
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "Where it stands, relative: to the root."},
                    "start": {"type": "integer", "description": "First line.", "default": 1},
                    "share": {"type": "number", "default": 0.5},
                    "deep": {"type": "boolean", "default": False},
                    "mode": {"type": "string", "enum": ["full", "short"], "default": "full"},
                    "tags": {"type": "array", "items": {"type": "string"}, "description": "Only these."},
                },
                "required": ["path"],
            },
        },
    }


def test_a_tool_without_parameters() -> None:
    def now() -> str:
        """Tell the time."""
        return "noon"

    made: Tool = tool(now)
    assert made.schema["function"]["parameters"] == {"type": "object", "properties": {}}
    assert made.run({}) == "noon"


@pytest.mark.parametrize(
    ("given", "index", "taken"),
    [
        ({"path": 3}, 0, "3"),
        ({"start": "3.0"}, 1, 3),
        ({"start": None}, 1, 1),
        ({"start": " "}, 1, 1),
        ({"share": "1e3"}, 2, 1000.0),
        ({"deep": "true"}, 3, True),
        ({"mode": " short\n"}, 4, "short"),
        ({"mode": ""}, 4, "full"),
        ({"tags": '["a", "b"]'}, 5, ["a", "b"]),
        ({"tags": "null"}, 5, None),
        ({"path": "half \ud83d"}, 0, "half ?"),
    ],
)
def test_nearly_right_arguments_are_taken(given: dict[str, Any], index: int, taken: object) -> None:
    assert run(**given)[index] == taken


def test_all_wrong_arguments_are_said_at_once() -> None:
    said = error(start="two", mode="long", wide=1)
    assert said.startswith(
        "mode must be Literal['full', 'short'], not \"long\"; path (str) is missing; start must be int"
    )
    assert 'not "two"; unknown argument "wide". Call it as ' in said
    assert said.endswith(f"Call it as {SIGNATURE}.")
    assert SAMPLE.signature == SIGNATURE


def test_observations_have_a_limit() -> None:
    def long() -> str:
        """Say much."""
        return "line\n" * 10_000

    observation = tool(long).run({})
    assert len(observation) <= RESULT_CHARACTERS
    assert observation.endswith("line\n[cut: 7,959 of 50,000 characters shown]")
    assert tool(long, limit=100).run({}).endswith("characters shown]")


def test_errors_have_a_limit() -> None:
    def fail(what: str) -> str:
        """Fail."""
        raise ToolError(what)

    assert len(error(**{f"unknown{number}": number for number in range(20_000)})) <= ERROR_LIMIT
    with pytest.raises(ToolError, match="characters shown") as caught:
        tool(fail).run({"what": "x" * 10_000})
    assert len(caught.value.what) <= ERROR_LIMIT


def undocumented(x: int) -> str:
    return str(x)


def starred(*x: int) -> str:
    """Take many."""
    return str(x)


def untyped(x) -> str:  # type: ignore[no-untyped-def]
    """Take any."""
    return str(x)


def misnamed(x: int) -> str:
    """Take one.

    Args:
        y: Not a parameter.
    """
    return str(x)


@pytest.mark.parametrize("function", [undocumented, starred, untyped, misnamed])
def test_a_function_that_cannot_be_described_is_a_bug(function: Any) -> None:
    with pytest.raises(TypeError, match=function.__name__):
        FunctionTool(function)


NESTED: list[object] = functools.reduce(lambda inner, _: [inner], range(100_000), [])
ENDLESS: dict[str, object] = {
    "list": NESTED,
    "object": {"a": NESTED},
    "brackets": "[" * 100_000,
    "number": 10**5_000,
    "minus": -(10**5_000),
    "digits": "9" * 5_000,
    "float": 1e308,
}


@pytest.mark.parametrize("kind", ENDLESS)
@pytest.mark.parametrize("name", ["path", "start", "share", "tags", "mode", "more"])
def test_an_argument_of_any_depth_or_size_is_answered_or_explained(name: str, kind: str) -> None:
    try:
        observation = SAMPLE.run({"path": "p", name: ENDLESS[kind]})
    except ToolError as error:
        observation = error.what[: ERROR_LIMIT + 1]
    assert 0 < len(observation) <= (RESULT_CHARACTERS if observation.startswith("[") else ERROR_LIMIT)
