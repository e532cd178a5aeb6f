"""Observations of text protocols: results that programs without tool calls send as user messages.

In a history each is a tool result, so that strategies see an observation; the server is sent the original text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from thimble.agent.errors import UsageError
from thimble.agent.messages import Message, ToolCall

TEXT_ACTION = "the action above"
"""The name of the call for an action in the assistant's words. It costs nothing; no function can have this name."""
ACTION = re.compile(r"```|^[ \t]*Action(?: \d+)?:|<\w+[=>]|\A\s*\{", re.MULTILINE)
"""Found in all words that call a tool."""
OBSERVATION = re.compile(
    r"\s*(?:<(?:returncode|exception|observation|warning|tool_response|function_results)>|(?i:observation)(?: \d+)?:"
    r"|EXECUTION RESULT of \[|Execution output of \[|API output:|exitcode: |\[\w[^\]\n]*\] Result:"
    r"|The last command <command>|Your (?:last )?command ran successfully)|(?s:.*)\nbash-\$\s*\Z"
)
"""A result that starts or ends so: mini-swe-agent, SWE-agent, Hermes, ReAct, OpenHands, R2E-Gym, tau-bench, AutoGen."""
CALL = re.compile(
    r'^Action(?: \d+)?:\s*+(?:\{\s*"name":\s*"(?!respond|finish)|(?!(?i:finish))\w+\[|[^\n]+\nAction Input:)'
    r"|^```mswea_|\ADISCUSSION\b(?s:.*)```\s*\Z|</(?:execute_bash|execute_ipython|mswea_bash_command)>\s*\Z"
    r"|<function=(?!finish)(?:[^<]|<(?!function=))*</(?:function|parameter)>\s*\Z",
    re.MULTILINE,
)
"""Words that only a tool answers, whatever the form of the result. A person answers `respond` and `finish`."""
NONE_RECOGNISED = "0 observations recognised: --observations PATTERN says which user messages are results of a tool"


def read_observations(messages: Sequence[Message], pattern: str | None = None) -> list[Message]:
    """The messages; each observation in a user message becomes the result of a call in the assistant message before it.

    Precise first: both have the form of a known protocol, or the user's message matches the pattern, a regular
    expression. A person's reply to prose is not an observation. Raises UsageError for an invalid regular expression.
    """
    try:
        own = re.compile(pattern or "(?!)")  # which matches nothing
    except re.error as error:
        what = f"--observations {pattern!r:.80} is not a regular expression: {error}"
        raise UsageError(what, "give one that matches observations: --observations '^RESULT'") from error
    found = [*messages]
    for at, (said, answer) in enumerate(pairwise(messages)):
        if (said.role, answer.role, said.calls) == ("assistant", "user", ()):
            form = ACTION if OBSERVATION.match(answer.content) else CALL
            if own.search(answer.content) or form.search(said.content):
                call = ToolCall(f"{answer.id}.action", TEXT_ACTION, json.dumps({"words": said.content}))
                found[at] = replace(said, calls=(call,))
                found[at + 1] = replace(answer, role="tool", call_id=call.id, name=call.name)
    return found


def write_as_text(message: Message) -> Message:
    """The message as its protocol writes it: an observation is a user message, and its call is only in the words."""
    if message.name == TEXT_ACTION:
        return replace(message, role="user", call_id="", name="")
    return replace(message, calls=()) if any(call.name == TEXT_ACTION for call in message.calls) else message


def describe_recognised(*runs: Sequence[Message]) -> str:
    """A line with the number of observations that `read_observations` found; "" if all results come from tool calls."""
    results = [message.name for run in runs for message in run if message.role == "tool"]
    if count := results.count(TEXT_ACTION):
        return f"observations recognised in user messages: {count:,}"
    return "" if results else NONE_RECOGNISED
