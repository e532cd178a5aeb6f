"""Model calls outside the conversation, such as for a summary or a brief; the loop reports each as an event.

The agent waits for `ask`. `begin` asks the memory model in the background, one call at a time (CoMem, Algorithm 1).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from thimble.agent import background
from thimble.agent.background import BackgroundCall, Thread, Worker
from thimble.agent.budget import UNLIMITED, Budget, Counter
from thimble.agent.errors import Halted, ModelError, RepetitionDetected
from thimble.agent.events import SideBegan, SideCalled
from thimble.agent.messages import Message, Schema
from thimble.agent.prefix_cache import PrefixCache
from thimble.agent.protocols import Backend, Delta, Embedder, Expects, Usage
from thimble.agent.reply import Reply

TEMPERATURE = 0.0
"""Of each reply to a strategy, as in The Complexity Trap (Lindenbauer et al. 2025)."""


class SideModel:
    """Asks a backend outside the conversation. Neither question nor reply enters the history.

    `memory`: the backend that is asked in the background; None for the same one.
    `worker`: runs the background calls.
    `embedder`: makes vectors of texts; None if there are none.
    `summariser`: chooses the backend that is asked in place of this one; by default itself.
    `offered`, `examples`: the tools and worked examples of the agent's own call, if this is the same backend; see
    `remember_tools`.
    `prefixes`: the prompts that servers can still hold; the agent's own.
    """

    def __init__(
        self,
        backend: Backend,
        embedder: Embedder | None = None,
        memory: Backend | None = None,
        worker: Worker | None = None,
        summariser: Callable[[Backend], Backend] = lambda backend: backend,
    ) -> None:
        self.backend = backend
        self.embedder = embedder
        self.memory = memory
        self.worker = worker or Thread()
        self.summariser = summariser
        self.offered: Sequence[Schema] = ()
        self.examples: Sequence[Message] = ()
        self.prefixes = PrefixCache()
        self._calls: list[SideBegan | SideCalled] = []
        self._background_calls: list[tuple[BackgroundCall, SideCalled]] = []

    def __deepcopy__(self, memo: object) -> SideModel:
        """Itself: a copy of a strategy asks the same model."""
        return self

    def remember_tools(self, tools: Sequence[Schema], examples: Sequence[Message], backend: Backend) -> None:
        """Remember the tools and worked examples of the agent's own call, which goes to this backend."""
        self.offered, self.examples = (tools, examples) if self.backend is backend else ((), ())

    def context(self, budget: Budget, background: bool = False) -> Budget:
        """The budget of a prompt for `ask`, or in the `background` for `begin`: the model's own context."""
        asked = (self.memory or self.backend) if background else self.summariser(self.backend)
        longest = asked.longest_prompt()
        return replace(budget, limit=UNLIMITED if longest is None else longest)

    def ask(self, messages: Sequence[Message], purpose: str, max_tokens: int, *, behind: bool = False) -> str:
        """The text of the reply, of at most `max_tokens` tokens, at temperature 0.

        With `behind`, the messages begin like the agent's own prompt. A server that renders the tools at the start of a
        prompt then gets the same tools and examples; otherwise its prefix cache would miss from the first token. Not
        every server can forbid calls (Ollama has no tool_choice): a model that calls a tool in place of text is asked
        again without them, since it would do so each time.

        Raises:
            ModelError: the server cannot be used; the failed call is reported too.
        """
        asked = self.summariser(self.backend)
        backend = self.with_reports(asked, purpose)
        if behind:
            messages = self.prefixes.as_sent(asked.id, messages)
        prompts: list[tuple[Sequence[Message], Sequence[Schema]]] = [(messages, ())]
        if behind and self.offered and asked is self.backend and getattr(asked, "renders_tools", False):
            system = sum(message.role == "system" for message in messages[:1])
            prompts.insert(0, ([*messages[:system], *self.examples, *messages[system:]], self.offered))
        for prompt, tools in prompts:
            made = backend.stream(prompt, tools, max_tokens=max_tokens, temperature=TEMPERATURE, expects="text")
            reply = Reply()
            with closing(made) as stream:
                for delta in stream:
                    reply.add_delta(delta)
            if not reply.calls:
                break
        return reply.text

    def begin(self, messages: Sequence[Message], purpose: str, max_tokens: int) -> BackgroundCall:
        """Ask the memory model in the background, as `ask` does; the call has the reply once it has ended."""
        backend = self.memory or self.backend
        asked = _account_for_request(backend, purpose, messages, (), self.prefixes)

        def ask(reply: Reply) -> None:
            made = backend.stream(messages, (), max_tokens=max_tokens, temperature=TEMPERATURE, expects="text")
            with closing(made) as stream:
                for delta in stream:
                    reply.add_delta(delta)
                    background.raise_if_halted()
                    if reply.stopped_by:
                        raise RepetitionDetected

        errand = BackgroundCall(ask, self.worker)
        self._collect_ended()
        self._calls.append(SideBegan(purpose, asked.model, asked.prompt_tokens, asked.exact))
        self._background_calls.append((errand, asked))
        self.worker.start(errand)
        return errand

    def stop(self) -> None:
        """Stop the background calls. `drain_events` accounts for them."""
        for errand, _ in self._background_calls:
            if not errand.ended:
                errand.stop()

    def with_reports(self, backend: Backend, purpose: str) -> Backend:
        """The same backend, with every call reported here, failed ones too."""
        return _Reporting(backend, purpose, self._calls, self.prefixes)

    def drain_events(self) -> Iterator[SideBegan | SideCalled]:
        """The calls that have begun or ended since the last drain; each event is removed as it is yielded."""
        self._collect_ended()
        while self._calls:
            yield self._calls.pop(0)

    def _collect_ended(self) -> None:
        """Account for the background calls that have ended."""
        for errand, asked in [row for row in self._background_calls if row[0].ended]:
            self._background_calls.remove((errand, asked))
            errand.then()
            error = errand.error or (Halted().what if errand.stopped else "")
            called = _account_for_reply(asked, errand.reply, errand.began, errand.seconds, error)
            self._calls.append(replace(called, lag=errand.steps, held_seconds=errand.held_seconds))


def _account_for_request(
    backend: Backend, purpose: str, messages: Sequence[Message], tools: Sequence[Schema], prefixes: PrefixCache
) -> SideCalled:
    """The account of a call before its reply. The server caches its prompt from now on."""
    counter = backend.counter
    prompt = counter.overhead(tools) + sum(map(counter.count, messages))
    shared = prefixes.read(backend.id, tools, [*messages], counter)
    return SideCalled(purpose, prompt, counter.exact, Usage(), 0.0, model=backend.id, shared=shared)


def _account_for_reply(asked: SideCalled, reply: Reply, began: float, seconds: float, error: str) -> SideCalled:
    """The account of a call that has ended, with or without an error."""
    waited, first = min(seconds, reply.waited_seconds), reply.first_token_seconds
    told = replace(asked, usage=reply.usage, seconds=seconds, error=error, waited_seconds=waited)
    return replace(told, began=began, first_token_seconds=first)


@dataclass
class _Reporting(Backend):
    """A backend that adds an account of each call to a list."""

    backend: Backend
    purpose: str
    calls: list[SideBegan | SideCalled]
    prefixes: PrefixCache

    def __post_init__(self) -> None:
        self.name, self.model = self.backend.name, self.backend.model

    @property
    def counter(self) -> Counter:
        """The counter of the backend."""
        return self.backend.counter

    def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[Schema],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        expects: Expects = "turn",
    ) -> Generator[Delta, None, None]:
        """The backend's reply."""
        reply, error = Reply(), ""
        asked = _account_for_request(self.backend, self.purpose, messages, tools, self.prefixes)
        try:
            made = self.backend.stream(messages, tools, max_tokens=max_tokens, temperature=temperature, expects=expects)
            with closing(made) as deltas:
                for delta in deltas:
                    reply.add_delta(delta)
                    yield delta
                    if reply.stopped_by:
                        raise RepetitionDetected
        except ModelError as failure:
            error = failure.what
            raise
        finally:
            self.calls.append(_account_for_reply(asked, reply, reply.began, reply.seconds, error))
