"""Front matter: the YAML or TOML fields at the head of an article, every value read as text.

Heads that other programs accept are often not valid YAML: `title: Masking: a survey`. Such a head is read field by
field, and a line that is not a field is text of the article; so is a head that cannot be read even then.
"""

from __future__ import annotations

import re

FIELDS = {"title", "slug", "date", "summary", "tags", "sources"}
PARSED_CHARACTERS = 10_000  # libyaml's recursion crashes the process on tens of thousands of open brackets
FRONT_MATTER = re.compile(r"(---|\+\+\+)[ \t]*\n(.*?)^(?:\1|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
FIELD = r"^[\w.-]+[ \t]*[:=]"
NOT_A_FIELD = re.compile(rf"(?!{FIELD}|^[ \t#\]}}-])^.+\n", re.MULTILINE)
PROSE = re.compile(rf"\n\n(?!{FIELD}|[ \t\n]|\Z)", re.MULTILINE)
KEY_NAME = re.compile(r"[\w.:/-]+(?: [\w-]+){0,2}")
"""At most three words: `I read the paper. My note: it holds.` is a mapping of YAML too."""


def split_front_matter(text: str) -> tuple[dict[str, list[str]], str, str]:
    """The texts of the known fields, the text without the head, and a note on the unused part of a head, or "".

    A head that may as well be prose between two rules stays in the text.
    """
    head = FRONT_MATTER.match(text)
    if not head:
        return {}, text, ""
    mark, block = head.groups()
    found, lines = _parse_block(block, mark), list[str]()
    if found is None and not PROSE.search(block):
        lines = NOT_A_FIELD.findall(block)
        found = _by_field(NOT_A_FIELD.sub("", block), mark)
    fits = found and all(map(KEY_NAME.fullmatch, found)) and (FIELDS & found.keys() or block[0].islower())
    if fits or not block.strip():
        unused = f"not a field, and so text: {lines[0].strip()[:80]!r}" if lines else ""
        return found or {}, "\n".join([*lines, text[head.end() :]]), unused
    meant = block[0].isalpha() and (found is None or FIELDS & found.keys())
    return {}, text, "it cannot be read, and counts as text" if meant else ""


def _by_field(block: str, mark: str) -> dict[str, list[str]]:
    """The texts of each field; a field that the parser refuses is taken as written."""
    found: dict[str, list[str]] = {}
    for field in re.split(rf"(?={FIELD})", block, flags=re.MULTILINE)[1:]:
        name, value = re.split(r"[ \t]*[:=]", field, maxsplit=1)
        items = [" ".join(item.split()) for item in re.split(r"\n\s*- ", value)]
        texts = [re.sub(r"^(['\"])(.*)\1$", r"\2", item) for item in items if item]
        found |= (name.lower() in FIELDS and _parse_block(field, mark)) or {name.lower(): texts}
    return found


def _parse_block(block: str, mark: str) -> dict[str, list[str]] | None:
    """The texts of each field; None if the parser refuses the block."""
    import tomllib

    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # every scalar stays text, as written
    if len(block) > PARSED_CHARACTERS or {"&", "*"} <= {*block}:  # a few aliases can stand for billions of values
        return None
    try:
        found = tomllib.loads(block) if mark == "+++" else yaml.load(block, loader)
        return {str(name).lower(): _texts(value) for name, value in found.items()}
    except (yaml.YAMLError, AttributeError, ValueError, RecursionError):  # AttributeError: it is not a mapping
        return None


def _texts(value: object) -> list[str]:
    """The items of a list, or one text; of an item that is itself a list or a mapping, its words."""
    items = value if isinstance(value, list) else [value]
    texts = (each if isinstance(each, str) else re.sub(r"[][{}'\"]", "", str(each)) for each in items)
    return [" ".join(text.split()) for text in texts if text.strip()]
