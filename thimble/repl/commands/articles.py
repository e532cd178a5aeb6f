"""/articles: what the model can read."""

from __future__ import annotations

from rich.console import Console

from thimble.agent.errors import UsageError
from thimble.repl.screen.sanitise import line
from thimble.repl.screen.tables import Table
from thimble.session import figures
from thimble.session.session import Session


def articles(session: Session, topic: str, console: Console) -> None:
    """/articles [TOPIC]: list the articles that the model can read.

    For you only: the list never enters the context.
    """
    library = session.library
    found = library.matching(topic) if topic else library.articles
    if not found:
        topics = f"the topics are {', '.join(library.tags)}" if library.tags else "/articles lists them all"
        raise UsageError(f"no article about {topic[:40]!r}", topics)
    rows = [(article.slug, article.title, f"{article.words:,}") for article in found]
    about = f" about {line(topic)}" if topic else ""
    Table(f"{figures.several(len(rows), 'article')}{about}", ("slug", "title", ">words"), rows).show(console)
