"""A key that a server sends back in a reply is taken out of it, wherever it stands and however the reply is cut."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.openai_wire import MODELS, URL, Wire
from thimble.agent.errors import ModelError
from thimble.agent.messages import ToolCall
from thimble.agent.protocols import Delta, Text, Thinking, Usage
from thimble.models.openai.server import OpenAIServer
from thimble.models.server import ServerOptions
from thimble.models.wire.api_key import HIDDEN_KEY, LEAST_SECRET, VARIABLES, KeyHider

KEY = "sk-abasabasaba"
PIECES = st.lists(
    st.sampled_from([KEY, KEY[:5], KEY[:9], KEY[5:], KEY[9:], "sk-", "s", "k", "[key]", " ", "said"]), max_size=12
).map("".join)


@pytest.fixture(autouse=True, scope="module")
def key() -> Iterator[None]:
    """The key that was sent."""
    with pytest.MonkeyPatch.context() as patch:
        for name in VARIABLES:
            patch.delenv(name, raising=False)
        patch.setenv("OPENAI_API_KEY", KEY)
        yield


def taken_out(*deltas: Delta) -> list[Delta]:
    key = KeyHider()
    return [*(part for delta in deltas for part in key.take(delta)), *key.end()]


def said(deltas: Sequence[Delta], kind: type[Text] | type[Thinking]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, kind))


def cut(text: str, at: Sequence[int]) -> list[str]:
    ends = sorted({0, len(text), *(place % (len(text) + 1) for place in at)})
    return [text[a:b] for a, b in pairwise(ends)]


@given(PIECES, PIECES, st.lists(st.integers(0, 200), max_size=12))
def test_however_it_is_cut(text: str, thought: str, at: list[int]) -> None:
    pieces: list[Delta] = [Text(piece) for piece in cut(text, at)]
    for piece in reversed(cut(thought, at)):
        pieces.insert(0, Thinking(piece))
    found = taken_out(*pieces, Usage(1))
    assert said(found, Text) == text.replace(KEY, HIDDEN_KEY)
    assert said(found, Thinking) == thought.replace(KEY, HIDDEN_KEY)
    assert Usage(1) in found


@given(PIECES, st.integers(0, 50))
def test_thinking_or_a_call_between_two_pieces_hides_nothing(text: str, place: int) -> None:
    first, second = text[: place % (len(text) + 1)], text[place % (len(text) + 1) :]
    for between in (Thinking("x"), ToolCall("1", "look")):
        found = taken_out(Text(first), between, Text(second))
        assert said(found, Text) == text.replace(KEY, HIDDEN_KEY)
        assert between in found


@given(PIECES, st.booleans())
@example(KEY, True)
def test_no_part_of_a_call_holds_it(text: str, escaped: bool) -> None:
    spelt = "".join(f"\\u{ord(letter):04x}" for letter in text) if escaped else text
    (call,) = taken_out(ToolCall(text, text, f'{{"query":"{spelt}"}}'))
    assert isinstance(call, ToolCall)
    assert not any(KEY in part for part in (call.id, call.name, call.arguments))
    assert KEY not in str(json.loads(call.arguments))
    assert json.loads(call.arguments)["query"] == text.replace(KEY, HIDDEN_KEY)


def test_a_word_that_stands_for_no_key_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    for word in ("EMPTY", "none", "x" * (LEAST_SECRET - 1)):
        monkeypatch.setenv("OPENAI_API_KEY", word)
        (delta,) = taken_out(Text(f"it is {word}"))
        assert delta == Text(f"it is {word}")


def test_a_server_that_gets_no_key_is_told_how_to_get_one() -> None:
    wire = Wire({MODELS: (401, b'{"error":"Unauthorized"}')})
    server = OpenAIServer(URL, ServerOptions(sends_key=False), transport=wire)
    with pytest.raises(ModelError) as caught:
        server.models()
    assert "authorization" not in wire.headers[0]
    assert "you have not named this address" in caught.value.what
    assert f"--base-url {URL}" in caught.value.fix
