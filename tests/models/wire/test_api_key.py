"""A key that a server sends back is taken out of each line of its reply."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.openai_wire import CHAT, DONE, MODELS, URL, USER, Wire, backend
from thimble.agent.errors import ModelError
from thimble.agent.protocols import Text, Thinking
from thimble.models.openai.server import OpenAIServer
from thimble.models.server import ServerOptions
from thimble.models.wire.api_key import HIDDEN_KEY, LEAST_SECRET, VARIABLES, hidden

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


@given(PIECES, PIECES, st.booleans(), st.booleans())
@example(KEY, KEY, True, True)
def test_no_line_of_a_reply_holds_the_key(text: str, thought: str, escaped: bool, whole: bool) -> None:
    message = {"content": text, "reasoning": thought, "tool_calls": [{"id": KEY, "function": {"name": KEY}}]}
    choice = {"finish_reason": "stop", "message" if whole else "delta": message}
    line = json.dumps({"choices": [choice]})
    if escaped:
        line = line.replace(KEY, "".join(f"\\u{ord(letter):04x}" for letter in KEY))
    stream = b"data: " + line.encode() + b"\n\n" + DONE
    body = (200, line.encode(), {"content-type": "application/json"}) if whole else stream
    deltas = list(backend(Wire({CHAT: body})).stream([USER], []))
    assert KEY not in str(deltas)
    assert "".join(delta.text for delta in deltas if isinstance(delta, Text)) == text.replace(KEY, HIDDEN_KEY)
    assert "".join(delta.text for delta in deltas if isinstance(delta, Thinking)) == thought.replace(KEY, HIDDEN_KEY)


def test_a_word_that_stands_for_no_key_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    for word in ("EMPTY", "none", "x" * (LEAST_SECRET - 1)):
        monkeypatch.setenv("OPENAI_API_KEY", word)
        assert hidden(f"it is {word}") == f"it is {word}"


def test_a_server_that_gets_no_key_is_told_how_to_get_one() -> None:
    wire = Wire({MODELS: (401, b'{"error":"Unauthorized"}')})
    server = OpenAIServer(URL, ServerOptions(sends_key=False), transport=wire)
    with pytest.raises(ModelError) as caught:
        server.models()
    assert "authorization" not in wire.headers[0]
    assert "you have not named this address" in caught.value.what
    assert f"--base-url {URL}" in caught.value.fix
