"""Simulate a model server with continuous batching, chunked prefill and a prefix cache, iteration by iteration.

Equal iterations in a row are one event: a run has as many events as its batch has changes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING

from thimble.agent.errors import UsageError
from thimble.lab.comem.hosts import Host

if TYPE_CHECKING:
    from simpy import Environment, Event


@dataclass(frozen=True, slots=True)
class PromptRequest:
    """A prompt and its reply, in tokens. `shared`: the common prefix with the owner's last prompt and reply."""

    owner: int
    prompt: int
    shared: int
    output: int

    @property
    def size(self) -> int:
        """The tokens of KV cache at the end of the reply."""
        return self.prompt + self.output


@dataclass(slots=True)
class Counts:
    """The work of a server, in tokens. Each prompt token was cached, fetched from CPU memory, or prefilled."""

    requests: int = 0
    cached: int = 0
    fetched: int = 0
    prefilled: int = 0
    decoded: int = 0


@dataclass(slots=True)
class _Prefill:
    request: PromptRequest
    done: Event
    left: int


@dataclass(slots=True)
class SimulatedServer:
    """Serves requests, first come first served.

    A request is admitted when its prompt and reply fit next to the running ones, so none is ever preempted. Its KV
    cache stays until the space is needed: the least recently used is evicted first, its end before its start.
    With `offload`, CPU memory has a copy of everything, and a link brings back the tokens that a prompt needs.
    """

    env: Environment
    host: Host
    offload: bool
    counts: Counts = field(default_factory=Counts)
    _waiting: deque[tuple[PromptRequest, Event]] = field(default_factory=deque)
    _prefilling: deque[_Prefill] = field(default_factory=deque)
    _decoding: list[tuple[int, int, PromptRequest, Event]] = field(default_factory=list)
    _number: count[int] = field(default_factory=count)
    _iterations: int = 0
    _context: int = 0
    _reserved: int = 0
    _idle: dict[int, int] = field(default_factory=dict)
    _copied: dict[int, int] = field(default_factory=dict)
    _link_free: float = 0.0
    _changed: Event = field(init=False)

    def __post_init__(self) -> None:
        self._changed = self.env.event()
        self.env.process(self._work())

    def ask(self, request: PromptRequest) -> Event:
        """Queue a request; the event fires at the end of its reply.

        Raises:
            UsageError: prompt and reply do not fit, even alone.
        """
        if request.size > self.host.room:
            what = f"{self.host.model.name} on {self.host.gpus} {self.host.gpu.name} has room for "
            raise UsageError(f"{what}{max(0, self.host.room):,} tokens, not for {request.size:,}", "use more GPUs")
        done = self.env.event()
        self._waiting.append((request, done))
        self._wake()
        return done

    def _wake(self) -> None:
        if not self._changed.triggered:
            self._changed.succeed()

    def _work(self) -> Generator[Event, object, None]:
        while True:
            self._admit()
            if self._changed.triggered:
                self._changed = self.env.event()
            if not self._prefilling and not self._decoding:
                yield self._changed
                continue
            chunk, many = self._alike()
            ends = self._ends(chunk)
            start = self.env.now
            yield self.env.timeout(ends(many)) | self._changed if many > 1 else self.env.timeout(ends(1))
            passed = self.env.now - start
            if many > 1 and passed < ends(many):  # a request arrived: it joins after the running iteration
                many = bisect_left(range(many), passed, key=ends)
                yield self.env.timeout(max(0.0, ends(many) - passed))
            self._advance(chunk, many)

    def _admit(self) -> None:
        """Admit the requests that fit, in order; cached tokens of a prompt are not prefilled."""
        while self._waiting and self._reserved + self._waiting[0][0].size <= self.host.room:
            request, done = self._waiting.popleft()
            held = self._idle.pop(request.owner, 0)
            self._reserved += request.size
            self._evict(self._reserved + sum(self._idle.values()) - self.host.room)
            shared = min(request.shared, request.prompt - 1)  # the last token is always computed: it starts the reply
            cached = min(shared, held)
            fetched = min(shared, self._copied[request.owner]) - cached if self.offload and shared else 0
            self.counts.requests += 1
            self.counts.cached += cached
            self.counts.fetched += fetched
            prefill = _Prefill(request, done, request.prompt - cached - fetched)
            if fetched:
                self.env.process(self._fetch(prefill, fetched))
            else:
                self._prefilling.append(prefill)

    def _evict(self, tokens: int) -> None:
        for owner in list(self._idle):
            if tokens <= 0:
                return
            gone = min(tokens, self._idle[owner])
            tokens -= gone
            self._idle[owner] -= gone
            if not self._idle[owner]:
                del self._idle[owner]

    def _fetch(self, prefill: _Prefill, tokens: int) -> Generator[Event, object, None]:
        """Fetch tokens over the link, one request after the other, while the GPUs serve other requests."""
        self._link_free = max(self._link_free, self.env.now) + tokens * self.host.fetch
        yield self.env.timeout(self._link_free - self.env.now)
        self._prefilling.append(prefill)
        self._wake()

    def _alike(self) -> tuple[int, int]:
        """The prompt tokens of the next iteration, and the number of equal iterations in a row."""
        room = max(1, self.host.gpu.chunk - len(self._decoding))
        ends = [ending - self._iterations for ending, *_ in self._decoding[:1]]
        if self._prefilling:
            ends.append(max(1, self._prefilling[0].left // room))
        return min(room, sum(prefill.left for prefill in self._prefilling)), min(ends)

    def _ends(self, chunk: int) -> Callable[[int], float]:
        """The seconds of n equal iterations: each reads the KV cache of its replies, which grow by a token each."""
        replies, context, attention = len(self._decoding), self._context, self.host.attention
        each = self.host.iteration(replies + chunk) + (context - replies / 2) * attention
        more = replies / 2 * attention
        return lambda many: many * (each + many * more)

    def _advance(self, chunk: int, many: int) -> None:
        self._iterations += many
        self._context += len(self._decoding) * many
        self.counts.decoded += len(self._decoding) * many
        left = chunk * many
        self.counts.prefilled += left
        while left:
            head = self._prefilling[0]
            taken = min(left, head.left)
            left -= taken
            head.left -= taken
            if not head.left:
                self._prefilling.popleft()
                self._context += head.request.prompt
                ending = self._iterations + head.request.output
                heappush(self._decoding, (ending, next(self._number), head.request, head.done))
        while self._decoding and self._decoding[0][0] == self._iterations:
            _, _, request, done = heappop(self._decoding)
            self._context -= request.size
            self._reserved -= request.size
            self._idle[request.owner] = self._copied[request.owner] = request.size
            done.succeed()
