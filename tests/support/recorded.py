"""What real servers sent, as `tests/servers/record.py` kept it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).with_name("recorded")


@dataclass(frozen=True)
class Exchange:
    """A request, and what a server answered."""

    method: str
    path: str
    status: int
    kind: str
    body: bytes


def recorded(server: str, name: str) -> Exchange:
    """The exchange of this name with "vllm" or "llama"."""
    request, head, body = (FOLDER / server / f"{name}.http").read_bytes().split(b"\n\n", 2)
    method, path = request.decode().split("\n")[0].split(" ")
    status, kind = head.decode().split("\n")
    return Exchange(method, path, int(status.split(" ")[1]), kind.removeprefix("content-type: "), body)
