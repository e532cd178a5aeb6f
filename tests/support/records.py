# ruff: noqa: T201
"""Lists of records in JSON: issues, hits of a search, rows of numbers; and five as tools and servers print them.

python -m tests.support.records              # their tokens as JSON and as tables, as docs/results/tidy.md shows them
python -m tests.support.records --json       # the lists, by name
python -m tests.support.records TOON.json    # the tokens beside those of another form: texts, by name
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thimble.agent.messages import Message
from thimble.models.counting.vocabulary import counter_for
from thimble.strategies.compression.json_table import find_json

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

API = "https://api.example.org"


def _user(n: int) -> dict[str, Any]:
    login = ("mira-k", "tobi", "okonkwo", "dependabot[bot]")[n % 4]
    url = f"{API}/users/{login}"
    return {
        "login": login,
        "id": 48_211 + 977 * (n % 4),
        "avatar_url": f"https://avatars.example.org/u/{48_211 + 977 * (n % 4)}?v=4",
        "url": url,
        "html_url": f"https://example.org/{login}",
        "followers_url": f"{url}/followers",
        "gists_url": f"{url}/gists{{/gist_id}}",
        "repos_url": f"{url}/repos",
        "type": "Bot" if n % 4 == 3 else "User",
        "site_admin": False,
    }


def _issue(n: int) -> dict[str, Any]:
    number = 2_481 - 3 * n
    url, label = f"{API}/repos/acme/widget/issues/{number}", ("bug", "docs", "performance")[n % 3]
    title = (
        "Crash when the config file is empty",
        "Docs: the example of `retry` does not run",
        "Parsing 10 MB takes a minute",
        "Bump urllib from 2.1.0 to 2.2.1",
        "Windows: a path with a space is cut",
    )[n % 5]
    return {
        "url": url,
        "repository_url": f"{API}/repos/acme/widget",
        "labels_url": f"{url}/labels{{/name}}",
        "comments_url": f"{url}/comments",
        "html_url": f"https://example.org/acme/widget/issues/{number}",
        "id": 1_904_331_200 - 71_993 * n,
        "number": number,
        "title": title,
        "user": _user(n),
        "labels": [{"id": 700 + n % 3, "name": label, "color": "d73a4a", "default": n % 3 == 0}] * (n % 4 != 1),
        "state": "open",
        "locked": False,
        "assignee": _user(n + 1) if n % 4 == 0 else None,
        "comments": (5 * n) % 13,
        "created_at": f"2026-0{1 + n % 6}-{10 + n}T0{n % 9}:{17 + n}:{59 - n}Z",
        "closed_at": None,
        "body": f"### What happened\r\n\r\n{title}. Seen with version 3.{n % 4}.1 | Python 3.12.\r\n",
        "reactions": {"url": f"{url}/reactions", "total_count": n % 3, "+1": n % 3, "-1": 0},
    }


def _hit(n: int) -> dict[str, Any]:
    path = f"src/{('core', 'http', 'cli')[n % 3]}/{('retry', 'session', 'cache', 'table')[n % 4]}_{n}.py"
    return {
        "name": path.rpartition("/")[2],
        "path": path,
        "sha": f"{n * 7919 % 65_521:04x}{n * 104_729 % 16_777_213:06x}9f3c",
        "url": f"{API}/repositories/1300192/contents/{path}?ref=main",
        "repository": {"id": 1_300_192, "full_name": "acme/widget", "private": False},
        "score": 1.0,
        "text_matches": [
            {"property": "content", "fragment": f"def retry_{n}(times: int) -> None:", "matches": [{"indices": [4, 9]}]}
        ],
    }


def _pod(n: int) -> dict[str, Any]:
    app, node = ("web", "worker", "redis")[n % 3], f"node-{1 + n % 2}"
    name = f"{app}-6d4b75cb6d-{n * 7919 % 99_991:05d}"
    started = f"2026-05-0{1 + n % 3}T08:1{n % 10}:0{n % 7}Z"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"{n * 7919:08x}-5a1f-4c0e-9d2b-{n * 104_729:012x}",
            "creationTimestamp": started,
            "labels": {"app": app, "pod-template-hash": "6d4b75cb6d"},
        },
        "spec": {
            "nodeName": node,
            "restartPolicy": "Always",
            "containers": [
                {
                    "name": app,
                    "image": f"registry.example.org/acme/{app}:3.{n % 3}.1",
                    "resources": {"limits": {"cpu": "500m", "memory": "256Mi"}},
                }
            ],
            "tolerations": [
                {
                    "key": f"node.kubernetes.io/{key}",
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": 300,
                }
                for key in ("not-ready", "unreachable")
            ],
        },
        "status": {
            "phase": "Running" if n % 5 else "Pending",
            "podIP": f"10.244.{n % 2}.{17 + n}",
            "conditions": [
                {"type": kind, "status": "True" if n % 5 else "False", "lastTransitionTime": started}
                for kind in ("Ready", "PodScheduled")
            ],
        },
    }


def _advisory(n: int, name: str) -> dict[str, Any]:
    source = 1_088_000 + 91 * n
    via = {
        "source": source,
        "name": name,
        "title": f"{('Prototype pollution', 'ReDoS', 'Path traversal')[n % 3]} in {name}",
        "url": f"https://example.org/advisories/GHSA-{source:x}-q8",
        "severity": "high",
        "range": f"<{n % 4}.17.21",
    }
    return {
        "name": name,
        "severity": "high",
        "isDirect": n % 4 == 0,
        "via": [via] if n % 3 else ["lodash"],
        "effects": ["webpack"][: n % 2],
        "range": f"<{n % 4}.17.21",
        "nodes": [f"node_modules/{name}"],
        "fixAvailable": True if n % 2 else {"name": "webpack", "version": "5.91.0", "isSemVerMajor": True},
    }


PACKAGES = ("lodash", "minimist", "semver", "braces", "micromatch", "ws", "tar", "postcss", "json5", "loader-utils")
PRINTED: dict[str, Any] = {
    "issues of a forge": [_issue(n) for n in range(20)],
    "hits of a code search": {
        "total_count": 15,
        "incomplete_results": False,
        "items": [_hit(n) for n in range(15)],
    },
    "kubectl get pods": {"apiVersion": "v1", "items": [_pod(n) for n in range(12)], "kind": "List", "metadata": {}},
    "pip list": [{"name": name, "version": f"{n}.{n * 7 % 11}.{n * 5 % 7}"} for n, name in enumerate(PACKAGES * 2)],
    "npm audit": {
        "auditReportVersion": 2,
        "vulnerabilities": {name: _advisory(n, name) for n, name in enumerate(PACKAGES)},
        "metadata": {"vulnerabilities": {"info": 0, "low": 0, "moderate": 0, "high": 12, "critical": 0, "total": 12}},
    },
}
"""In the shapes of GitHub's REST API, kubectl, pip and npm; every name and number is made up."""


def table(others: Mapping[str, str] | None = None) -> str:
    """Tokens of each list, in Markdown; `others` is its text in another form."""
    counter = counter_for("qwen2.5:7b")
    columns = ["indented", "one line", "minified", *["TOON"] * bool(others), "table"]
    lines = [f"| list | {' | '.join(columns)} | of indented | of one line |", "|---|" + "--:|" * (len(columns) + 2)]
    for name, records in {**RECORDS, **PRINTED}.items():
        indented, line = json.dumps(records, indent=2), json.dumps(records)
        it = find_json(indented)
        assert it
        assert it.table
        texts = [indented, line, it.minified, *([others[name]] if others else []), it.table]
        sizes = [counter.count(Message("m", "tool", text)) for text in texts]
        shares = [f"{sizes[-1] / sizes[at]:.0%}" for at in (0, 1)]
        lines.append(f"| {name} | {' | '.join([*(f'{size:,}' for size in sizes), *shares])} |")
    return "\n".join(lines)


if __name__ == "__main__":
    asked = sys.argv[1:]
    if asked == ["--json"]:
        print(json.dumps({**RECORDS, **PRINTED}))
    else:
        print(table(json.loads(Path(asked[0]).read_text()) if asked else None))
