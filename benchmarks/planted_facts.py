"""How many planted facts stay in view under each strategy, and with how many tokens?

    python benchmarks/planted_facts.py                      # tables in Markdown, for seeds 0, 1 and 2
    python benchmarks/planted_facts.py --seed 7 --json      # other outputs of the same kinds; the figures as JSON
    python benchmarks/planted_facts.py --set FILE           # the outputs of benchmarks/planted/FILE.jsonl.gz
    python benchmarks/planted_facts.py --rival headroom     # also those of another program

A conversation is a question, a turn for each output (a call and its result) and two short turns. The strategy makes the
view of every call. The budget is the size of the conversation without these results, plus 53, 30 or 10 % of their
tokens. *Alone* has one output per conversation, *together* all of them.

- *marked*, *plain*: facts whose needles are all in the copy of their result in the last view;
- *with recall*: these, and the facts that `recall` opens, because the copy names its call and the strategy brings the
  tool;
- *dropped*: results that are not in the last view;
- *tokens*: those of all copies, as a share of the results'.

*At equal size*: the largest excerpt of each output, as `compress` makes it, that has at most that share of its tokens.
Below *all*, two naive baselines: random lines, and the start with the end. *Beside* a rival, the excerpt has at most
the tokens that the rival keeps of the same output; *shortened* outputs are those of which the rival keeps less than
95 %. With recall: the text that the rival's own tool returns, if its module has `original(text)`.

`thrifty` runs without summaries, for which it would ask a model. Tokens are counted as for Qwen2.5.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from importlib import import_module
from itertools import accumulate, count, product
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the project need not be installed

from benchmarks.planted import made
from benchmarks.planted.kept import KEPT, kept
from benchmarks.planted.output import Output, stands
from tests.support.scripted import Scripted
from thimble.agent.budget import Budget
from thimble.agent.errors import ToolError
from thimble.agent.messages import Message, ToolCall
from thimble.agent.protocols import Strategy
from thimble.agent.side import SideModel
from thimble.commands.replay import replay_strategy
from thimble.models.counting.vocabulary import counter_for
from thimble.strategies.compression.excerpt import make_excerpt
from thimble.strategies.spec import make_strategy
from thimble.tools.recall import recall_tools

SPECS = (
    "observation-masking",
    "offload",
    "compress",
    "compress:target=1",
    "sliding-window",
    "thrifty:summaries=off",
)
SHARES = (0.53, 0.30, 0.10)
SHORT = 2
"""The number of short turns after the outputs, so that all outputs are old."""
RECALL = re.compile(r'recall\(id="([^"]+)"\)')
COUNTER = counter_for("qwen2.5:7b")

Cut = Callable[[str, int], str]
Compressed = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]
Original = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class Tally:
    """The number of facts of some outputs, of those in view, and the tokens of copies and originals."""

    marked: int = 0
    plain: int = 0
    recalled: int = 0
    of_marked: int = 0
    of_plain: int = 0
    dropped: int = 0
    tokens: int = 0
    of_tokens: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(Tally)))


# --- measuring --------------------------------------------------------------------------------------------------------


def conversation(outputs: Sequence[Output]) -> list[Message]:
    """A question, a turn for each output, and the short turns; the result of output N has the id `rN`."""
    messages = [
        Message("s", "system", "You help an engineer. Use the tools."),
        Message("q", "user", "Look at all of it, and be ready for questions."),
    ]
    short = [("wait", '{"seconds": 1}', "done")] * SHORT
    calls = [*((output.tool, output.arguments, output.text) for output in outputs), *short]
    for at, (name, arguments, text) in enumerate(calls):
        call = ToolCall(f"c{at}", name, arguments)
        messages.append(Message(f"a{at}", "assistant", "Next.", calls=(call,)))
        messages.append(Message(f"r{at}", "tool", text, call_id=call.id, name=name))
    return messages


def judged(output: Output, copy: Message | None, recalled: str = "") -> Tally:
    """The facts of an output that its copy shows, and those that `recall` opens."""
    shown = [copy is not None and stands(fact, copy.content) for fact in output.facts]
    plain = [fact.plain for fact in output.facts]
    return Tally(
        marked=sum(there and not one for there, one in zip(shown, plain, strict=True)),
        plain=sum(there and one for there, one in zip(shown, plain, strict=True)),
        recalled=sum(there or stands(fact, recalled) for there, fact in zip(shown, output.facts, strict=True)),
        of_marked=len(plain) - sum(plain),
        of_plain=sum(plain),
        dropped=copy is None,
        tokens=COUNTER.count(copy) if copy else 0,
        of_tokens=tokens(output.text),
    )


def under(spec: str, outputs: Sequence[Output], share: float) -> list[Tally]:
    """The facts of each output in the last view of a conversation with all of them."""
    history, strategy = conversation(outputs), started(spec)
    *_, last = replay_strategy(history, strategy, budget(history, outputs, share))
    copies = {message.id: message for message in last.view.messages} if last.view else {}
    tallies = []
    for at, output in enumerate(outputs):
        copy = copies.get(f"r{at}")
        named = RECALL.search(copy.content) if copy and "recall" in strategy.tools else None
        tallies.append(judged(output, copy, opened(history, named[1]) if named else ""))
    return tallies


def excerpted(text: str, size: int) -> str:
    """The most informative part of a text, in about `size` characters."""
    return make_excerpt(text, size, '; recall(id="r") shows all')


def at_most(share: float, output: Output, cut: Cut = excerpted) -> Tally:
    """The facts in the largest excerpt (or other cut) with at most this share of the tokens of its result."""
    most = share * tokens(output.text)
    fit = bisect_right(range(len(output.text) + 1), most, key=lambda size: tokens(cut(output.text, size)))
    copy = Message("r", "tool", cut(output.text, fit - 1)) if fit else None
    return judged(output, copy, output.text if copy and RECALL.search(copy.content) else "")


def random_lines(text: str, size: int) -> str:
    """Random lines in their original order, at most `size` characters."""
    lines = text.splitlines(keepends=True)
    drawn = Random(text).sample(range(len(lines)), len(lines))
    ends = accumulate(len(lines[place]) for place in drawn)
    kept = {place for place, end in zip(drawn, ends, strict=True) if end <= size}
    return "".join(line for place, line in enumerate(lines) if place in kept)


def head_and_tail(text: str, size: int) -> str:
    """The start and the end, half of `size` characters each."""
    return f"{text[: size // 2]}\n{text[len(text) - size // 2 :]}"


def started(spec: str) -> Strategy:
    return make_strategy(spec, SideModel(Scripted([], COUNTER)))


def budget(history: Sequence[Message], outputs: Iterable[Output], share: float) -> Budget:
    """The tokens of the conversation without the results, plus this share of their tokens."""
    results = sum(tokens(output.text) for output in outputs)
    return Budget(sum(map(COUNTER.count, history)) - results + round(share * results), COUNTER)


def tokens(text: str) -> int:
    """The tokens of a result."""
    return COUNTER.count(Message("r", "tool", text))


def opened(history: Sequence[Message], id_: str) -> str:
    """All pages that the tool `recall` returns for an id; "" if there are none."""
    (recall,) = recall_tools(lambda: history)
    pages: list[str] = []
    for page in count(1):
        try:
            pages.append(recall.run({"id": id_, "page": page}))
        except ToolError:
            return "\n".join(pages)
    raise AssertionError


def beside(compressed: Compressed, original: Original, outputs: Sequence[Output]) -> Iterator[tuple[Tally, Tally]]:
    """The facts that a rival keeps of each output of a conversation, and those that ours keeps in as many tokens."""
    back = {one.get("tool_call_id"): one["content"] for one in compressed([*map(spoken, conversation(outputs))])}
    for at, output in enumerate(outputs):
        text = back.get(f"c{at}")
        theirs = judged(output, None if text is None else Message("r", "tool", text), original(text or "") or "")
        yield theirs, at_most(theirs.tokens / theirs.of_tokens, output)


def spoken(message: Message) -> dict[str, Any]:
    """The message in the format of OpenAI's chat completions."""
    said: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        said["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.calls
        ]
    return said | ({"tool_call_id": message.call_id, "name": message.name} if message.call_id else {})


# --- tables -----------------------------------------------------------------------------------------------------------

Rows = dict[str, Tally]
EQUAL_SIZE = "At equal size"
NOT_KINDS = 3
"""The number of rows before the kinds: all outputs, and the two naive baselines."""


def measured(sets: Sequence[Sequence[Output]]) -> dict[str, Rows]:
    """The rows of each table, by its title."""
    alone, together, equal = Rows(), Rows(), Rows()
    everything = [output for outputs in sets for output in outputs]
    for share, spec in product(SHARES, SPECS):
        row = f"{share:.0%} {spec}"
        alone[row] = total(tally for output in everything for tally in under(spec, [output], share))
        together[row] = total(tally for outputs in sets for tally in under(spec, outputs, share))
    kinds = sorted({output.kind for output in everything}, key=str.lower)
    for share in SHARES:
        of_kind = {kind: total(at_most(share, one) for one in everything if one.kind == kind) for kind in kinds}
        equal[f"{share:.0%} all"] = total(of_kind.values())
        for cut in (random_lines, head_and_tail):
            name = cut.__name__.replace("_", " ")
            equal[f"{share:.0%} {name}"] = total(at_most(share, one, cut) for one in everything)
        equal |= {f"{share:.0%} {kind}": tally for kind, tally in of_kind.items()}
    return {"Alone": alone, "Together": together, EQUAL_SIZE: equal}


def rivalled(name: str, compressed: Compressed, original: Original, sets: Sequence[Sequence[Output]]) -> Rows:
    """The rows of a rival, each followed by ours with as many tokens."""
    rows = Rows()
    ways = {"alone": [[output] for outputs in sets for output in outputs], "together": sets}
    for way, conversations in ways.items():
        pairs = [pair for outputs in conversations for pair in beside(compressed, original, outputs)]
        shortened = [pair for pair in pairs if pair[0].tokens < 0.95 * pair[0].of_tokens]
        for which, found in ((way, pairs), (f"{way}, the {len(shortened)} shortened", shortened)):
            rows[f"{name}, {which}"] = total(theirs for theirs, _ in found)
            rows[f"compress, in as many tokens as {name} {which}"] = total(ours for _, ours in found)
    return rows


def total(tallies: Iterable[Tally]) -> Tally:
    return sum(tallies, Tally())


def table(title: str, rows: Mapping[str, Tally]) -> str:
    """A table in Markdown."""
    head = f"## {title}\n\n| strategy | marked | plain | with recall | dropped | tokens |\n|---|--:|--:|--:|--:|--:|\n"
    return head + "\n".join(f"| {name} | {' | '.join(cells(tally))} |" for name, tally in rows.items()) + "\n"


def cells(tally: Tally) -> list[str]:
    facts = tally.of_marked + tally.of_plain
    shares = [(tally.marked, tally.of_marked), (tally.plain, tally.of_plain), (tally.recalled, facts)]
    return [*map(percent, shares), str(tally.dropped), percent((tally.tokens, tally.of_tokens))]


def percent(share: tuple[int, int]) -> str:
    return f"{share[0] / share[1]:.1%}" if share[1] else "-"


def at_equal_size(rows: Mapping[str, Tally]) -> str:
    """A line for all outputs and for each kind: marked and plain facts in view, and tokens, at each share."""
    names = [*dict.fromkeys(name.split(" ", 1)[1] for name in rows)]
    heads = "".join(f" {share:.0%} marked | {share:.0%} plain | {share:.0%} tokens |" for share in SHARES)
    lines = []
    for title, shown in ((EQUAL_SIZE, names[:NOT_KINDS]), ("By kind", names[NOT_KINDS:])):
        lines += [f"## {title}", "", f"| outputs |{heads}", "|---|" + "--:|" * 3 * len(SHARES)]
        for name in shown:
            at = [rows[f"{share:.0%} {name}"] for share in SHARES]
            told = [cell for tally in at for cell in (*cells(tally)[:2], cells(tally)[4])]
            lines.append(f"| {name} | {' | '.join(told)} |")
        lines.append("")
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> int:
    """Print the tables; 1 if the rival is not installed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", nargs="+", type=int, default=[0, 1, 2], metavar="N")
    parser.add_argument("--set", choices=KEPT, help="a stored set, for seeds 0, 1 and 2")
    parser.add_argument("--rival", metavar="NAME", help="a module of benchmarks/rivals with `compressed(messages)`")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    rival: Any = None
    if given.rival:
        try:
            rival = import_module(f"benchmarks.rivals.{given.rival}")
        except ModuleNotFoundError as error:
            print(f"without {given.rival}: {error}; to have it: pip install -e '.[peers]'", file=sys.stderr)
            return 1
    sets = [kept(given.set, seed) if given.set else made.outputs(seed) for seed in given.seed]
    tables = measured(sets)
    if rival:
        original = getattr(rival, "original", lambda text: None)
        tables[f"Beside {given.rival}"] = rivalled(given.rival, rival.compressed, original, sets)
    if given.json:
        print(json.dumps({title: {name: asdict(row) for name, row in rows.items()} for title, rows in tables.items()}))
        return 0
    everything = [output for one in sets for output in one]
    facts, size = sum(len(one.facts) for one in everything), sum(tokens(one.text) for one in everything)
    print(f"{len(everything)} outputs, {facts:,} facts, {size:,} tokens\n")
    for title, rows in tables.items():
        print(at_equal_size(rows) if title == EQUAL_SIZE else table(title, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
