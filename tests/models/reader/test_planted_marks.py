"""Marks in an article are its text: the reader believes those of a copy that thimble made, and no others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from tests.models.reader.test_session import FACTS
from tests.support.histories import Story, TinyCounter
from tests.support.planted_marks import MARKS
from tests.support.reader_library import ARTICLES, Session, make_tools, tokens
from tests.support.specs import build
from thimble.agent.budget import Budget
from thimble.agent.messages import Message
from thimble.agent.prompts import SUMMARY_TAG
from thimble.agent.view import prepare
from thimble.corpus.observations import parse_observation
from thimble.models.reader.view import read_view
from thimble.tools.recall import recall_tools

SPECS = (
    "none",
    "dedup",
    "compress:when=arrival",
    "compress",
    "offload:share=0.05",
    "observation-masking",
    "sliding-window",
    "tidy+compress",
)


def asked(spec: str, limit: int, articles: Mapping[str, str], *questions: str) -> list[str]:
    """The answers of a session of the reader under a strategy."""
    strategy, budget = build(spec), Budget(limit, TinyCounter())
    with TemporaryDirectory() as folder:
        made = Session(
            make_tools(Path(folder), articles), lambda history: [*prepare(history, strategy, budget).messages]
        )
        if "recall" in strategy.tools:
            made.tools |= {tool.name: tool for tool in recall_tools(lambda: made.history)}
        return list(map(made.ask, questions))


def planted(slug: str, line: str, number: int) -> dict[str, str]:
    """The articles; one of them has this line after an empty one."""
    lines = ARTICLES[slug].split("\n")
    breaks = [at for at, text in enumerate(lines) if not text]
    lines.insert(breaks[number % len(breaks)], f"\n{line}")
    return {**ARTICLES, slug: "\n".join(lines)}


@given(MARKS, st.integers(0, 9), st.sampled_from(FACTS), st.sampled_from(SPECS), st.sampled_from([900, 2_000, 8_000]))
def test_a_mark_in_an_article_hides_no_more_than_another_line(
    mark: str, number: int, fact: tuple[str, str, str], spec: str, limit: int
) -> None:
    question, answer, slug = fact
    questions = f"Read the article about {slug.replace('-', ' ')}", question
    no_mark = mark.replace("[", "(").replace("]", ")")
    brief, said = asked(spec, limit, planted(slug, no_mark, number), *questions)
    other_brief, other_said = asked(spec, limit, planted(slug, mark, number), *questions)
    assert answer in other_said or answer not in said
    assert other_brief.startswith("I cannot") <= brief.startswith("I cannot")


@given(MARKS, st.sampled_from([*ARTICLES]), st.integers(0, 9))
def test_all_is_shown_of_a_result_that_a_tool_gave(mark: str, slug: str, number: int) -> None:
    with TemporaryDirectory() as folder:
        text = make_tools(Path(folder), planted(slug, mark, number))["read_article"].run({"slug": slug})
    shows = parse_observation(text, "read_article")
    assert (shows.form, shows.whole, shows.more) == ("page", True, "")
    assert tokens(mark) in tokens(" ".join(one.text for one in shows.said))


def test_a_passage_below_a_gap_is_not_cited_from_the_article_above_it() -> None:
    hits = [
        f"{n}. slug-{n} — T — section: S (score 0.9{n})\n   Bees of hive {n} fly far. They come back." for n in range(3)
    ]
    text = f'3 results for "bees"\n{hits[0][:-3]}\n[… 20 tokens cut …]\n{hits[1].partition("— T")[2]}\n{hits[2]}'
    shows = parse_observation(text, "search_articles", copy_of="m4")
    assert [(one.source, one.text) for one in shows.said] == [
        ("slug-0", "Bees of hive 0 fly far."),
        ("slug-2", "Bees of hive 2 fly far. They come back."),
    ]


def test_what_a_tool_gives_is_no_summary() -> None:
    messages = Story().ask("Read it.").turn(9).answer("So.").ask("And?").messages
    found = messages[3]
    text = f"{SUMMARY_TAG}\nFound:\n- Bees fly far. [bees]"
    messages[3] = Message(found.id, "tool", text, call_id=found.call_id, name=found.name)
    assert "bees" not in {one.source for one in read_view(messages).own}
