"""The usage that a server with a prefix cache would report, for backends without a server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from threading import Lock

from thimble.agent.budget import Counter
from thimble.agent.messages import Message, Schema
from thimble.agent.prefix_cache import PrefixCache
from thimble.agent.protocols import UNKNOWN_MODEL, Usage

NO_REPLY = Message("reply", "assistant")


class PrefixMeter:
    """Reports usage like a server that caches several prompts (`agent.prefix_cache`); threads may share it."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._cache = PrefixCache()
        self._one = Lock()

    def usage(self, messages: Sequence[Message], tools: Sequence[Schema], output_text: str) -> Usage:
        """Usage of one reply, in tokens; the prompt is cached from now on.

        At least one token is computed, as on servers, which need one to predict from.
        """
        overhead = self._counter.overhead(tools)
        prompt = overhead + sum(map(self._counter.count, messages))
        with self._one:
            cached = self._cache.read(UNKNOWN_MODEL, tools, messages, self._counter)
        return Usage(
            prompt_tokens=prompt,
            cached_tokens=min(cached, prompt - 1),
            output_tokens=self._counter.count(replace(NO_REPLY, content=output_text)) - self._counter.count(NO_REPLY),
            finish="stop",
        )
