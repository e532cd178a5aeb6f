"""Training: from nothing to weights, in at most 20 minutes on two cores.

python -m tests.servers.tiny.training
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from tests.servers.tiny import tokenizer as tokenizers
from tests.servers.tiny.dialogues import Dialogue, dialogue
from tests.servers.tiny.model import Model, Shape, initialise
from tests.servers.tiny.muon import Optimiser
from tests.servers.tiny.template import END, FOLDER, render
from tests.servers.tiny.weights import save
from tests.servers.tiny.words import seen
from thimble.agent.messages import Schema
from thimble.agent.prompts import SYSTEM
from thimble.corpus.library import Library
from thimble.tools import on_demand, toolbox
from thimble.tools.notebook import Notebook

SEED = 1
STEPS = 900
TOKENS = 8192
"""Tokens of dialogue in a step."""
STEP = 512
"""Sizes are multiples of it."""
WIDTHS = (192, 256, 320, 384, 512, 640, 768, 1024, 1536, 2048)
NOT_LEARNT = -100


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of the training, up to the share `until` of its time."""

    until: float
    most_questions: int
    several: float
    """Share of libraries whose articles state several facts."""
    begun: float
    """Share of steps in which a system prompt and tools stand before the dialogues."""
    part: bool
    """Whether it is only a part of these, which takes less time to read."""


PHASES = (
    Phase(0.3, 1, 0.1, 0.0, True),
    Phase(0.65, 2, 0.2, 0.4, True),
    Phase(1.0, 3, 0.2, 0.5, False),
)
PART = 320
"""Tokens of a part."""


def train(steps: int = STEPS, folder: Path = FOLDER) -> None:
    """Train a tokenizer and a model, and save both."""
    torch.manual_seed(SEED)
    torch.set_num_threads(2)
    cut = make_tokenizer()
    model = Model(Shape(vocabulary=cut.get_vocab_size()))
    initialise(model, SEED)
    optimiser = Optimiser(model)
    starts = [torch.tensor([cut.encode(text).ids]) for text in beginnings()]
    examples = Examples(cut, SEED)
    began = time.perf_counter()
    for step in range(steps):
        done = step / steps
        phase = next(phase for phase in PHASES if done < phase.until)
        start = before(examples.random, starts, phase)
        loss, right = learn(model, optimiser, examples.batch(phase), start, rate(done))
        if step % 50 == 0:
            seconds = time.perf_counter() - began
            print(f"{step:5} {seconds:5.0f} s  loss {loss:.3f}  right {right:.3f}", file=sys.stderr, flush=True)
        if step % 100 == 99:
            save(model, cut, folder)
    save(model, cut, folder)


def before(random: Random, starts: Sequence[Tensor], phase: Phase) -> Tensor | None:
    """What stands before the dialogues of a step: mostly the usual beginning, or a part of one, or nothing."""
    if random.random() >= phase.begun:
        return None
    start = starts[0] if random.random() < 0.6 else random.choice(starts)
    first = random.randint(0, max(0, start.shape[1] - PART)) if phase.part else 0
    return start[:, first : first + PART] if phase.part else start


def rate(done: float) -> float:
    """The learning rate by the share of the time: up over the first hundredth, down over the last sixty hundredths."""
    return min(1.0, done / 0.01, (1 - done) / 0.6)


def learn(
    model: Model, optimiser: Optimiser, batch: tuple[Tensor, Tensor], start: Tensor | None, rate: float
) -> tuple[float, float]:
    """One step; the loss before it, and the share of tokens that were right."""
    tokens, wanted = batch
    with torch.autocast("cpu", torch.bfloat16, enabled=_fast_halves()):
        past = model(start)[1] if start is not None else None
        states, _ = model(tokens, past)
        chosen = (wanted.flatten() != NOT_LEARNT).nonzero().flatten()
        chosen = F.pad(chosen, (0, -len(chosen) % STEP))  # few sizes: the library prepares itself for each
        logits = model.logits(states.flatten(0, 1)[chosen])
    wanted = wanted.flatten()[chosen]
    loss = F.cross_entropy(logits.float(), wanted)
    loss.backward()
    optimiser.step(rate)
    right = (logits.argmax(-1) == wanted)[wanted != NOT_LEARNT]
    return loss.item(), right.float().mean().item()


def _fast_halves() -> bool:
    """Whether this processor multiplies numbers of half precision faster than others."""
    return bool(torch.cpu._is_avx512_bf16_supported())


class Examples:
    """Batches of dialogues of about one length each; the same for the same seed."""

    def __init__(self, cut: Any, seed: int) -> None:
        self.random = Random(seed)
        self._cut = cut
        self._ids = [cut.encode("<|im_start|>assistant\n").ids, cut.token_to_id(END)]
        self._ready: list[tuple[Tensor, Tensor]] = []
        self._phase: Phase | None = None

    def batch(self, phase: Phase) -> tuple[Tensor, Tensor]:
        """Tokens, and for each the one wanted next, both of shape (dialogues, tokens)."""
        if phase is not self._phase or not self._ready:
            self._phase, self._ready = phase, list(self._batches(phase))
            self.random.shuffle(self._ready)
        return self._ready.pop()

    def _batches(self, phase: Phase) -> Iterator[tuple[Tensor, Tensor]]:
        rows = sorted((self._row(phase) for _ in range(400)), key=lambda row: len(row[0]))
        while rows:
            width = next(width for width in WIDTHS if width >= len(rows[-1][0]))
            number = TOKENS // width
            taken, rows = rows[-number:], rows[:-number]
            tokens, wanted = torch.zeros(number, width).long(), torch.full((number, width), NOT_LEARNT)
            for number, (ids, learnt) in enumerate(taken):
                tokens[number, : len(ids)] = torch.tensor(ids)
                wanted[number, : len(ids) - 1] = torch.tensor(learnt[1:])
            yield tokens, wanted

    def _row(self, phase: Phase) -> tuple[list[int], list[int]]:
        facts = 3 if self.random.random() < phase.several else 1
        return self.encoded(dialogue(self.random, "seen", facts, phase.most_questions))

    def encoded(self, one: Dialogue) -> tuple[list[int], list[int]]:
        """The tokens of a dialogue; and again, with `NOT_LEARNT` for those that are not the assistant's to say."""
        ids, (begin, end) = self._cut.encode(render(one.entries)).ids, self._ids
        given = iter([bool(entry.get("given")) for entry in one.entries if entry["role"] == "assistant"])
        learnt, saying = [], False
        for at, token in enumerate(ids):
            learnt.append(token if saying else NOT_LEARNT)
            if token == end:
                saying = False
            elif ids[at - 2 : at + 1] == begin:
                saying = not next(given)
        return ids, learnt


def make_tokenizer() -> Any:
    """The tokenizer for dialogues of the training data and for what stands before them."""
    random, made = Random(SEED), frozenset(seen())
    texts = [render(dialogue(random).entries) for _ in range(500)]
    plain = [re.sub(r"\w+", lambda word: "" if word[0] in made else word[0], text) for text in texts]
    return tokenizers.train(seen(), [*plain, *(20 * beginnings()[:1])])


def beginnings() -> list[str]:
    """What may stand before a dialogue, the usual one first: system prompts, and tools in several orders."""
    return [render([{"role": "system", "content": SYSTEM}], schemas) for schemas in _offers()] + [
        render([{"role": "system", "content": SYSTEM}])
    ]


def _offers() -> Iterator[Sequence[Schema]]:
    usual = [tool.schema for tool in toolbox(Library(Path(), ()), Path(), Notebook()).values()]
    extra = [tool.schema for tool in on_demand(lambda: [], str).values()]
    yield usual
    yield [*usual, *extra]
    yield usual[:3]
    random = Random(SEED)
    for number in (4, 5, 6, 7, 8):
        yield random.sample(usual, number)


if __name__ == "__main__":
    train(int(sys.argv[1]) if sys.argv[1:] else STEPS, Path(sys.argv[2]) if sys.argv[2:] else FOLDER)
