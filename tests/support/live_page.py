"""What a viewer of the live page sees: the events of its stream, and the session that they add up to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx


class Viewer:
    """A viewer that reads the stream and puts the parts together, as the page does."""

    def __init__(self, url: str, place: str = "") -> None:
        self.url, self.place = url, place
        self.branch: dict[str, Any] = {}
        self.texts: list[dict[str, Any]] = []
        self.said: list[list[str]] = []
        self.votes: dict[str, Any] = {}
        self.kinds: list[str] = []
        self.lines: list[str] = []
        self.forget()

    def forget(self) -> None:
        self.texts, self.said = [], []
        self.branch = {"exchanges": [], "calls": [], "timeline": {"spans": []}}

    @contextmanager
    def reading(self) -> Iterator[Iterator[str]]:
        """The kinds of events as they come, each taken."""
        headers = {"Last-Event-ID": self.place} if self.place else {}
        with httpx.stream("GET", f"{self.url}events", headers=headers, timeout=20, trust_env=False) as answer:
            assert answer.headers["content-type"] == "text/event-stream"
            yield self._events(answer.iter_lines())

    def until(self, *wanted: str) -> Viewer:
        """Read until these kinds have come."""
        with self.reading() as events:
            missing = {*wanted, "place"}
            for kind in events:
                missing -= {kind}
                if kind == "place" and not missing:
                    break
                missing |= {"place"}
        assert missing <= {"place"}
        return self

    def answered(self, question: str) -> Viewer:
        """Read until this question is the last one, and answered."""
        while not self.branch["exchanges"] or not self._is_answered(question):
            self.until("part")
        return self

    def _is_answered(self, question: str) -> bool:
        last = self.branch["exchanges"][-1]
        return bool(last["question"] == question and last["ending"] != "unfinished")

    def _events(self, lines: Iterator[str]) -> Iterator[str]:
        kind = ""
        for line in lines:
            self.lines.append(line)
            name, _, value = line.partition(": ")
            if name == "event":
                kind = value
            elif name == "id":
                self.place = value
            elif name == "data":
                self._take(kind, json.loads(value))
                self.kinds.append(kind)
                yield kind

    def _take(self, kind: str, data: Any) -> None:
        if kind == "anew":
            self.forget()
        elif kind == "said":
            self.said += data
        elif kind == "votes":
            self.votes = data
        elif kind == "part":
            self.grow(data)

    def grow(self, part: dict[str, Any]) -> None:
        """Take what is new of the branch."""
        self.said = []
        _put(self.texts, *part["texts"])
        _put(self.branch["exchanges"], *part["exchanges"])
        first, calls = part["calls"]
        before = self.branch["calls"][first - 1] if first else {"was": [], "fates": "", "sent": []}
        for call in calls:
            before = {**call, **{name: grown(before[name], *call[name]) for name in ("was", "fates", "sent")}}
            _put(self.branch["calls"], first, [before])
            first += 1
        spans = grown(self.branch["timeline"]["spans"], *part["timeline"]["spans"])
        self.branch |= {"about": part["about"], "timeline": part["timeline"] | {"spans": spans}}


def _put(items: list[Any], first: int, new: list[Any]) -> None:
    items[first:] = new


def grown(before: Any, start: int, between: Any, end: int) -> Any:
    """A list or a text, told as the page has it."""
    return before[:start] + between + (before[len(before) - end :] if end else before[:0])
