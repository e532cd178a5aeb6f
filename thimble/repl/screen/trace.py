"""Trace: one plain line for each event on the way to an answer. Untrusted text is sanitised here."""

from __future__ import annotations

import json
import re
from collections import Counter as Tally
from collections.abc import Sequence
from typing import Literal

from rich.cells import cell_len, chop_cells

from thimble.agent.errors import Halted
from thimble.agent.events import Answered, Prepared, PromptCut, Replied, SideBegan, SideCalled, ToolReturned
from thimble.agent.fates import Fate
from thimble.agent.messages import YOU, Message, ToolCall
from thimble.agent.prompts import ANNOUNCED_IDS, is_framing
from thimble.agent.view import View
from thimble.repl.screen.sanitise import one_line
from thimble.session import figures
from thimble.strategies.paper_names import short_name
from thimble.tools.wording import count_noun

GLYPHS = {"list": "≡", "search": "⌕", "read": "▤", "save": "✎", "get": "✎", "recall": "↺"}
PLAIN_WIDTH = 400
"""Columns of a line in plain output: a screen reader has no columns, and a log has room."""
Kind = Literal["tool", "act", "note", "over", "error", "thought", "passage"]
LABELS: dict[Kind, str] = {
    "tool": "tool",
    "act": "strategy",
    "note": "note",
    "over": "over budget",
    "error": "error",
    "thought": "thinking",
    "passage": "passage",
}
"""The label of each kind of line in plain output."""
REPETITION_WORDS = {
    "thimble": "the model repeated itself; its reply was cut off here",
    "server": "the model repeated itself; the server cut off its reply here",
}
"""The words for a reply that repeated itself, by who stopped it."""
COMPLETE_REASONS = ("stop", "refusal", "passages", "")
"""Finish reasons without a warning: the reply is whole, or the answer itself explains it."""
MIN_NAME_COLUMNS = 12
"""The least columns of a strategy's name."""
MIN_SHOWN_SECONDS = 0.1
"""The shortest wait, in seconds, that is shown."""
MOST_CHARACTERS = 2_000
"""The most characters of an untrusted text that a line is made from."""


def tool_line(event: ToolReturned, width: int) -> str:
    """`  ⌕ search_articles "prefix cache" → 3 results · 312 tok · 4 ms`, in at most `width` columns.

    Arguments and result are cut to fit.
    """
    head = f"  {tool_glyph(event)} {cut_line(one_line(event.call.name[:MOST_CHARACTERS]), 40)}"
    took = f" · {figures.format_duration(event.seconds)}" if event.ok else ""
    tail = f" · {figures.format_tokens(event.tokens, event.exact)} tok{took}"
    asked, found = format_arguments(event.call), result_line(event)
    room = max(0, width - cell_len(head) - cell_len(tail) - cell_len("  → "))
    asked = cut_line(asked, max(room - cell_len(found), room * 3 // 5 if event.ok else room // 4))
    found = cut_line(found, room - cell_len(asked))
    words = f" {asked}" if asked else ""
    answered = f" → {found}" if found else ""
    return cut_line(f"{head}{words}{answered}{tail}", width)


def call_line(call: ToolCall, width: int) -> str:
    """`search_articles "prefix cache"`: a call without a result yet."""
    return cut_line(f"{one_line(call.name[:MOST_CHARACTERS])} {format_arguments(call)}".strip(), width)


def label_line(kind: Kind, text: str) -> str:
    """A trace line with its label in place of its symbol."""
    return f"{LABELS[kind]}: {text.strip()[2:]}"


def tool_glyph(event: ToolReturned) -> str:
    """The symbol of the kind of tool, or of a failure."""
    return GLYPHS.get(event.call.name.split("_")[0], "⚙") if event.ok else "✗"


def format_arguments(call: ToolCall) -> str:
    """A call's arguments in short: the first one bare, the others by name."""
    try:
        found = json.loads(call.arguments or "{}") if len(call.arguments) <= 10 * MOST_CHARACTERS else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        return one_line(call.arguments[:MOST_CHARACTERS])
    texts = [one_line(json.dumps(value, ensure_ascii=False, default=str)[:MOST_CHARACTERS]) for value in found.values()]
    names = ["", *(f"{one_line(str(name))}=" for name in list(found)[1:])]
    return " ".join(f"{name}{text}" for name, text in zip(names, texts, strict=False))


def result_line(event: ToolReturned) -> str:
    """The first line of a result, without the query."""
    first = one_line(event.message.content[:MOST_CHARACTERS].strip().split("\n", 1)[0])
    if not event.ok:
        return one_line(event.message.content[:MOST_CHARACTERS]).removeprefix("Error: ")
    return re.sub(r' (for|about) ".*"', "", first).removeprefix("# ").rstrip(":.") or "nothing"


def acted_line(event: Prepared, width: int = 1_000) -> str | None:
    """`  ✂ observation-masking masked 5 results (−4.1k): 9,120 → 5,012 of 8,000`: the new acts in this view, or None.

    Acts of a part of a strategy and of `fit` follow with their names. The tokens are those of the prompt without and
    with these acts. If the line is too long, the strategy's name is cut.
    """
    done, view = describe_edits(event), event.view
    if not done:
        return None
    less = view.without - view.tokens
    saved = f" (−{figures.format_short(less, event.exact)})" if less > 0 else ""
    size = " → ".join(figures.format_tokens(count, event.exact) for count in (view.without, view.tokens))
    tail = f" {', '.join(done)}{saved}: {size} of {view.limit:,}"
    name = "" if done[0].startswith(f"{YOU} ") else one_line(event.strategy)
    return cut_line(
        f"  ✂ {fit_spec(name, max(MIN_NAME_COLUMNS, width - cell_len(f'  ✂ {tail}')))}".rstrip() + tail, width
    )


def describe_edits(event: Prepared) -> list[str]:
    """The new acts of a view against the view before, in a few words each; with a name, if not the strategy's own."""
    view, done = event.view, dict[str, Tally[Fate]]()
    was = event.before.fates if event.before else ()
    for place, (message, fate) in enumerate(view.fated if view.acted else ()):
        if fate != "kept" and not (place < len(was) and was[place] == fate):
            steps = view.steps.get(message.id)
            done.setdefault(steps[-1].by if steps else "", Tally())[fate] += 1
    own = [*(_describe_fate(fate, count) for fate, count in done.pop("", Tally()).items()), *_own_deeds(event)]
    return [
        *own,
        *(f"{one_line(by)} {_describe_fate(fate, count)}" for by, its in done.items() for fate, count in its.items()),
    ]


def _own_deeds(event: Prepared) -> list[str]:
    """The inserted messages, and those that are kept again."""
    view, before = event.view, event.before
    earlier = {(message.id, message.content) for message in before.messages} if before else set()
    new = [m for m in _inserted(view) if (m.id, m.content) not in earlier and not is_framing(m)]
    summaries = sum(bool(message.covers) for message in new)
    done = ["inserted a summary"] * bool(summaries and not view.acted.get("summarised"))
    done += [f"inserted {count_noun(len(new) - summaries, 'message')}"] * (len(new) > summaries)
    pairs = zip(before.fates, view.fates, strict=False) if before else ()
    if back := sum(a not in ("kept", "tidied") and b == "kept" for a, b in pairs):
        done.append(f"brought back {count_noun(back, 'message')}")
    return done


def note_lines(event: Prepared) -> list[str]:
    """New repairs of the strategy's view, and messages that the loop inserted."""
    known = set(event.before.notes) if event.before else set()
    notes = [f"  ! {one_line(event.strategy)}: {one_line(note)}" for note in event.view.notes if note not in known]
    aloud = [message for message in _inserted(event.view) if message.id in ANNOUNCED_IDS]
    return notes + [f"  ! {one_line(message.why)}" for message in aloud]


def over_line(event: Prepared) -> str | None:
    """The warning that a view is over the budget; None if it is not."""
    view = event.view
    if view.tokens <= view.limit:
        return None
    over = figures.format_tokens(view.tokens - view.limit, event.exact)
    return f"  ▲ {over} tokens over the budget: a server would refuse this prompt, or cut it silently"


def prompt_cut_line(event: PromptCut) -> str:
    """The warning that the server cannot have read the whole prompt."""
    sent, read = figures.format_tokens(event.sent, event.exact), figures.format_tokens(event.read)
    return f"  ▲ the server read {read} of the {sent} tokens it was sent: it cut the prompt"


def unread_line(names: Sequence[str]) -> str:
    """The citations of an answer that no tool has shown."""
    return f"cited but not read: {', '.join(one_line(name[:MOST_CHARACTERS]) for name in names)}"


def passage_line(event: Answered) -> str:
    """`  ❝ Tomatoes want water every two days. [growing-tomatoes]`: the best passage of the search, or "".

    One line of any length.
    """
    return f"  ❝ {one_line(event.passage)}" if event.passage else ""


def side_began_line(event: SideBegan) -> str:
    """`  ∑ memory asks reader in the background: ~2,100 in`: a strategy asks a model while the agent continues."""
    asked, prompt = one_line(event.model.called), figures.format_tokens(event.prompt_tokens, event.exact)
    return f"  ∑ {one_line(event.purpose)} asks {asked} in the background: {prompt} in"


def side_line(event: SideCalled) -> str:
    """`  ∑ summary asked of reader: ~2,100 in, 280 out, 0.4 s`: a strategy or a tool asked a model."""
    asked = one_line(event.model.called)
    of = f" of {asked}" if asked else ""
    if event.error == Halted().what:
        return f"  ∑ {one_line(event.purpose)} asked{of} was stopped; nothing is lost"
    if event.error:
        why = one_line(event.error[:MOST_CHARACTERS])
        return f"  ✗ {one_line(event.purpose)} asked{of} failed: {why}; nothing is lost"
    usage = event.usage
    reported = usage.prompt_tokens is not None
    prompt = figures.format_tokens(usage.prompt_tokens if reported else event.prompt_tokens, reported or event.exact)
    written, took = (
        figures.format_tokens(usage.output_tokens),
        figures.format_duration(event.seconds - event.waited_seconds),
    )
    where = "" if event.lag is None else " in the background"
    held = (
        f", the agent waited {figures.format_duration(event.held_seconds)}"
        if event.held_seconds >= MIN_SHOWN_SECONDS
        else ""
    )
    return f"  ∑ {one_line(event.purpose)} asked{of}{where}: {prompt} in, {written} out, {took}{held}"


def speaker_name(message: Message) -> str:
    """Who says it: system, you, model, the tool's name, a recorded agent, or thimble itself. Safe to print."""
    name = one_line(message.name[:80])
    if message.role == "tool":
        return name or "tool"
    if message.role == "user":
        return (name or "thimble") if message.why else "you"
    return "system" if message.role == "system" else "model"


def cut_off_line(event: Replied) -> str | None:
    """The warning that a reply was cut off: at its limit, for repetition or by its server; None if it is whole."""
    if event.stopped_by:
        return f"  ! {REPETITION_WORDS[event.stopped_by]}: rephrase the question, or take another model (/model)"
    finish = event.usage.finish
    if finish in COMPLETE_REASONS:
        return None
    by = "" if finish == "length" else f': the server ended it with "{one_line(finish)}"'
    return f"  ! the reply was cut off after {figures.format_tokens(event.usage.output_tokens)} tokens{by}"


def cut_line(text: str, width: int) -> str:
    """Cut a line to at most `width` columns, with `…` at a cut end. Wide characters count double."""
    if cell_len(text) <= width:
        return text
    if width < 1:
        return ""
    return next(iter(chop_cells(text, width - 1)), "").rstrip() + "…" if width > 1 else "…"


def fit_spec(spec: str, room: int) -> str:
    """A SPEC in at most `room` columns: in full, else its short name, cut if even that is too long."""
    return spec if cell_len(spec) <= room else cut_line(short_name(spec), room)


def _describe_fate(fate: Fate, count: int) -> str:
    if fate == "tidied":
        return f"tidied {count_noun(count, 'result')}"
    return f"{fate} {count_noun(count, 'result' if fate in ('masked', 'shortened', 'offloaded') else 'message')}"


def _inserted(view: View) -> list[Message]:
    return [view.messages[index] for index in view.inserted]
