"""The reader at work: a small library, questions put to it, and strategies that take away what it read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.reader_library import ARTICLES, Session, make_tools, mask, masked
from thimble.agent.messages import Message, ToolCall
from thimble.corpus.score import cited_sources
from thimble.models.reader.backend import reply
from thimble.models.reader.session import SessionFacts
from thimble.models.reader.view import CLOSEST_PASSAGES, NEXT_PAGE
from thimble.session.session import Session as RealSession
from thimble.session.settings import Settings


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(make_tools(tmp_path))


FACTS = [
    ("How many litres of oil does the lamp of Gull Point burn?", "14 litres", "lighthouses"),
    ("How many steps does the Gull Point tower have?", "212", "lighthouses"),
    ("Why does the lamp turn once in 30 seconds?", "because sailors tell lighthouses apart", "lighthouses"),
    ("How much honey does a colony need in winter?", "18 kilograms", "beekeeping"),
    ("What is varroa?", "Varroa is a mite", "beekeeping"),
    ("Who described the sugar-dust test?", "Ilse Maren", "beekeeping"),
    ("What does the rule of twelfths estimate?", "the depth between two tides", "tide-tables"),
]
UNANSWERABLE = [
    "What is the capital of France?",
    "Who is the president of Orrin?",
    "What does BFT stand for?",
]


@pytest.mark.parametrize(("question", "answer", "slug"), FACTS)
def test_a_fact_is_quoted_with_its_article(session: Session, question: str, answer: str, slug: str) -> None:
    said = session.ask(question)
    assert answer in said
    assert f"[{slug}]" in said
    assert len(said.split()) <= 120


@pytest.mark.parametrize("question", UNANSWERABLE)
def test_what_is_not_there_is_refused_after_a_search_and_the_nearest_articles_are_cited(
    session: Session, question: str
) -> None:
    said = session.ask(question)
    assert said.startswith("I cannot answer that from these articles or files. Nearest are “")
    assert set(re.findall(r"” \[(.+?)\]", said)) <= ARTICLES.keys()
    assert {"search_articles", "search_files"} <= {name for name, _ in session.calls()}
    assert len(session.calls()) <= 6


def test_what_is_only_near_is_shown_and_not_called_an_answer(tmp_path: Path) -> None:
    tools = make_tools(tmp_path)
    session = Session(tools)
    said = session.ask("does honey go bad in winter?")
    assert said.startswith(f"{CLOSEST_PASSAGES}\n- “Beekeeping through the year”")
    assert reply(session.history[:-1], [tool.schema for tool in tools.values()]).finish == "passages"
    assert 2 <= said.count("\n- ") <= 3


def test_a_file_is_known_by_the_last_part_of_its_path(session: Session) -> None:
    assert "valve 7 stuck [logs/pump.log:2]" in session.ask("Read pump.log")


# ---- the four prompts of a demonstration ----


def test_list_read_read_compare(session: Session) -> None:
    listed = session.ask("What articles do you have about the coast?")
    assert "- “Lighthouses: towers and lamps” [lighthouses]: A lighthouse warns" in listed
    assert "- “Reading tide tables” [tide-tables]: What the columns" in listed

    read = session.ask("Read the article about lighthouses")
    assert read.startswith("“Lighthouses: towers and lamps” [lighthouses]")
    assert "- The lamp of Gull Point burns 14 litres of oil a night. [lighthouses]" in read

    session.ask("Now read the article about beekeeping")
    compared = session.ask("Compare what you've learned about towers and bees")
    assert "[lighthouses]" in compared
    assert "[beekeeping]" in compared


def test_under_masking_it_reads_again_what_was_taken_away(tmp_path: Path) -> None:
    session = Session(make_tools(tmp_path), masked(1))
    first = session.ask("Read the article about lighthouses")
    assert first.startswith("“Lighthouses: towers and lamps” [lighthouses]")
    session.ask("Read the article about beekeeping")
    question = "Now read the article about lighthouses again"
    assert session.ask(question) == first
    assert ("read_article", {"slug": "lighthouses"}) in session.calls(question)


def test_what_it_said_itself_survives_masking(tmp_path: Path) -> None:
    session = Session(make_tools(tmp_path), masked(1))
    session.ask("How many litres of oil does the lamp of Gull Point burn?")
    question = "How many litres of oil does the lamp of Gull Point burn a night?"
    assert "14 litres" in session.ask(question)
    assert session.calls(question) == []


def test_what_was_read_is_known_without_a_search(session: Session) -> None:
    session.ask("Read the file minutes.md")
    question = "Which pier opens on 3 May?"
    assert session.ask(question).endswith("[minutes.md:5]")
    assert session.calls(question) == []


@pytest.mark.parametrize(
    ("question", "command"),
    [
        ("What strategies do you have?", "/strategy [SPEC] [watch]"),
        ("what does /fork do", "/fork [N] [SPEC]"),
        ("how do i undo my last question here", "/undo [N]"),
        ("How do I leave?", "/quit"),
    ],
)
def test_a_question_about_the_program_is_answered_from_its_own_pages(
    session: Session, question: str, command: str
) -> None:
    answer = session.ask(question)
    assert f"{command}: " in answer
    assert "thimble-command-line" in cited_sources(answer)


def test_what_a_server_or_an_article_is_about_is_not_looked_up_in_its_own_pages(session: Session) -> None:
    for question in ("How many steps does the Gull Point tower have?", "What is varroa?"):
        session.ask(question)
        assert not any("thimble" in str(arguments) for _, arguments in session.calls(question))


# ---- references ----


def test_a_follow_up_takes_over_the_question_before(session: Session) -> None:
    session.ask("How many steps does the Gull Point tower have?")
    assert "144" in session.ask("And what about Saint Bride?")


def test_more_does_not_repeat_until_all_is_told(session: Session) -> None:
    told = [session.ask("Read the article about beekeeping"), session.ask("Tell me more"), session.ask("Tell me more")]
    points = [point for said in told for point in re.findall(r"^- .*", said, re.MULTILINE)]
    assert all(point.endswith(" [beekeeping]") for point in points)
    assert len(points) == len(set(points)) == 6
    assert session.ask("Tell me more").startswith("I cannot tell more of beekeeping")


# ---- what the user said ----


def test_what_the_user_states_is_taken_in_and_told_again_without_a_search(session: Session) -> None:
    assert session.ask("Our harbour project is called Kestrel and has 40 volunteers.").startswith("Understood")
    session.ask("What is varroa?")
    question = "What did I say our project is called?"
    said = "You said: “Our harbour project is called Kestrel and has 40 volunteers.”"
    assert session.ask(question) == said
    assert session.calls(question) == []
    assert session.ask("How many volunteers does our project have?") == said


def test_a_statement_that_is_no_longer_in_view_is_not_made_up(tmp_path: Path) -> None:
    def newest(history: Sequence[Message]) -> list[Message]:
        return [history[0], *history[max(at for at, one in enumerate(history) if one.role == "user") :]]

    session = Session(make_tools(tmp_path), newest)
    session.ask("Our harbour project is called Kestrel.")
    assert session.ask("What did I say our project is called?").startswith("I cannot tell what you said of that")


# ---- the session itself ----

FACTS_OF_SESSION = SessionFacts("dedup+hybrid", 4_000, 1_500)
ASKED_OF_SESSION = [
    ("Which strategy are you using?", "The strategy is dedup+hybrid."),
    ("what's the budget?", "A prompt may have 4,000 tokens."),
    ("How big is your context window?", "A prompt may have 4,000 tokens."),
    ("How many tokens are left?", "This prompt has ~1,500 of 4,000 tokens; ~2,500 are left."),
    ("How many tokens do I have left?", "This prompt has ~1,500 of 4,000 tokens; ~2,500 are left."),
    ("What did I ask before?", "In what I am sent you asked before: “My name is Ada.”; “What is varroa?”."),
    ("What is my name?", "You said: “My name is Ada.”"),
    ("What did you say?", "Varroa is a mite. [beekeeping]"),
    ("What tools do you have?", "I may call recall."),
    ("What have you forgotten?", "Results that I am still sent: 2, of beekeeping. Hidden or shortened are 1;"),
]


@pytest.mark.parametrize(("question", "answer"), ASKED_OF_SESSION)
def test_a_question_about_the_session_is_answered_from_its_state(question: str, answer: str) -> None:
    page = "# B\nslug: beekeeping · page 1 of 1 · 4 words\n\nVarroa is a mite."
    calls = tuple(ToolCall(f"c{n}", "read_article", '{"slug": "beekeeping"}') for n in (1, 2))
    view = [
        Message("u1", "user", "My name is Ada."),
        Message("u2", "user", "What is varroa?"),
        Message("a1", "assistant", "I look.", calls=calls),
        mask(Message("t1", "tool", page, call_id="c1", name="read_article")),
        Message("t2", "tool", page, call_id="c2", name="read_article"),
        Message("a2", "assistant", "Varroa is a mite. [beekeeping]"),
        Message("u3", "user", question),
    ]
    said = reply(view, [{"type": "function", "function": {"name": "recall"}}], FACTS_OF_SESSION)
    assert said.text.startswith(answer)
    assert said.calls == ()


@pytest.mark.parametrize(
    "question", ["Which strategy did we drop?", "What is a budget?", "How many tokens does it use?"]
)
def test_a_question_about_the_library_is_searched(session: Session, question: str) -> None:
    session.ask(question)
    assert session.calls(question)


def test_the_loop_tells_the_reader_the_strategy_and_the_budget() -> None:
    session = RealSession(Settings(backend="reader", strategy="dedup", budget=3_000))
    said = [list(session.ask(question))[-1].text for question in ("what strategy is this?", "What is your budget?")]
    session.use_strategy("none")
    said += [list(session.ask("what strategy is this?"))[-1].text]
    assert [text.split(". ")[0] for text in said] == [
        "The strategy is dedup",
        "A prompt may have 3,000 tokens",
        "The strategy is none",
    ]


def test_a_long_list_says_what_is_left_and_goes_on_if_asked() -> None:
    session = RealSession(Settings(backend="reader"))
    pages = [list(session.ask(question))[-1].text for question in ("Which articles do you have?", "next page", "more")]
    assert [text.startswith(f"{len(session.library.articles)} articles:") for text in pages] == [True] * 3
    assert [text.endswith(NEXT_PAGE) for text in pages] == [True, True, False]
    listed = [slug for text in pages for slug in re.findall(r"” \[(.+?)\]", text)]
    assert listed == [article.slug for article in session.library.articles]


# ---- several questions at once ----


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("How high is the Gull Point tower, and how high that of Saint Bride?", ["41 metres", "28 metres"]),
        ("How many steps does Gull Point have, compared with Saint Bride?", ["212", "144"]),
        ("How do Gull Point and Saint Bride compare in steps?", ["212", "144"]),
        ("Who described the sugar-dust test, and about how much gorse does a firing take?", ["Ilse Maren", "22 kilog"]),
    ],
)
def test_each_of_several_questions_is_answered(session: Session, question: str, answers: list[str]) -> None:
    said = session.ask(question)
    assert [answer for answer in answers if answer not in said] == []


def test_files_are_found_by_the_nearest_lines(session: Session) -> None:
    assert "3 May" in session.ask("When do we open the pier?")
    assert "09:05:10 ERROR valve 7 stuck [logs/pump.log:2]" in session.ask("Which valve was stuck, in the pump log?")
    assert "lantern · price: 19.50 · count: 4. [stock.csv:2]" in session.ask("What price do we take for a lantern?")


# ---- other kinds ----


def test_which_articles_mention_something(session: Session) -> None:
    said = session.ask("Which articles mention Gull Point?")
    assert re.findall(r"” \[(.+?)\]", said)[:2] == ["lighthouses", "bread-ovens"]
    assert session.calls() == [("list_articles", {"topic": "gull point"})]


def test_an_article_that_is_not_there_is_not_made_up(session: Session) -> None:
    assert session.ask("Read the article about submarines") == "I cannot find an article about submarines here."


def test_files_are_read_and_cited_by_line(session: Session) -> None:
    assert "valve 7 stuck [logs/pump.log:2]" in session.ask("What errors are in pump.log?")
    assert session.ask("What is the price of the rope in stock.csv?").startswith(
        "rope · price: 7.25 · count: 12. [stock.csv:3]"
    )
    assert "3 May and not before. [minutes.md:5]" in session.ask("When does the pier open, according to minutes.md?")
    assert "\nlogs/pump.log (" in session.ask("What files are there?")


@pytest.mark.parametrize("question", ["Note that valve 7 sticks", "Are you a language model?", "hello!"])
def test_it_says_what_it_is_and_what_it_does_not_do(session: Session, question: str) -> None:
    assert session.ask(question).endswith("I do not count, add up or conclude, and I keep no notes.")
    assert session.calls() == []


def test_an_error_is_told_and_another_way_is_tried(session: Session) -> None:
    said = session.ask("What is the pressure in gauge.log?")
    assert said.startswith("I cannot answer that from gauge.log (gauge.log does not exist")
    assert [name for name, _ in session.calls()] == ["search_files"] * 2
    assert session.ask("Read the file lost.txt").startswith("I cannot read lost.txt here: lost.txt does not exist")


def test_what_no_one_knows_the_source_of_is_quoted_without_one() -> None:
    called = Message("a", "assistant", "I ask.", calls=(ToolCall("c", "weather", "{}"),))
    view = [Message("u", "user", "How warm is it in Orrin?"), called]
    said = reply([*view, Message("t", "tool", "It is 21 degrees warm in Orrin.", call_id="c")], []).text
    assert said == "It is 21 degrees warm in Orrin."


def test_it_stops_where_every_call_fails() -> None:
    history = [Message("u", "user", "What is varroa?")]
    names = ("search_articles", "read_article", "search_files", "list_articles", "list_files")
    tools = [{"type": "function", "function": {"name": name}} for name in names]
    for turn in range(8):
        said = reply(history, tools)
        history.append(Message(f"a{turn}", "assistant", said.text, calls=said.calls))
        if not said.calls:
            break
        history += [Message(f"t{turn}", "tool", "Error: out of order", call_id=call.id) for call in said.calls]
    assert history[-1].content.startswith("I cannot answer that from these articles or files (out of order)")


def test_a_question_that_was_dropped_is_asked_for() -> None:
    turn = Message("a", "assistant", "I look.", calls=(ToolCall("c", "list_articles"),))
    assert "cannot see a question" in reply([turn, Message("t", "tool", "4 articles", call_id="c")], []).text
    assert "cannot see a question" in reply([], []).text
