from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from tests.support.histories import sound_histories
from tests.support.paths import ROOT
from tests.support.sessions import Paper, ask, scripted, tool_call
from tests.support.views import SPECS, viewed
from tests.whole.test_pty import Open, terminal  # noqa: F401
from thimble.agent.events import Prepared
from thimble.agent.messages import Message
from thimble.agent.protocols import Text
from thimble.repl.prompt.completion import Completions
from thimble.repl.screen.sanitise import Sanitiser, clean, hide_words
from thimble.repl.screen.stage import WAITING_MARK, Stage, describe_acts, describe_reasons
from thimble.session.session import Session

READS = [[tool_call("read_article", page, slug="observation-masking", page=page)] for page in (1, 98, 99)]
"""One long result, then two errors that are too short to be masked."""
MASKING: dict[str, Any] = {"strategy": "observation-masking:window=1", "budget": 2_150}
SECRETS = {"/home/alice": "~", "/home/alice/talk": "…/talk", "alice": "…", "gpu.example.org": "…"}


@pytest.fixture(autouse=True)
def nothing_hidden() -> Iterator[None]:
    yield
    hide_words({})


def shown(session: Session) -> tuple[str, int]:
    """What an exchange shows to a presenter who goes on, and how often it waited."""
    paper, waited = Paper(100), list[bool]()

    def wait() -> bool:
        waited.append(True)
        return True

    with Stage(paper.console, wait) as stage:
        for event in session.ask("What is observation masking?"):
            stage.show(event)
    return paper.text, len(waited)


@given(sound_histories(), st.sampled_from(SPECS), st.sampled_from([300, 2_000]))
def test_a_caption_explains_every_kind_of_deed(history: list[Message], spec: str, limit: int) -> None:
    if (view := viewed(history, spec, limit)) is None:
        return
    fates = dict.fromkeys(fate for fate in view.fates if fate != "kept")
    said = describe_reasons(view, None, "mine")
    if len(fates) > 1:
        assert [line.split(":")[0] for line in said] == [f"Why {fate}" for fate in fates]
    else:
        assert len(said) == 1
        assert said[0].startswith("Why: ")
    assert all(line.isprintable() for line in said)


def test_the_figures_of_a_caption_are_those_of_the_view() -> None:
    prepared = [event for event in ask(scripted(*READS, "So.", **MASKING)) if isinstance(event, Prepared)]
    for event in prepared[1:]:
        view, words = event.view, describe_acts(event)
        if len(words) > 1:
            assert f"compute {view.prefill:,} tokens; {view.cached:,} are cached" in words[2]
            assert f"{view.history_tokens - view.tokens:,} tokens, " in words[3]
        else:
            assert f"{view.tokens:,} of {view.limit:,} tokens; {view.cached:,} of them cached" in words[0]


def test_every_step_waits_and_the_answer_does_not() -> None:
    text, waited = shown(scripted([Text("I look."), READS[0][0]], "So."))
    assert waited == 5, "edit, thought, action, observation, edit"
    places = [text.index(f" {step} ") for step in ("EDIT", "THOUGHT", "ACTION", "OBSERVATION")]
    assert places == sorted(places)
    assert text.count(" EDIT ") == 2


# ---- nothing private ----

WORDS = st.sampled_from(
    [*SECRETS, "/home/al", "ice", "/", " ", "x", "alice2", "malice", "\n", "gpu.", "example.org", "~"]
)
TEXTS = st.lists(WORDS, max_size=12).map("".join)


@given(TEXTS, st.data())
def test_no_secret_is_shown_however_it_comes(text: str, data: st.DataObject) -> None:
    hide_words(SECRETS)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    sanitiser = Sanitiser()
    bounds = zip([0, *cuts], [*cuts, len(text)], strict=True)
    shown = "".join([*(sanitiser.feed(text[start:end]) for start, end in bounds), sanitiser.flush()])
    for text_shown in (shown, clean(text)):
        assert "/home/alice/" not in text_shown
        assert " alice " not in f" {text_shown} ".replace("\n", " ").replace("/", " ").replace("~", " ")
    hide_words({})
    assert clean(text) == text


def test_nothing_private_is_offered(tmp_path: Path) -> None:
    for name in ("alice-notes.txt", "aligned.txt"):
        (tmp_path / name).write_text("words")
    hide_words(SECRETS)
    offers = Completions(scripted(files=tmp_path)).get_completions(Document("read ali"), CompleteEvent())
    assert [offer.text for offer in offers] == ["aligned.txt"]


def test_nothing_private_reaches_the_terminal(terminal: Open, tmp_path: Path) -> None:  # noqa: F811
    home = tmp_path / "alice"
    (home / "corpus").mkdir(parents=True)
    (home / "corpus" / "good.md").write_text(f"# Good\n\nIn {home}/corpus of alice, words.\n")
    (home / "corpus" / "alice.md").write_bytes(b"\xff\xfe broken \x80")
    (home / "x.py").write_text(
        "class Mine:\n    def prepare(self, messages, budget):\n        print(__file__)\n        return 1 / 0\n"
    )
    (home / "y.py").write_text("import nothing_of_this_name\n")
    (home / ".config").mkdir()
    here = terminal(
        *("repl", "--backend", "reader", "--stage", "--corpus", str(home / "corpus"), "--files", str(home)),
        HOME=str(home),
        USER="alice",
        LOGNAME="alice",
        XDG_CONFIG_HOME=str(home / ".config"),
        OLLAMA_HOST="http://gpu.alice.example:11434",
    )
    here.see("1 article", "next ▓")
    for typed, seen in (
        *(("/strategy ~/x.py:Mine", "The strategy is now"), ("words of good", "ZeroDivisionError")),
        *(("/strategy ~/y.py", "✗"), ("/strategy ~/missing.py", "✗"), ("/strategy none", "is now none")),
        *(("/articles good", "1 article"), ("/doctor", "A session uses"), ("/plant Eels swim.", "Planted in message")),
        *(("What are the words of Good?", WAITING_MARK), ("a", "turns ")),
        *(("/context", "tool schemas"), ("/context next", "next call"), ("/context raw", '"get_notes"')),
        *(("/context 2", "unchanged, "), ("/predict", "which of them"), ("/probe", "Calls are counted")),
        *(("/compare none ~/x.py:Mine", "failed: line "), ("/context nonsense ~/x.py", "✗"), ("/pull ~/x.py", "✗")),
        ("/compare none ~/x.py:Mine run What are the words of Good?", "Asked under each"),
    ):
        here.type(typed if typed == "a" else f"{typed}\r")
        here.see(seen)
    here.type("\x12")
    here.type("\x03\x04")
    here.end()
    written = here.raw.replace("\r", "").replace("\n", "")
    for secret in (str(home), "alice", "gpu", str(ROOT)):
        assert secret not in written, written[max(0, written.index(secret) - 80) : written.index(secret) + 80]
    assert socket.gethostname() not in written
    assert not [*tmp_path.glob("**/history")], "no prompt is written to disk"


def test_enter_steps_and_what_was_typed_before_does_not(terminal: Open) -> None:  # noqa: F811
    here = terminal("tests.support.scripted_conversation", "--stage")
    here.see(" tools")
    here.type("first\r\r\r\r\r\r")
    here.see("nothing was changed", WAITING_MARK)
    assert "THOUGHT" not in here.text
    for step in ("A long thought", "I look.", "ACTION", "OBSERVATION"):
        here.type("\r")
        here.see(step, WAITING_MARK)
    here.type("\x1b[A")
    here.type("\x1b[200~a\x1b[201~")
    here.type("a")
    here.see("A prefix breaks where it differs.", "1 exchange", until=lambda text: WAITING_MARK not in text)
