"""Strategies, tools and backends of installed packages: the example is installed by pip, the others are laid down."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.support.sessions import Paper, ask, scripted, tool_call
from tests.support.specs import build
from thimble.agent.errors import UsageError
from thimble.models import make_backend, server_at
from thimble.plugins import plugins
from thimble.repl.cli.headless import DONE, USAGE
from thimble.repl.commands.table import run_command
from thimble.session.session import Session
from thimble.session.settings import Settings, address_of, resolve_settings
from thimble.strategies.spec import is_code
from thimble.strategies.table import STRATEGIES

EXAMPLE = ROOT / "docs" / "examples" / "thimble-oldest"
BROKEN = "raise ImportError('a part is missing')\n"
Install = Callable[[str, str, str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Lay down what an installation of a package of one module leaves behind: its name, its code, its entry points."""
    monkeypatch.syspath_prepend(tmp_path)

    def lay_down(name: str, code: str, entry_points: str) -> None:
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(entry_points)
        (tmp_path / f"{name}.py").write_text(code)
        plugins.cache_clear()

    yield lay_down
    plugins.cache_clear()
    for module in [name for name, held in sys.modules.items() if str(tmp_path) in str(getattr(held, "__file__", ""))]:
        del sys.modules[module]


@pytest.fixture
def oldest(install: Install) -> None:
    """The example, another strategy under a built-in name, and two that cannot be used."""
    install("oldest", (EXAMPLE / "thimble_oldest.py").read_text(), "[thimble.strategies]\noldest = oldest:Oldest\n")
    install("taken", "def prepare(messages, budget): return []", "[thimble.strategies]\nnone = taken\n")
    install("broken", BROKEN, "[thimble.strategies]\nbroken = broken:Any\n")
    install("wrong", "answer = 42", "[thimble.strategies]\nwrong = wrong:answer\n")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip has installed the example and, from the same files, a broken package."""
    site, other = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("other")
    (other / "thimble_broken.py").write_text(BROKEN)
    described = (EXAMPLE / "pyproject.toml").read_text()
    (other / "pyproject.toml").write_text(described.replace("oldest", "broken"))
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", site, EXAMPLE, other], check=True, cwd=site)
    return site


def thimble(site: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The program, where these packages are installed."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (site, ROOT))), "THIMBLE_BACKEND": "reader"}
    run = [sys.executable, "-m", "thimble", *arguments]
    return subprocess.run(run, cwd=folder, env=environ, capture_output=True, text=True)


@pytest.mark.nightly
def test_the_example_is_installed_listed_and_used_as_its_page_shows(site: Path, tmp_path: Path) -> None:
    page = (EXAMPLE / "README.md").read_text()
    install, *shown = map(shlex.split, re.findall(r"^(?:pip install|thimble -).*$", page, re.MULTILINE))
    assert ROOT / install[2] == EXAMPLE
    listed, asked = (thimble(site, tmp_path, *words[1:]) for words in shown)
    assert listed.returncode == DONE
    assert "Installed by thimble-oldest\n  oldest: Drop the oldest turns until the view fits. keep=2" in listed.stdout
    assert "broken (thimble-broken) cannot be used: ImportError: a part is missing" in listed.stdout.splitlines()
    assert (asked.returncode, "oldest:keep=3" in asked.stderr) == (DONE, True)
    assert "prefix" in asked.stdout
    refused = thimble(site, tmp_path, "--strategy", "broken", "-p", "What is a prefix cache?")
    assert refused.returncode == USAGE
    assert "broken (thimble-broken) cannot be used: ImportError: a part is missing" in refused.stderr


# ---- strategies ------------------------------------------------------------------------------------------------------


def test_a_strategy_of_a_package_is_used_by_its_name(oldest: None) -> None:
    session = scripted(tool_call("list_articles"), "done", strategy="oldest:keep=1")
    ask(session)
    session.use_strategy("tidy+oldest:keep=4")
    with pytest.raises(UsageError, match=r"keep=0 is not valid"):
        session.use_strategy("oldest:keep=0")
    with pytest.raises(UsageError, match=r"wrong \(wrong\) cannot be used: TypeError: it has no prepare"):
        session.use_strategy("wrong")
    with pytest.raises(UsageError, match="there is no strategy 'oldes'") as caught:
        session.use_strategy("oldes")
    assert caught.value.fix.startswith("did you mean oldest?")
    assert session.spec == "tidy+oldest:keep=4"


def test_a_built_in_name_wins_and_the_list_says_so(oldest: None) -> None:
    assert type(build("none")) is STRATEGIES["none"]
    session, paper = Session(Settings(backend="reader")), Paper(drawn=False)
    run_command(session, "/strategy", paper.console)
    assert "none (taken) is not used: the built-in strategy has this name" in paper.lines
    run_command(session, "/help strategy oldest", paper.console)
    assert "oldest · installed by oldest" in paper.lines


def test_a_session_or_a_folder_may_name_what_is_installed_and_no_other_code(oldest: None, tmp_path: Path) -> None:
    assert not is_code("oldest:keep=3+none")
    assert is_code("oldest+wrong.part:Name")
    (tmp_path / "thimble.toml").write_text('strategy = "oldest"\nbackend = "oldest"\n')
    settings = resolve_settings({}, {}, tmp_path)
    assert (settings.strategy, settings.left_out) == ("oldest", ("backend",))


# ---- tools -----------------------------------------------------------------------------------------------------------

TOOLS = '''
def dice(sides: int = 6) -> str:
    """Throw dice.

    Args:
        sides: Of the dice.
    """
    return f"{1 / (sides - 6)} of {sides}"


def read_article(slug: str) -> str:
    """Nothing."""


def silent(sides: int) -> str:
    return ""


number = 6
'''
ENTRY_POINTS = "[thimble.tools]\n" + "\n".join(f"{name} = cube:{name}" for name in ("dice", "number", "read_article"))


def test_the_model_gets_the_tools_of_packages_and_the_user_a_line_for_each_that_cannot_be_used(
    install: Install,
) -> None:
    install("cube", TOOLS, f"{ENTRY_POINTS}\nsilent = cube:silent\nlost = nowhere:lost\n")
    session = scripted(tool_call("dice", sides=8), tool_call("dice", 2), "done", max_turns=3)
    assert [*session.agent.tools][-1] == "dice"
    assert session.agent.tools["dice"].schema["function"]["parameters"]["properties"]["sides"] == {
        "type": "integer", "description": "Of the dice.", "default": 6,
    }  # fmt: skip
    ask(session)
    good, bad = [message.content for message in session.agent.history if message.role == "tool"]
    assert good == "0.5 of 8"
    assert bad.startswith("Error: dice (cube) failed: ZeroDivisionError: ")
    notices = session.take_notices()
    assert [notice for notice in notices if notice.startswith("The tool ")] == notices
    for name, why in (
        ("lost", "cannot be used: ModuleNotFoundError: No module named 'nowhere'."),
        ("number", "cannot be used: TypeError: it is not a function."),
        ("read_article", "is not used: a built-in tool has this name."),
        ("silent", "cannot be used: TypeError: silent: the docstring must describe the tool"),
    ):
        assert sum(f"The tool {name} (cube) {why}" in notice for notice in notices) == 1, name


# ---- backends --------------------------------------------------------------------------------------------------------

ECHO = """
from dataclasses import dataclass

from thimble.agent.protocols import Backend, Text, Usage
from tests.support.estimate import EstimateCounter
from thimble.models.server import ServerOptions


@dataclass
class server:
    name: str
    url: str
    options: ServerOptions

    def answers(self, seconds):
        return True

    def models(self):
        return ["parrot"]

    def choose(self, wanted=""):
        return wanted or "parrot"


class backend(Backend):
    tools = True

    def __init__(self, server, model, room):
        self.name, self.model, self.room, self.counter = server.name, model, room, EstimateCounter()

    def with_room(self, tokens):
        return self

    def check(self):
        return ""

    def stream(self, messages, tools, **_):
        yield Text(messages[-1].content.upper())
        yield Usage()
"""


def test_a_backend_of_a_package_is_used_by_its_name(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install("echo", ECHO, "[thimble.backends]\necho = echo\nollama = echo\nlost = nowhere\n")
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    settings = resolve_settings({"backend": "echo"})
    assert address_of("echo", settings) == ""
    session = Session(settings)
    ask(session, "Is anybody there?")
    assert session.agent.history[-1].content.startswith("THAT CALLED NO TOOL")  # it was asked once more
    assert str(make_backend("echo").id) == "echo/parrot"
    assert type(server_at("ollama")).__module__ == "thimble.models.ollama.server"
    with pytest.raises(UsageError, match=r"lost \(echo\) cannot be used: ModuleNotFoundError"):
        server_at("lost")
    with pytest.raises(UsageError, match="there is no backend 'ech'") as caught:
        server_at("ech")
    assert "echo" in caught.value.fix
    with pytest.raises(UsageError, match="backend cannot be 'ech'"):
        resolve_settings({"backend": "ech"})
