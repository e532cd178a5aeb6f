"""What can hurt in a folder's thimble.toml does nothing before its user has confirmed it, there and as it is."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import thimble
from agent.errors import UsageError
from repl.__main__ import main
from session.confirmed import FREE, LONGEST, RULES, check, confirm
from session.settings import SETTINGS, Settings, resolve
from strategies.spec import is_code

FAR = "https://far.example"
HURTS = {
    "backend": ("vllm", "openai"),
    "base_url": (FAR, "127.0.0.1:9", "localhost"),
    "strategy": ("./theirs.py", "none+theirs.py", "theirs:Name:", "none + theirs:Name", "theirs.py:Name:a=1"),
    "summariser": (f"small@{FAR}", "small@127.0.0.1:9"),
    "memory": (f"small@{FAR}", "small@127.0.0.1:9"),
    "embeddings": (f"openai:m@{FAR}", "ollama:all-minilm"),
    "price": ("cached=0", "output=1000"),
    "corpus": ("..", "/", "link"),
    "files": ("..", "/", "link", "inside/../.."),
    "notes": ("notes.jsonl", "inside/notes.jsonl", "../notes.jsonl"),
    "session_dir": (".", "inside", "/tmp"),
}
HARMLESS = {
    "backend": ("auto", "reader", "ollama"),
    "strategy": ("none", "hybrid", "none+truncate", "observation-masking:window=3"),
    "summariser": ("reader", "small:1b"),
    "memory": ("reader", "small:1b"),
    "embeddings": ("static", "none", "auto"),
    "corpus": (".", "inside", "../here/inside"),
    "files": (".", "inside"),
    "model": ("any",),
    "budget": ("4000",),
}
CODE = "import pathlib\npathlib.Path({!r}).touch()\nName = prepare = lambda messages, budget: messages\n"


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder that somebody else made, with code, as the current one; nobody has confirmed anything."""
    root = tmp_path_factory.mktemp("theirs")
    folder = root / "here"
    (folder / "inside").mkdir(parents=True)
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


@pytest.fixture(autouse=True)
def _fresh(here: Path) -> Iterator[None]:
    yield
    for path in (here.parent / "state/thimble/confirmed").glob("*"):
        path.unlink()
    (here / "thimble.toml").unlink(missing_ok=True)
    sys.modules.pop("theirs", None)


def ran(here: Path) -> bool:
    return (here.parent / "ran").exists()


def write(here: Path, **values: str) -> None:
    lines = (f'{name} = "{value}"\n' for name, value in values.items())
    (here / "thimble.toml").write_text("".join(lines))


def found() -> Settings:
    return resolve({}, environ={})


def test_each_setting_is_known_to_hurt_or_not() -> None:
    assert set(SETTINGS) <= {*RULES, *FREE}
    assert not {*RULES} & {*FREE}
    assert set(RULES) == set(HURTS)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.fixed_dictionaries({}, optional={name: st.sampled_from(values) for name, values in HURTS.items()}),
    st.fixed_dictionaries({}, optional={name: st.sampled_from(values) for name, values in HARMLESS.items()}),
)
def test_only_what_cannot_hurt_counts_until_it_is_confirmed(
    here: Path, hurts: dict[str, str], harmless: dict[str, str]
) -> None:
    write(here, **harmless | hurts)
    before = found()
    harmless = {name: value for name, value in harmless.items() if name not in hurts}
    assert set(before.unconfirmed) == set(hurts)
    assert {name for name, origin in before.origins.items() if origin != "default"} == set(harmless)
    if hurts:
        with pytest.raises(UsageError, match="confirmed") as caught:
            check(before.unconfirmed)
        assert "thimble trust" in caught.value.fix
    confirm(before.unconfirmed)
    after = found()
    assert not after.unconfirmed
    assert {name for name, origin in after.origins.items() if origin != "default"} == {*harmless, *hurts}
    assert not ran(here)
    for path in (here.parent / "state/thimble/confirmed").glob("*"):
        path.unlink()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30).filter(lambda text: '"' not in text))
@example("./theirs.py")
@example("theirs:Name:")
@example("\u202eyp.sriehT")
def test_no_spec_of_a_folder_runs_anything(here: Path, spec: str) -> None:
    spec = spec.replace("\\", "/")
    write(here, strategy=spec)
    assert main(["config"]) in (0, 2)
    assert (found().strategy == spec.strip()) != is_code(spec)
    assert not ran(here)


@pytest.mark.parametrize("name", HURTS)
def test_a_flag_or_a_variable_needs_no_word(here: Path, name: str) -> None:
    value = HURTS[name][0]
    write(here, **{name: value})
    other = {"backend": "reader", "price": "auto", "corpus": "inside", "files": "inside"}.get(name, "none")
    assert not resolve({name: other}, environ={}).unconfirmed
    assert not resolve({}, environ={f"THIMBLE_{name.upper()}": other}).unconfirmed


def test_it_is_asked_for_again_where_anything_changes(here: Path, tmp_path: Path) -> None:
    write(here, strategy="./theirs.py", base_url=FAR)
    confirm(found().unconfirmed)
    write(here, strategy="./theirs.py", base_url=FAR, budget="4000")
    assert not found().unconfirmed
    write(here, strategy="./theirs.py", base_url=f"{FAR}:1")
    assert set(found().unconfirmed) == {"base_url"}
    code = (here / "theirs.py").read_text()
    (here / "theirs.py").write_text(f"{code}\n")
    assert set(found().unconfirmed) == {"base_url", "strategy"}
    (here / "theirs.py").write_text(code)
    (tmp_path / "thimble.toml").write_text((here / "thimble.toml").read_text())
    (tmp_path / "theirs.py").write_text(code)
    assert set(resolve({}, {}, folder=tmp_path).unconfirmed) == {"base_url", "strategy"}


def test_the_word_is_kept_for_its_user_alone(here: Path) -> None:
    write(here, base_url="http://me:hush@far.example", strategy="./theirs.py")
    confirm(found().unconfirmed)
    kept = [*(here.parent / "state/thimble/confirmed").iterdir()]
    assert len(kept) == 2
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept} == {0o600}
    assert stat.S_IMODE(kept[0].parent.stat().st_mode) == 0o700
    assert not any("hush" in path.read_text() for path in kept)


def test_where_it_cannot_be_kept_is_told(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(here, base_url=FAR)
    monkeypatch.setenv("XDG_STATE_HOME", str(here / "theirs.py"))
    with pytest.raises(UsageError, match="cannot be kept"):
        confirm(found().unconfirmed)


def test_what_nobody_reads_to_its_end_cannot_be_confirmed(here: Path) -> None:
    write(here, strategy="none+" * (LONGEST // 5) + "./theirs.py")
    with pytest.raises(UsageError, match="too long to be confirmed"):
        found()


@pytest.mark.parametrize("kind", ["fifo", "folder", "device", "huge"])
def test_a_file_of_code_that_is_none_is_not_waited_for(here: Path, kind: str) -> None:
    odd = here / "inside" / f"{kind}.py"
    if kind == "fifo":
        os.mkfifo(odd)
    elif kind == "folder":
        odd.mkdir()
    elif kind == "device":
        odd.symlink_to("/dev/zero")
    else:
        with odd.open("wb") as file:
            file.truncate(2_000_000)
    write(here, strategy=f"inside/{kind}.py")
    if kind == "huge":
        with pytest.raises(UsageError, match="too large to be confirmed"):
            found()
    else:
        assert set(found().unconfirmed) == {"strategy"}


# --- at the doors -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [["-p", "x"], ["--json", "-p", "x"], ["prepare"], ["-p", "x", "--resume"]])
def test_without_a_terminal_it_is_one_line_and_how_to_mend_it(
    here: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    write(here, strategy="./theirs.py", base_url="http://me:hush@far.example")
    assert main(arguments) == 2
    told = capsys.readouterr()
    what, fix = told.err.splitlines()
    assert what == (
        "thimble: ./thimble.toml sets what counts only after you have confirmed it: "
        "strategy = ./theirs.py, base_url = http://***@far.example"
    )
    assert fix == (
        "fix: if you want that, type thimble trust in this folder; else say others with --strategy, --base-url"
    )
    assert not ran(here)


def test_nor_from_python(here: Path) -> None:
    write(here, strategy="theirs:Name:")
    for journal in (None, here / "inside/one.jsonl"):
        with pytest.raises(UsageError, match="only after you have confirmed"):
            thimble.session(journal=journal, backend="reader")
    assert not ran(here)
    assert thimble.session(backend="reader", strategy="none").spec == "none"


def test_config_and_doctor_show_it_and_run_nothing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(
        here, strategy="./theirs.py", base_url="http://me:hush@far.example", summariser="m@http://me:hush@far.example"
    )
    for arguments in (["config"], ["config", "--json"], ["doctor"], ["doctor", "--json"]):
        main([*arguments, "--backend", "reader"])
        told = capsys.readouterr().out
        assert "./theirs.py" in told
        assert "http://***@far.example" in told
        assert "hush" not in told
    assert not ran(here)


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


def test_trust_shows_it_and_confirms_it(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(here, price="cached=0.2", base_url="\u202egro.dab")
    assert main(["trust"]) == 0
    told = capsys.readouterr().out
    assert "  price = cached=0.2 (strategies would decide by these prices)\n" in told
    assert r"base_url = '\u202egro.dab'" in told
    assert not found().unconfirmed
    assert main(["trust"]) == 0
    assert capsys.readouterr().out == "Nothing in ./thimble.toml and no THIMBLE.md waits for you.\n"
    assert not ran(here)
