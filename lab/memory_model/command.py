"""Train the memory model of CoMem: fine-tune it, then GRPO, and measure it on held-out runs beside other memories."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from thimble.agent.errors import UsageError
from thimble.agent.protocols import Backend
from thimble.agent.side import SideModel
from thimble.lab.experiment_flags import add_output, whole
from thimble.lab.memory_model.frozen_agent import FrozenAgent
from thimble.lab.memory_model.grpo import grpo
from thimble.lab.memory_model.held_out import findings, measure, memories
from thimble.lab.memory_model.memory_steps import MemoryStep, MemoryTask
from thimble.lab.memory_model.summaries import MemoryModel, guideline, target
from thimble.lab.model_name import MODEL_FORM, model_name
from thimble.lab.publish import publish
from thimble.lab.replay.recorded_replay import actor_of
from thimble.lab.replay.trajectories import read
from thimble.lab.store import Store
from thimble.lab.training.fine_tune import Example, FineTuning, fine_tune
from thimble.lab.training.gguf_weights import write_gguf
from thimble.models import READER, make
from thimble.session.parser import Parser
from thimble.strategies.comem import Comem
from thimble.strategies.spec import parse

STRATEGY = "comem:k=1,words=60,suggestions=off"
FULL_RATE, LORA_RATE, GRPO_SHARE = 1e-3, 2e-4, 0.1
"""Learning rates of fine-tuning, and the share of them that GRPO takes."""
MEMORY_EPILOG = """\
FILE is as `thimble lab replay` takes it, with `tools`; the runs are of full context, and one in four is held out. What
has ended is in --out and is not done again, so the same command goes on after an interruption.
docs/results/comem.md has results.
"""


def main(arguments: Sequence[str], prog: str) -> None:
    """Train, measure and print a table.

    Raises:
        UsageError: a flag, a file, or a package is missing.
        ModelError: the agent, the teacher or the trained model cannot be asked.
    """
    options = _parser(prog).parse_args(arguments)
    strategy = parse(options.strategy, SideModel(_model(READER)))
    if not isinstance(strategy, Comem):
        raise UsageError(f"{options.strategy} is not comem", f"write --strategy {STRATEGY}")
    backend = _model(options.agent)
    agent = FrozenAgent(backend, MemoryTask(strategy, backend.counter))
    steps = list(agent.task.steps(read(options.files)))
    held = [step for step in steps if step.held_out]
    learnt = [step for step in steps if not step.held_out]
    if not held or not learnt:
        raise UsageError(f"{len(learnt)} steps to train on and {len(held)} held out are too few", "give more runs")
    options.out.mkdir(parents=True, exist_ok=True)
    models = _trained(options, agent, learnt)
    store = Store(options.out / "held-out.jsonl", write=True)
    records = list(measure(held[: options.held_out], agent, memories(models), store))
    store.close()
    publish(findings(records, [_told(models)]), options, prog, arguments)


def _told(models: dict[str, MemoryModel]) -> str:
    words = models["guideline from failures"].guideline or "none was better than no guideline"
    return f"Guideline from failures: {words}"


def _trained(options: Any, agent: FrozenAgent, steps: Sequence[MemoryStep]) -> dict[str, MemoryModel]:
    """The memory models by name: the teacher, the base model, and what came of it."""
    base, out = _file(options.base), options.out
    list(base.loading())
    prompts = {str(base.rendered(agent.task.prompt(step), ())): step for step in steps}
    teacher = _model(options.teacher)
    pairs = [Example(text, said) for text, step in prompts.items() if (said := target(step, agent, teacher))]
    rate = LORA_RATE if options.rank else FULL_RATE
    how = FineTuning(options.sft_steps, rate=rate, longest=options.longest, rank=options.rank)
    tuned = fine_tune(options.base, pairs, out / "sft", how)
    hard = {text: step for text, step in prompts.items() if agent.without(step) < 1}
    how = FineTuning(options.grpo_steps, 1, rate * GRPO_SHARE, options.longest, options.rank, save_every=5)
    rewarded = grpo(tuned, hard, agent, out / "grpo", how)
    for folder in (tuned, rewarded):
        if not folder.with_suffix(".gguf").exists():
            write_gguf(folder, options.base, folder.with_suffix(".gguf"))
    kept = out / "guideline.txt"
    if not kept.exists():
        kept.write_text(guideline(base, agent, list(hard.values())), "utf-8")
    return {
        "the teacher": MemoryModel(teacher),
        "untrained": MemoryModel(base),
        "guideline from failures": MemoryModel(base, kept.read_text("utf-8")),
        "fine-tuned": MemoryModel(_file(tuned.with_suffix(".gguf"))),
        "fine-tuned, then GRPO": MemoryModel(_file(rewarded.with_suffix(".gguf"))),
    }


def _file(path: Path) -> Backend:
    """A model in a GGUF file, as --memory serves it."""
    return make("gguf", str(path.absolute()))


def _model(name: str) -> Backend:
    found = actor_of(name)
    assert found
    return found


def _parser(prog: str) -> Parser:
    parser = Parser(prog, description=__doc__, epilog=MEMORY_EPILOG, allow_abbrev=False)
    add = parser.add_argument
    add("files", nargs="+", type=Path, metavar="FILE", help="recorded trajectories")
    add("--base", type=Path, required=True, metavar="FILE.gguf", help="the model to train")
    add("--out", type=Path, required=True, metavar="FOLDER", help="where the trained models are written")
    add("--strategy", default=STRATEGY, metavar="SPEC", help="how the memory model is asked; default: %(default)s")
    for flag, told in (("--agent", "the frozen agent"), ("--teacher", "writes summaries to fine-tune on")):
        add(flag, default=READER, type=model_name, metavar="MODEL", help=f"{told}: {MODEL_FORM}; default: %(default)s")

    def number(flag: str, default: int, most: int, told: str, least: int = 1) -> None:
        add(flag, default=default, type=whole(flag, least, most), metavar="N", help=f"{told}; default: %(default)s")

    number("--sft-steps", 200, 1_000_000, "steps of fine-tuning, of 4 examples each")
    number("--grpo-steps", 100, 1_000_000, "steps of GRPO, of one prompt and 8 summaries each")
    number("--rank", 0, 256, "rank of LoRA; 0 trains all weights", least=0)
    number("--longest", 1024, 1_000_000, "tokens of a prompt with its summary; longer ones are not trained on")
    number("--held-out", 200, 1_000_000, "steps of held-out runs that are measured, at most")
    add_output(parser)
    return parser
