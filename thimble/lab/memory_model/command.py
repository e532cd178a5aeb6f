"""Train the memory model of CoMem, by fine-tuning and then GRPO, and measure it on held-out runs beside others."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path

from thimble.agent.budget import UNLIMITED, Budget
from thimble.agent.errors import Stopped, UsageError
from thimble.agent.messages import Message
from thimble.agent.protocols import Backend
from thimble.agent.side import SideModel
from thimble.commands.trajectories import read_trajectories
from thimble.lab.experiment_flags import MODEL_FORM, add_output, model_name, whole_number
from thimble.lab.findings import publish_findings
from thimble.lab.memory_model.frozen_agent import FrozenAgent
from thimble.lab.memory_model.grpo import train_grpo
from thimble.lab.memory_model.held_out import findings, make_memories, measure_memories
from thimble.lab.memory_model.memory_steps import MemoryStep, MemoryTask
from thimble.lab.memory_model.summaries import target_summary
from thimble.lab.replay.recorded_replay import actor_of
from thimble.lab.store import Store
from thimble.lab.training.base_model import check_packages
from thimble.lab.training.fine_tune import Example, FineTuning, fine_tune, has_ended
from thimble.lab.training.gguf_weights import architecture, write_gguf
from thimble.models import READER, make_backend
from thimble.models.gguf.server import LocalModels
from thimble.session.parser import Parser
from thimble.strategies.comem import Comem
from thimble.strategies.spec import make_strategy

STRATEGY = "comem:k=1,words=60,suggestions=off"
RATE, GRPO_RATE, GRPO_LORA_RATE = 1e-3, 1e-4, 5e-4
"""Learning rates: of fine-tuning, and of GRPO for all weights and for LoRA."""
SAME = ("base", "agent", "strategy", "sft_steps", "grpo_steps", "rank", "lowest", "longest")
"""Flags that must stay the same for one --out."""
MEMORY_EPILOG = """\
FILE has a format of `thimble lab replay`: runs with full context. If a run lists no `tools`, the agent has those that
it called. One run in four is held out. --out keeps finished steps: after an interruption, the same command continues.
docs/results/memory-model.md has results.
"""


def main(arguments: Sequence[str], prog: str) -> None:
    """Train, measure and print a table.

    Raises:
        UsageError: a flag is invalid, or a file or a package is missing.
        ModelError: the agent or a memory model does not answer.
        Stopped: Ctrl-C; finished steps are kept.
    """
    options = _parser(prog).parse_args(arguments)
    if options.lowest and not options.rank:
        raise UsageError("--lowest only applies to LoRA", "add --rank")
    backend = actor_of(options.agent)
    assert backend
    strategy = make_strategy(options.strategy, SideModel(backend))
    if not isinstance(strategy, Comem):
        raise UsageError(f"{options.strategy} does not use a memory model", f"--strategy {STRATEGY}")
    agent = FrozenAgent(backend, MemoryTask(strategy, backend.counter))
    runs, file = read_trajectories(options.files), LocalModels().find_model(options.base).path
    check_packages()
    base = make_backend("gguf", options.base, budget=options.longest)
    list(base.loading())
    architecture(file)
    every = list(agent.task.steps(runs))
    steps = [
        step
        for step in every
        if _count_tokens(base, agent.task.prompt(step)) + agent.task.most_tokens <= options.longest
    ]
    if len(steps) < len(every):
        print(f"left out {len(every) - len(steps)} steps of more than {options.longest} tokens", file=sys.stderr)
    learnt, held = ([step for step in steps if step.held_out is out] for out in (False, True))
    if not (learnt and held):
        raise UsageError(f"{len(learnt)} steps to train on and {len(held)} held out are too few", "give more runs")
    options.out.mkdir(parents=True, exist_ok=True)
    _same_training(options)
    try:
        models = _train_models(options, base, file, agent, learnt)
        with closing(Store(options.out / "held-out.jsonl", write=True)) as store:
            records = list(measure_memories(held[: options.held_out], agent, make_memories(agent.task, models), store))
    except KeyboardInterrupt:
        raise Stopped("stopped: run the same command to continue") from None
    publish_findings(findings(records), options, prog, arguments)


def _count_tokens(base: Backend, prompt: Sequence[Message]) -> int:
    """The tokens of a prompt."""
    return Budget(UNLIMITED, base.counter, base.counter.overhead(())).size(prompt)


def _same_training(options: Namespace) -> None:
    """Raise UsageError if the folder holds another training."""
    given = {name: str(getattr(options, name)) for name in SAME}
    given["files"] = " ".join(sha256(path.read_bytes()).hexdigest() for path in options.files)
    kept = options.out / "training.json"
    if not kept.exists():
        kept.write_text(json.dumps(given, indent=2), "utf-8")
    if json.loads(kept.read_text("utf-8")) != given:
        raise UsageError(
            f"{options.out} contains a training with other flags or runs", f"use those of {kept}, or give another --out"
        )


def _train_models(
    options: Namespace, base: Backend, file: Path, agent: FrozenAgent, steps: Sequence[MemoryStep]
) -> Mapping[str, Backend]:
    """Train, and return the memory models by name: the agent's, the base model, the trained ones."""
    out = options.out
    sft, rl, targets = out / "sft", out / "grpo", out / "targets.json"
    prompts = {str(base.rendered(agent.task.prompt(step), ())): step for step in steps}
    if not targets.exists():
        targets.write_text(
            json.dumps({text: target_summary(step, agent, agent.backend) for text, step in prompts.items()}), "utf-8"
        )
    examples = [Example(*pair) for pair in json.loads(targets.read_text("utf-8")).items() if pair[1]]
    how = FineTuning(options.sft_steps, RATE, options.longest, options.rank, options.lowest, save_every=5)
    fine_tune(file, examples, sft, how)
    if not has_ended(rl):
        hard = {text: step for text, step in prompts.items() if agent.without(step) < 1}
        if not hard:
            raise UsageError(
                "the agent acts as recorded at every step, even without a summary", "give runs that need older turns"
            )
        rate = GRPO_LORA_RATE if options.rank else GRPO_RATE
        how = FineTuning(options.grpo_steps, rate, options.longest, options.rank, options.lowest, save_every=1)
        train_grpo(sft, hard, agent, rl, how)
    models: dict[str, Backend] = {"the agent's model": agent.backend, "untrained": base}
    for name, folder in (("fine-tuned", sft), ("fine-tuned, then GRPO", rl)):
        if not folder.with_suffix(".gguf").exists():
            write_gguf(folder, file, folder.with_suffix(".gguf"))
        models[name] = make_backend("gguf", str(folder.with_suffix(".gguf")), budget=options.longest)
    return models


def _parser(prog: str) -> Parser:
    parser = Parser(prog, description=__doc__, epilog=MEMORY_EPILOG, allow_abbrev=False)
    add = parser.add_argument
    add("files", nargs="+", type=Path, metavar="FILE", help="recorded trajectories")
    add("--base", required=True, metavar="MODEL", help="the model to train: a GGUF file, or a model on this machine")
    add("--out", type=Path, required=True, metavar="FOLDER", help="the folder for the trained models")
    add("--strategy", default=STRATEGY, metavar="SPEC", help="a SPEC of comem; default: %(default)s")
    told = f"the frozen agent, whose summaries are the first training data: {MODEL_FORM}; default: %(default)s"
    add("--agent", default=READER, type=model_name, metavar="MODEL", help=told)
    for flag, default, least, told in (
        ("--sft-steps", 200, 1, "steps of fine-tuning, of one example each"),
        ("--grpo-steps", 100, 1, "steps of GRPO, of 8 summaries for one prompt each"),
        ("--rank", 0, 0, "rank of LoRA; 0 trains all weights"),
        ("--lowest", 0, 0, "the lowest block that LoRA changes: half of the blocks take half the time"),
        ("--longest", 1024, 1, "maximum tokens of a prompt with its summary; longer ones are left out"),
        ("--held-out", 200, 1, "maximum steps of held-out runs to measure"),
    ):
        help = f"{told}; default: %(default)s"
        add(flag, default=default, type=whole_number(flag, least, 1_000_000), metavar="N", help=help)
    add_output(parser)
    return parser
