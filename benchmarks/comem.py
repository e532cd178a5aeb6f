"""How many seconds does a summary cost an agent that waits for it, and one that does not?

python benchmarks/comem.py                                                # a described pair of machines
python benchmarks/comem.py --check                                        # exits 1 above a limit
python benchmarks/comem.py --pace a100-32b,a100-4b --k 1 2 4 --steps 24
python benchmarks/comem.py --backend ollama --model NAME --memory NAME    # a real server

Every row has the same run of an agent: each step reads a part of an article, and the model's reply is replaced by the
recorded step, so that only the prompts differ. The seconds are those of a step, from one prompt to the next. On
described machines both models sleep as long as a real one would take, and the memory model writes 530 tokens, about the
400 words that comem asks for; all rows run side by side. A real server writes up to 48 tokens a step, and one row runs
after the other. --part is the length of a part in characters, --budget the maximum tokens of a prompt.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from time import perf_counter, sleep

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the project need not be installed

from tests.support.estimate import EstimateCounter
from thimble.agent.agent import Agent
from thimble.agent.events import Answered, Replied, ToolReturned
from thimble.agent.loop import run
from thimble.agent.messages import Message, Schema, ToolCall
from thimble.agent.protocols import Backend, Delta, Expects, Text, Usage
from thimble.agent.side import SideModel
from thimble.agent.state import State
from thimble.lab.replay.fake_model import newest_name
from thimble.models import backend_on, call_room, server_at
from thimble.models.counting.prefix import PrefixMeter
from thimble.models.hardware import HARDWARE, Hardware
from thimble.models.paced import pace_reply
from thimble.strategies.spec import make_strategy

MOST_OVERLAPPED, LEAST_WAITED = 1.05, 1.3
"""Limits for the seconds of a step, relative to those without summaries: in the background, and if waited for."""
WRITTEN, SUMMARY = 48, 530
"""The tokens of a real reply and of a made-up summary."""
TOOL_SECONDS = 0.2
ARTICLES = Path(__file__).resolve().parent.parent / "thimble" / "corpus" / "articles"


PART = {"type": "object", "properties": {"part": {"type": "integer"}}}
SCHEMA: Schema = {
    "type": "function",
    "function": {"name": "read", "description": "Read a part of the articles.", "parameters": PART},
}


class Read:
    """A tool that returns the next part of the articles, of a given number of characters."""

    name = "read"
    schema = SCHEMA

    def __init__(self, letters: int) -> None:
        text = "".join(path.read_text() for path in sorted(ARTICLES.glob("*.md")))
        self._parts = iter(text[at : at + letters] for at in range(0, len(text), letters))

    def run(self, arguments: object) -> str:
        """Return the next part."""
        sleep(TOOL_SECONDS)
        return next(self._parts)


class Recorded(Backend):
    """The model of the run: it takes a real server's time for each prompt, and replies with the recorded step."""

    def __init__(self, steps: int, server: Backend) -> None:
        self.name, self.model, self.counter = server.name, server.model, server.counter
        self._server, self._steps = server, steps
        self._step = 0

    def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[Schema],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        expects: Expects = "turn",
    ) -> Generator[Delta, None, None]:
        """Stream the next step, in the time of the server."""
        self._step += 1
        with closing(self._server.stream(messages, (), max_tokens=WRITTEN, temperature=0.0)) as deltas:
            usage = next(delta for delta in deltas if isinstance(delta, Usage))
        yield Text(f"I have read part {self._step - 1} and go on. ")
        if self._step <= self._steps:
            yield ToolCall(f"call-{self._step}", "read", f'{{"part": {self._step}}}')
        yield usage


class Described(Backend):
    """A model on a described machine: it sleeps, and writes one word for each token."""

    def __init__(self, name: str, hardware: Hardware, tokens: int) -> None:
        self.name, self.model, self.counter = "described", name, EstimateCounter()
        self._hardware, self._meter, self._tokens = hardware, PrefixMeter(self.counter), tokens

    def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[Schema],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        expects: Expects = "turn",
    ) -> Generator[Delta, None, None]:
        """Stream the words."""
        text = " ".join([newest_name(messages), *(f"word{at}" for at in range(self._tokens // 2))])
        yield from pace_reply([Text(text)], self._meter.usage(messages, tools, text), self._hardware)


def seconds_a_step(
    spec: str, options: argparse.Namespace, server: Backend, memory: Backend
) -> tuple[float, int, float]:
    """The seconds of a step under a strategy, the summaries, and the seconds that the agent waited for them."""
    read, side, steps = Read(options.part), SideModel(server, memory=memory), options.steps
    state = State(spec, options.budget)
    agent = Agent(Recorded(steps, server), make_strategy(spec, side), state, {read.name: read}, side, steps + 2)
    agent.max_output = WRITTEN
    ends = []
    for event in run(agent, "Read all parts, and tell me what they say."):
        if isinstance(event, Replied | ToolReturned):
            last = perf_counter()
        if isinstance(event, ToolReturned | Answered):
            ends.append(last)
    side.stop()
    agent.catch_up()
    calls = [call for call in agent.ledger.calls if call.purpose == "memory" and call.output.tokens]
    waited = sum(call.seconds if call.lag is None else call.held for call in calls)
    return (ends[-1] - ends[0]) / (len(ends) - 1), len(calls), waited


def rows(ks: Sequence[int]) -> list[tuple[str, str, int]]:
    """The rows of the table: name, SPEC and k."""
    kinds = (("no summary", "none"), ("in the background", "background"), ("waited for", "waited"))
    return [
        ("everything", "none", 0),
        *((name, f"comem:k={k},summary={word}", k) for k in ks for name, word in kinds),
    ]


def measured(options: argparse.Namespace) -> list[tuple[float, int, float]]:
    """The figures of each row."""
    specs = [spec for _, spec, _ in rows(options.k)]
    if options.backend:
        server = server_at(options.backend, options.base_url)
        models = [
            backend_on(server, server.choose(name), call_room(options.budget))
            for name in (options.model, options.memory)
        ]
        return [seconds_a_step(spec, options, *models) for spec in ["none", *specs]][1:]  # the first one loads

    def described(spec: str) -> tuple[float, int, float]:
        agent, memory = options.pace.split(",")
        on = Described(agent, HARDWARE[agent], 100), Described(memory, HARDWARE[memory], SUMMARY)
        return seconds_a_step(spec, options, *on)

    with ThreadPoolExecutor(len(specs)) as pool:
        return [*pool.map(described, specs)]


def main() -> int:
    """Print the table; 1 if a limit is passed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pace", default="a100-32b,a100-4b", help="the described machines of the two models")
    parser.add_argument("--k", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--part", type=int, default=2_400)
    parser.add_argument("--budget", type=int, default=60_000)
    parser.add_argument("--backend", default="", help="a real server instead: ollama, vllm or openai")
    parser.add_argument("--base-url", default="")
    parser.add_argument("--model", default="")
    parser.add_argument("--memory", default="")
    parser.add_argument("--check", action="store_true", help="exit 1 above a limit")
    options = parser.parse_args()
    found = measured(options)
    print(f"{'k':>3} {'summary':18} {'seconds a step':>15} {'of no summary':>14} {'summaries':>10} {'waited':>8}")
    passed, least = [], 0.0
    for (name, spec, k), (seconds, summaries, waited) in zip(rows(options.k), found, strict=True):
        least = seconds if "summary=none" in spec else least
        share = seconds / least if least else 0.0
        shown = f"{share:.2f}" if share else ""
        print(f"{k or '':>3} {name:18} {seconds:15.2f} {shown:>14} {summaries:10} {waited:7.1f}s")
        passed += [spec] if name == "in the background" and share > MOST_OVERLAPPED else []
        passed += [spec] if name == "waited for" and k < 4 and share < LEAST_WAITED else []
    print("\n".join(f"past its limit: {spec}" for spec in passed))
    return int(options.check and bool(passed))


if __name__ == "__main__":
    sys.exit(main())
