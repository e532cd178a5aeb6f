from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from tests.repl.screen.test_sanitise import NASTY
from tests.support.embedding import Counting
from tests.support.scripted import Scripted
from tests.support.sessions import scripted
from thimble.agent.side import SideModel
from thimble.repl.commands.table import COMMANDS
from thimble.repl.prompt.completion import Completions
from thimble.session.session import Session
from thimble.session.settings import Settings
from thimble.strategies.parameter import parameters_of
from thimble.strategies.spec import make_strategy
from thimble.strategies.table import STRATEGIES

SESSION = scripted()


def completed(text: str, **settings: object) -> list[str]:
    """What the line would be with each of the completions."""
    completions = Completions(scripted(**settings) if settings else SESSION)
    found = completions.get_completions(Document(text), CompleteEvent())
    return [text[: len(text) + offer.start_position] + offer.text for offer in found]


@given(NASTY | st.text("/strategy hybrid+:=,.~", max_size=30))
def test_anything_can_stand_before_the_cursor(text: str) -> None:
    for prefix in ("", "/strategy ", "/compare ", "/articles ", "/help "):
        assert all(offer.startswith(prefix) for offer in completed(prefix + text))


def test_tab_completes_commands() -> None:
    assert completed("/") == [f"/{name}" for name in COMMANDS]
    assert completed("/st") == ["/strategy", "/stats"]
    assert completed("/help st") == ["/help strategy", "/help stats"]
    assert completed("/stats ") == ["/stats all"]
    assert completed("/why ") == []
    assert completed("/unknown ") == []


def test_tab_completes_strategies() -> None:
    assert completed("/strategy ") == [f"/strategy {name}" for name in STRATEGIES]
    assert completed("/strategy hybrid+obs") == ["/strategy hybrid+observation-masking"]


@pytest.mark.parametrize("name", STRATEGIES)
def test_parameters_and_their_values_lead_to_a_spec(name: str) -> None:
    taken = parameters_of(STRATEGIES[name])
    start = f"/strategy hybrid + {name}"
    paper = [f"{start}:paper"] * any(parameter.paper for parameter in taken)
    assert completed(f"{start}:") == [*(f"{start}:{parameter.name}=" for parameter in taken), *paper]
    assert completed(start.replace(" + ", "+")) == [
        start.replace(" + ", "+") + end for end in ["", ":"][: 1 + bool(taken)]
    ]
    for parameter in taken:
        values = completed(f"{start}:{parameter.name}=")
        assert f"{start}:{parameter.name}={parameter.shown}" in values
        assert all(f"{start}:{parameter.name}={word}" in values for word in parameter.choices)
        for spec in values:
            make_strategy(spec.removeprefix("/strategy "), SideModel(Scripted([]), Counting()))


def test_a_parameter_is_offered_with_all_that_there_is_to_know_and_only_once() -> None:
    completions = Completions(scripted())
    found = list(completions.get_completions(Document("/strategy hybrid:tail=3,w"), CompleteEvent()))
    assert [offer.text for offer in found] == ["hybrid:tail=3,window=", "hybrid:tail=3,when=", "hybrid:tail=3,words="]
    assert found[2].display_meta_text == "default 400: length asked of the summary (20 to 10,000)"
    assert [offer.display_text for offer in found] == ["window=", "when=", "words="]
    assert completed("/strategy hybrid:tail=3,t") == []


def test_tab_completes_files_of_ones_own(tmp_path: Path) -> None:
    for name in ("mine.py", "notes.txt", ".hidden.py", "bad\x1b[31m.py"):
        (tmp_path / name).write_text("")
    (tmp_path / "more").mkdir()
    assert completed(f"/strategy {tmp_path}/") == [f"/strategy {tmp_path}/mine.py", f"/strategy {tmp_path}/more/"]
    assert completed("/strategy ./no/such/") == []


def test_tab_completes_articles_topics_and_models() -> None:
    session = scripted()
    assert completed("/articles kv-") == ["/articles kv-cache-and-prefix-caching"]
    assert f"/articles {session.library.tags[0]}" in completed("/articles ")
    assert completed("/context r") == ["/context raw"]
    assert "/model reader" in completed("/model r", base_url="http://127.0.0.1:1")


def test_a_library_that_cannot_be_read_offers_nothing(tmp_path: Path) -> None:
    session = Session(Settings(backend="reader", corpus=tmp_path))
    assert list(Completions(session).get_completions(Document("kv-cache"), CompleteEvent())) == []
