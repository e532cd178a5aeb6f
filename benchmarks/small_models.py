"""How well does a small model look up, answer, cite and decline, with each way to call tools?

python benchmarks/small_models.py reader
python benchmarks/small_models.py ollama/NAME vllm/NAME gguf/FILE.gguf --calls tools schema
python benchmarks/small_models.py gguf/FILE.gguf --questions held_out --answers ANSWERS.jsonl

The questions of small_models/ were written by people who saw only titles and sample files, neither code nor articles;
others wrote down patterns of right answers and their sources. The development set was used while the prompt was made,
the held-out set only at the end. A dialogue is one session, temperature 0.

The columns: questions; valid calls (a known tool, arguments that it takes); questions with a look-up before the answer;
of those that the library answers: right article (the answer cites a possible source), right answer, cited (a source
that was read); answers from memory, with and without saying so; declined, of the questions without an answer, and
wrongly; model calls per question, seconds per question and call, and the largest prompt in tokens.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the project need not be installed

from thimble.agent.errors import ThimbleError
from thimble.agent.events import Answered, Prepared, Replied, ToolReturned
from thimble.session.grounding import ground_answer
from thimble.session.session import Session
from thimble.session.settings import resolve_settings

QUESTIONS = Path(__file__).with_suffix("")
WAYS = ("tools", "schema")


@dataclass
class Asked:
    """A question, and the record of its answer."""

    id: str
    kind: str
    question: str
    answer: str = ""
    ending: str = ""
    calls: list[str] = field(default_factory=list)
    valid_calls: int = 0
    turns: int = 0
    seconds: float = 0.0
    prompt: int = 0
    looked_up: bool = False
    right: bool = False
    right_source: bool = False
    cited: bool = False
    from_memory: bool = False
    answerable: bool = True

    @property
    def declined(self) -> bool:
        """Whether the model says that there is no answer."""
        return self.ending == "refused"


def ask(session: Session, asked: Asked, key: dict[str, Any]) -> None:
    """Ask a question and mark the answer by its key."""
    first, began = len(session.agent.history) + 1, perf_counter()
    with closing(session.ask(asked.question)) as events:
        for event in events:
            if isinstance(event, Prepared):
                asked.prompt = max(asked.prompt, event.view.tokens)
            elif isinstance(event, Replied):
                asked.turns += 1
                asked.looked_up = asked.looked_up or (asked.turns == 1 and bool(event.message.calls))
            elif isinstance(event, ToolReturned):
                asked.calls.append(f"{event.call.name} {event.call.arguments}")
                asked.valid_calls += (
                    event.call.name in session.agent.offered() and "Call it as" not in event.message.content
                )
            elif isinstance(event, Answered):
                asked.answer, asked.ending, asked.from_memory = event.text, event.ending, event.from_memory
    asked.seconds = perf_counter() - began
    cited = ground_answer(asked.answer, session.agent.history, first).read
    asked.cited = bool(cited)
    sources = {source.removesuffix(".md") for source in key["sources"]}
    asked.right_source = any(name.removesuffix(".md") in sources for name in cited)
    facts = key["facts"]
    found = all(any(re.search(each, asked.answer, re.IGNORECASE) for each in group) for group in facts)
    asked.right = bool(facts) and found and not asked.declined
    asked.answerable = key["answerable"]


def asked_of(model: str, way: str, questions: Path, ids: set[str]) -> Iterator[Asked]:
    """Ask a model every question of the set."""
    backend, _, name = model.partition("/")
    flags = {"backend": backend, "model": name, "calls": way, "temperature": "0", "budget": "4000"}
    for entry in yaml.safe_load(questions.read_text()):
        if ids and entry["id"] not in ids:
            continue
        session = Session(resolve_settings({key: value for key, value in flags.items() if value}))
        for key in entry["turns"]:
            asked = Asked(entry["id"], entry["kind"], key["question"])
            try:
                ask(session, asked, key)
            except ThimbleError as error:
                asked.ending = f"error: {error.what}"
            yield asked
        session.leave()


def row(name: str, asked: list[Asked]) -> list[str]:
    """A row of the table."""
    answerable = [one for one in asked if one.answerable]
    others = [one for one in asked if not one.answerable]
    calls = sum(len(one.calls) for one in asked)

    def share(hits: Iterable[int], of: int) -> str:
        many = sum(hits)
        return f"{many} of {of} ({many / of:.0%})" if of else "none"

    unsaid = [one for one in asked if not one.looked_up and not one.cited and not one.from_memory and not one.declined]
    turns = sum(one.turns for one in asked)
    seconds = sum(one.seconds for one in asked)
    return [
        name,
        str(len(asked)),
        share((one.valid_calls for one in asked), calls),
        share((one.looked_up for one in asked), len(asked)),
        share((one.right_source for one in answerable), len(answerable)),
        share((one.right for one in answerable), len(answerable)),
        share((one.cited for one in answerable), len(answerable)),
        f"{sum(one.from_memory for one in asked)}, {len(unsaid)}",
        share((one.declined for one in others), len(others)),
        str(sum(one.declined for one in answerable)),
        f"{turns / len(asked):.1f}",
        f"{seconds / len(asked):.1f}, {seconds / max(1, turns):.1f}",
        f"{max(one.prompt for one in asked):,}",
    ]


HEADS = (
    "model, way",
    "asked",
    "valid calls",
    "looked up first",
    "right article",
    "right answer",
    "cited",
    "from memory: said, unsaid",
    "declined rightly",
    "wrongly",
    "calls a question",
    "seconds a question, a call",
    "largest prompt",
)


def main() -> None:
    """Ask and print the tables: all questions, then right answers by kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="BACKEND/MODEL")
    parser.add_argument("--calls", nargs="+", choices=WAYS, default=["schema"])
    parser.add_argument("--questions", choices=["development", "held_out"], default="development")
    parser.add_argument("--only", nargs="+", default=[], metavar="ID")
    parser.add_argument("--answers", type=Path, help="every answer is written there, a JSON object a line")
    arguments = parser.parse_args()
    rows, kinds = [], dict[str, dict[str, str]]()
    for model in arguments.models:
        for way in ["auto"] if model.startswith("reader") else arguments.calls:
            name, asked = model if way == "auto" else f"{model}, {way}", list[Asked]()
            for one in asked_of(model, way, QUESTIONS / f"{arguments.questions}.yaml", {*arguments.only}):
                asked.append(one)
                print(f"{name} {one.id}: {one.seconds:.1f} s", file=sys.stderr, flush=True)
                if arguments.answers:
                    with arguments.answers.open("a") as file:
                        file.write(json.dumps({"model": model, "calls_by": way, **asdict(one)}) + "\n")
            rows.append(row(name, asked))
            for one in asked:
                if one.answerable:
                    of = [each.right for each in asked if each.answerable and each.kind == one.kind]
                    kinds.setdefault(one.kind, {})[name] = f"{sum(of)} of {len(of)}"
    print("Answers", *table(HEADS, rows), sep="\n")
    print(
        "\nBy kind of question",
        *table(["right answers", *(each[0] for each in rows)], [[kind, *of.values()] for kind, of in kinds.items()]),
        sep="\n",
    )


def table(heads: Iterable[str], rows: Iterable[list[str]]) -> Iterator[str]:
    """Print a Markdown table after an empty line."""
    heads = [*heads]
    yield ""
    for cells in [heads, ["---"] * len(heads), *rows]:
        yield f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
