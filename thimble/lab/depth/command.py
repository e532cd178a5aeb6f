"""The lost middle: does a model find one fact of many, by its depth in the prompt?"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from random import Random
from statistics import mean

from thimble.agent.messages import Message, ToolCall
from thimble.agent.reply import Reply
from thimble.corpus.fact_match import missing_words
from thimble.lab.experiment import Experiment, Row, Rows, group_rows, hash_of, run_experiment
from thimble.lab.experiment_flags import MODEL_FORM, bare_model_name, model_name, settings_of, whole_number
from thimble.lab.findings import Findings, ResultTable, svg_of_lines
from thimble.lab.statistics import compare_paired, wilson_interval
from thimble.models import READER
from thimble.session.session import Session

DEPTHS = 10
ENDS, MIDDLE = slice(0, DEPTHS, DEPTHS - 1), slice(3, 7)
"""The depths that are compared: the first and the last against the four in the middle."""


@dataclass(frozen=True, slots=True)
class Trial:
    """Ten prompts with the same facts, drawn by `number`; the fact in question moves from the start to the end."""

    model: str
    facts: int
    number: int

    @property
    def key(self) -> str:
        """A hash of all fields; the address of a server does not matter."""
        return hash_of([bare_model_name(self.model), self.facts, self.number])

    @property
    def size(self) -> int:
        """The number of facts."""
        return self.facts

    def prompt(self, depth: int) -> tuple[list[Message], str]:
        """The messages, in which a file of facts is read and then a question asked, and the fact."""
        random = Random(self.number)
        rooms = random.sample(range(10_000, 100_000), self.facts)
        lines = [f"The door code of room {room} is {random.randint(1_000, 9_999)}." for room in rooms]
        fact = lines.pop()
        lines.insert(round(depth * len(lines) / (DEPTHS - 1)), fact)
        text = "\n".join(f"{number}: {line}" for number, line in enumerate(lines, 1))
        call = ToolCall("codes", "read_file", json.dumps({"path": "codes.txt"}))
        head = f"codes.txt · lines 1-{self.facts} of {self.facts}"
        return [
            Message("1", "user", "Read codes.txt."),
            Message("2", "assistant", "I will read the file codes.txt.", calls=(call,)),
            Message("3", "tool", f"{head}\n{text}", call_id=call.id, name=call.name),
            Message("4", "assistant", "I have read codes.txt."),
            Message("5", "user", f"What is the door code of room {rooms[-1]}?"),
        ], fact


class Depth(Experiment[Trial]):
    """Ask for one fact at ten depths of a prompt: is the middle lost?

    A prompt holds many facts of one form, as if a file had been read, and only the depth of the one asked for changes
    (Liu et al., Lost in the Middle, 2024: retrieval of a value by its key). The built-in reader is the control.
    """

    verb = "asked at ten depths"

    def add_flags(self, parser: argparse.ArgumentParser) -> None:
        """Add the flags for models and prompts."""
        told = f"{MODEL_FORM}; {READER} is always asked, too"
        parser.add_argument("--model", nargs="+", default=[], type=model_name, metavar="MODEL", help=told)
        facts, trials = whole_number("--facts", DEPTHS, 10_000), whole_number("--trials", 1, 1_000)
        parser.add_argument("--facts", default=100, type=facts, metavar="N", help="facts in a prompt; default: 100")
        parser.add_argument("--trials", default=10, type=trials, metavar="N", help="draws of facts; default: 10")

    def cases(self, options: argparse.Namespace) -> list[Trial]:
        """A case for each model and draw; a server gets one at a time."""
        options.jobs = options.jobs or (1 if options.model else None)
        models = dict.fromkeys([READER, *options.model])
        return [Trial(model, options.facts, at) for model, at in product(models, range(1, options.trials + 1))]

    def measure(self, case: Trial) -> list[Row]:
        """The answer at each depth, and whether it states the fact."""
        model = Session(settings_of(case.model, budget=1_000 + 30 * case.facts)).agent.backend
        found, answers = [], []
        for depth in range(DEPTHS):
            (*before, asked), fact = case.prompt(depth)
            reply = Reply.of(model.stream([*before, asked], (), max_tokens=100, temperature=0.0))
            found.append(not missing_words(reply.text, fact, asked.content))
            answers.append(reply.text.strip())
        return [{"model": bare_model_name(case.model), "trial": case.number, "found": found, "answers": answers}]

    def report(self, rows: Rows, options: argparse.Namespace) -> Findings:
        """A row for each depth, a column for each model; and the ends against the middle: is the curve a U?"""
        models = {model: [row["found"] for row in mine] for (model,), mine in group_rows(rows, "model").items()}
        cells = [
            [f"{depth + 1}", *(_share([one[depth] for one in found]) for found in models.values())]
            for depth in range(DEPTHS)
        ]
        told = f"Of {options.facts:,} facts; in brackets: 95 % intervals by Wilson."
        curves = {model: [100 * mean(depth) for depth in zip(*of, strict=True)] for model, of in models.items()}
        return Findings(
            "One fact at ten depths of a prompt",
            [],
            [ResultTable("Facts stated, %", ("depth", *models), cells, told)],
            rows,
            [_describe_curve(model, found) for model, found in models.items()],
            {"Facts stated, %, from the start of the prompt to its end": svg_of_lines(curves)},
        )


def _describe_curve(model: str, found: Sequence[Sequence[bool]]) -> str:
    ends, middle = ([100 * mean(one[at]) for one in found] for at in (ENDS, MIDDLE))
    u = compare_paired(ends, middle)
    told = f"{u.difference:+z.0f} points [{u.low:+z.0f}, {u.high:+z.0f}], p {u.p:.4f}"
    return f"{model}: the ends against the middle {told}."


def _share(found: Sequence[bool]) -> str:
    low, high = wilson_interval(sum(found), len(found))
    return f"{100 * mean(found):.0f} [{100 * low:.0f}, {100 * high:.0f}]"


main = partial(run_experiment, Depth())
