"""The folder of sessions: what is listed is what the sessions tell of, whatever lies there, and each is found."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from tests.support.journal_scenes import SPECS, ask, keep
from thimble.agent.errors import UsageError
from thimble.session.journal import folder as shelf
from thimble.session.journal.header import settings_of
from thimble.session.journal.journal import Journal
from thimble.session.journal.records import VERSION, Named, Switched
from thimble.session.journal.state import LOST_LINE, SavedState, saved_state
from thimble.session.session import Session
from thimble.session.settings import Settings, resume_settings


def written(folder: Path, id: str, *questions: str, name: str = "", at: int = 0) -> Path:
    """A session on the shelf, written so many seconds after 1970 began."""
    path = folder / f"{id}.jsonl"
    session = keep(path)
    for question in questions:
        ask(session, question)
    if name:
        session.record(Named(name))
    session.journal.close()
    os.utime(path, (at, at))
    return path


def test_an_id_is_short_and_new_ones_differ(tmp_path: Path) -> None:
    made = {shelf.new_path(tmp_path) for _ in range(50)}
    assert len(made) == 50
    assert all(shelf.ID.fullmatch(path.stem) and len(path.stem) == 20 for path in made)


@pytest.mark.parametrize("name", ["2026-01-01-0101-abcd.jsonl", "elsewhere/talk.jsonl", "elsewhere/talk", "./talk"])
def test_what_a_session_is_found_by_finds_it(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("elsewhere").mkdir()
    Path(name).touch()
    by = shelf.found_by(tmp_path, Path(name))
    assert shelf.find_session(tmp_path, by).samefile(name)
    assert by == name.removesuffix(".jsonl") or Path(by).is_file()


@pytest.mark.parametrize("spec", SPECS)
def test_a_glance_sees_what_the_lines_tell(spec: str, tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    live = keep(path, strategy=spec, budget=2500)
    ask(live, "What is masking?")
    ask(live, 'And "why"?\n\x1b]0;x\x07')
    live.record(Named("a talk"))
    seen = shelf.list_session(path)
    told = saved_state(live.journal.read()[0])
    assert (seen.strategy, seen.model, seen.name) == (told.strategy, live.agent.backend.id, told.name)
    assert seen.questions == ("What is masking?", 'And "why"?\n\x1b]0;x\x07')
    assert not seen.trouble
    live.use_strategy("none")
    assert shelf.list_session(path).strategy == "none"


@hypothesis_settings(max_examples=15)
@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 60), st.binary(max_size=20)), max_size=4), st.binary())
def test_nothing_that_lies_there_breaks_the_list(
    tmp_path_factory: pytest.TempPathFactory, wounds: list[tuple[float, int, bytes]], noise: bytes
) -> None:
    folder = tmp_path_factory.mktemp("shelf")
    broken = bytearray(written(folder, "whole", "What?").read_bytes())
    for place, length, other in wounds:
        at = int(place * len(broken))
        broken[at : at + length] = other
    (folder / "broken.jsonl").write_bytes(broken)
    (folder / "noise.jsonl").write_bytes(noise)
    (folder / "folder.jsonl").mkdir()
    (folder / "link.jsonl").symlink_to(folder / "nowhere")
    seen = [shelf.list_session(path) for path in shelf.session_paths(folder)]
    assert {one.id for one in seen} == {"whole", "broken", "noise"}
    assert not next(one for one in seen if one.id == "whole").trouble


@given(st.lists(st.sampled_from(["talk", "shot", "named", "resumed"]), min_size=1, max_size=5))
def test_the_newest_conversation_goes_on_and_a_one_shot_only_where_there_is_none(
    tmp_path_factory: pytest.TempPathFactory, kinds: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("shelf")
    for at, kind in enumerate(kinds, 1):
        path = folder / f"{at}.jsonl"
        journal = Journal(path, one_shot=kind != "talk")
        journal.write(LOST_LINE if kind == "talk" else replace(LOST_LINE, one_shot=True))
        if kind == "named":
            journal.write(Named("a talk"))
        journal.close()
        if kind == "resumed":
            again = Journal.reopen(path)
            again.write(Switched(1))
            again.close()
        os.utime(path, (at, at))
        assert shelf.list_session(path).one_shot == (kind == "shot")
    talks = [at for at, kind in enumerate(kinds, 1) if kind != "shot"]
    found = [int(path.stem) for path in shelf.session_paths(folder) if not shelf.list_session(path).one_shot]
    assert found == talks[::-1]
    newest = shelf.find_session(folder)
    assert int(newest.stem) == (talks[-1] if talks else len(kinds))
    assert shelf.count_changed_after(newest, folder) == len(kinds) - int(newest.stem)


def test_a_newer_session_is_a_row_that_says_so(tmp_path: Path) -> None:
    path = written(tmp_path, "newer", "What?")
    path.write_text(path.read_text().replace(f'"version":{VERSION}', f'"version":{VERSION + 1}'))
    assert shelf.list_session(path).trouble == shelf.OTHER_VERSION
    (tmp_path / "gone.jsonl").symlink_to(tmp_path / "nowhere")
    assert shelf.session_paths(tmp_path) == [path]
    assert shelf.list_session(tmp_path / "gone.jsonl").trouble == "No such file or directory"


def test_it_is_found_by_id_name_and_beginning(tmp_path: Path) -> None:
    one = written(tmp_path, "2026-11-22-0217-k3f9", "What?", at=1_000)
    two = written(tmp_path, "2026-11-22-0310-aaaa", "What?", name="a talk", at=3_000)
    three = written(tmp_path, "2026-12-01-0000-bbbb", "What?", name="2026-11", at=2_000)
    assert shelf.session_paths(tmp_path) == [two, three, one]
    assert shelf.find_session(tmp_path) == two
    for wanted, found in {one.stem: one, "2026-11-22-02": one, "a talk": two, "2026-11": three}.items():
        assert shelf.find_session(tmp_path, wanted) == found
    with pytest.raises(UsageError, match="2 sessions start with 2026-11-22") as caught:
        shelf.find_session(tmp_path, "2026-11-22")
    assert f"{two.stem}, {one.stem}" in caught.value.fix
    with pytest.raises(UsageError, match="no session 'a tolk'") as caught:
        shelf.find_session(tmp_path, "a tolk")
    assert "did you mean a talk?" in caught.value.fix
    with pytest.raises(UsageError, match="no session"):
        shelf.find_session(tmp_path, "../x")
    with pytest.raises(UsageError, match="there are no sessions in"):
        shelf.find_session(tmp_path / "missing")


# ---- settings ----


def settings(tmp_path: Path, **flags: object) -> Settings:
    """What is asked for on the command line: the folder of sessions, and these flags."""
    origins = {"think": "environment THIMBLE_THINK", **dict.fromkeys(flags, "flag --x")}
    return Settings(session_dir=tmp_path, think="low", max_turns=5, origins=origins).replace(**flags)


@pytest.mark.parametrize(("temperature", "seed"), [(0.0, 7), (None, None)])
def test_temperature_and_seed_are_on_record_and_a_session_goes_on_with_them(
    tmp_path: Path, temperature: float | None, seed: int | None
) -> None:
    live = Session(Settings(backend="reader", temperature=temperature, seed=seed), Journal(tmp_path / "one.jsonl"))
    ask(live, "What?")
    live.journal.close()
    kept = json.loads((tmp_path / "one.jsonl").read_text().splitlines()[0])["settings"]
    assert [kept["temperature"], kept["seed"]] == [temperature, seed] if seed else ["auto", "auto"]
    again, journal, _ = shelf.reopen_session(settings(tmp_path), tmp_path / "one.jsonl")
    journal.close()
    assert (again.temperature, again.seed) == (temperature, seed)
    asked = settings(tmp_path, seed=3).replace(temperature=0.9)
    again, journal, _ = shelf.reopen_session(asked, tmp_path / "one.jsonl")
    journal.close()
    assert (again.temperature, again.seed) == (temperature, 3), "a flag is stronger, the environment is not"


def test_a_session_goes_on_with_its_own_settings_unless_a_flag_says_otherwise(tmp_path: Path) -> None:
    live = Session(
        Settings(backend="reader", strategy="hybrid", think="high", max_turns=7), Journal(tmp_path / "one.jsonl")
    )
    ask(live, "What?")
    live.use_strategy("none")
    live.use_budget(3000)
    live.journal.close()
    again, journal, told = shelf.reopen_session(settings(tmp_path, budget=900, files=tmp_path), tmp_path / "one.jsonl")
    journal.close()
    assert (again.strategy, again.budget, again.files) == ("none", 900, tmp_path)
    assert (again.think, again.max_turns, again.backend) == ("high", 7, "reader")
    assert (again.origins["strategy"], again.origins["budget"]) == ("session", "flag --x")
    assert resume_settings(again, {}) == again.asked, "the next session takes none of this one's settings"
    assert told.strategy == "none"


@pytest.mark.parametrize("name", ["summariser", "memory"])
def test_a_session_without_a_model_beside_goes_on_without_one(name: str, tmp_path: Path) -> None:
    live = Session(Settings(backend="reader"), Journal(tmp_path / "one.jsonl"))
    ask(live, "What?")
    live.journal.close()
    for origin, goes_on_with in ((f"environment THIMBLE_{name.upper()}", ""), (f"flag --{name}", "reader")):
        asked = Settings(**{name: "reader"}, origins={name: origin})
        again, journal, _ = shelf.reopen_session(asked, tmp_path / "one.jsonl")
        journal.close()
        assert getattr(again, name) == goes_on_with


@pytest.mark.parametrize(
    ("flags", "goes_on_with"),
    [
        ({}, ("ollama", "", "big")),
        ({"model": "small"}, ("ollama", "", "small")),
        ({"backend": "reader"}, ("reader", "", "")),
        ({"base_url": "http://near:1"}, ("auto", "http://near:1", "")),
    ],
)
def test_another_server_has_models_of_its_own(flags: dict[str, object], goes_on_with: tuple[str, str, str]) -> None:
    told = SavedState(model="ollama/big", opened=replace(LOST_LINE, settings={"base_url": "http://far:1"}))
    asked = Settings(**flags, origins=dict.fromkeys(flags, "flag"))
    again = resume_settings(asked, settings_of(told, flags))
    assert (again.backend, again.base_url, again.model) == goes_on_with


def test_a_model_that_is_asked_for_is_looked_for_on_a_server() -> None:
    assert "backend" not in settings_of(SavedState(model="reader/extractive"), {"model"})


@pytest.mark.parametrize(
    ("name", "value"), [("corpus", "/nowhere/at/all"), ("files", 5), ("think", "so"), ("budget", {})]
)
def test_a_setting_that_is_not_possible_any_more_is_told_with_a_way_to_mend_it(name: str, value: object) -> None:
    with pytest.raises(UsageError, match="session") as caught:
        resume_settings(Settings(), {name: value})
    assert f"choose another with --{name}" in caught.value.fix


def test_what_no_session_may_bring_along_is_left_alone(tmp_path: Path) -> None:
    brought = {"session_dir": "/x", "plain": True, "nonsense": 1, "think": "off"}
    told = SavedState(opened=replace(LOST_LINE, settings=brought))
    again = resume_settings(Settings(session_dir=tmp_path), settings_of(told))
    assert (again.session_dir, again.plain, again.think) == (tmp_path, False, "off")
