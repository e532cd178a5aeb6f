from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.ollama_server import Model, served
from tests.support.ollama_server import Ollama as Small
from tests.support.ollama_wire import ANSWER, PAGE, SHOW, TAGS, loopback, send
from tests.support.paths import ROOT
from tests.support.sessions import ask, scripted, tool_call
from thimble.agent.errors import ModelError, ThimbleError, UsageError
from thimble.agent.events import Answered, SideCalled
from thimble.agent.loop import run
from thimble.agent.protocols import Backend
from thimble.commands.forecast import forecast_prompt
from thimble.models.server import ServedBackend
from thimble.session.once import Once
from thimble.session.session import Session
from thimble.session.settings import Settings, resolve_settings
from thimble.strategies.table import STRATEGIES

QUESTION = "What is observation masking?"


@pytest.fixture
def articles(tmp_path: Path) -> Path:
    folder = tmp_path / "articles"
    folder.mkdir()
    (folder / "thimbles.md").write_text("# Thimbles\n\nA thimble holds two millilitres of water.\n")
    return folder


def reader(**settings: Any) -> Session:
    return Session(Settings(backend="reader", **settings))


@contextmanager
def ollama(tags: bytes = TAGS, context: int = 16_384) -> Iterator[str]:
    """An Ollama server on this machine that has these models and always gives the same answer."""
    loaded = b'{"models":[{"name":"qwen2.5:7b","model":"qwen2.5:7b","context_length":%d}]}' % context
    replies = {"version": b'{"version":"0.13.0"}', "tags": tags, "show": SHOW, "chat": ANSWER, "ps": loaded}

    def handle(handler: Any, body: Any) -> None:
        send(handler, replies[handler.path.removeprefix("/api/")])

    with loopback(handle) as url:
        yield url


def nowhere() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


def choices(session: Session) -> tuple[object, ...]:
    agent = session.agent
    return session.spec, agent.strategy, agent.strategy_name, agent.limit, agent.backend


# ---- swaps ----

SWAPS: dict[str, Callable[[Session, Any], None]] = {
    "strategy": lambda session, spec: session.use_strategy(spec),
    "budget": lambda session, tokens: session.use_budget(tokens),
    "model": lambda session, name: session.use_model(name),
    "reset": lambda session, _: session.reset(),
}
SPECS = st.sampled_from([*STRATEGIES, " none ", "none+hybrid", "noen", "", "hybrid:nothing=1", "./nowhere.py", "a:B"])
SWAP = st.one_of(
    st.tuples(st.just("strategy"), SPECS),
    st.tuples(st.just("budget"), st.integers(-10, 3_000_000)),
    st.tuples(st.just("model"), st.sampled_from(["reader", " reader", "qwen2.5:7b", "missing:1b", ""])),
    st.tuples(st.just("reset"), st.none()),
)


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("few")
    (folder / "masking.md").write_text("# Masking\n\nObservation masking hides old observations.\n")
    return folder


@given(st.lists(SWAP, max_size=6))
def test_a_swap_is_made_whole_or_not_at_all(few: Path, swaps: list[tuple[str, Any]]) -> None:
    session = reader(base_url=NOWHERE, corpus=few, files=few)
    list(session.ask(QUESTION))
    for kind, value in swaps:
        before, history = choices(session), list(session.agent.history)
        try:
            SWAPS[kind](session, value)
        except ThimbleError:
            assert choices(session) == before
        else:
            if kind == "strategy":
                assert session.spec == session.agent.strategy_name == value.strip()
                assert session.agent.strategy is not before[1]
            if kind == "budget":
                assert session.agent.limit == value
        assert session.agent.side.backend is session.agent.backend
        assert session.agent.history == ([] if kind == "reset" else history)


NOWHERE = nowhere()


def test_a_swapped_strategy_starts_fresh_and_sees_the_whole_history() -> None:
    session = reader(strategy="observation-masking")
    events = list(session.ask(QUESTION))
    assert isinstance(events[-1], Answered)
    length = len(session.agent.history)
    old = session.agent.strategy
    session.use_strategy("observation-masking")
    assert session.agent.strategy is not old
    assert getattr(session.agent.strategy, "state", {}) == getattr(reader().agent.strategy, "state", {})
    list(session.ask("And what is context rot?"))
    view = session.agent.ledger.view
    assert view is not None
    assert len(view.fates) > length


def test_reset_forgets_everything_but_the_choices() -> None:
    session = reader()
    session.use_strategy("hybrid")
    session.use_budget(4000)
    list(session.ask(QUESTION))
    session.notes.save("title", "text")
    notes, backend = session.notes, session.agent.backend
    session.reset()
    assert session.agent.history == []
    assert session.agent.ledger.calls == []
    assert session.agent.ledger.view is None
    assert session.notes is notes
    assert notes.kept == []
    assert choices(session)[0] == "hybrid"
    assert (session.agent.limit, session.agent.backend) == (4000, backend)
    assert isinstance(list(session.ask(QUESTION))[-1], Answered)


# ---- which model answers ----


def test_a_named_server_without_models_leaves_the_reader_only_where_one_can_be_pulled() -> None:
    with ollama(tags=b'{"models":[]}') as url:
        with pytest.raises(ModelError, match="no model is installed"):
            _ = Session(Settings(backend="ollama", base_url=url)).agent
        session = Session(Settings(backend="ollama", base_url=url))
        session.backends.can_pull = True
        assert session.agent.backend.name == "reader"
        assert session.backends.server.name == "ollama"
        wanted = Session(Settings(backend="ollama", model="phi4", base_url=url))
        wanted.backends.can_pull = True
        with pytest.raises(ModelError, match="'phi4' is not installed"):
            _ = wanted.agent
    (notice,) = session.notices
    assert notice.endswith("For a model, /pull qwen2.5:7b.")


def test_auto_asks_no_server_elsewhere_that_is_named_for_other_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", NOWHERE)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://models.example/v1")
    monkeypatch.setattr(socket, "create_connection", lambda address, *_: asked.append(address) or refused())
    asked: list[Any] = []
    assert Session(resolve_settings({})).backends.look_for_server() is None
    assert {host for host, _ in asked} == {"127.0.0.1"}
    asked.clear()
    given = resolve_settings({"base_url": "http://models.example"})
    found = Session(given).backends.look_for_server()
    assert {host for host, _ in asked} == {"models.example"}
    assert found
    assert found.url == "http://models.example:80", "it was named: it is waited for, and says what is wrong with it"


def refused() -> None:
    raise ConnectionRefusedError


def test_another_server_at_that_address_is_no_ollama() -> None:
    with loopback(lambda handler, _: send(handler, PAGE)) as url:
        session = Session(Settings(base_url=url))
        assert session.agent.backend.name == "reader"
    assert session.notices


def test_a_server_that_is_there_is_used() -> None:
    with ollama() as url:
        session = Session(Settings(calls="tools", base_url=url.removeprefix("http://")))
        answered = list(session.ask(QUESTION))[-1]
        assert (session.agent.backend.name, session.agent.backend.model) == ("ollama", "qwen2.5:7b")
        assert session.notices == []
        assert session.backends.names() == ["reader", "llama3.2:3b", "qwen2.5:7b"]
    assert isinstance(answered, Answered)
    assert answered.text.startswith("A thimble")


@pytest.mark.parametrize("backend", ["auto", "ollama"])
def test_a_model_that_was_named_is_never_replaced(backend: str) -> None:
    session = Session(Settings(backend=backend, model="qwen2.5:7b", base_url=NOWHERE))
    with pytest.raises(ModelError, match="nothing answers"):
        _ = session.agent
    with ollama() as url:
        session = Session(Settings(backend=backend, model="mistral", base_url=url))
        with pytest.raises(ModelError, match="not installed") as caught:
            _ = session.agent
    assert "ollama pull mistral" in caught.value.fix
    assert "qwen2.5:7b" in caught.value.fix


def test_an_address_that_is_none_is_named() -> None:
    with pytest.raises(UsageError, match="not an address"):
        _ = Session(Settings(base_url="::::")).agent
    assert reader(base_url="::::").backends.names() == ["reader"]


def test_another_model_counts_and_summarises_too() -> None:
    with ollama() as url:
        session = Session(Settings(backend="auto", model="reader", base_url=url))
        list(session.ask(QUESTION))
        history = list(session.agent.history)
        counter = session.agent.backend.counter
        session.use_model("llama3.2:3b")
        assert isinstance(session.agent.backend, ServedBackend)
        assert session.agent.side.backend is session.agent.backend
        assert session.agent.budget([]).counter is session.agent.backend.counter is not counter
        assert session.agent.history == history
        with pytest.raises(ModelError, match="not installed"):
            session.use_model("mistral")
        assert session.agent.backend.model == "llama3.2:3b"
        session.use_model("reader")
        assert session.agent.backend.name == "reader"


# ---- the model that strategies ask ----


@pytest.mark.parametrize("name", ["summariser", "memory"])
def test_a_model_beside_outlives_every_swap_and_holds_the_budget(name: str) -> None:
    with ollama() as url:
        session = Session(Settings(backend="ollama", base_url=url, **{name: "llama3.2:3b"}))
        first = beside(session, name)
        assert isinstance(first, ServedBackend)
        assert (session.agent.backend.model, first.model) == ("qwen2.5:7b", "llama3.2:3b")
        session.use_model("reader")
        session.use_strategy("comem")
        session.reset()
        assert beside(session, name) is first
        session.use_budget(100_000)
        larger = beside(session, name)
        assert isinstance(larger, ServedBackend)
        assert (larger.model, larger.room >= 101_000) == ("llama3.2:3b", True)
    assert beside(reader(**{name: "reader"}), name)
    assert reader().agent.side.memory is None


def beside(session: Session, name: str) -> Backend | None:
    return session.agent.side.memory if name == "memory" else session.agent.side.backend


def test_for_a_small_model_the_reader_summarises_unless_the_user_names_one() -> None:
    models = {"qwen2.5:7b": Model(), "plain:latest": Model(capabilities=("completion",))}
    with served(Small(models=models)) as (_, url):
        flags: dict[str, Any] = {"backend": "ollama", "base_url": url, "strategy": "hybrid"}
        session = Session(Settings(model="plain", **flags))
        side = session.agent.side
        assert side.summariser(side.backend).name == "reader"
        (notice,) = [notice for notice in session.notices if "--summariser plain:latest" in notice]
        assert "plain:latest is small or calls by schema: the built-in reader summarises" in notice
        assert session.fork().side.summariser(side.backend).name == "reader"
        assert len([one for one in session.notices if "--summariser" in one]) == 1
        session.use_model("qwen2.5:7b")
        assert side.summariser(side.backend) is session.agent.backend
        own = Session(Settings(model="plain", summariser="plain", **flags))
        named = own.agent.backend
        assert own.agent.side.backend is own.agent.side.summariser(named) is named
        own.use_budget(100_000)
        assert own.agent.side.backend is own.agent.backend is not named
        own.use_model("qwen2.5:7b")
        assert own.agent.side.backend.model == "plain:latest"


@pytest.mark.parametrize(("name", "called"), [("summariser", "the summariser"), ("memory", "the memory model")])
def test_a_model_beside_that_cannot_be_used_is_told_with_a_way_to_mend(name: str, called: str) -> None:
    with pytest.raises(ModelError, match=f"{called} cannot be used: nothing answers") as caught:
        _ = reader(**{name: "qwen2.5:7b"}, base_url=NOWHERE).agent
    assert f"--{name} reader" in caught.value.fix
    for model in ("x", "x.gguf"):  # llama-server may call a model by its file
        with pytest.raises(ModelError, match=f"{called} cannot be used: no model server answers"):
            _ = reader(**{name: f"{model}@{nowhere()}"}).agent
    with ollama() as url, pytest.raises(ModelError, match="'mistral' is not installed") as caught:
        _ = Session(Settings(backend="ollama", base_url=url, **{name: "mistral"})).agent
    assert "ollama pull mistral" in caught.value.fix
    with pytest.raises(UsageError, match="not an address"):
        _ = reader(**{name: "x"}, base_url="::::").agent
    for half in ("@", "x@", "@127.0.0.1:11434"):
        with pytest.raises(UsageError, match=f"{called} cannot be"):
            _ = reader(**{name: half}).agent


# ---- tools on demand ----


def test_tools_on_demand_come_and_go_with_the_strategy() -> None:
    session = scripted(tool_call("delegate", task="Read about masking."), "no such tool then", strategy="none")
    list(session.ask(QUESTION))
    assert "there is no tool named 'delegate'" in session.agent.history[3].content
    session.use_strategy("delegate")
    assert list(session.agent.offered()) == [*session.agent.tools, "delegate"]
    assert len(session.agent.schemas()) == len(session.agent.tools) + 1
    session.use_strategy("observation-masking+delegate")
    assert "delegate" in session.agent.offered()
    session.use_strategy("none")
    assert list(session.agent.offered()) == [*session.agent.tools]


def test_a_task_is_delegated_to_the_agents_own_model() -> None:
    """The sub-agent goes on with whatever model the agent has then, not with the summariser."""
    session = scripted(
        tool_call("delegate", task="Read the article on masking."),
        tool_call("read_article", slug="observation-masking"),
        "It hides old results [observation-masking].",
        "Done.",
        strategy="delegate",
        summariser="reader",
    )
    sides = [event for event in ask(session) if isinstance(event, SideCalled)]
    assert [(event.purpose, str(event.model)) for event in sides] == [("delegate", "scripted/scripted")] * 2
    assert session.agent.history[3].content == "It hides old results [observation-masking]."
    assert session.agent.ledger.exchanges == 1
    assert session.notes.kept == []


@pytest.mark.parametrize(("context", "notices"), [(16_384, 0), (4_096, 1)])
def test_a_server_that_loads_another_window_is_told_of_once(context: int, notices: int) -> None:
    with ollama(context=context) as url:
        session = Session(Settings(calls="tools", backend="ollama", base_url=url))
        for _ in range(2):
            list(session.ask(QUESTION))
        assert ["context of 4,096" in notice for notice in session.notices] == [True] * notices


# ---- what is made late ----


def test_nothing_heavy_is_loaded_before_the_first_question() -> None:
    code = (
        "import sys\n"
        "from thimble.session.session import Session\n"
        "from thimble.session.settings import resolve_settings\n"
        f"session = Session(resolve_settings({{'base_url': {NOWHERE!r}}}))\n"
        "assert not session.backends.look_for_server()\n"
        "heavy = {'httpx', 'tiktoken', 'ollama', 'pydantic', 'yaml', 'rich', 'asyncio', 'numpy', 'tokenizers'}\n"
        "print(*heavy & set(sys.modules))\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=30)
    assert (run.returncode, run.stdout.strip(), run.stderr) == (0, "", "")


def test_warming_up_makes_the_first_question_ready_and_never_fails(articles: Path, tmp_path: Path) -> None:
    session = reader(corpus=articles, files=articles)
    session.warm()
    assert [article.slug for article in session.library.articles] == ["thimbles"]
    assert "list_articles" in session.agent.tools
    assert len(session.agent.tools) == len(session.agent.schemas())
    (tmp_path / "empty").mkdir()
    for broken in (reader(corpus=tmp_path / "empty"), reader(strategy="noen"), Session(Settings(base_url="::::"))):
        broken.warm()
        with pytest.raises(UsageError):
            _ = broken.agent


def test_articles_that_were_left_out_are_told_but_not_without_end(articles: Path) -> None:
    for number in range(9):
        (articles / f"broken-{number}.md").write_bytes(b"\xff")
    session = reader(corpus=articles)
    _ = session.agent
    assert len(session.notices) == 6
    assert "broken-0.md" in session.notices[0]
    assert "4 more" in session.notices[-1]


def test_what_is_made_late_is_made_once() -> None:
    made: list[int] = []

    def make() -> int:
        time.sleep(0.02)
        made.append(1)
        return len(made)

    later = Once(make)
    threads = [threading.Thread(target=later) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (later(), made) == (1, [1])


def test_a_fork_goes_on_apart() -> None:
    session = scripted("One.", "Two.", "Three.", strategy="observation-masking")
    session.notes.save("a", "b")
    ask(session)
    before = [*session.agent.history], [*session.agent.ledger.calls], session.notes.state
    fork = session.fork("sliding-window")
    list(run(fork, "And what else?"))
    fork.tools["save_note"].run({"title": "c", "text": "d"})
    assert (session.agent.history, session.agent.ledger.calls, session.notes.state) == before
    assert [message.content for message in fork.history[-2:]] == ["And what else?", "Two."]
    assert fork.ledger.exchanges == 1
    assert session.fork().strategy_name == "observation-masking"
    with pytest.raises(UsageError, match="no strategy 'nonsense'"):
        session.fork("nonsense")


def test_a_module_that_is_a_strategy_is_forked_and_forecast(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def prepare(messages, budget):\n    return [messages[0], messages[-1]]\n")
    session = scripted("One.", strategy=str(tmp_path / "mine.py"))
    ask(session)
    assert [message.role for message in session.fork().history] == ["system", "user", "assistant"]
    view = forecast_prompt(session, "And?", foreign=True).view
    assert view
    assert view.fates[2] == "dropped"
