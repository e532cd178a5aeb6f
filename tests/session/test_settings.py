from __future__ import annotations

import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.support.paths import ROOT
from thimble.agent.errors import UsageError
from thimble.models.hardware import HARDWARE, Hardware
from thimble.repl import __version__
from thimble.session.settings import Settings, resolve_settings
from thimble.session.settings_table import BACKENDS, SETTINGS, read_switch

# For each setting: legal values as text, told apart by source (flag, environment, folder's file, user's file).
TEXTS = {
    "backend": ("reader", "ollama", "auto", "reader"),
    "model": ("from-flag", "from-environment", "from-folder", "from-user"),
    "base_url": ("http://a:1", "http://b:2", "http://c:3", "http://d:4"),
    "strategy": ("none", "hybrid", "sliding-window", "summary-buffer"),
    "budget": ("1001", "1002", "1003", "1004"),
    "summariser": ("reader", "a:1b", "b:2b", "c"),
    "memory": ("a:1b", "reader", "b:2b", "c"),
    "embeddings": ("static", "none", "ollama:all-minilm", "vllm:a/b:c@http://box:8001/v1"),
    "price": ("auto", "cached=0.2", "output=3", "cached=1,output=0.5"),
    "corpus": ("/", "/dev", "/usr", "/tmp"),
    "files": ("/tmp", "/", "/dev", "/usr"),
    "notes": ("/a.jsonl", "/b.jsonl", "/c.jsonl", "/d.jsonl"),
    "session_dir": ("/nowhere/a", "/nowhere/b", "/nowhere/c", "/nowhere/d"),
    "pace": ("1", "2.5", "a100-32b", "a100-32b, a100-4b"),
    "max_turns": ("3", "4", "5", "6"),
    "think": ("off", "low", "medium", "high"),
    "calls": ("tools", "schema", "auto", "tools"),
    "temperature": ("0", "0.7", "auto", "2"),
    "seed": ("0", "7", "auto", "2147483647"),
    "timeout": ("5", "2.5", "60", "300"),
    "reply_timeout": ("50", "25.5", "600", "1800"),
    "keep_alive": ("-1", "10m", "300", "2h"),
}
TEXTS |= {name: ("yes", "off", "true", "0") for name, setting in SETTINGS.items() if setting.read is read_switch}
LEFT_OUT = {name for name, setting in SETTINGS.items() if not setting.harmless}
SOURCES = ("flag", "environment", "folder", "user")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's configuration folder that nobody else writes to."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "config" / "thimble").mkdir(parents=True)
    (tmp_path / "here").mkdir()
    return tmp_path


def written(values: dict[str, Any]) -> str:
    return "".join(f'{key} = "{value}"\n' for key, value in values.items())


def test_each_setting_has_its_values_here() -> None:
    assert TEXTS.keys() == SETTINGS.keys()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    st.dictionaries(st.sampled_from(sorted(TEXTS)), st.sets(st.sampled_from(SOURCES))),
    st.booleans(),
)
def test_the_strongest_source_that_gives_a_setting_wins(home: Path, chosen: dict[str, set[str]], dashes: bool) -> None:
    given_by = {
        source: {name: TEXTS[name][place] for name, sources in chosen.items() if source in sources}
        for place, source in enumerate(SOURCES)
    }
    spelling = (lambda name: name.replace("_", "-")) if dashes else str
    for path, source in ((home / "here/thimble.toml", "folder"), (home / "config/thimble/config.toml", "user")):
        path.write_text(written({spelling(name): text for name, text in given_by[source].items()}))
    environ = {f"THIMBLE_{name.upper()}": text for name, text in given_by["environment"].items()}

    found = resolve_settings(given_by["flag"], environ=environ, folder=home / "here")

    defaults = Settings()
    for name in TEXTS:
        given_it = chosen.get(name, set()) - ({"folder"} if name in LEFT_OUT else set())
        winner = next((source for source in SOURCES if source in given_it), None)
        origin = found.origins[name]
        if winner is None:
            assert origin == "default"
            assert getattr(found, name) == getattr(defaults, name)
            continue
        alone = resolve_settings({name: TEXTS[name][SOURCES.index(winner)]}, environ={}, folder=home / "here")
        assert getattr(found, name) == getattr(alone, name)
        assert (
            origin
            == {
                "flag": f"flag {SETTINGS[name].flag}",
                "environment": f"environment THIMBLE_{name.upper()}",
                "folder": "./thimble.toml",
                "user": str(home / "config/thimble/config.toml"),
            }[winner]
        )


@given(
    st.sampled_from(sorted(SETTINGS)), st.text(max_size=20) | st.integers() | st.floats() | st.booleans() | st.none()
)
@example("budget", "1" * 5000)
@example("price", "cached=2")
@example("pace", "nan")
@example("pace", 10**400)
@example("corpus", "\0")
@example("notes", "\0")
@example("notes", "no-such-folder/notes")
@example("files", "~nobody-of-this-name/x")
@example("files", "x" * 5000)
def test_any_value_is_taken_or_refused_with_a_way_to_mend_it(name: str, value: object) -> None:
    refused = None
    try:
        found = resolve_settings({name: value}, environ={}, folder=ROOT / "tests")
    except UsageError as error:
        refused = error
    if refused:
        assert refused.what.startswith(f"{name} cannot be")
        assert len(refused.what) < 200
        assert refused.fix
    else:
        assert type(getattr(found, name)) in (str, int, float, bool, type(Path()))


def test_every_setting_has_an_origin_and_a_default(home: Path) -> None:
    found = resolve_settings({}, environ={}, folder=home / "here")
    assert found.origins == dict.fromkeys(SETTINGS, "default")
    assert found == Settings()


def test_a_row_of_a_file_names_a_machine_and_that_of_the_folder_is_stronger(home: Path) -> None:
    row = "[hardware.{}]\nprefill = {}\ntoken-seconds = 0.5\n"
    (home / "config/thimble/config.toml").write_text(row.format("mine", 10) + row.format("desk", 20))
    (home / "here/thimble.toml").write_text('pace = "mine,desk"\n' + row.format("mine", 30) + "load_seconds = 2\n")
    found = resolve_settings({}, environ={}, folder=home / "here")
    assert found.paces == (Hardware(30, 0.5, 0, 2), Hardware(20, 0.5))
    assert not found.left_out
    assert resolve_settings({"pace": "a100-32b"}, environ={}, folder=home / "here").paces == (HARDWARE["a100-32b"],) * 2
    with pytest.raises(UsageError, match="pace cannot be 'yours'") as caught:
        resolve_settings({"pace": "yours"}, environ={}, folder=home / "here")
    assert caught.value.fix.endswith("of a100-32b, a100-4b, h100-8b, laptop-7b, mine, desk")


def test_ollama_host_gives_way_to_our_own_variable(home: Path) -> None:
    environ = {"OLLAMA_HOST": "one:1", "THIMBLE_BASE_URL": "two:2"}
    both = resolve_settings({}, environ=environ, folder=home)
    assert (both.base_url, both.origins["base_url"]) == ("two:2", "environment THIMBLE_BASE_URL")
    environ["THIMBLE_BASE_URL"] = ""
    one = resolve_settings({}, environ=environ, folder=home)
    assert (one.base_url, one.origins["base_url"]) == ("one:1", "environment OLLAMA_HOST")


def test_an_address_in_the_environment_is_that_of_its_own_kind_of_server(home: Path) -> None:
    environ = {"OLLAMA_HOST": "one:1", "OPENAI_BASE_URL": "http://two/v1"}
    addresses = {}
    for backend in BACKENDS:
        found = resolve_settings({"backend": backend}, environ=environ, folder=home)
        addresses[backend] = (found.base_url, found.origins["base_url"].removeprefix("environment "))
    ollama, compatible = ("one:1", "OLLAMA_HOST"), ("http://two/v1", "OPENAI_BASE_URL")
    assert addresses == {
        "auto": ollama, "ollama": ollama, "gguf": ollama, "reader": ollama, "vllm": compatible, "openai": compatible,
    }  # fmt: skip


@pytest.mark.parametrize(("value", "color"), [("1", False), ("anything", False), ("", True)])
def test_no_color_counts_when_it_is_not_empty(home: Path, value: str, color: bool) -> None:
    assert resolve_settings({}, environ={"NO_COLOR": value}, folder=home).color is color


def test_folders_in_a_file_are_relative_to_that_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "config/thimble/articles").mkdir()
    (home / "config/thimble/config.toml").write_text('corpus = "articles"\n')
    (home / "here/articles").mkdir()
    monkeypatch.chdir(home / "here")
    assert resolve_settings({}, environ={}).corpus == home / "config/thimble/articles"
    assert resolve_settings({"corpus": "articles"}, environ={}).corpus == home / "here/articles"
    assert resolve_settings({"files": "~/here"}, environ={}).files == home / "here"


@pytest.mark.parametrize(
    ("text", "what", "fix"),
    [
        (b"budgte = 4000\n", "unknown key 'budgte'", "did you mean budget?"),
        (b"colour = true\n", "unknown key 'colour'", "did you mean color?"),
        (b"zzz = 1\n", "unknown key 'zzz'", "known: backend, model"),
        (b"budget = \n", "not valid TOML", "budget = 4000"),
        (b"\xff", "cannot be read: it is not UTF-8 text", "fix it"),
        (b"a = " + b"[" * 10**5, "not valid TOML", "budget = 4000"),
        (b"[budget]\nlimit = 3\n", "budget cannot be {'limit': 3} (./thimble.toml)", "500 to 2,000,000"),
        (b"budget = true\n", "budget cannot be True", "500 to 2,000,000"),
        (b"budget = 1979-05-27\n", "budget cannot be", "500 to 2,000,000"),
        (b"pace = inf\n", "pace cannot be inf", "0 to 10,000"),
        (b'pace = "a100"\n', "pace cannot be 'a100'", "of a100-32b, a100-4b"),
        (b'pace = "a100-4b,a100-4b,a100-4b"\n', "pace cannot be", "two with a comma"),
        (b"hardware = 3\n", "hardware cannot be 3 (./thimble.toml)", "[hardware.NAME]"),
        (b"[hardware]\nmine = 3\n", "[hardware.mine] has no prefill", "prefill and token_seconds"),
        (b"[hardware.mine]\nprefill = 9\n", "[hardware.mine] has no token_seconds", "prefill and token_seconds"),
        (b"[hardware.mine]\nprefil = 9\n", "[hardware.mine] has an unknown key 'prefil'", "prefill, token_seconds"),
        (b"[hardware.mine]\nprefill = 0\ntoken_seconds = 1\n", "prefill of [hardware.mine] cannot be 0", "0.1 to"),
        (b"[hardware.mine]\nprefill = 9\ntoken_seconds = nan\n", "cannot be nan", "0 to 60"),
        (b"[hardware.mine]\nprefill = 9\ntoken_seconds = true\n", "cannot be True", "0 to 60"),
        (b"[hardware.key]\n", "hardware cannot be called 'key'", "lower-case letters"),
        (b"[hardware.a100-32b]\n", "hardware cannot be called 'a100-32b'", "not one of"),
        (b"[hardware.'a b']\n", "hardware cannot be called 'a b'", "lower-case letters"),
    ],
)
def test_what_a_file_gets_wrong_is_named(home: Path, text: bytes, what: str, fix: str) -> None:
    (home / "here/thimble.toml").write_bytes(text)
    with pytest.raises(UsageError) as caught:
        resolve_settings({}, environ={}, folder=home / "here")
    assert what in caught.value.what
    assert fix in caught.value.fix


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_a_file_that_is_none_is_named_and_not_waited_for(make: Callable[[Path], None], home: Path) -> None:
    make(home / "here/thimble.toml")
    with pytest.raises(UsageError, match=r"thimble\.toml cannot be read"):
        resolve_settings({}, environ={}, folder=home / "here")


def test_a_file_may_be_a_link(home: Path) -> None:
    (home / "kept.toml").write_bytes(b"\xef\xbb\xbfbudget = 4000\r\n")
    (home / "here/thimble.toml").symlink_to(home / "kept.toml")
    assert resolve_settings({}, environ={}, folder=home / "here").budget == 4000


def test_the_version_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert __version__ == project["version"]
