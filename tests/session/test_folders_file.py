"""A folder's thimble.toml sets what can do no harm; the rest of it is left out, and told."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import thimble
from thimble.agent.errors import UsageError
from thimble.agent.side import SideModel
from thimble.models import make_reader
from thimble.repl.__main__ import main
from thimble.session.settings import FOLDER_FILE, Settings, resolve_settings
from thimble.session.settings_table import SETTINGS, read_switch
from thimble.strategies.spec import is_code, make_strategy

FAR = "https://far.example"
HARMLESS: dict[str, tuple[object, ...]] = {
    "strategy": ("none", "hybrid", "none+truncate", "observation-masking:window=3"),
    "budget": (4000, "500"),
    "pace": (5, "a100-32b, a100-4b"),
    "max_turns": (3,),
    "think": ("off", "high"),
    "calls": ("schema", "tools"),
    "temperature": (0.5, "auto"),
    "seed": (7,),
    "timeout": (1, 2.5),
    "reply_timeout": (60,),
    "keep_alive": ("-1", "2h"),
}
"""The settings that a folder may set, with values that it may."""
HARMLESS |= {name: (not row.default,) for name, row in SETTINGS.items() if row.read is read_switch and row.harmless}
HARMFUL = {
    "backend": ("vllm", "openai", "reader"),
    "model": ("any", "gpt-oss:120b-cloud"),
    "base_url": (FAR, "127.0.0.1:9", "localhost"),
    "strategy": ("./theirs.py", "none+theirs.py", "theirs:Name:", "none + theirs:Name", "theirs.py:Name:a=1"),
    "summariser": (f"small@{FAR}", "small", "reader"),
    "memory": (f"small@{FAR}", "small"),
    "embeddings": (f"openai:m@{FAR}", "ollama:all-minilm", "none"),
    "price": ("cached=0", "output=1000"),
    "corpus": ("..", "/", "link", "inside", "."),
    "files": ("..", "/", "link", "inside/../.."),
    "notes": ("notes.jsonl", "../notes.jsonl", "THIMBLE.md"),
    "session_dir": (".", "inside", "/tmp"),
}
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30)
ANY = TEXTS | st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.lists(TEXTS, max_size=2)
CODE = "import pathlib\npathlib.Path({!r}).touch()\nName = prepare = lambda messages, budget: messages\n"


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder that somebody else made, with code, as the current one."""
    root = tmp_path_factory.mktemp("theirs")
    folder = root / "here"
    (folder / "inside").mkdir(parents=True)
    (folder / "inside/rot.md").write_text("# Context rot\n\nContext rot is a decline.\n")
    (folder / "link").symlink_to(root)
    (folder / "theirs.py").write_text(CODE.format(str(root / "ran")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(root / "state"))
        patch.setenv("XDG_CONFIG_HOME", str(root / "config"))
        for name in ("THIMBLE_BACKEND", "OLLAMA_HOST", "OPENAI_BASE_URL"):
            patch.delenv(name, raising=False)
        patch.chdir(folder)
        patch.syspath_prepend(str(folder))
        yield folder


def ran(here: Path) -> bool:
    return (here.parent / "ran").exists()


def write(here: Path, **values: object) -> None:
    lines = (f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in values.items())
    (here / "thimble.toml").write_text("".join(lines))


def found() -> Settings:
    return resolve_settings({}, environ={})


def test_each_setting_is_one_or_the_other() -> None:
    assert {*HARMLESS} | {*HARMFUL} == set(SETTINGS)
    assert {*HARMLESS} & {*HARMFUL} == {"strategy"}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.fixed_dictionaries({}, optional={name: st.sampled_from(values) for name, values in HARMLESS.items()}),
    st.fixed_dictionaries(
        {},
        optional={
            name: st.sampled_from(values) if name == "strategy" else st.sampled_from(values) | ANY
            for name, values in HARMFUL.items()
        },
    ),
)
def test_only_what_is_harmless_counts_whatever_the_value(
    here: Path, harmless: dict[str, object], harmful: dict[str, object]
) -> None:
    write(here, **harmless | harmful)
    settings, usual = found(), Settings()
    for name in SETTINGS:
        theirs = name in harmless and name not in harmful
        assert settings.origins[name] == (FOLDER_FILE if theirs else "default")
        assert theirs or getattr(settings, name) == getattr(usual, name)
    assert set(settings.left_out) == set(harmful)
    assert len(settings.notices) == bool(harmful)
    assert all(name in settings.notices[0] for name in harmful)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXTS | st.sampled_from(HARMFUL["strategy"]))
@example("\u202eyp.sriehT")
@example("a\\\n+theirs.py")
def test_no_spec_of_a_folder_runs_anything(here: Path, spec: str) -> None:
    write(here, strategy=spec)
    settings = found()
    assert (settings.left_out == ("strategy",)) == is_code(spec)
    with suppress(UsageError):
        make_strategy(settings.strategy, SideModel(make_reader()))
    assert not ran(here)


@pytest.mark.parametrize("name", HARMFUL)
def test_a_flag_or_a_variable_decides_instead(here: Path, name: str) -> None:
    write(here, **{name: HARMFUL[name][0]})
    other = {"backend": "reader", "price": "auto", "corpus": "inside", "files": "inside"}.get(name, "none")
    assert not resolve_settings({name: other}, environ={}).notices
    assert not resolve_settings({}, environ={f"THIMBLE_{name.upper()}": other}).notices


# --- at the doors -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [["-p", "/stats"], ["--json", "-p", "/stats"], ["prepare", "--budget", "4000"], ["doctor"], ["config"]],
    ids=" ".join,
)
def test_every_command_goes_on_without_it_and_says_so_once(
    here: Path, arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(here, strategy="./theirs.py", base_url="http://me:hush@far.example", corpus="/etc", budget=4000)
    document = io.BytesIO(b'[{"role": "user", "content": "?"}]')
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(document))
    assert main([*arguments, "--backend", "reader"]) == 0
    told = capsys.readouterr()
    if arguments == ["config"]:
        assert told.out.count(f"default; the value in {FOLDER_FILE} is ignored") == 3
    else:
        counts = [stream.count("strategy, base_url, corpus") for stream in told]
        assert counts in ([0, 1], [1, 0], [1, 1])
    assert "hush" not in told.out + told.err
    assert not ran(here)


def test_code_that_a_folder_names_is_not_run_from_python(here: Path) -> None:
    write(here, strategy="theirs:Name:")
    session = thimble.open_session(backend="reader")
    assert session.spec == Settings().strategy
    assert session.take_notices()[0].startswith(f"Left out of {FOLDER_FILE}, as it could do harm: strategy.")
    session.use_strategy("./theirs.py")  # by now it is the user's word
    assert ran(here)
    (here.parent / "ran").unlink()


def test_config_in_json_names_what_is_left_out(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(here, notes="notes.jsonl", budget=4000)
    assert main(["config", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert rows[-1] == {"type": "left_out", "name": "notes", "origin": FOLDER_FILE}
    assert {"type": "setting", "name": "budget", "value": 4000, "origin": FOLDER_FILE} in rows


def test_a_password_is_masked_wherever_it_came_from(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = [
        *("--base-url", "me:hush@far.example"),
        *("--summariser", "m@http://me:hu/sh@far.example"),
        *("--embeddings", "openai:m@http://me:hush@far.example"),
    ]
    for more in ([], ["--json"]):
        assert main(["config", *flags, *more]) == 0
        told = capsys.readouterr().out
        assert "hu" not in told.replace("hybrid", "")
        assert told.count("***@far.example") == 3
    assert main(["config", "--embeddings", "none:m@http://me:hush@far.example"]) == 2
    assert "hush" not in capsys.readouterr().err
