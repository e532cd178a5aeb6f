"""Counting the tokens of a prompt as an Ollama server does, which has no request for that.

The server tells the vocabulary of a model (`/api/show` with `verbose`), and the text of a prompt (the field
`_debug_render_only` of a chat request, which is not documented: tried once, and never relied on). Both are kept on the
disk. Counting never loads a model: until the server has it loaded, what is not kept is estimated.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import cached_property
from hashlib import sha256
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

from agent.errors import ModelError
from agent.messages import Message, Schema
from models.counting.byte_pairs import PATTERNS, BytePairs, byte_pairs
from models.counting.choose import counter_for
from models.counting.kept import keep, kept
from models.counting.message_counter import ChatCounter, MessageCounter
from models.counting.prompt_counter import SYSTEM, USER, PromptCounter, Refused, Tokenizer
from models.ollama.server import SHOW

if TYPE_CHECKING:
    from models.ollama.server import OllamaServer

REST_SECONDS = 10.0
"""Seconds until a server that failed to tell is asked again."""

SHAPES_KEPT = 200
PROMPT_CHARACTERS = 4_000_000
"""A longer rendering of a prompt is not believed."""

MARK = "\ue000{0} \"\\<&'>\n\u00e9\ue001"
"""Stands for the content of message {0}. A template that changes any part of it changes contents."""

_MARKS = re.compile(re.escape(MARK).replace(re.escape("{0}"), r"(\d+)"))


class Rendering(Protocol):
    """A model whose server may tell its prompts."""

    model: str
    server: OllamaServer

    def rendered(self, messages: Sequence[Message], tools: Sequence[Schema]) -> str | None:
        """The prompt as the model reads it; None where the server does not tell. Raises ModelError."""


class OllamaCounter(PromptCounter):
    """Counts with the vocabulary and the template that the server tells; by an estimate while it does not.

    The count of each reply checks ours. After a difference that a cut cannot explain, counts are estimates.
    """

    def __init__(self, backend: Rendering) -> None:
        self._finding = _Finding(backend)
        super().__init__(self._finding, _Guess(backend.model, self._finding.vocabulary))
        self._model = backend.model
        self._differs = False
        self._guessed = False
        self._doubt = ""

    def __deepcopy__(self, memo: object) -> OllamaCounter:
        return self

    @property
    def exact(self) -> bool:  # type: ignore[override]
        """Whether the server told how it counts, and its replies agree."""
        return not self._differs and (self._finding.found() is not None or self._estimate.exact)

    def count(self, message: Message) -> int:
        """Tokens of a message in a prompt, its role markers included; its thinking is not sent and not counted."""
        tokens = super().count(message)
        self._guessed = self._guessed or self._finding.found() is None
        return tokens

    def calibrate(self, counted: int, reported: int) -> bool:
        """Compare with the number of tokens that the server read, and learn from it where it differs."""
        guessed, self._guessed = self._guessed or self._finding.found() is None, False
        self._finding.loaded()
        if guessed:
            return self._estimate.calibrate(counted, reported)
        whole = super().calibrate(counted, reported)
        if whole and counted != reported and not self._differs:
            self._differs = True
            self._finding.forget()
            self._doubt = (
                f"the server read {reported:,} tokens where the vocabulary of {self._model} makes {counted:,}: "
                "counts are estimates (~) from now on"
            )
        return whole

    def doubt(self) -> str:
        """A line for the user, once after a reply has shown that the counts are not exact; else ""."""
        said, self._doubt = self._doubt, ""
        return said

    @property
    def learnt(self) -> Any:
        """Everything that `calibrate` has learnt, for restoring; it changes with the way of counting."""
        return *super().learnt, self._differs, self._finding.found() is not None

    @learnt.setter
    def learnt(self, learnt: Any) -> None:
        if len(learnt) == 2:  # of an estimate alone, in older journals
            self._estimate.learnt = learnt
            return
        own, self._estimate.learnt, differs, _ = learnt
        MessageCounter.learnt.__set__(self, own)  # type: ignore[attr-defined]
        self._differs = bool(differs)


class _Guess(ChatCounter):
    """Counts with the vocabulary that the server tells and the template of Qwen; without one, with what is here."""

    def __init__(self, model: str, vocabulary: Callable[[], BytePairs | None]) -> None:
        super().__init__()
        self._model = model
        self._vocabulary = vocabulary

    @property
    def exact(self) -> bool:  # type: ignore[override]
        """Whether the vocabulary here is known to be the model's."""
        return self._here.exact

    def tokens(self, text: str) -> int:
        """Tokens of a text."""
        return (self._vocabulary() or self._here).tokens(text)

    @cached_property
    def _here(self) -> ChatCounter:
        return counter_for(self._model)


class _Rendered:
    """Counts the prompts that the server renders.

    It renders each shape of a conversation once, with a mark for each content; contents are put in here. A content that
    a template may change, such as one that begins with a blank, goes to the server as it is.

    Args:
        backend: The model.
        vocabulary: Its vocabulary.
        key: Under which shapes are kept.
    """

    def __init__(self, backend: Rendering, vocabulary: BytePairs, key: str) -> None:
        self._backend = backend
        self._vocabulary = vocabulary
        self._key = key
        found = kept("template", key)
        shapes = found.items() if isinstance(found, dict) else ()
        self._shapes = {name: shape for name, shape in shapes if isinstance(shape, str)}

    @property
    def known(self) -> bool:
        """Whether shapes were kept: the server renders."""
        return bool(self._shapes)

    def prompt(self, messages: Sequence[Message], tools: Sequence[Schema] = ()) -> int:
        """Tokens of a whole prompt."""
        return self._vocabulary.begin + self._vocabulary.tokens(self.rendered(messages, tools))

    def text(self, text: str) -> int:
        """Tokens of a text."""
        return self._vocabulary.tokens(text)

    def rendered(self, messages: Sequence[Message], tools: Sequence[Schema] = ()) -> str:
        """A whole prompt as the model reads it."""
        contents = {str(at): one.content for at, one in enumerate(messages) if _is_plain(one.content)}
        marked = [
            replace(one, content=MARK.format(at)) if str(at) in contents else one for at, one in enumerate(messages)
        ]
        shape = self._shape(marked, tools)
        if sorted(_MARKS.findall(shape)) != sorted(contents):
            return self._asked(messages, tools)
        return _MARKS.sub(lambda mark: contents[mark[1]], shape)

    def forget(self) -> None:
        """Keep no shape for later sessions: they may be out of date."""
        keep("template", self._key, {})

    def _shape(self, messages: Sequence[Message], tools: Sequence[Schema]) -> str:
        sent = [repr(one.sent) for one in messages], list(tools), self._backend.server.options.think
        name = sha256(json.dumps(sent, default=dict).encode()).hexdigest()[:32]
        shape = self._shapes.get(name)
        if shape is None:
            shape = self._asked(messages, tools)
            if _is_general(messages) and len(self._shapes) < SHAPES_KEPT:
                self._shapes[name] = shape
                keep("template", self._key, self._shapes)
        return shape

    def _asked(self, messages: Sequence[Message], tools: Sequence[Schema]) -> str:
        """The server's rendering, if it has the model loaded. Raises Refused, or ModelError if it cannot be asked."""
        server = self._backend.server
        if not server.loaded(self._backend.model):
            raise ModelError(f"{self._backend.model} is not loaded")
        try:
            prompt = self._backend.rendered(messages, tools)
        except ModelError as error:
            if server.answers():
                raise Refused from error
            raise
        if prompt is None or len(prompt) > PROMPT_CHARACTERS:
            raise Refused
        return prompt


class _Finding:
    """Finds the vocabulary and the template of a model. Any thread may be the first."""

    def __init__(self, backend: Rendering) -> None:
        self._backend = backend
        self._lock = threading.RLock()
        self._vocabulary: BytePairs | None = None
        self._rendered: _Rendered | None = None
        self._told = False
        self._tries = True
        self._resting_until = 0.0

    def vocabulary(self) -> BytePairs | None:
        """The vocabulary, asked for once; None where the server does not tell it, or it is of another kind."""
        with self._lock:
            if not self._told and monotonic() >= self._resting_until:
                try:
                    self._find()
                    self._told = True
                except ModelError:
                    self.rest()
            return self._vocabulary

    def found(self) -> Tokenizer | None:
        """The tokenizer, if it can be used now."""
        with self._lock:
            if self.vocabulary() is None or monotonic() < self._resting_until or self._rendered is None:
                return None
            if not self._rendered.known and self._tries:
                self._tries = False
                try:
                    self._rendered.prompt((SYSTEM, USER))
                except Refused:
                    self._rendered = None
                except ModelError:
                    pass
            return self._rendered if self._rendered and self._rendered.known else None

    def loaded(self) -> None:
        """Know that the model is loaded now, so that the server may be asked for a prompt."""
        self._tries = True

    def forget(self) -> None:
        """Keep no template for later sessions: it was wrong."""
        if self._rendered:
            self._rendered.forget()

    def rest(self) -> None:
        """Wait before the next request."""
        self._resting_until = monotonic() + REST_SECONDS

    def _find(self) -> None:
        server, model = self._backend.server, self._backend.model
        digest = key = ""
        with suppress(ModelError):
            digest = server.digest(model)
            key = digest and f"{digest} {server.version()}"
        self._vocabulary = _read(kept("vocabulary", digest))
        if self._vocabulary is None:
            answer = server.ask(SHOW, {"model": model, "verbose": True}, model)
            facts = answer.get("model_info")
            self._vocabulary = byte_pairs(facts) if isinstance(facts, Mapping) else None
            if self._vocabulary:
                keep("vocabulary", digest, asdict(self._vocabulary))
        if self._vocabulary:
            self._rendered = _Rendered(self._backend, self._vocabulary, key)


def _read(value: Any) -> BytePairs | None:
    """A vocabulary that was kept; None if it is damaged."""
    try:
        pairs = BytePairs(**value)
        "".join(pairs.merged).encode("latin-1")
        "".join(pairs.special)
        sum(pairs.lost)
        return pairs if pairs.pre in PATTERNS and isinstance(pairs.begin, int) else None
    except (TypeError, ValueError):
        return None


def _is_plain(content: str) -> bool:
    """Whether templates leave this content as it is: they trim blanks, and cut thoughts."""
    return bool(content) and content == content.strip() and "think>" not in content and not _MARKS.search(content)


def _is_general(messages: Sequence[Message]) -> bool:
    """Whether nothing in these messages is of one conversation alone."""
    calls = [call for one in messages for call in one.calls]
    marked = all(_MARKS.fullmatch(one.content) or not one.content for one in messages)
    return marked and all(call.arguments == "{}" for call in calls)
