"""The choice of tool learnt and asked from end to end: the tiny model, two steps, and then llama.cpp with it.

`make test-training` runs this in an environment of its own; where a package is missing it is skipped.
"""

from __future__ import annotations

from pathlib import Path

import pytest

for needed in ("torch", "trl", "peft", "gguf", "xllamacpp"):
    pytest.importorskip(needed)
pytestmark = pytest.mark.filterwarnings("default")  # those of torch and trl are theirs

from benchmarks import tool_choice  # noqa: E402
from scripts.tool_choice.decisions import example, talk  # noqa: E402
from tests.servers.tiny import gguf_file  # noqa: E402
from thimble.lab.training.base_model import load_base  # noqa: E402
from thimble.lab.training.fine_tune import FineTuning, fine_tune  # noqa: E402
from thimble.lab.training.gguf_weights import write_gguf  # noqa: E402
from thimble.session.session import Session  # noqa: E402
from thimble.session.settings import resolve_settings  # noqa: E402

LOWEST = 2


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("base") / "tiny.gguf"
    gguf_file.write(file)
    return file


def test_an_example_reads_as_the_template_writes_the_conversation(base: Path) -> None:
    tokenizer = load_base(base).tokenizer
    made = example(1, None, tokenizer)
    whole = "".join(part.prompt + part.completion + tokenizer.eos_token for part in (made, *made.then))
    assert tokenizer.apply_chat_template(talk(1, None), tokenize=False).startswith(whole)


def test_upper_blocks_learn_and_the_model_then_calls_by_schema(base: Path, tmp_path: Path) -> None:
    tokenizer = load_base(base).tokenizer
    how = FineTuning(steps=2, rank=4, lowest=LOWEST, longest=8_000)
    folder = fine_tune(base, [example(seed, None, tokenizer) for seed in range(2)], tmp_path / "trained", how)
    before, after = (load_base(path).network.state_dict() for path in (base, folder))
    learnt = {name for name in before if bool((before[name] != after[name]).any())}
    assert {int(name.split(".")[2]) for name in learnt} == {*range(LOWEST, 4)}
    write_gguf(folder, base, tmp_path / "model.gguf")
    flags = {"backend": "gguf", "model": str(tmp_path / "model.gguf"), "calls": "schema", "temperature": "0"}
    session = Session(resolve_settings({**flags, "budget": "4000", "max_turns": "2"}))
    asked = next(tool_choice.questions())
    tool_choice.ask(session, asked, examples=False)
    assert asked.calls
    assert asked.answer
