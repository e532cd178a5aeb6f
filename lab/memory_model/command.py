"""Train the memory model of CoMem, by fine-tuning and then GRPO, and measure it on held-out runs beside others."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from thimble.agent.errors import UsageError
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
from thimble.models.gguf.server import LocalModels
from thimble.session.parser import Parser
from thimble.strategies.comem import Comem
from thimble.strategies.spec import parse

STRATEGY = "comem:k=1,words=60,suggestions=off"
RATE, GRPO_RATE = 1e-3, 1e-4
"""Learning rates."""
MEMORY_EPILOG = """\
FILE is as `thimble lab replay` takes it, with `tools`: runs of full context. One in four is held out. What has ended
stays in --out, so the same command goes on after an interruption. docs/results/comem.md has results.
"""


def main(arguments: Sequence[str], prog: str) -> None:
    """Train, measure and print a table.

    Raises:
        UsageError: a flag, a file, or a package is missing.
        ModelError: the agent or a memory model cannot be asked.
    """
    options = _parser(prog).parse_args(arguments)
    backend = actor_of(options.agent)
    assert backend
    strategy = parse(options.strategy, SideModel(backend))
    if not isinstance(strategy, Comem):
        raise UsageError(f"{options.strategy} asks no memory model", f"--strategy {STRATEGY}")
    agent = FrozenAgent(backend, MemoryTask(strategy, backend.counter))
    steps = list(agent.task.steps(read(options.files)))
    learnt, held = ([step for step in steps if step.held_out is out] for out in (False, True))
    if not (learnt and held):
        raise UsageError(f"{len(learnt)} steps to train on and {len(held)} held out are too few", "give more runs")
    options.out.mkdir(parents=True, exist_ok=True)
    models, words = _trained(options, agent, learnt)
    with closing(Store(options.out / "held-out.jsonl", write=True)) as store:
        records = list(measure(held[: options.held_out], agent, memories(agent.task, models), store))
    told = [f"Guideline from failures: {words or 'no words were better than none'}"]
    publish(findings(records, told), options, prog, arguments)


def _trained(
    options: Namespace, agent: FrozenAgent, steps: Sequence[MemoryStep]
) -> tuple[Mapping[str, MemoryModel], str]:
    """The memory models by name: the agent's own, the base model and what came of it; and the guideline."""
    teacher, out, file = MemoryModel(agent.backend), options.out, LocalModels().found(options.base).path
    base = make("gguf", str(file))
    list(base.loading())
    prompts = {str(base.rendered(agent.task.prompt(step), ())): step for step in steps}
    if not (out / "sft" / "config.json").exists():
        learnt = {text: target(step, agent, teacher) for text, step in prompts.items()}
        examples = [Example(*pair) for pair in learnt.items() if pair[1]]
        how = FineTuning(options.sft_steps, 1, RATE, options.longest, options.rank, options.lowest, save_every=5)
        fine_tune(file, examples, out / "sft", how)
    hard = {text: step for text, step in prompts.items() if agent.without(step) < 1}
    how = FineTuning(options.grpo_steps, 1, GRPO_RATE, options.longest, options.rank, options.lowest, save_every=1)
    grpo(out / "sft", hard, agent, out / "grpo", how)
    models = {"the agent's model": teacher, "untrained": MemoryModel(base)}
    words = out / "guideline.txt"
    if not words.exists():
        words.write_text(guideline(base, agent, list(hard.values())), "utf-8")
    models["guideline from failures"] = MemoryModel(base, words.read_text("utf-8"))
    for name, folder in (("fine-tuned", out / "sft"), ("fine-tuned, then GRPO", out / "grpo")):
        if not folder.with_suffix(".gguf").exists():
            write_gguf(folder, file, folder.with_suffix(".gguf"))
        models[name] = MemoryModel(make("gguf", str(folder.with_suffix(".gguf"))))
    return models, words.read_text("utf-8")


def _parser(prog: str) -> Parser:
    parser = Parser(prog, description=__doc__, epilog=MEMORY_EPILOG, allow_abbrev=False)
    add = parser.add_argument
    add("files", nargs="+", type=Path, metavar="FILE", help="recorded trajectories")
    add("--base", required=True, metavar="MODEL", help="what is trained: a GGUF file, or a model of this machine")
    add("--out", type=Path, required=True, metavar="FOLDER", help="where the trained models are written")
    add("--strategy", default=STRATEGY, metavar="SPEC", help="how the memory model is asked; default: %(default)s")
    told = f"the frozen agent, whose summaries are learnt first: {MODEL_FORM}; default: %(default)s"
    add("--agent", default=READER, type=model_name, metavar="MODEL", help=told)
    for flag, default, least, told in (
        ("--sft-steps", 400, 1, "steps of fine-tuning, of one example each"),
        ("--grpo-steps", 100, 1, "steps of GRPO, of 8 summaries for one prompt each"),
        ("--rank", 0, 0, "rank of LoRA; 0 trains all weights"),
        ("--lowest", 0, 0, "the lowest block that LoRA changes: half of the blocks take half the time"),
        ("--longest", 1024, 1, "tokens of a prompt with its summary; longer ones are not trained on"),
        ("--held-out", 200, 1, "steps of held-out runs that are measured, at most"),
    ):
        help = f"{told}; default: %(default)s"
        add(flag, default=default, type=whole(flag, least, 1_000_000), metavar="N", help=help)
    add_output(parser)
    return parser
