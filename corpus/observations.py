"""What the tools print and the reader reads back: one form a line, by which it is both written and read."""

from __future__ import annotations

import re


class Form:
    """A line with fields, such as `{slug} — {title}`; `patterns` say what a field may hold, else it is any text."""

    def __init__(self, template: str, **patterns: str) -> None:
        self._template = template
        fields = re.compile(r"\\\{(\w+)\\\}")
        pattern = fields.sub(lambda field: f"(?P<{field[1]}>{patterns.get(field[1], '.+')})", re.escape(template))
        self._pattern = re.compile(pattern)

    def written(self, **values: object) -> str:
        """The line with these values."""
        return self._template.format(**values)

    def read(self, line: str) -> re.Match[str] | None:
        """The fields of a line; None if it has another form."""
        return self._pattern.fullmatch(line)


SLUG = r"[a-z0-9]+(?:-[a-z0-9]+)*"
NUMBER = r"\d{1,9}"
PATH = r"\S[^:\n]*"
PART = Form("page {page} of {pages}", page=NUMBER, pages=NUMBER)
REST = Form("[{place}: {call} has {what}]", place=r"(?:page|lines|entries) [^\[\]:]+", call=r"\w+\(.*\)")
"""The last line of a page after which there are more."""
ARTICLE = Form("slug: {slug} · {place} · {length}", slug=SLUG, length=r"[\d,]+ words?")
"""The second line of an article, below its title; its place is a page, or a section."""
SECTIONS = Form("sections: {titles}")
LISTED_ARTICLE = Form("{number}. {slug} — {title} ({facts})", number=NUMBER, slug=SLUG, facts=r"[\d,]+ words?\b.*")
PASSAGE = Form(
    "{number}. {slug} — {title} — section: {section} (score {score})", number=NUMBER, slug=SLUG, score=r"\d\.\d+"
)
"""The line above a passage that a search found."""
NEAR_ARTICLE = Form("- {slug} — {title}", slug=SLUG)
BELOW = "   "
"""What a line begins with that tells of the one above it."""
FILE_PAGE = Form(
    "{path} · {unit} {first}-{last} of {of}", path=r"\S.*", unit="lines|entries", first=NUMBER, last=NUMBER, of=NUMBER
)
FILE_LINE = Form("{number}: {text}", number=NUMBER, text=".*")
LONG_LINE = Form("{text}… [+{more} characters]", more=r"[\d,]+")
FOUND_LINE = Form("{path}:{number}: {text}", path=PATH, number=NUMBER, text=".*")
NEAR_LINE = Form("{path}:{number}: {text} (score {score})", path=PATH, number=NUMBER, score=r"\d\.\d+")
LISTED_FILE = Form("{path} ({facts})", path=r"\S.*", facts=r"[\d.,]+ (?:bytes?|KB)\b.*|binary|not readable")
NOTE = Form("{number}. {title}: {text}", number=NUMBER, title=r"[^:\n]+", text=".*")
SAVED_NOTE = Form("Saved note {number}: {title}", number=NUMBER)
RECALLED = Form("{id} · {of} · {place}", id=r"\w+", of=r"result of \w+|words of the \w+")
