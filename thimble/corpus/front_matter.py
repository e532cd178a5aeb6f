"""Front matter: the YAML or TOML fields at the head of an article, every value read as text.

What other programs take for YAML often is not: `title: Masking: a survey`. Such a head is read field by field, and a
line of it that is not a field is text of the article.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

ONE_TEXT = ("title", "slug", "date", "summary", "description")
FIELDS = {*ONE_TEXT, "tags", "sources"}
PARSED_CHARACTERS = 10_000  # libyaml's recursion crashes the process on tens of thousands of open brackets
HEAD = re.compile(
    r"(?:---[ \t]*\n(.*?)^(?:---|\.\.\.)|\+\+\+[ \t]*\n(.*?)^\+\+\+)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE
)
NAME = re.compile(r"[\w.:/-]+(?: [\w.:/-]+){0,2}")
"""At most three words: a mapping of YAML is also `I read the paper. My note: it holds.`"""
FIELD = re.compile(r"[\"']?([\w.:/-]+?)[\"']?[ \t]*[:=](?=\s|$)")
QUOTED = re.compile(r"^([\"'])(.*)\1$")


class FrontMatter(NamedTuple):
    """The values of the known fields, the text that is left, and in words what could not be used of the head."""

    fields: dict[str, list[str]]
    text: str
    unused: str = ""


def split(text: str) -> FrontMatter:
    """Take the front matter off a text. What may as well be prose between two rules stays."""
    head = HEAD.match(text)
    block = "".join(filter(None, head.groups())) if head else ""
    if not head or not block.strip():
        return FrontMatter({}, text[head.end() :] if head else text)
    is_toml, kept = text.startswith("+"), list[str]()
    found = _parsed(block, is_toml)
    if not (found and all(map(NAME.fullmatch, found)) and (FIELDS & found.keys() or block[0].islower())):
        found, kept = _by_field(block, is_toml)
        if not found:
            return FrontMatter({}, text)
    unused = [f"{name} is not one text" for name in ONE_TEXT if len(found.get(name, ())) > 1]
    if kept:
        unused.append(
            f"not a field, and so text: {kept[0][:80]!r}" + f" and {len(kept) - 1:,} lines more" * (len(kept) > 1)
        )
    text = "\n".join([*kept, *[""][: len(kept)], text[head.end() :]])
    return FrontMatter({name: values for name, values in found.items() if name in FIELDS}, text, "; ".join(unused))


def _parsed(block: str, is_toml: bool) -> dict[str, list[str]] | None:
    """The texts of each field; None if the parser refuses the block."""
    import tomllib

    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # every scalar stays text, as written
    try:
        if len(block) <= PARSED_CHARACTERS:
            found = tomllib.loads(block) if is_toml else yaml.load(block, loader)
            if isinstance(found, dict):
                return {str(name).lower(): [*_texts(value, set())] for name, value in found.items()}
    except (yaml.YAMLError, ValueError, RecursionError):
        pass
    return None


def _texts(value: object, seen: set[int]) -> Iterator[str]:
    """The texts in a value; each list or mapping once, as anchors can make billions of a few."""
    if isinstance(value, dict | list):
        if id(value) not in seen:
            seen.add(id(value))
            for name, item in value.items() if isinstance(value, dict) else ((None, item) for item in value):
                yield from (text if name is None else f"{name}: {text}" for text in _texts(item, seen))
    elif text := " ".join(str(value).split()):
        yield text


def _by_field(block: str, is_toml: bool) -> tuple[dict[str, list[str]], list[str]]:
    """The texts of the known fields, and the lines that belong to no field.

    After a blank line, what is not a field ends the head: its lower `---` is a rule in the text then.
    """
    fields: dict[str, list[str]] = {}
    field, above, kept, lines = list[str](), "---", list[str](), block.split("\n")
    for at, line in enumerate(lines):
        below = line.startswith((" ", "\t")) or (line.startswith(("-", "]", "}")) and above.strip())
        if name := FIELD.match(line):
            field = fields[name[1].lower()] = [line]
        elif field and below:
            field.append(line)
        elif line.strip() and not above.strip():
            kept += lines[at:]
            break
        elif line.strip() and not line.startswith("#"):
            kept.append(line)
        above = line
    return {name: _values(field, is_toml) for name, field in fields.items() if name in FIELDS}, kept


def _values(field: list[str], is_toml: bool) -> list[str]:
    """The texts of one field; as it is written if the parser refuses it."""
    parsed = _parsed("\n".join(field), is_toml)
    if parsed:
        return next(iter(parsed.values()))
    first, *more = [line.strip() for line in [FIELD.sub("", field[0], count=1), *field[1:]]]
    items = [first, *(item[1:].strip() for item in more)] if any(item[:1] == "-" for item in more) else []
    return [QUOTED.sub(r"\2", item) for item in items or [" ".join([first, *more]).strip()] if item]
