"""/articles: list the articles that the model can read."""

from __future__ import annotations

from rich.console import Console

from thimble.agent.errors import UsageError
from thimble.repl.commands.command import Offer, command
from thimble.repl.screen.sanitise import one_line
from thimble.repl.screen.tables import Table
from thimble.repl.screen.theme import say
from thimble.session.session import Session
from thimble.tools.wording import count_noun

ROWS = 10
"""Articles listed at first: with the topics they fit on a screen of 24 rows."""


def topics(session: Session, _: str) -> list[Offer]:
    """The topics, then the articles; none while the articles are still loading, so that Tab never waits."""
    if session.reading.words:
        return []
    library = session.library
    return [(tag, "topic") for tag in library.tags] + [(each.slug, each.title) for each in library.articles]


@command("articles [TOPIC | all]", "Models and articles", completer=topics)
def articles(session: Session, topic: str, console: Console) -> None:
    """List the articles that the model can read.

    The list is for you only: it never enters the context. /articles TOPIC lists those about a topic; /articles all
    shows a long list in full.
    """
    library, whole = session.library, topic == "all"
    found = library.articles if whole or not topic else library.matching(topic)
    if not found:
        topics = f"the topics are {', '.join(library.tags)}" if library.tags else "/articles lists them all"
        raise UsageError(f"no article about {topic[:40]!r}", topics)
    rows = [(article.slug, article.title, f"{article.words:,}") for article in found]
    about = f" about {one_line(topic)}" if topic and not whole else ""
    least = len(rows) if topic or len(rows) <= ROWS else ROWS
    Table(f"{count_noun(len(rows), 'article')}{about}", ("slug", "title", ">words"), rows[:least]).show(console)
    if least < len(rows):
        say(
            console,
            f"{len(rows) - least} more: /articles all, or /articles TOPIC: {one_line(', '.join(library.tags))}",
            "quiet",
        )
