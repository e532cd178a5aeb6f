"""The memory model trained from end to end: the tiny model, a few steps on one thread, and then llama.cpp with it.

`make test-training` runs this in an environment of its own; where a package is missing it is skipped.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

for needed in ("torch", "trl", "peft", "gguf", "xllamacpp"):
    pytest.importorskip(needed)
pytestmark = pytest.mark.filterwarnings("default")  # those of torch and trl are theirs

from trl import SFTTrainer  # noqa: E402

from tests.servers import serve  # noqa: E402
from tests.servers.memory_runs import memory_run, memory_runs  # noqa: E402
from tests.servers.tiny import gguf_file  # noqa: E402
from thimble.agent.messages import Message  # noqa: E402
from thimble.commands.trajectories import Trajectory, read_trajectories  # noqa: E402
from thimble.lab.memory_model.command import STRATEGY, main  # noqa: E402
from thimble.lab.memory_model.summaries import complete  # noqa: E402
from thimble.lab.training.base_model import load_base  # noqa: E402
from thimble.lab.training.fine_tune import Example, FineTuning, fine_tune  # noqa: E402
from thimble.lab.training.gguf_weights import write_gguf  # noqa: E402
from thimble.models import make_backend  # noqa: E402
from thimble.models.gguf.server import SMOLLM2, SMOLLM2_INSTALL, LocalModels  # noqa: E402
from thimble.models.ollama.server import OllamaServer  # noqa: E402
from thimble.models.server import ServerOptions  # noqa: E402
from thimble.session.session import Session  # noqa: E402
from thimble.session.settings import Settings  # noqa: E402

RUNS = 16
HELD_OUT = 6
SMALL = ["--sft-steps", "12", "--grpo-steps", "2", "--held-out", str(HELD_OUT)]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("training")
    (folder / "runs.jsonl").write_text("\n".join(memory_runs(RUNS)), "utf-8")
    gguf_file.write(folder / "tiny.gguf")
    return folder


def command(place: Path, out: str, *more: str) -> None:
    files = [str(place / "runs.jsonl"), "--base", str(place / "tiny.gguf"), "--out", str(place / out)]
    main([*files, *SMALL, *more], "lab memory-model")


@pytest.fixture(scope="module")
def trained(place: Path) -> Path:
    command(place, "trained", "--json")
    return place / "trained"


def runs_of(place: Path) -> list[Trajectory]:
    return read_trajectories([place / "runs.jsonl"])


def test_the_command_trains_and_measures_each_memory(
    place: Path, trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command(place, "trained", "--json")
    records = json.loads(capsys.readouterr().out)
    memories = dict.fromkeys(record["memory"] for record in records)
    assert list(memories)[-2:] == ["fine-tuned", "fine-tuned, then GRPO"]
    assert len(records) == HELD_OUT * len(memories)
    for stage in ("sft", "grpo"):
        assert {"config.json", "model.safetensors", "tokenizer.json", "curve.svg"} <= {
            path.name for path in (trained / stage).iterdir()
        }
        assert (trained / f"{stage}.gguf").exists()
    logged = json.loads(next((trained / "grpo" / "checkpoints").glob("*/trainer_state.json")).read_text())[
        "log_history"
    ]
    assert all(0 <= one["reward"] <= 1 for one in logged if "reward" in one)


def test_a_finished_training_is_not_repeated(place: Path, trained: Path) -> None:
    def written() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in trained.rglob("*") if path.is_file()}

    store = trained / "held-out.jsonl"
    before, measured = written(), store.read_bytes()
    command(place, "trained", "--csv")
    assert {**written(), store: 0} == {**before, store: 0}
    assert store.read_bytes() == measured


class Sure(NamedTuple):
    """A model that is sure of its words, as a folder and as a file, what it is asked, and what it then writes.

    A file has 16 bits of a number, so a near tie may end otherwise.
    """

    folder: Path
    file: Path
    asked: Sequence[Message]
    learnt: Sequence[str]


@pytest.fixture(scope="module")
def sure(place: Path, tmp_path_factory: pytest.TempPathFactory) -> Sure:
    things = ("bridge", "river", "tower", "garden")
    asked = [Message("m1", "user", f"Read the article about the {thing}.") for thing in things]
    learnt = [f"The {thing} is in the article [{thing}-{len(thing)}]." for thing in things]
    base = make_backend("gguf", str(place / "tiny.gguf"))
    list(base.loading())
    prompts = [str(base.rendered([message], ())) for message in asked]
    how = FineTuning(steps=160, rate=1e-3)
    folder = fine_tune(
        place / "tiny.gguf", list(map(Example, prompts, learnt)), tmp_path_factory.mktemp("served") / "sure", how
    )
    file = folder.with_suffix(".gguf")
    write_gguf(folder, place / "tiny.gguf", file)
    return Sure(folder, file, asked, learnt)


def test_llama_cpp_reads_the_same_prompt_and_writes_the_same_as_transformers(sure: Sure) -> None:
    served = make_backend("gguf", str(sure.file))
    list(served.loading())
    network, tokenizer = load_base(sure.folder)
    for message, text in zip(sure.asked, sure.learnt, strict=True):
        prompt = str(served.rendered([message], ()))
        given = tokenizer(prompt, return_tensors="pt", add_special_tokens=False)
        written = network.generate(**given, max_new_tokens=40, do_sample=False)[0][given["input_ids"].shape[1] :]
        assert tokenizer.decode(written, skip_special_tokens=True) == complete(served, [message], 40) == text


def test_vllm_writes_the_same_from_the_folder(sure: Sure) -> None:
    if not (serve.INSTALLED.parent / "stamp").exists():
        pytest.skip("vLLM is not installed: make test-servers")
    with serve.vllm(sure.folder.parent, model=sure.folder.name) as server:
        served = make_backend("vllm", serve.MODEL, server.url)
        assert [complete(served, [message], 40) for message in sure.asked] == sure.learnt


def test_ollama_writes_the_same_from_the_file(sure: Sure) -> None:
    server = OllamaServer(os.environ.get("OLLAMA_HOST", ""), ServerOptions())
    if not server.answers(2.0):
        pytest.skip(f"no Ollama answers at {server.url}: ollama serve, or OLLAMA_HOST")
    name, data = "thimble-test-sure", sure.file.read_bytes()
    digest = f"sha256:{sha256(data).hexdigest()}"
    with httpx.Client(base_url=server.url, timeout=120, trust_env=False) as client:
        client.post(f"/api/blobs/{digest}", content=data).raise_for_status()
        made = client.post("/api/create", json={"model": name, "files": {"sure.gguf": digest}, "stream": False})
        made.raise_for_status()
        try:
            served = make_backend("ollama", name, server.url)
            assert [complete(served, [message], 40) for message in sure.asked] == sure.learnt
        finally:
            client.request("DELETE", "/api/delete", json={"model": name}).raise_for_status()


def test_a_session_takes_a_written_file_as_memory(place: Path, tmp_path: Path) -> None:
    """The weights as they were: after a few steps of training it would go round in circles."""
    base = load_base(place / "tiny.gguf")
    for part in base:
        part.save_pretrained(tmp_path / "folder")
    write_gguf(tmp_path / "folder", place / "tiny.gguf", tmp_path / "written.gguf")
    settings = Settings(
        backend="reader",
        strategy=f"{STRATEGY},summary=waited",
        memory=str(tmp_path / "written.gguf"),
        session_dir=tmp_path,
    )
    session = Session(settings)
    for entry in memory_run(1)["messages"]:
        if entry["role"] == "user":
            list(session.ask(entry["content"]))
    session.leave()
    side = [call for call in session.agent.ledger.calls if call.purpose == "memory"]
    assert any(call.output.tokens for call in side)


def test_a_training_that_was_interrupted_goes_on(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From its newest checkpoint, in the same order of examples: so it ends with the same weights."""
    examples = [Example(f"<|im_start|>user\n{n}<|im_end|>\n<|im_start|>assistant\n", f"It is {n}.") for n in range(12)]
    base, how = place / "tiny.gguf", FineTuning(steps=6, save_every=3)
    whole, part = tmp_path / "whole", tmp_path / "part"
    fine_tune(base, examples, whole, how)
    done, step = [], SFTTrainer.training_step

    def until_the_fifth(*arguments: Any, **named: Any) -> Any:
        done.append(step(*arguments, **named))
        if len(done) > 4:
            raise KeyboardInterrupt
        return done[-1]

    with monkeypatch.context() as patched:
        patched.setattr(SFTTrainer, "training_step", until_the_fifth)
        with pytest.raises(KeyboardInterrupt):
            fine_tune(base, examples, part, how)
    assert (part / "checkpoints" / "checkpoint-3").is_dir()
    assert not (part / "config.json").exists()
    fine_tune(base, examples, part, how)
    one, other = (load_base(folder).network.state_dict() for folder in (whole, part))
    assert all(bool((one[name] == other[name]).all()) for name in one)


def test_examples_that_are_too_long_are_left_out_and_told(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    examples = [Example("a", "b " * 200), Example("a", "b")]
    fine_tune(place / "tiny.gguf", examples, tmp_path / "out", FineTuning(steps=1, longest=50))
    assert "left out 1 examples of more than 50 tokens" in capsys.readouterr().err
    with pytest.raises(Exception, match="no example has at most 50 tokens"):
        fine_tune(place / "tiny.gguf", examples[:1], tmp_path / "none", FineTuning(steps=1, longest=50))


def test_the_weights_of_a_llama_come_back_from_their_file(tmp_path: Path) -> None:
    """llama.cpp has the rows of its queries and keys in another order; transformers turns them back."""
    if not LocalModels().has(SMOLLM2):
        pytest.skip(SMOLLM2_INSTALL)
    file = LocalModels().found(SMOLLM2).path
    network, tokenizer = load_base(file)
    network.save_pretrained(tmp_path / "folder")
    tokenizer.save_pretrained(tmp_path / "folder")
    write_gguf(tmp_path / "folder", file, tmp_path / "again.gguf")
    before, after = network.state_dict(), load_base(tmp_path / "again.gguf").network.state_dict()
    assert before.keys() == after.keys()
    assert all(float((before[name] - after[name]).abs().max()) < 2e-3 for name in before)
    served = make_backend("gguf", str(tmp_path / "again.gguf"))
    reply = complete(served, [Message("m1", "user", "What is the capital of France?")], 20)
    assert re.search("Paris", reply)


def test_only_replies_count_in_the_loss(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    examples = [Example("Say", " this. ", [Example("Then", " that.")])]
    learnt, step = [], SFTTrainer.training_step

    def seen(trainer: Any, network: Any, inputs: Any, *more: Any, **named: Any) -> Any:
        learnt.append([token for token in inputs["labels"][0].tolist() if token >= 0])
        return step(trainer, network, inputs, *more, **named)

    monkeypatch.setattr(SFTTrainer, "training_step", seen)
    out = fine_tune(place / "tiny.gguf", examples, tmp_path / "out", FineTuning(steps=1))
    assert load_base(out).tokenizer.decode(learnt[0]) == " this. <|im_end|> that.<|im_end|>"


def test_a_folder_belongs_to_its_flags(place: Path, trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Exception, match="holds a training with other flags"):
        command(place, "trained", "--rank", "4")
    assert "training.json" in {path.name for path in trained.iterdir()}


def test_a_file_of_another_architecture_is_refused_before_the_training(place: Path, tmp_path: Path) -> None:
    data = (place / "tiny.gguf").read_bytes()
    (tmp_path / "other.gguf").write_bytes(data.replace(b"qwen2", b"qwen9", 1))
    with pytest.raises(Exception, match="architecture qwen9, not"):
        write_gguf(tmp_path, tmp_path / "other.gguf", tmp_path / "out.gguf")
    assert not (tmp_path / "out.gguf").exists()


@pytest.mark.parametrize(("runs", "flags"), [(1, []), (RUNS, ["--longest", "90"])])
def test_too_few_steps_are_refused_before_the_training(
    place: Path, tmp_path: Path, runs: int, flags: list[str]
) -> None:
    (tmp_path / "runs.jsonl").write_text("\n".join(memory_runs(runs)), "utf-8")
    (tmp_path / "tiny.gguf").symlink_to(place / "tiny.gguf")
    with pytest.raises(Exception, match="are too few"):
        command(tmp_path, "out", *flags)
    assert not (tmp_path / "out").exists()
