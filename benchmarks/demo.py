"""Ask a small model the four prompts of the demo under each strategy, and show what an audience would see.

python benchmarks/demo.py ollama/NAME gguf/FILE.gguf

Each strategy has a new session, with the default budget. The columns: prompt; called tools; `next`: whether the step
after the first result is an answer; `right`: whether the answer states the required facts, in any wording; the actions
of the strategy; model calls, seconds, and tokens: of the last prompt, of the expected prefill, and of the replies.

A list is right if it names at least three articles on agents; an article that was read, if the answer cites it and
holds two of its facts; the comparison, if it holds a fact of each of the two and cites a source.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the project need not be installed

from thimble.agent.errors import ThimbleError
from thimble.agent.events import Answered, Prepared, Replied, ToolReturned
from thimble.session.session import Session
from thimble.session.settings import resolve_settings

PROMPTS = (
    "What articles do you have about AI agents?",
    "Read the article about context windows",
    "Now read the article about testing LLM applications",
    "Compare what you've learned about context management and testing",
)
STRATEGIES = ("none", "sliding-window", "summary-buffer", "observation-masking", "hybrid")
ON_AGENTS = (
    "what-is-an-ai-agent|makes a program an AI agent",
    "multi-agent-systems|several agents or one",
    "human-in-the-loop|asking a person",
    "the-agent-that-would-not-stop|the agent that would not stop",
    "agent-loops-in-practice|agent loops in practice",
    "agent-memory|agent memory|memory of agents",
    "planning-and-reflection|planning and reflection",
    "tool-calling|tool calling",
    "observability",
)
"""Articles on agents, each by its slug or title."""
WINDOWS = (
    r"largest number of tokens|tokens that .{0,30}(?:handle|hold|read|process)",
    r"no memory between calls|sent again|resent|resend",
    r"square",
    r"1,024|2019|million",
    r"costs? memory|KV cache|less reliabl",
    r"prompt and reply|reply .{0,20}(?:room|share|space)",
)
TESTING = (
    r"exact tests|ordinary software",
    r"statistical|evaluation",
    r"script",
    r"repeated runs|confidence interval|Wilson|denominator",
    r"snapshot|propert",
    r"temperature (?:zero|0)",
)
"""Facts of the two articles."""


@dataclass
class Asked:
    """A prompt, and the record of its answer."""

    model: str
    strategy: str
    prompt: int
    calls: list[str] = field(default_factory=list)
    acted: dict[str, int] = field(default_factory=dict)
    answer: str = ""
    ending: str = ""
    turns: int = 0
    seconds: float = 0.0
    tokens: int = 0
    prefill: int = 0
    written: int = 0

    @property
    def right_step(self) -> bool:
        """Whether the model called the right tool and then answered; only the comparison may have more calls."""
        first = {1: ("list", "search"), 2: ("read",), 3: ("read",), 4: ("", "search", "read")}[self.prompt]
        tools = [call.partition(" ")[0].removesuffix("_articles").removesuffix("_article") for call in self.calls]
        return (tools[0] if tools else "") in first and (self.prompt == 4 or len(tools) == 1) and not self.refused

    @property
    def refused(self) -> bool:
        """Whether the model says that it cannot answer."""
        return self.ending == "refused"

    @property
    def right(self) -> bool:
        """Whether the answer states the required facts."""
        if self.ending != "answered":
            return False
        if self.prompt == 1:
            return holds(self.answer, ON_AGENTS) >= 3
        windows, testing = holds(self.answer, WINDOWS), holds(self.answer, TESTING)
        if self.prompt == 4:
            return windows > 0 and testing > 0 and "[" in self.answer
        facts, slug = (windows, "context-windows") if self.prompt == 2 else (testing, "testing-llm-applications")
        return facts >= 2 and f"[{slug}]" in self.answer


def holds(answer: str, facts: tuple[str, ...]) -> int:
    """The number of these facts in an answer."""
    return sum(bool(re.search(fact, answer, re.IGNORECASE)) for fact in facts)


def ask(session: Session, asked: Asked) -> None:
    """Ask one prompt."""
    began, acted = perf_counter(), Counter[str]()
    with closing(session.ask(PROMPTS[asked.prompt - 1])) as events:
        for event in events:
            match event:
                case Prepared(view=view):
                    asked.tokens, asked.prefill = view.tokens, asked.prefill + view.prefill
                    acted += Counter({str(fate): number for fate, number in view.acted.items()})
                case Replied(usage=usage):
                    asked.turns, asked.written = asked.turns + 1, asked.written + (usage.output_tokens or 0)
                case ToolReturned(call=call):
                    asked.calls.append(f"{call.name} {call.arguments}")
                case Answered(text, ending):
                    asked.answer, asked.ending = text, ending
    asked.seconds, asked.acted = perf_counter() - began, dict(acted)


def sessions(model: str, strategies: list[str], flags: dict[str, str]) -> Iterator[Asked]:
    """Every prompt under each strategy."""
    backend, _, name = model.partition("/")
    for strategy in strategies:
        session = Session(resolve_settings({"backend": backend, "model": name, "strategy": strategy, **flags}))
        for prompt in range(1, len(PROMPTS) + 1):
            asked = Asked(model, strategy, prompt)
            try:
                ask(session, asked)
            except ThimbleError as error:
                asked.ending = f"error: {error.what}"
            yield asked
        session.leave()


def acts(one: Asked) -> str:
    """The messages that the strategy changed at a prompt, by fate."""
    return ", ".join(f"{number} {fate}" for fate, number in one.acted.items()) or "–"


def main() -> None:
    """Ask, and print a row for each prompt, then one for each strategy."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="BACKEND/MODEL")
    parser.add_argument("--strategies", nargs="+", default=[*STRATEGIES], metavar="SPEC")
    parser.add_argument("--base-url", default="", help="the address of the server")
    parser.add_argument("--calls", default="auto", help="how the model calls tools")
    parser.add_argument("--answers", type=Path, help="every answer is written there, a JSON object a line")
    arguments = parser.parse_args()
    flags = {"base_url": arguments.base_url, "calls": arguments.calls}
    for model in arguments.models:
        done = list[Asked]()
        print("\n| strategy | prompt | called | next | right | acted | calls | seconds | prompt, computed, written |")
        print("|---|---|---|---|---|---|---|---|---|")
        for one in sessions(model, arguments.strategies, {name: value for name, value in flags.items() if value}):
            done.append(one)
            called = ", ".join(call.partition(" ")[0] for call in one.calls) or "–"
            marks = f"{'yes' if one.right_step else 'no'} | {'yes' if one.right else one.ending.partition(':')[0]}"
            took = f"{one.turns} | {one.seconds:.0f} | {one.tokens:,}, {one.prefill:,}, {one.written:,}"
            row = [one.strategy, str(one.prompt), called, marks, acts(one), took]
            print(f"| {' | '.join(row)} |", flush=True)
            if arguments.answers:
                with arguments.answers.open("a") as file:
                    file.write(json.dumps(asdict(one)) + "\n")
        print(f"\nEach strategy, with {model}")
        print("\n| strategy | acted at prompt 3 | prompt tokens at 1, 2, 3, 4 | right answers |\n|---|---|---|---|")
        for strategy in arguments.strategies:
            its = [one for one in done if one.strategy == strategy]
            right = f"{sum(one.right for one in its)} of {len(its)}"
            tokens = ", ".join(f"{one.tokens:,}" for one in its)
            print(f"| {strategy} | {acts(its[2])} | {tokens} | {right} |")
        steps = sum(one.right_step for one in done)
        print(f"\n{model}: right next step {steps} of {len(done)}")


if __name__ == "__main__":
    main()
