"""Events as JSON Lines (docs/reference/formats.md). A line holds printable ASCII only, whatever a model wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent.checked import as_json
from agent.events import (
    Answered,
    Asked,
    Event,
    Planted,
    Prepared,
    Preparing,
    PromptCut,
    Replied,
    Said,
    SideCalled,
    ToolCalled,
    ToolReturned,
)
from agent.ledger import Amount, totals
from agent.messages import ToolCall
from agent.protocols import Sent, Usage, Waiting

if TYPE_CHECKING:
    from session.session import Session

Fields = dict[str, Any]


def to_json(value: object) -> str:
    """A value as JSON, as it is written for others to read."""
    return as_json(value, (", ", ": "))


def to_line(value: object) -> str:
    """One line of JSON, newline included."""
    return to_json(value) + "\n"


def event(of: Event) -> Fields:
    """The fields of an event of an exchange; what is not known is None."""
    match of:
        case Asked(message):
            return {"type": "asked", "id": message.id, "text": message.content}
        case Preparing(turn, strategy):
            return {"type": "preparing", "turn": turn, "strategy": strategy}
        case SideCalled():
            return _side_called(of)
        case Prepared():
            return _prepared(of)
        case Sent(to, body):
            return {"type": "sent", "to": to, "bytes": len(body.encode("utf-8", "replace"))}
        case Waiting(what, seconds):
            return {"type": "waiting", "what": what, "seconds": seconds}
        case PromptCut(turn, sent, read, exact):
            return {"type": "prompt_cut", "turn": turn, "sent_tokens": sent, "read_tokens": read, "exact": exact}
        case Said(kind, text):
            return {"type": kind, "text": text}
        case Replied():
            return _replied(of)
        case ToolCalled(call):
            return {"type": "tool_called", **_call(call)}
        case ToolReturned():
            return _tool_returned(of)
        case Answered(text, ending):
            return {"type": "answered", "text": text, "ending": ending}
        case Planted(fact, path, messages):
            ids = [message.id for message in messages]
            return {"type": "planted", "fact": fact, "path": path, "id": of.holder.id, "messages": ids}


def session(of: Session) -> Fields:
    """The last line: what the session was and what it cost, from the ledger."""
    agent, ledger = of.agent, of.agent.ledger
    sums = totals(ledger.calls)
    return {
        "type": "session",
        "id": of.journal.id or None,
        "backend": agent.backend.name,
        "model": agent.backend.model,
        "strategy": agent.strategy_name,
        "budget": agent.limit,
        "exchanges": ledger.exchanges,
        "answered": ledger.answered,
        "turns": sums.turns,
        "model_calls": sums.calls,
        "tool_calls": ledger.tool_calls,
        "prompt_tokens": _amount(sums.prompt),
        "cached_tokens": _amount(sums.cached),
        "prefill_tokens": _amount(sums.prefill),
        "output_tokens": _amount(sums.output),
        "raw_prompt_tokens": sums.raw_prompt,
        "raw_prefill_tokens": sums.raw_prefill,
        "model_seconds": sums.seconds,
        "waited_seconds": sums.waited,
        "tool_seconds": ledger.tool_seconds,
    }


def _amount(of: Amount) -> Fields:
    return {"tokens": of.tokens, "exact": of.exact}


def _call(call: ToolCall) -> Fields:
    return {"call_id": call.id, "tool": call.name, "arguments": call.arguments}


def _usage(usage: Usage) -> Fields:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "cached_tokens": usage.cached_tokens,
        "output_tokens": usage.output_tokens,
        "load_seconds": usage.load_seconds,
        "prefill_seconds": usage.prefill_seconds,
        "decode_seconds": usage.decode_seconds,
        "finish": usage.finish or None,
    }


def _side_called(of: SideCalled) -> Fields:
    return {
        "type": "side_called",
        "purpose": of.purpose,
        "model": str(of.model),
        "counted_tokens": of.prompt_tokens,
        "exact": of.exact,
        "usage": _usage(of.usage),
        "seconds": of.seconds,
        "waited_seconds": of.waited_seconds,
        "error": of.error or None,
    }


def _prepared(of: Prepared) -> Fields:
    view = of.view
    return {
        "type": "prepared",
        "turn": of.turn,
        "strategy": of.strategy,
        "tokens": view.tokens,
        "history_tokens": view.history_tokens,
        "budget": view.limit,
        "overhead": view.overhead,
        "cached": view.cached,
        "prefill": view.prefill,
        "exact": of.exact,
        "edited": view.edited,
        "acted": dict(view.acted),
        "fates": list(view.fates),
        "inserted": [{"index": index, "text": view.messages[index].content} for index in view.inserted],
        "notes": list(view.notes),
    }


def _replied(of: Replied) -> Fields:
    return {
        "type": "replied",
        "turn": of.turn,
        "id": of.message.id,
        "text": of.message.content,
        "calls": [_call(call) for call in of.message.calls],
        "usage": _usage(of.usage),
        "seconds": of.seconds,
        "first_token_seconds": of.first_token_seconds,
        "waited_seconds": of.waited_seconds,
    }


def _tool_returned(of: ToolReturned) -> Fields:
    return {
        "type": "tool_returned",
        **_call(of.call),
        "id": of.message.id,
        "ok": of.ok,
        "text": of.message.content,
        "tokens": of.tokens,
        "seconds": of.seconds,
    }
