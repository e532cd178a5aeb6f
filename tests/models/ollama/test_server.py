from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.ollama_wire import PAGE, PS, PULL, SHOW, TAGS, Wire, model, server
from thimble.agent.budget import LEAST_BUDGET
from thimble.agent.errors import ModelError
from thimble.models import call_room, checks
from thimble.models.ollama.choose import choose_model
from thimble.models.ollama.model_info import ModelInfo, choose_think_level, keep_seconds, model_info
from thimble.models.ollama.server import Download, OllamaServer
from thimble.models.server import Think

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(), each, max_size=3),
    max_leaves=8,
)


def test_the_server_tells_what_it_has() -> None:
    behind = server(Wire(show=SHOW, pull=PULL, ps=PS))
    assert behind.models() == ["llama3.2:3b", "qwen2.5:7b"]
    assert behind.version() == "0.34.1"
    known = behind.info("qwen3:8b")
    assert (known.abilities, known.context) == ({"completion", "tools", "thinking"}, 40_960)
    assert [behind.loaded(name) for name in ("other", "qwen2.5:7b")] == [512, 4096]
    steps = list(behind.pull("qwen2.5:7b"))
    assert [(step.status, step.done_bytes, step.total_bytes) for step in steps] == [
        ("pulling manifest", 0, 0),
        ("pulling 2bada8a74506", 1048576, 4683073184),
        ("success", 1048576, 4683073184),
    ]


def test_the_list_of_models_is_not_believed_about_what_they_can() -> None:
    """It leaves out what the template of a model can do (seen on 0.33.0-rc2)."""
    tags = b'{"models":[{"model":"a","capabilities":["tools"]},{"model":"b","capabilities":["completion"]}]}'

    def show(body: Any) -> bytes:
        return b'{"capabilities":["completion"%s]}' % (b',"tools"' if body["model"] == "b" else b"")

    assert server(Wire(tags=tags, show=show)).choose() == "b"


@pytest.mark.parametrize("body", [b'{"models":[]}', b'{"models":null}', b'{"models":[{},7,{"name":5}]}'])
def test_a_server_may_have_no_model(body: bytes) -> None:
    assert server(Wire(tags=body)).models() == []


# ---- which model ----


@pytest.mark.parametrize(
    ("names", "wanted", "chosen"),
    [
        (["llama3.2:3b", "qwen3:8b", "qwen2.5:3b", "qwen2.5:7b"], "", "qwen2.5:7b"),
        (["llama3.2:3b", "qwen3:8b", "qwen2.5:3b"], "", "qwen2.5:3b"),
        (["llama3.2:3b", "qwen3-embedding:0.6b", "qwen3:8b"], "", "qwen3:8b"),
        (["nomic-embed-text:latest", "llama3.2:3b"], "", "llama3.2:3b"),
        (["qwen2.5:7b", "llama3.2:latest"], "llama3.2", "llama3.2:latest"),
        (["qwen2.5:7b", "hf.co/a/b:Q4"], "hf.co/a/b:Q4", "hf.co/a/b:Q4"),
    ],
)
def test_the_model_is_chosen_in_the_order_that_is_told(names: list[str], wanted: str, chosen: str) -> None:
    assert choose_model(names, wanted) == chosen


def test_a_model_is_asked_what_it_can_only_when_none_is_known() -> None:
    asked: list[tuple[str, str]] = []

    def can(tools: str, chats: str) -> Callable[[str, str], bool | None]:
        def tell(name: str, ability: str) -> bool | None:
            asked.append((name, ability))
            return name in {"tools": tools, "completion": chats}[ability]

        return tell

    assert choose_model(["a", "c", "qwen3:4b"], "", can("c", "ac")) == "qwen3:4b"
    assert asked == []
    assert choose_model(["a", "c", "d"], "", can("c", "ac")) == "c"
    assert asked == [("a", "tools"), ("c", "tools"), ("c", "completion")]
    assert choose_model(["a", "c", "d"], "", can("", "cd")) == "c", "one that chats, where none calls tools"
    assert choose_model(["e", "c"], "", can("e", "c")) == "c", "one that embeds may have tools in its template"


@pytest.mark.parametrize(
    ("names", "wanted", "fix"),
    [
        ([], "", "ollama pull qwen2.5:7b"),
        (["nomic-embed-text"], "", "ollama pull qwen2.5:7b"),
        ([], "phi4", "ollama pull phi4 (no model is installed)"),
        (["a", "b"], "phi4", "ollama pull phi4 (installed: a, b)"),
    ],
)
def test_no_model_to_choose_says_what_to_pull(names: list[str], wanted: str, fix: str) -> None:
    with pytest.raises(ModelError) as caught:
        choose_model(names, wanted)
    assert caught.value.fix == fix


# ---- what is known of a model ----


@given(st.dictionaries(st.sampled_from(["capabilities", "model_info", "thinking", "details", "messages"]), JSON))
def test_any_answer_is_read(answer: dict[str, object]) -> None:
    known = model_info(answer)
    assert known.context is None or known.context > 0
    for how in ("on", "off", "low", "medium", "high"):
        value = choose_think_level(how, "x", known)
        assert value is None or isinstance(value, bool | str)


LEVELS = ModelInfo(levels=("low", "medium", "high"), usual="medium")
SWITCH, ABLE = ModelInfo(levels=(True, False), usual=True), ModelInfo(frozenset({"thinking"}))
BOTH = ModelInfo(levels=(False, True, "low", "max"), usual=True)


@pytest.mark.parametrize(
    ("info", "model", "sent"),
    [
        (ModelInfo(), "x", (None, None, None, None)),
        (ModelInfo(frozenset({"tools"})), "x", (None, None, None, None)),
        (ModelInfo(levels=(False,)), "x", (None, False, None, None)),
        (ABLE, "qwen3:8b", (True, False, True, True)),
        (SWITCH, "qwen3:8b", (True, False, True, True)),
        (ABLE, "gpt-oss:20b", ("medium", "low", "low", "high")),
        (ModelInfo(frozenset({"thinking"}), family="gptoss"), "mine", ("medium", "low", "low", "high")),
        (LEVELS, "gpt-oss", ("medium", "low", "low", "high")),
        (BOTH, "x", (True, False, "low", True)),
        (ModelInfo(levels=("brief", "deep"), usual="deep"), "x", ("deep", "brief", "deep", "deep")),
    ],
)
def test_a_model_is_told_to_think_as_it_takes_it(info: ModelInfo, model: str, sent: tuple[object, ...]) -> None:
    hows: tuple[Think, ...] = ("on", "off", "low", "high")
    assert tuple(choose_think_level(how, model, info) for how in hows) == sent


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("10m", 600), ("300", 300), ("-1", float("inf")), ("-1m", float("inf")), ("0", 0), ("500ms", 0.5), ("2h", 7200)],
)
def test_a_keep_alive_is_a_time(text: str, seconds: float) -> None:
    assert keep_seconds(text) == seconds


# ---- what it warns of ----


SMALL = b'{"model_info":{"llama.context_length":4096},"capabilities":["completion"]}'


@pytest.mark.parametrize(
    ("routes", "warning"),
    [
        ({"ps": PS.replace(b"4096", b"16384")}, ""),
        ({}, ""),
        ({"ps": (500, b"")}, ""),
        ({"ps": PS.replace(b"4096", b"0")}, ""),
        ({"ps": PS}, "with a context of 4,096 tokens, not the 16,384 asked for"),
        ({"ps": PS, "show": SMALL}, "holds 4,096 tokens of prompt and reply"),
        ({"ps": PS, "show": SMALL}, ": /budget 2048"),
    ],
)
def test_a_context_that_is_too_small_is_a_warning(routes: dict[str, Any], warning: str) -> None:
    told = model(Wire(**routes)).check()
    assert warning in told
    assert bool(warning) == bool(told)


@given(st.integers(600, 20_000), st.booleans(), st.integers(500, 20_000))
def test_the_advised_budget_needs_no_further_advice(holds: int, thinks: bool, budget: int) -> None:
    able = '"completion","thinking"' if thinks else '"completion"'
    show = f'{{"model_info":{{"llama.context_length":{holds}}},"capabilities":[{able}]}}'.encode()
    loaded = PS.replace(b"4096", str(holds).encode())
    warning = model(Wire(ps=loaded, show=show), room=call_room(budget)).check()
    advised = re.search(r": /budget (\d+)$", warning)
    if advised:
        assert int(advised[1]) >= LEAST_BUDGET
        assert not model(Wire(ps=loaded, show=show), room=call_room(int(advised[1]))).check()
    else:
        assert not warning or warning.endswith("choose a model with a longer context (/model)")


# ---- a download ----

STEP = st.fixed_dictionaries(
    {},
    optional={
        "status": st.text() | st.none(),
        "digest": st.sampled_from(["a", "b", None, 7]),
        "total": st.integers(-5, 50) | st.none() | st.floats() | st.just(10**40),
        "completed": st.integers(-5, 90) | st.none() | st.text(),
    },
)


@given(st.lists(STEP, max_size=20))
def test_a_download_never_runs_backwards_nor_past_its_end(steps: list[dict[str, object]]) -> None:
    download, before = Download(), 0
    for step in steps:
        progress = download.add(step)
        assert before <= progress.done_bytes <= progress.total_bytes
        before = progress.done_bytes


@pytest.mark.parametrize(
    ("error", "what", "fix"),
    [
        ("pull model manifest: file does not exist", "there is no model 'big' to pull", "ollama.com/library"),
        ("write /root/.ollama/x-partial-0: no space left on device", "no space left on device", "disk"),
        ("max retries exceeded: dial tcp: lookup x: no such host", "no such host", "network"),
        ("this model requires a newer version of Ollama", "requires a newer version", "version of Ollama"),
        ("something else", "the pull of 'big' failed: something else", "/pull big"),
    ],
)
def test_a_pull_that_fails_says_what_and_how_to_mend_it(error: str, what: str, fix: str) -> None:
    said = json.dumps({"error": error}).encode()
    for reply in (b'{"status":"pulling manifest"}\n' + said + b"\n", (500, said)):
        with pytest.raises(ModelError) as caught:
            list(server(Wire(pull=reply)).pull("big"))
        assert what in caught.value.what
        assert fix in caught.value.fix


# ---- the doctor ----


def test_the_doctor_raises_only_what_it_can_say_whatever_the_server_says() -> None:
    bad: list[bytes | tuple[int, bytes]] = [PAGE, b"[]", b"{}", (500, b""), b'{"models":7}', b"\xff"]
    for version in (b'{"version":"0.34.1"}', *bad):
        for tags in (TAGS, *bad):
            for show in (SHOW, *bad):
                wire = Wire(version=version, tags=tags, show=show, ps=bad[0])
                with suppress(ModelError):
                    assert list(checks(server(wire), "", 4_000))


def test_the_doctor_says_what_is_missing_and_what_to_type() -> None:
    for asked, wanted, fix in (
        (OllamaServer("127.0.0.1:9"), "", "ollama serve"),
        (server(Wire()), "phi4", "pull phi4"),
    ):
        with pytest.raises(ModelError) as caught:
            list(checks(asked, wanted, 4_000))
        assert fix in caught.value.fix


def test_no_key_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_API_KEY", "secret")
    wire = Wire()
    assert server(wire).version() == "0.34.1"
    assert "authorization" not in wire.headers[0]
