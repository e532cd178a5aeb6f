# ruff: noqa: T201
"""Three lists of records, as servers return them in JSON: issues, hits of a search, rows of numbers.

python -m tests.support.records    # their tokens as JSON and as tables, as docs/results/tidy.md shows them
"""

from __future__ import annotations

import json
from typing import Any

from agent.messages import Message
from models.counting.choose import counter_for
from strategies.json_table import found

RECORDS: dict[str, list[dict[str, Any]]] = {
    "60 issues": [
        {
            "number": 1_000 + 7 * n,
            "title": f"Cache {n} fails after an update of the server",
            "state": "open" if n % 3 else "closed",
            "user": {"login": f"ann{n % 5}", "id": 4_000 + n},
            "labels": ["bug", "perf"][: n % 3],
            "comments": n % 30,
            "created_at": f"2025-03-{1 + n % 28:02}T10:20:00Z",
            "locked": False,
            "assignee": None,
        }
        for n in range(60)
    ],
    "40 search hits": [
        {
            "file": f"src/part{n}/view.py",
            "score": round(9 / (n + 1), 4),
            "meta": {"repo": "thimble", "lang": "python", "owner": {"name": f"ann{n % 2}", "team": "core"}},
            "matches": [{"line": 7 * n + k, "text": f"cache {n} of {k} is not the one"} for k in range(1 + n % 3)],
        }
        for n in range(40)
    ],
    "30 rows of numbers": [
        {"step": n, "loss": round(3 / (n + 1), 5), "accuracy": round(1 - 1 / (n + 3), 4), "lr": 0.0003}
        for n in range(30)
    ],
}


def table() -> str:
    """Tokens of each list, in Markdown."""
    counter = counter_for("qwen2.5:7b")
    lines = [
        "| list | indented | one line | minified | table | of indented | of one line |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for name, records in RECORDS.items():
        indented, line = json.dumps(records, indent=2), json.dumps(records)
        it = found(indented)
        assert it
        assert it.table
        sizes = [counter.count(Message("m", "tool", text)) for text in (indented, line, it.minified, it.table)]
        shares = [f"{sizes[3] / sizes[at]:.0%}" for at in (0, 1)]
        lines.append(f"| {name} | {' | '.join([*(f'{size:,}' for size in sizes), *shares])} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
