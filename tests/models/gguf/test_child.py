"""The process of a model: what it ends with, and what is said where it cannot run."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.models.gguf.conftest import children, eventually, runs
from tests.support import gguf_writer
from tests.support.paths import ROOT
from thimble.agent.errors import ModelError
from thimble.models.gguf import child as module
from thimble.models.gguf.child import Child

HOLDER = "import sys, time, pathlib; from thimble.models.gguf.child import Child; c = Child(pathlib.Path(sys.argv[1]))"
STARTED = f"{HOLDER}; c.start(512); print(flush=True); time.sleep(600)"
STARTING = f"{HOLDER}; c.start(512)"


INTERRUPTED = STARTING.replace("; c.start", "\ntry: c.start") + "\nexcept KeyboardInterrupt: sys.exit(7)"


@pytest.mark.parametrize(
    ("program", "number", "codes"),
    [
        (STARTED, signal.SIGKILL, (-9,)),
        (STARTING, signal.SIGKILL, (-9,)),
        (INTERRUPTED, signal.SIGINT, (0, 7)),
    ],
    ids=["killed", "killed while it loads", "interrupted while it loads"],
)
def test_a_thimble_that_ends_leaves_no_model_behind(
    program: str, number: signal.Signals, codes: tuple[int, ...], tiny: Path
) -> None:
    with subprocess.Popen([sys.executable, "-c", program, str(tiny)], cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout
        if program == STARTED:
            process.stdout.readline()
        assert eventually(lambda: children(process.pid))
        (model,) = children(process.pid)
        process.send_signal(number)
        assert process.wait(60) in codes
        assert eventually(lambda: not runs(model))


def test_a_holder_that_ends_takes_the_model_along_whose_log_has_no_name(tiny: Path) -> None:
    child = Child(tiny)
    child.start(512)
    (process,) = children()
    assert "listening" in Path(f"/proc/{process}/fd/2").read_text()
    assert not [*Path(tempfile.gettempdir()).iterdir()]
    del child
    assert not runs(process)


def test_a_model_that_llama_cpp_refuses_is_one_line_of_its_log(tmp_path: Path) -> None:
    file = tmp_path / "odd.gguf"
    gguf_writer.write(file, {"general.architecture": "thimble", "thimble.context_length": 512})
    child = Child(file)
    with pytest.raises(
        ModelError, match=r"odd\.gguf could not be loaded: unknown model architecture: 'thimble'"
    ) as caught:
        child.start(512)
    assert "error" in Path(caught.value.fix.rpartition("its log: ")[2]).read_text()
    assert "\n" not in caught.value.what + caught.value.fix
    assert children() == []


def test_a_model_that_makes_llama_cpp_abort_is_one_line(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "serve.py"
    program.write_text("import os, sys; sys.stdin.readline(); os.abort()")
    monkeypatch.setattr(module, "SERVE_FILE", program)
    with pytest.raises(ModelError, match=r"tiny\.gguf could not be loaded: killed by SIGABRT"):
        Child(tiny).start(512)


def test_too_little_memory_is_told_before_anything_is_started(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "free_bytes", lambda: 1_000)
    with pytest.raises(ModelError, match=r"tiny\.gguf needs .* GB and room for its context") as caught:
        Child(tiny).start(512)
    assert "smaller model" in caught.value.fix


def test_without_the_package_its_installation_is_named(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thimble.models.gguf.this_machine.find_spec", lambda name: None)
    with pytest.raises(ModelError, match="need the package xllamacpp") as caught:
        Child(tiny).start(512)
    assert caught.value.fix == "pip install xllamacpp"
