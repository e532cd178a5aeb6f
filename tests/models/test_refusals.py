"""The table of refusals: each wording of a real server is found by one row alone, over the wire as in the table."""

from __future__ import annotations

import json
import re

import pytest

from tests.support.both_servers import SERVERS, failure
from thimble.models.refusals import REFUSALS
from thimble.models.server import ToolsRefused

TOOLS = "registry.ollama.ai/library/phi does not support tools"
EXAMPLES = {
    "cannot call tools": (
        TOOLS,
        '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
        "tools param requires --jinja flag",
        "Unsupported param: tools",
        "Tools are not supported for this model",
        "registry/phi does not support function calling",
        "tool calling is not supported by this chat template",
    ),
    "cannot read the call": (
        'llama-server returned invalid tool call arguments for "list_articles": unexpected end of JSON input',
        "error parsing tool call: raw='{\"query\": \"masking\"}]', err=invalid character ']' after top-level value",
        "qwen3 tool call parsing failed: failed to parse JSON: unexpected end of JSON input",
        "Failed to parse input at pos 37: <tool_call> <function=read_file",
        "Failed to parse tool call arguments as JSON: parse error at line 1, column 9",
    ),
    "longer than the model's context": (
        "input length exceeds maximum context length",
        "the prompt is longer than the context length currently available to the model; shorten the prompt, adjust the "
        "context length in settings, or use a model with a longer context length",
        "prompt is too long: 9000 tokens > 8192 maximum",
        "prompt too long; exceeded max context length by 5 tokens",
        "context limit hit - shift disabled",
        "This model's maximum context length is 8192 tokens. However, your prompt contains at least 8193 input tokens, "
        "which exceeds this limit even without any output tokens. Please reduce the length of the input prompt.",
        "max_tokens=9000 cannot be greater than max_model_len=8192. Please request fewer output tokens.",
        "request (9020 tokens) exceeds the available context size (8192 tokens), try increasing it",
        "The decoder prompt (length 9000) is longer than the maximum model length of 8192.",
        "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context "
        "length of only 4096 tokens, which is not enough.",
        "Request Entity Too Large",
    ),
    "does not take --temperature": (
        "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
        "Unsupported parameter: 'seed'",
    ),
    "does not enforce a JSON schema": (
        "response_format is not supported with this model.",
        "Failed to parse grammar",
        "'response_format.type' must be 'json_schema' or 'text'",
        "json: cannot unmarshal object into Go struct field ChatRequest.format of type string",
        'invalid format: "{"; expected "json" or a JSON schema',
    ),
    "does not take --think": (
        '"qwen2.5:7b" does not support thinking',
        'invalid think value: "huge" (must be "high", "medium", "low", "max", true, or false)',
        "Unsupported parameter: 'reasoning_effort'",
        "chat_template_kwargs is not allowed",
    ),
    "makes no embeddings": (
        "This server does not support embeddings. Start it with `--embeddings`",
        "The model does not support Embeddings API",
        "Pooling type 'none' is not OAI compatible. Please use a different pooling type",
    ),
    "too little memory": (
        "model requires more system memory (9.1 GiB) than 3.0 GiB",
        "cudaMalloc failed: out of memory",
        "CUDA error: an illegal memory access was encountered",
    ),
    "": (
        '"nomic-embed-text" does not support chat',
        'option "num_ctx" must be of type integer',
        'time: invalid duration "soon"',
        "Conversation roles must alternate user/assistant",
        "This model only supports single tool-calls at once!",
    ),
}
"""Wordings by what the error says; "": in the server's own words."""


@pytest.mark.parametrize("what", EXAMPLES)
def test_an_example_is_matched_by_its_own_row_alone(what: str) -> None:
    for example in EXAMPLES[what]:
        rows = [row[2] for row in REFUSALS if re.search(row[0], example, re.IGNORECASE)]
        assert len(rows) == bool(what), example
        assert not what or what in rows[0], example


SHAPES = {
    "an object": '{{"error": {{"message": {}, "code": 400}}}}',
    "flat": '{{"error": {}}}',
    "a message": '{{"message": {}, "object": "error"}}',
    "a detail": '{{"detail": {}}}',
    "text": "{}",
}


@pytest.mark.parametrize("server", SERVERS)
def test_a_refusal_is_recognised_in_every_shape_and_status(server: str) -> None:
    for status, shape in [(200, "an object"), *((status, shape) for status in (400, 500) for shape in SHAPES)]:
        error = failure(server, (status, SHAPES[shape].format(json.dumps(TOOLS)).encode()))
        assert isinstance(error, ToolsRefused)
        assert f"{SERVERS[server].model} cannot call tools" in error.what
        assert "--model" in error.fix
