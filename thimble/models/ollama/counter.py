"""Counting the tokens of a prompt like an Ollama server, which has no request for that.

The server reports the vocabulary of a model (`/api/show` with `verbose`), and the text of a prompt (the undocumented
field `_debug_render_only` of a chat request: tried, never relied on). Counting never loads a model: while it is not
loaded, counts are estimates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from thimble.agent.errors import ModelError
from thimble.agent.messages import Message, Schema
from thimble.models.counting.byte_pairs import BytePairs, byte_pairs
from thimble.models.counting.message_counter import MessageCounter
from thimble.models.counting.prompt_counter import SYSTEM, USER, PromptCounter, Refused, Tokenizer, count_plausible
from thimble.models.counting.vocabulary import counter_for
from thimble.models.ollama.server import SHOW, OllamaServer

PROMPT_CHARACTERS = 4_000_000
"""A longer rendering of a prompt is rejected."""


Render = Callable[[Sequence[Message], Sequence[Schema], int], str | None]
"""A prompt as the model reads it, with a context of this many tokens; None if the server does not report it."""


class OllamaCounter(PromptCounter):
    """Counts with the vocabulary and the template that the server reports; by an estimate while it does not.

    The usage of each reply checks the counts. After a difference that a cut cannot explain, counts are estimates.
    """

    def __init__(self, server: OllamaServer, model: str, render: Render) -> None:
        super().__init__(counter_for(model))
        self._server, self._model, self._render = server, model, render
        self._vocabulary: BytePairs | None = None
        self._differs = False
        self._guessed = False
        self._doubt = ""

    def find_tokenizer(self) -> Tokenizer:
        """The server's rendering and its vocabulary, tried with a short prompt."""
        if not self._vocabulary:
            told = self._server.ask(SHOW, {"model": self._model, "verbose": True}, self._model)
            facts = told.get("model_info")
            self._vocabulary = byte_pairs(facts) if isinstance(facts, Mapping) else None
        if not self._vocabulary:
            raise Refused
        found = _Rendered(self._server, self._model, self._render, self._vocabulary)
        count_plausible(found, (SYSTEM, USER))
        return found

    def __deepcopy__(self, memo: object) -> OllamaCounter:
        return self

    @property
    def exact(self) -> bool:  # type: ignore[override]
        """Whether the vocabulary is known, and the usage of replies agrees with it."""
        return not self._differs and (self.tokenizer is not None or self._estimate.exact)

    def count(self, message: Message) -> int:
        """Tokens of a message in a prompt, its role markers included."""
        tokens = super().count(message)
        self._guessed = self._guessed or self.tokenizer is None
        return tokens

    def calibrate(self, counted: int, reported: int) -> bool:
        """Compare with the number of tokens that the server read, and learn from a difference."""
        guessed, self._guessed = self._guessed or self.tokenizer is None, False
        self.begin()
        if guessed:
            return self._estimate.calibrate(counted, reported)
        whole = super().calibrate(counted, reported)
        if whole and counted != reported and not self._differs:
            self._differs = True
            self._doubt = (
                f"the server read {reported:,} tokens, the vocabulary of {self._model} counts {counted:,}: "
                "counts are estimates (~) from now on"
            )
        return whole

    def doubt(self) -> str:
        """A line for the user, once after a reply has shown that the counts are not exact; else ""."""
        said, self._doubt = self._doubt, ""
        return said

    @property
    def learnt(self) -> Any:
        """The state of `calibrate`, to be restored; it changes with the way of counting."""
        return *super().learnt, self._differs, self.tokenizer is not None

    @learnt.setter
    def learnt(self, learnt: Any) -> None:
        own, self._estimate.learnt, differs, _ = learnt
        MessageCounter.learnt.__set__(self, own)  # type: ignore[attr-defined]
        self._differs = bool(differs)


class _Rendered(NamedTuple):
    """Counts the prompts that the server renders, with the vocabulary that it reports."""

    server: OllamaServer
    model: str
    render: Render
    vocabulary: BytePairs

    def prompt(self, messages: Sequence[Message], tools: Sequence[Schema] = ()) -> int:
        """Tokens of a whole prompt."""
        return self.vocabulary.begin + self.text(self.rendered(messages, tools))

    def text(self, text: str) -> int:
        """Tokens of a text."""
        return self.vocabulary.tokens(text)

    def rendered(self, messages: Sequence[Message], tools: Sequence[Schema] = ()) -> str:
        """A whole prompt as the model reads it, if the server has it loaded. Raises Refused, or ModelError."""
        context = self.server.loaded(self.model)
        if not context:
            raise ModelError(f"{self.model} is not loaded")
        try:
            prompt = self.render(messages, tools, context)
        except ModelError as error:
            if self.server.answers():
                raise Refused from error
            raise
        if prompt is None or len(prompt) > PROMPT_CHARACTERS:
            raise Refused
        return prompt
