"""The manual: thimble's own pages, each under a name that no article has, each row of a table by itself."""

from __future__ import annotations

from thimble.corpus.library import load_library
from thimble.corpus.manual import COMMANDS_PAGE, MANUAL_SLUG, load_manual
from thimble.repl.commands.table import COMMANDS
from thimble.session.settings_table import SETTINGS
from thimble.tools.articles import ArticleTools


def test_each_command_and_flag_is_found_by_its_name() -> None:
    (page,) = (page for page in load_manual().articles if f"[{page.slug}]" == COMMANDS_PAGE)
    titles = [section.title for section in page.sections]
    assert {command.usage for command in COMMANDS.values()} <= set(titles)
    assert {one.flag for one in SETTINGS.values() if one.help} <= {title.partition(" ")[0] for title in titles}


def test_no_page_has_the_name_of_an_article() -> None:
    slugs = {page.slug for page in load_manual().articles}
    assert all(slug.startswith(MANUAL_SLUG) for slug in slugs)
    assert not slugs & {article.slug for article in load_library().articles}


def test_only_what_leans_on_the_manual_is_searched_there() -> None:
    tools = ArticleTools(load_library())
    assert MANUAL_SLUG in tools.search_articles("what does /undo do", earlier=COMMANDS_PAGE)
    assert MANUAL_SLUG not in tools.search_articles("what does /undo do", earlier="what is attention? [attention]")
