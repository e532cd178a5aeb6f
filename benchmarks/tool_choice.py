"""How often does a model choose the right tool, and the right article? Calls by schema, temperature 0.

python benchmarks/tool_choice.py rule reader
python benchmarks/tool_choice.py gguf/smollm2 gguf/FILE.gguf --examples
python benchmarks/tool_choice.py gguf/FILE.gguf --answers ANSWERS.jsonl

The questions are the held-out ones of corpus/questions.yaml (the natural kinds) and of small_models/, and the first one
of each dialogue. scripts/tool_choice makes up its own and uses none of these. Each is asked in a new conversation.

The columns: questions; right tool, which needs both of the next: the first call is right for the kind of question
(KINDS), and the end is right (an answer, or a refusal if the question has none); of the questions that the library
answers, right article: the answer names a source that proves it; the same for questions about articles only; seconds
per question. `rule` is not a model: it searches for the question, declines if the result says that nothing fits well,
and otherwise takes the last source, which is the best. `--examples` adds the worked examples to the prompt, as in a
session: an adapted model was trained without them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the project need not be installed

from thimble.agent.errors import ThimbleError
from thimble.agent.events import Answered, ToolReturned
from thimble.corpus.observations import SOURCE
from thimble.corpus.questions import DECLINED_KINDS, NATURAL, load_questions
from thimble.lab.statistics import wilson_interval
from thimble.session.grounding import find_citations
from thimble.session.session import Session
from thimble.session.settings import resolve_settings

OTHERS = Path(__file__).with_name("small_models") / "held_out.yaml"
SEARCHES, ANY = {"search"}, {"search", "list", "read"}
KINDS = {"listing": {"search", "list"}, "summary": ANY, "filefact": ANY, "file": ANY}
"""The right first calls for each kind of question; for any other kind, a search."""
FILE_KINDS = ("filefact", "file")
MOST_TURNS = "5"


@dataclass
class Asked:
    """A question, the sources that prove its answer (if there are any), and the record of the answer."""

    kind: str
    question: str
    sources: list[str]
    calls: list[str] = field(default_factory=list)
    answer: str = ""
    declined: bool = False
    seconds: float = 0.0

    @property
    def right_call(self) -> bool:
        """Whether the first call is right for this kind of question."""
        return bool(self.calls) and self.calls[0].partition(" ")[0] in KINDS.get(self.kind, SEARCHES)

    @property
    def right_end(self) -> bool:
        """Whether the question is answered or declined, as it should be."""
        return self.declined is not bool(self.sources) and bool(self.answer)

    @property
    def right_article(self) -> bool:
        """Whether the answer names a source that proves it."""
        return not self.declined and any(place(each.name) in self.sources for each in find_citations(self.answer))


def place(source: str) -> str:
    """A source as a slug, or as a path without line and suffix."""
    return source.partition(":")[0].removesuffix(".md")


def questions() -> Iterator[Asked]:
    """The held-out questions of both sets."""
    for one in load_questions().questions:
        if one.held_out and one.kind in (*NATURAL, *DECLINED_KINDS):
            first = one.exchanges[0]
            sources = {place(proof.source) for fact in first.facts for proof in fact.proof}
            yield Asked(one.kind, first.question, sorted(sources))
    for entry in yaml.safe_load(OTHERS.read_text("utf-8")):
        first = entry["turns"][0]
        yield Asked(entry["kind"], first["question"], [*map(place, first["sources"])] if first["answerable"] else [])


def ask(session: Session, asked: Asked, examples: bool) -> None:
    """Ask a question in a new conversation."""
    session.reset()
    if not examples:
        session.agent.examples = ()
    with closing(session.ask(asked.question)) as events:
        for event in events:
            if isinstance(event, ToolReturned):
                asked.calls.append(f"{event.call.name} {event.call.arguments}")
            elif isinstance(event, Answered):
                asked.answer, asked.declined = event.text, event.ending == "refused"


def follow_rule(session: Session, asked: Asked) -> None:
    """Answer by the rule: take the best hit, without a model."""
    from thimble.tools import small_model_tools

    tools = small_model_tools(session.library, session.settings.files, session.embedder(), list)
    result = tools["search"].run({"query": asked.question})
    found = SOURCE.findall(result)
    asked.calls = ["search"]
    asked.declined = not found or result.startswith("Nothing")
    asked.answer = f"[{found[-1]}]" if found else result


def main() -> None:
    """Ask and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="BACKEND/MODEL")
    parser.add_argument("--examples", action="store_true", help="with the worked examples of a session")
    parser.add_argument("--first", type=int, help="ask only N questions, sampled evenly")
    parser.add_argument("--answers", type=Path, help="every answer is written there, a JSON object a line")
    arguments = parser.parse_args()
    print("| model | asked | right tool | first call | end | right article | of articles alone | seconds |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for model in arguments.models:
        backend, _, name = model.partition("/")
        flags = {"backend": "reader" if backend == "rule" else backend, "model": name, "temperature": "0"}
        ours = {"calls": "schema", "budget": "4000", "max_turns": MOST_TURNS} if name else {}
        session = Session(resolve_settings({key: value for key, value in (flags | ours).items() if value}))
        every = [*questions()]
        asked = every[:: max(1, len(every) // arguments.first)] if arguments.first else every
        for one in asked:
            began = perf_counter()
            try:
                follow_rule(session, one) if backend == "rule" else ask(session, one, arguments.examples)
            except ThimbleError as error:
                print(f"{one.question}: {error.what}", file=sys.stderr)
            one.seconds = perf_counter() - began
            if arguments.answers:
                with arguments.answers.open("a") as file:
                    file.write(json.dumps({"model": model, "examples": arguments.examples, **asdict(one)}) + "\n")
        print(row(f"{model}{', examples' * arguments.examples}", asked), flush=True)


def row(name: str, asked: list[Asked]) -> str:
    """A row of the table, with 95 % Wilson intervals."""

    def share(hits: list[bool]) -> str:
        if not hits:
            return ""
        low, high = wilson_interval(sum(hits), len(hits))
        return f"{sum(hits) / len(hits):.0%} ({low:.0%} to {high:.0%})".replace("%", " %").replace(" % to", " to")

    answerable = [one for one in asked if one.sources]
    cells = [
        share([one.right_call and one.right_end for one in asked]),
        share([one.right_call for one in asked]),
        share([one.right_end for one in asked]),
        share([one.right_article for one in answerable]),
        share([one.right_article for one in answerable if one.kind not in FILE_KINDS]),
        f"{sum(one.seconds for one in asked) / len(asked):.1f}",
    ]
    return f"| {name} | {len(asked)} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
