"""Attribute the tokens of recorded sessions: the parts of their prompts, the calls that sent them, and their cost."""

from __future__ import annotations

import argparse
import re
from collections import Counter as Tally
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from thimble.agent.budget import UNLIMITED, Counter
from thimble.agent.messages import Message, common_prefix
from thimble.commands.replay import AS_RECORDED
from thimble.commands.trajectories import Trajectory, read_trajectories
from thimble.lab.experiment import Experiment, Row, Rows, group_rows, run_experiment
from thimble.lab.experiment_flags import add_costs, price_cards
from thimble.lab.findings import Findings, ResultTable
from thimble.lab.replay.calibration import measure_calibration
from thimble.lab.replay.command import ReplayCase, replay_cases
from thimble.lab.replay.recorded_replay import counter_of
from thimble.session.figures import format_share, format_short

CACHED_PRICE = "0.1"
SHOWN = {"kind": 9, "tool": 3, "file": 3, "schema": 2, "repeat": 1, "break": 4}
"""The maximum rows of each kind in the table."""
COLUMNS = ("token_calls", "tokens", "cost", "parts")
KINDS = {"system": "system", "user": "task", "assistant": "words", "tool": "result"}
PATH = re.compile(r'(?:path|file\w*)": *"([^"]+)|([\w.~-]*/[\w./-]*\w\.\w+)')
"""Matches a path in the arguments of a call."""
LOST = 0.5
"""If a provider reports less than this share of the previous prompt as cached, its cache was lost."""
TOLD = (
    "calls: prompts that had the part. cost: of prompts, if a cached token costs {:g}. "
    "break: a prompt that does not start with the previous one, and the tokens it computed again."
)
Piece = tuple[int, int, int, Mapping[str, str]]
"""Tokens, the number of calls that sent them, how many of these computed them, and labels such as `kind` or `tool`."""


class Blame(Experiment[ReplayCase]):
    """Show what uses the tokens of recorded sessions, by kind, tool, file, schema and repeated call."""

    epilog = "FILE: see thimble lab replay --help. docs/how-to/replay-recorded-runs.md explains the table."
    verb = "blamed"

    def add_flags(self, parser: argparse.ArgumentParser) -> None:
        """Add the files, and the flags for counting and pricing tokens."""
        parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="recorded sessions")
        add_costs(parser, CACHED_PRICE)

    def cases(self, options: argparse.Namespace) -> list[ReplayCase]:
        """A case for each session."""
        runs = read_trajectories(options.files, options.observations, options.keep_secrets)
        return replay_cases(runs, [AS_RECORDED], options, [UNLIMITED], cached=CACHED_PRICE)

    def measure(self, case: ReplayCase) -> list[Row]:
        """A row of sums for each label; `cost` is the cost of prompts, in computed tokens."""
        found: dict[tuple[str, str], Tally[str]] = {}
        for tokens, calls, computed, labels in pieces(case.run, counter_of(case.setting.model)):
            sent = tokens * calls
            cost = round(case.setting.prices.prompt(sent, sent - tokens * computed))
            for label in labels.items():
                found.setdefault(label, Tally()).update(parts=1, tokens=tokens, token_calls=sent, cost=cost)
        return [{"run": case.run.name, "by": label, "name": name, **sums} for (label, name), sums in found.items()]

    def report(self, rows: Rows, options: argparse.Namespace) -> Findings:
        """The largest rows of each kind."""
        whole, cells = sum(row["token_calls"] for row in rows if row["by"] == "kind"), []
        for label, most in SHOWN.items():
            named = group_rows([row for row in rows if row["by"] == label], "name").items()
            sums = [(*(sum(row[column] for row in of) for column in COLUMNS), name) for (name,), of in named]
            for sent, tokens, cost, parts, name in sorted(sums, reverse=True)[:most]:
                shown = name if len(name) <= 28 else f"{name[:7]}…{name[-20:]}"
                calls = f"{sent / tokens:.0f}" if sent else f"{parts} ×"
                cells.append(
                    [
                        label,
                        shown,
                        format_short(tokens),
                        calls,
                        format_short(sent),
                        format_share(sent, whole),
                        format_short(cost),
                    ]
                )
        columns = ("by", "", "tokens", "calls", "token-calls", "share", "cost")
        told = TOLD.format(price_cards(options.price, CACHED_PRICE)[0].cached)
        largest = ResultTable("The largest", columns, cells, told, texts=2)
        return Findings("What eats the tokens of recorded sessions", [], [largest], rows)


def pieces(run: Trajectory, counter: Counter) -> Iterator[Piece]:
    """The parts of a run's prompts, and the breaks: prompts that do not start with the previous one."""
    count, last, before, sizes = counter.count, 0, list[Message](), list[tuple[int, int]]()
    sent, computed, held = Tally[str](), Tally[str](), dict[str, Message]()
    own = {message.id: message for message in run.messages}
    for at, _, messages in run.prompts():
        kept = common_prefix(before, messages)
        new = {message.id: message for message in messages[kept:]}
        usage = run.call(at).reported
        if kept < len(before):
            again = new.keys() & held.keys()
            written = {message.role for id_, message in new.items() if message not in (own.get(id_), held.get(id_))}
            edit = "unknown" if again else "rewind"
            if written:
                edit = "cleared result" if written == {"tool"} else "compaction"
            yield sum(count(new[id_]) for id_ in again), 0, 0, {"break": edit}
        elif usage.cache_read is not None and usage.cache_read < LOST * last:
            yield last - usage.cache_read, 0, 0, {"break": "unknown, as reported"}
        sent.update(message.id for message in messages)
        computed.update(new.keys())
        held |= new
        cached = counter.overhead(run.tools) + sum(map(count, messages[:kept]))
        sizes.append((cached + sum(map(count, new.values())), cached))
        before, last = messages, usage.prompt or 0
    made, asked = dict[str, dict[str, str]](), set[str]()
    for id_, message in held.items():
        kind = KINDS[message.role] if id_ in own or message.role == "tool" else "summary"
        parts = [
            (message.content, {"kind": kind, **made.get(message.call_id, {})}),
            (message.thinking, {"kind": "thinking"}),
        ]
        for call in message.calls:
            path, key = PATH.search(call.arguments), f"{call.name} {call.arguments}"
            what = {"tool": call.name, **({"file": path[1] or path[2]} if path else {})}
            parts.append((call.arguments, {"kind": "call", **what}))
            made[call.id] = what | ({"repeat": key} if key in asked else {})
            asked.add(key)
        whole = sum(len(text) for text, _ in parts) or 1
        for text, labels in parts:
            if text:
                yield count(message) * len(text) // whole, sent[id_], computed[id_], labels
    for schema in run.tools:
        name = str(schema.get("function", schema).get("name"))
        yield counter.overhead([schema]) - counter.overhead(()), run.turns, 1, {"kind": "schema", "schema": name}
    found = measure_calibration(run, sizes)
    if found["unseen_tokens"] > 0 < found["token_ratio"]:
        yield round(found["unseen_tokens"] / found["token_ratio"]), run.turns, 1, {"kind": "not in the file"}


main = partial(run_experiment, Blame())
