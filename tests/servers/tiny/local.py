"""The model as a backend of thimble, in this process: greedy, one token after the other."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Sequence
from pathlib import Path

import torch

from tests.servers.tiny.model import Cache
from tests.servers.tiny.template import END, FOLDER, render
from tests.servers.tiny.weights import load
from thimble.agent.budget import Counter
from thimble.agent.messages import Message, Schema, ToolCall
from thimble.agent.protocols import BackendDefaults, Delta, Text, Usage
from thimble.models.chat import write
from thimble.models.counting.estimate import EstimateCounter

CALL = re.compile(r"<tool_call>\s*(.*?)\s*</tool_call>", re.DOTALL)


class Local(BackendDefaults):
    """A backend that runs the weights of a folder with torch, and keeps keys and values from call to call."""

    name = "tiny"
    model = "qwen2-tiny"
    renders_tools = True

    def __init__(self, folder: Path = FOLDER) -> None:
        self.counter: Counter = EstimateCounter()
        self._network, self._cut = load(folder)
        self._end = self._cut.token_to_id(END)
        self._read: list[int] = []
        self._cache: Cache = []

    def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[Schema],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        may_call: bool = True,
    ) -> Generator[Delta, None, None]:
        """The reply in one piece: its text, its calls as far as they are valid JSON, and the tokens."""
        prompt = self._cut.encode(render([write(message) for message in messages], tools, prompt=True)).ids
        said, cached = self._complete(prompt, max_tokens or 256)
        reply = self._cut.decode(said, skip_special_tokens=False).removesuffix(END)
        text = CALL.sub("", reply).strip()
        calls = [call for number, body in enumerate(CALL.findall(reply)) if (call := _call(body, number))]
        if text:
            yield Text(text)
        yield from calls
        yield Usage(prompt_tokens=len(prompt), cached_tokens=cached, output_tokens=len(said), finish="stop")

    @torch.inference_mode()
    def _complete(self, prompt: list[int], most: int) -> tuple[list[int], int]:
        """The likeliest tokens after a prompt, and how many of its own were known."""
        same = (at for at, (old, new) in enumerate(zip(self._read, prompt, strict=False)) if old != new)
        known = min(next(same, min(len(self._read), len(prompt))), len(prompt) - 1)
        self._cache = [(k[:, :, :known], v[:, :, :known]) for k, v in self._cache]
        tokens, said = prompt[known:], list[int]()
        while len(said) < most and self._end not in said:
            states, self._cache = self._network(torch.tensor([tokens]), self._cache if known or said else None)
            tokens = [int(self._network.logits(states[0, -1]).argmax())]
            said += tokens
        self._read = [*prompt, *said[:-1]]
        return said, known


def _call(body: str, number: int) -> ToolCall | None:
    try:
        call = json.loads(body)
        return ToolCall(f"call-{number}", call["name"], json.dumps(call["arguments"]))
    except (ValueError, KeyError, TypeError):
        return None
