"""dedup: a reader who has only the view finds each line that a reference stands for, byte for byte."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.histories import LIMITS, Story, budget, calls_of
from tests.support.specs import build
from thimble.agent.errors import BudgetError
from thimble.agent.messages import Message, ToolCall
from thimble.agent.view import measure_view, prepare
from thimble.strategies.dedup import Dedup
from thimble.strategies.table import STRATEGIES

WHY = "repeats earlier lines"
MARK = re.compile(r'\[([\d,]+) lines? as above, (now )?from `(.*)`(?:; recall\(id="\w+"\) shows all)?\]')


# --- a reader ---------------------------------------------------------------------------------------------------------


def parts(line: str) -> tuple[str, str]:
    number = re.match(r" {0,9}[0-9]{1,7}[\t:|-]", line)
    start = number.end() if number else 0
    while start < len(line) and line[start] in "-+ \t" and start - (number.end() if number else 0) < 40:
        start += 1
    return line[:start], line[start:]


def begins(line: str, words: str) -> bool:
    return parts(line)[1][:32].rstrip() == parts(words)[1][:32].rstrip()


def counted_on(before: str, lines: int) -> str:
    """What stands before a line so many lines further on."""
    digits = re.search(r"[0-9]+", before)
    if not digits:
        return before
    return str(int(digits[0]) + lines).rjust(digits.end()) + before[digits.end() :]


def found(above: Sequence[list[str]], own: list[str], count: int, words: str, moved: bool) -> list[str]:
    """The lines that a reference names: the first that begins so in the newest text that has one, and those after."""
    text = next(text for text in (own, *reversed(above)) if any(begins(line, words) for line in text))
    at = next(at for at, line in enumerate(text) if begins(line, words))
    lines = text[at : at + count]
    assert len(lines) == count
    here, there = parts(words)[0], parts(lines[0])[0]
    assert moved == (here != there)
    if not moved:
        return lines
    while here and there and here[-1] == there[-1] and not here[-1].isdigit():
        here, there = here[:-1], there[:-1]
    assert all(line.startswith(counted_on(there, number)) for number, line in enumerate(lines))
    return [counted_on(here, number) + line[len(counted_on(there, number)) :] for number, line in enumerate(lines)]


def strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in inner for text in strings(each)]


def read_back(view: Sequence[Message]) -> dict[str, str]:
    """Each content of a view with the lines that its references name."""
    above, contents = list[list[str]](), dict[str, str]()
    for message in view:
        lines = list[str]()
        for line in (message.content or "").split("\n"):
            mark = MARK.fullmatch(line) if message.why == WHY else None
            lines += found(above, lines, int(mark[1].replace(",", "")), mark[3], bool(mark[2])) if mark else [line]
        contents[message.id] = "\n".join(lines)
        above.append(lines)
        for call in message.calls:
            above += [[*text.split("\n")] for text in strings(json.loads(call.arguments))]
    return contents


# --- laws -------------------------------------------------------------------------------------------------------------

FILES = [
    [f"{'    ' * (line % 3 * file)}line {line} of file {file}, which is long enough" for line in range(30)]
    for file in range(3)
]
ODD = st.sampled_from(
    [
        *("", " ", "\r", "x", "changed", "é" * 150, "\x85 \u2028 \x0c", "` to `" * 9, "12345678` to "),
        *("    line 3 of file 0", FILES[0][0], FILES[1][29]),
        "[3 lines as above, from `line 3 of file 0, which is long`]",
    ]
)
FORMS = st.sampled_from(["{1}", "{1}", "{0:6}\t{1}", "{0}:{1}", "{0}: {1}", "{0}-{1}", "+{1}", "    {1}"])
"""How a file is shown: plain, with numbers of lines, as a diff, indented."""


def say(story: Story, result: str, name: str = "read_file", **arguments: str) -> None:
    """A turn with this result; the arguments are those of its call."""
    story.turn(0)
    call, last = story.messages[-2:]
    calls = (ToolCall(call.calls[0].id, name, json.dumps(arguments)),)
    story.messages[-2:] = [
        Message(call.id, "assistant", call.content, calls=calls),
        Message(last.id, "tool", result, call_id=last.call_id, name=name),
    ]


@st.composite
def readings(draw: st.DrawFn) -> list[Message]:
    """Files that are read and written again and again, whole and in parts, with lines changed here and there."""
    story, files = Story().ask("?"), [list(lines) for lines in FILES]
    for step in draw(st.binary(min_size=1, max_size=14)):
        lines = files[step % 3]
        if step & 4:
            lines[draw(st.integers(0, 29))] = draw(ODD)
        if step & 24 == 24:
            say(story, "Written.", name="write_file", path="a", text="\n".join(lines))
        else:
            start = draw(st.integers(0, 25)) if step & 32 else 0
            form, first = draw(FORMS), draw(st.sampled_from([1, 2, 95, 998]))
            shown = [form.format(number, line) for number, line in enumerate(lines[start:], start + first)]
            twice = shown * (2 if step & 64 else 1)
            say(story, "\n".join(twice))
    return story.messages


OTHERS = st.lists(st.sampled_from(sorted({*STRATEGIES} - {"dedup"})), min_size=1, max_size=2, unique=True)


@settings(max_examples=200)
@given(OTHERS, st.integers(0, 2), readings(), LIMITS)
def test_in_any_pipeline_a_reader_of_the_view_alone_has_every_byte(
    others: list[str], place: int, history: list[Message], limit: int
) -> None:
    """Wherever `dedup` is named among strategies that hide, forget or summarise."""
    named = [*others[:place], "dedup", *others[place:]]
    strategy, alone, before = build("+".join(named)), build("+".join(others)), None
    allowed = budget(limit, overhead=20)
    for messages in calls_of(history):
        given_ = {message.id: message for message in alone.prepare(messages, allowed)}
        try:
            before = prepare(messages, strategy, allowed, before)
        except BudgetError:
            continue
        refer = [message for message in before.messages if message.why == WHY]
        contents = read_back(before.messages) if refer else {}
        assert all(contents[id_] == given_[id_].content for id_ in contents)
        assert all(allowed.count(message) < allowed.count(given_[message.id]) for message in refer)


@given(readings())
def test_a_copy_depends_only_on_what_stands_before_it(history: list[Message]) -> None:
    whole = Dedup().prepare(history, budget(1_000_000))
    strategy = Dedup()
    for messages in calls_of(history):
        view = strategy.prepare(messages, budget(1_000_000))
        assert view == whole[: len(messages)]
        assert strategy.state == {}


# --- examples ---------------------------------------------------------------------------------------------------------


def read(*texts: str) -> list[Message]:
    story = Story().ask("?")
    for text in texts:
        say(story, text)
    return story.messages


def copies(view: Sequence[Message]) -> list[str]:
    return [message.content for message in view if message.ref]


def test_how_a_reference_reads() -> None:
    lines = FILES[0]
    changed = [*lines[:9], "new", *lines[10:]]
    view = Dedup().prepare(read("\n".join(lines), "\n".join(lines), "\n".join(changed)), budget())
    assert copies(view) == [
        '[30 lines as above, from `line 0 of file 0, which is long`; recall(id="m6") shows all]',
        '[9 lines as above, from `line 0 of file 0, which is long`; recall(id="m8") shows all]\nnew\n'
        "[20 lines as above, from `line 10 of file 0, which is long`]",
    ]


def test_how_a_reference_to_lines_with_other_numbers_reads() -> None:
    numbered = [f"{number}: {line}" for number, line in enumerate(FILES[0], 1)]
    later = [f"{number}: {line}" for number, line in enumerate(["new", *FILES[0]], 1)]
    view = Dedup().prepare(read("\n".join(FILES[0]), "\n".join(numbered), "\n".join(later)), budget())
    assert copies(view) == [
        '[30 lines as above, now from `1: line 0 of file 0, which is long`; recall(id="m6") shows all]',
        '1: new\n[30 lines as above, now from `2: line 0 of file 0, which is long`; recall(id="m8") shows all]',
    ]


def test_arguments_that_are_no_json_are_no_source() -> None:
    history = read("\n".join(FILES[0]))
    call = history[2]
    history[2] = Message(call.id, "assistant", calls=(ToolCall("c1", "read_file", "[" * 100_000),))
    assert copies(Dedup().prepare(history, budget())) == []


def test_the_prefix_stays_and_a_text_that_came_back_stays() -> None:
    history = read(*["\n".join(FILES[0])] * 12)
    strategy, before = Dedup(), None
    for messages in calls_of(history):
        before = prepare(messages, strategy, budget(1_000), before)
        assert not before.edited
    assert before
    assert before.tokens < 1_000 < before.history_tokens
    view = strategy.prepare(history, budget(300))
    assert copies(view) == []
    assert strategy.prepare(history, budget(1_000)) == view
    longer = read(*["\n".join(FILES[0])] * 13)
    assert len(copies(strategy.prepare(longer, budget(100_000)))) == 1


HOSTILE = {
    "one line": "x" * 10_000_000,
    "equal lines": "a line of some length\n" * 2_000,
    "lines that begin alike": "\n".join(f"{'begins alike ' * 4}{number}" for number in range(20_000)),
    "blank lines": "telling it\n" + "\n" * 20_000,
    "short lines": "\n".join(map(str, range(20_000))),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_result_can_be_read_back(text: str) -> None:
    history = read(text, f"{text}\nand more", text)
    assert read_back(Dedup().prepare(history, budget(10**9))) == {one.id: one.content for one in history}


def test_a_result_that_refers_is_all_there_and_one_that_was_shortened_is_not() -> None:
    text = "\n".join(FILES[0])
    history = read(text, f"{text}\nmore")
    cut = history[-1].rewritten(f"{text}\nmo", "cut")
    for last, fate in ((history[-1], "tidied"), (cut, "shortened")):
        view = Dedup().prepare([*history[:-1], last], budget())
        assert view[-1].why == WHY
        assert measure_view(history, view, budget()).fates[-1] == fate
