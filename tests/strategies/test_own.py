"""Strategies of the user's own: every usual mistake is one line what, with the user's own line, and one line how."""

from __future__ import annotations

import signal
import sys
from copy import deepcopy
from pathlib import Path

import pytest

from tests.support.histories import budget, react40
from tests.support.specs import Summariser, build, fail
from thimble.agent.errors import ModelError, Stopped, UsageError
from thimble.agent.side import SideModel
from thimble.strategies.hybrid import Hybrid
from thimble.strategies.none import NoManagement
from thimble.strategies.own import OwnStrategy

RULE = """
from dataclasses import dataclass, field

from thimble.strategies.parameter import parameter


@dataclass
class Newest:
    model: object
    newest: int = parameter(2, "newest results that stay")
    state: dict = field(default_factory=dict)

    def prepare(self, messages, budget):
        self.state["asked"] = self.state.get("asked", 0) + 1
        self.model.ask(messages, "summary", max_tokens=20)
        return messages[: self.newest]
"""


def written(tmp_path: Path, body: str) -> str:
    path = tmp_path / "mine.py"
    path.write_text(body)
    return str(path)


@pytest.mark.parametrize(
    ("body", "line", "what", "fix"),
    [
        ("view = list(messages)", 1, "prepare must return a list of messages, not None", "return messages"),
        ("return [m.content for m in messages]", 1, "prepare must return a list of messages; ", "return messages"),
        ("return {}['gone']", 2, "KeyError: 'gone', in: return {}['gone']", "correct it"),
        ("return deeper()\n\ndef deeper():\n    1 / 0", 5, "ZeroDivisionError: division by zero, in: 1 / 0", "correct"),
        ("messages[0].content = ''\n    return messages", 2, "FrozenInstanceError: ", "rewritten(content, why)"),
        ("raise SystemExit(3)", 2, "SystemExit: 3", "correct it"),
        ("yield from (1 / 0,)", 2, "ZeroDivisionError: division by zero", "correct it"),
    ],
)
@pytest.mark.parametrize("alone", [True, False], ids=["alone", "in a pipeline"])
def test_an_error_is_told_with_its_line(body: str, line: int, what: str, fix: str, alone: bool, tmp_path: Path) -> None:
    path = written(tmp_path, f"def prepare(messages, budget):\n    {body}\n")
    strategy = build(path if alone else f"none+{path}+sliding-window")
    with pytest.raises(UsageError) as caught:
        strategy.prepare(react40(), budget())
    assert caught.value.what.startswith(f"{path}, line {line}: {what}")
    assert fix in caught.value.fix


@pytest.mark.parametrize(
    ("text", "member", "line", "fix"),
    [
        ("def prepare(messages): ...\n", "", 1, "def prepare(messages, budget)"),
        ("class Mine:\n    def prepare(messages, budget): ...\n", ":Mine", 2, "def prepare(self, messages, budget)"),
    ],
)
def test_another_signature_is_refused_before_it_is_used(
    text: str, member: str, line: int, fix: str, tmp_path: Path
) -> None:
    spec = written(tmp_path, text) + member
    with pytest.raises(UsageError) as caught:
        build(spec)
    assert caught.value.what == f"{spec}, line {line}: prepare() does not take messages and budget"
    assert caught.value.fix == f"write: {fix}"


PRESS = "import functools, signal\npress = functools.partial(signal.raise_signal, signal.SIGINT)\n"
HEARS = (
    PRESS
    + """heard = []
def prepare(messages, budget):
    heard.append(signal.getsignal(signal.SIGINT))
    for _ in messages[:2]:
        try:
            press()
        except KeyboardInterrupt:
            heard.append("Ctrl-C")
    return messages[:2]
"""
)


def test_ctrl_c_says_where_it_was_stopped(tmp_path: Path) -> None:
    path = written(tmp_path, f"{PRESS}def prepare(messages, budget):\n    press()\n")
    with pytest.raises(Stopped, match=r"stopped in .*mine\.py, line 4"):
        build(path).prepare(react40(), budget())
    path = written(tmp_path, f"{PRESS}\npress()\n")
    with pytest.raises(Stopped, match=r"stopped while .*mine\.py was loaded \(line 4\)"):
        build(path)


def test_ctrl_c_that_is_caught_is_caught(tmp_path: Path) -> None:
    strategy = build(written(tmp_path, HEARS))
    assert len(strategy.prepare(react40(), budget())) == 2
    assert strategy.inner.heard == [signal.getsignal(signal.SIGINT), "Ctrl-C", "Ctrl-C"]  # type: ignore[attr-defined]
    turned = "def prepare(messages, budget):\n    try:\n        press()\n    finally:\n        1 / 0\n"
    with pytest.raises(UsageError, match="line 7: ZeroDivisionError"):
        build(written(tmp_path, PRESS + turned)).prepare(react40(), budget())


def test_a_class_has_parameters_state_and_a_model(tmp_path: Path) -> None:
    path, asked = written(tmp_path, RULE), Summariser()
    assert len(build(f"{path}:Newest").prepare(react40(), budget())) == 2
    strategy = build(f"none+{path}:Newest:newest=5", asked)
    assert len(strategy.prepare(react40(), budget())) == 5
    assert len(asked.prompts) == 1
    with pytest.raises(UsageError, match="has no parameter 'newst'"):
        build(f"{path}:Newest:newst=5")
    with pytest.raises(UsageError, match="newest=many is not valid"):
        build(f"{path}:Newest:newest=many")


def test_a_copy_has_a_state_of_its_own(tmp_path: Path) -> None:
    strategy = build(f"{written(tmp_path, RULE)}:Newest")
    other = deepcopy(strategy)
    other.prepare(react40(), budget())
    assert (other.state, strategy.state) == ({"asked": 1}, {})  # type: ignore[attr-defined]


def test_a_server_that_is_gone_is_not_the_strategy_s_mistake(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="the server is gone"):
        build(f"{written(tmp_path, RULE)}:Newest", Summariser(fail)).prepare(react40(), budget())


def test_a_file_is_read_anew_each_time(tmp_path: Path) -> None:
    path = written(tmp_path, "def prepare(messages, budget):\n    return messages[:2]\n")
    before = build(path)
    Path(path).write_text("def prepare(messages, budget):\n    return messages[:3]\n")
    assert len(build(path).prepare(react40(), budget())) == 3
    assert len(before.prepare(react40(), budget())) == 2


def test_a_file_that_is_not_there_and_classes_that_are_not_named(tmp_path: Path) -> None:
    for path in (str(tmp_path / "mine.py"), "./none.py"):
        with pytest.raises(UsageError, match="there is no file"):
            build(path)
    fuse = "class Base: ...\n\nclass Fuse(Base):\n    def prepare(self, messages, budget): return messages[:1]\n"
    path = written(tmp_path, f"from thimble.strategies.none import NoManagement\n{fuse}")
    assert len(build(path).prepare(react40(), budget())) == 1
    path = written(tmp_path, f"class Other:\n    prepare = print\n{fuse}")
    with pytest.raises(UsageError) as caught:
        build(path)
    assert caught.value.fix == f"write {path}:Fuse"


def test_a_module_is_a_place_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine_too.py").write_text("from thimble.strategies.none import NoManagement\nready = NoManagement()\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        for spec, kind in {
            "thimble.strategies.none:NoManagement": NoManagement,
            "mine_too:ready": NoManagement,
            "thimble.strategies.hybrid:Hybrid": Hybrid,
        }.items():
            strategy = build(spec)
            assert isinstance(strategy, OwnStrategy)
            assert isinstance(strategy.inner, kind)
        assert isinstance(strategy.inner.model, SideModel)
    finally:
        sys.modules.pop("mine_too")


BREAKS = "    def prepare(self, messages, budget): 1 / 0\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"class Mine:\n    __slots__ = ()\n{BREAKS}it = Mine()\n", 3),
        (f"class Mine:\n    seen = []\n{BREAKS}it = Mine()\n", 3),
        (f"import dataclasses\n@dataclasses.dataclass(frozen=True)\nclass Mine:\n{BREAKS}it = Mine()\n", 4),
        ("from types import SimpleNamespace\nit = SimpleNamespace(prepare=lambda messages, budget: 1 / 0)\n", 2),
    ],
    ids=["slots", "class", "frozen", "namespace"],
)
def test_a_ready_made_object_is_told_like_the_others(text: str, line: int, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    for strategy in (build(f"{path}:it"), deepcopy(build(f"{path}:it"))):
        with pytest.raises(UsageError, match=rf"mine\.py:it, line {line}: ZeroDivisionError: division by zero, in: "):
            strategy.prepare(react40(), budget())


@pytest.mark.parametrize(
    "text",
    [
        "from functools import partial\ndef first(count, messages, budget): return messages[:count]\n"
        "prepare = partial(first, 2)\nclass Mine: prepare = staticmethod(prepare)\n",
        "prepare = lambda messages, budget: messages[:2]\nclass Mine: prepare = staticmethod(prepare)\n",
        "class Mine:\n    __slots__ = ()\n    @classmethod\n    def prepare(cls, messages, budget):\n"
        "        return messages[:2]\nprepare = Mine.prepare\n",
        "from __future__ import annotations\nfrom dataclasses import dataclass\n\n@dataclass(frozen=True)\n"
        "class Mine:\n    keep: int = 2\n    def prepare(self, messages, budget):\n"
        "        return messages[: self.keep]\n"
        "prepare = Mine().prepare\n",
    ],
    ids=["partial", "lambda", "method", "written as ours are"],
)
@pytest.mark.parametrize("folder", [".", ".pyenv"])
def test_whatever_can_be_called_is_a_prepare(text: str, folder: str, tmp_path: Path) -> None:
    (tmp_path / folder).mkdir(exist_ok=True)
    path = written(tmp_path / folder, text)
    assert [len(build(spec).prepare(react40(), budget())) for spec in (path, f"{path}:Mine")] == [2, 2]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("def prepare(messages, budget)\n", " cannot be loaded: SyntaxError: expected ':' (mine.py, line 1)"),
        ("class E(BaseException): pass\nraise E('no')\n", " cannot be loaded: E: no (line 2)"),
        ("class E(Exception):\n    def __str__(self): 1 / 0\nraise E\n", " cannot be loaded: E (line 3)"),
        ("async def prepare(messages, budget): ...\n", ", line 1: prepare() is async, and nothing awaits it"),
        ("", " defines no prepare()"),
        ("prepare = 3\n", " defines no prepare()"),
        ("import nowhere\n", " cannot be loaded: ModuleNotFoundError: No module named 'nowhere' (line 1)"),
        ("1 / 0\n", " cannot be loaded: ZeroDivisionError: division by zero (line 1)"),
        ("raise SystemExit\n", " cannot be loaded: SystemExit (line 1)"),
    ],
)
def test_code_that_cannot_be_used_is_refused_in_words(text: str, what: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    with pytest.raises(UsageError) as caught:
        build(path)
    assert caught.value.what == f"{path}{what}"
