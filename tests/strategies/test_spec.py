"""A SPEC names strategies and their parameters. To read one runs nothing; whatever it cannot mean is a UsageError."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from tests.support.histories import outcome
from tests.support.sessions import Paper, scripted
from tests.support.specs import EVERY, build, parts_of, specs
from thimble.agent.errors import UsageError
from thimble.repl.commands.strategy import show_all
from thimble.repl.prompt.completion import Completions
from thimble.session.playback import names_code
from thimble.session.settings import refuse_code
from thimble.strategies.parameter import parameters_of
from thimble.strategies.spec import PAPER, is_code, parse_spec
from thimble.strategies.table import STRATEGIES

# --- to read a SPEC runs nothing --------------------------------------------------------------------------------------

SESSION = scripted()
LIKE_SPECS = st.lists(
    st.sampled_from(["theirs", "theirs.py", "./theirs.py", "c+theirs.py", "no_such.py", "none", "hybrid", "Name"])
    | st.sampled_from([":", "+", "=", ",", " ", ".", "/", "\t", "\n", "a", "prepare", "window=3"]),
    max_size=8,
).map("".join)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], bool]]:
    """Whether code of somebody else's has run since this was last asked; it is a module and a file of this folder."""
    folder = tmp_path_factory.mktemp("theirs")
    for name in ("theirs.py", "c+theirs.py"):
        (folder / name).write_text(
            f"import pathlib\npathlib.Path({str(folder / 'ran')!r}).touch()\nName = prepare = 1\n"
        )

    def asked() -> bool:
        sys.modules.pop("theirs", None)
        has_run = (folder / "ran").exists()
        (folder / "ran").unlink(missing_ok=True)
        return has_run

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(str(folder))
        yield asked


@given(st.text(max_size=20) | LIKE_SPECS)
@example("theirs:Name:")
@example("theirs:Name:a=1")
@example("none + theirs:Name:")
def test_code_that_a_spec_runs_is_known_before_and_nothing_else_runs_it(ran: Callable[[], bool], text: str) -> None:
    code = is_code(text)
    assert code == any(part.is_code for part in parse_spec(text))
    assert code == isinstance(outcome(lambda: refuse_code(text, "", "")), UsageError)
    assert names_code(f" /strategy {text}") >= code
    show_all(text, Paper(drawn=False).console)
    for typed in ("/strategy ", "/compare none ", "/retry "):
        list(Completions(SESSION).get_completions(Document(typed + text), CompleteEvent()))
    assert not ran()
    outcome(lambda: build(text))
    assert ran() <= code


@given(st.text(max_size=20) | LIKE_SPECS)
def test_each_part_knows_where_it_begins(text: str) -> None:
    for part in parse_spec(text):
        assert text[part.start :].startswith(part.name)


# --- what a SPEC names ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY)
@given(st.data())
def test_every_legal_spec_is_taken(name: str, data: st.DataObject) -> None:
    spec = data.draw(specs(name))
    strategy = build(spec)
    for written, part in zip(spec.split("+"), parts_of(strategy), strict=True):
        _, _, settings = written.partition(":")
        for setting in filter(None, settings.split(",")):
            key, _, value = setting.partition("=")
            if key == PAPER:
                continue
            (parameter,) = (known for known in parameters_of(type(part)) if known.name == key)
            assert getattr(part, key) == parameter.read(value)


@pytest.mark.parametrize("name", [name for name in STRATEGIES if any(p.paper for p in parameters_of(STRATEGIES[name]))])
def test_a_paper_s_parameters_have_a_name(name: str) -> None:
    """With others beside it, those are what they say."""
    papers, plain = {p.name: p.paper for p in parameters_of(STRATEGIES[name]) if p.paper is not None}, build(name)
    for one in parameters_of(STRATEGIES[name]):
        for spec in (f"{name}:paper", f"{name}: paper ,words=77", f"{name}:words=77,paper"):
            if "words" in spec and not hasattr(plain, "words"):
                continue
            others = {"words": 77} if "words" in spec else {}
            assert getattr(build(spec), one.name) == {**papers, **others}.get(one.name, getattr(plain, one.name))


@pytest.mark.parametrize(
    ("spec", "what", "fix"),
    [
        ("sliding-window:paper", "sliding-window has no parameter 'paper'", "known: target, room, window"),
        ("llm-summary:paper=1", "llm-summary has no parameter 'paper'", "known: every, tail, words"),
        ("llm-summary:paper,paper", "llm-summary has no parameter 'paper'", "known: every, tail, words"),
        ("slidingwindow", "there is no strategy 'slidingwindow'", "did you mean sliding-window?"),
        ("", "the name of a strategy is missing", "known: none, truncate, sliding-window"),
        ("zzz", "there is no strategy 'zzz'", "known: none, truncate, sliding-window"),
        ("none+", "the name of a strategy is missing", "known: "),
        ("obs", "there is no strategy 'obs'", "did you mean observation-masking?"),
        ("summary", "there is no strategy 'summary'", "did you mean summary-buffer?"),
        ("none:window=3", "none has no parameter 'window'", "write none alone"),
        ("sliding-window:windw=3", "sliding-window has no parameter 'windw'", "did you mean window?"),
        ("sliding-window:zzz=3", "sliding-window has no parameter 'zzz'", "known: target, room, window"),
        (
            "sliding-window:window",
            "sliding-window: window has no value",
            "write window=value; it takes 0 to 1,000,000 or unset",
        ),
        ("sliding-window:window=", "window= is not valid", "window takes 0 to 1,000,000 or unset: turns kept"),
        (
            "sliding-window:window=-1",
            "window=-1 is not valid",
            "window takes 0 to 1,000,000 or unset: turns kept",
        ),
        ("sliding-window:window=1.5", "window=1.5 is not valid", "window takes 0 to"),
        ("sliding-window:window=usnet", "window=usnet is not valid", "did you mean unset? window takes 0 to"),
        ("sliding-window:target=9", "target=9 is not valid", "target takes 0.1 to 1: "),
        ("sliding-window:target=none", "target=none is not valid", "target takes 0.1 to 1: "),
        ("sliding-window:window=3,window=4", "sliding-window: window is given twice", "each key once"),
        ("sliding-window window=3", "there is no strategy 'sliding-window window=3'", "sliding-window:key=value"),
        ("no.such:Name", "no.such:Name cannot be loaded: ModuleNotFoundError: No module named 'no'", "correct it"),
        (
            "json:Nothing",
            "json:Nothing cannot be loaded: AttributeError: module 'json' has no attribute 'Nothing'",
            "correct it",
        ),
        ("json:__doc__", "json:__doc__ defines no prepare()", "write: def prepare"),
        ("observation-masking:when=alway", "when=alway is not valid", "did you mean always? when takes over or"),
        ("sliding-window:target=nan", "target=nan is not valid", "target takes 0.1 to 1: "),
        ("sliding-window:target=inf", "target=inf is not valid", "target takes 0.1 to 1: "),
        ("observation-masking:when=never", "when=never is not valid", "when takes over or always: "),
        ("summary-buffer:model=x", "summary-buffer has no parameter 'model'", "known: buffer, target, words"),
        ("summary-buffer:state={}", "summary-buffer has no parameter 'state'", "known: buffer, target, words"),
    ],
)
def test_a_wrong_spec_is_answered_with_a_right_one(spec: str, what: str, fix: str) -> None:
    with pytest.raises(UsageError) as caught:
        build(spec)
    assert caught.value.what == what
    assert fix in caught.value.fix


@given(st.sampled_from(sorted(STRATEGIES)), st.text("windowtarget=,:.0123456789-", max_size=20))
def test_no_settings_are_worse_than_a_usage_error(name: str, settings: str) -> None:
    strategy = outcome(lambda: build(f"{name}:{settings}"))
    assert type(strategy) is STRATEGIES[name] or (isinstance(strategy, UsageError) and strategy.fix)
