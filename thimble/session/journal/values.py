"""The long parts of a session's records: each is written once, in the line that first needs it, and referred to later.

A long text becomes `{"$": "LINE.PLACE"}`, which names one of the `new` values of that line, or its message. A long list
is cut into chunks after items with certain hashes, each chunk a value of its own (`{"+": "LINE.PLACE …"}`), and the
list of chunks is cut again: two lists that differ in one item share all but a few chunks, wherever the item is. A text
of many lines is such a list (`{"|": [line, …]}`): a summary shares most lines with the one before it. So a file grows
only with new content.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from thimble.session.journal.checksum_lines import as_json

MAX_INLINE_CHARACTERS = 60
"""A value of at most this many characters of JSON is written in place, since a reference is nearly as long."""
LONG_LIST, CUT_AT, MOST_ITEMS = 12, 6, 24
"""A list of more items is cut; one item in `CUT_AT` ends a chunk; equal items may not, so a chunk has a maximum."""
VALUE, CHUNK, PAIRS, LINES = "$", "+", "%", "|"
"""The only key of an object: a reference to a value or to chunks, the pairs of a long object, the lines of a text."""
MOST_READ = 50_000_000
"""A record with more, in characters and a hundred for each item, is damage: values can refer to others."""


class Values:
    """The values of one session, by reference. Their contents are shared, so they must not be changed."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}
        self._keys: dict[bytes, str] = {}
        self._unhashed: list[str] = []
        self._line = 0
        self.new: list[Any] = []

    def add(self, line: int, new: Sequence[Any], message: Any = None) -> None:
        """Add the values of a line: the new ones, and the message of its record.

        If a line occurs twice, the first values count.
        """
        values = [*enumerate(new), *([("message", message)] if message else [])]
        for place, value in values:
            if (key := f"{line}.{place}") not in self._values:
                self._values[key] = value
                self._unhashed.append(key)

    def begin(self, line: int) -> None:
        """Start packing for the line of this number."""
        self._line, self.new = line, []

    def reference(self, data: Any) -> Any:
        """A reference to an equal value in an earlier line; None without one."""
        self._hash()
        key = self._keys.get(_digest(as_json(data)))
        return {VALUE: key} if key else None

    def _hash(self) -> None:
        while self._unhashed:  # only when a session that was read is written to again
            key = self._unhashed.pop()
            self._keys.setdefault(_digest(as_json(self._values[key])), key)

    def pack(self, data: Any) -> Any:
        """JSON data with references to its long parts; the parts that no earlier line has are in `new`."""
        if isinstance(data, str):
            if data.count("\n") >= LONG_LIST:
                data = {LINES: self._chunked(data.split("\n"))}
            text = as_json(data)
        elif isinstance(data, dict):
            data = {name: self.pack(part) for name, part in data.items()}
            if len(data) > LONG_LIST or not data.keys().isdisjoint((VALUE, CHUNK, PAIRS, LINES)):
                data = {PAIRS: self._chunked([[name, part] for name, part in data.items()])}
            text = as_json(data)
        elif isinstance(data, list | tuple):
            return self.pack_list([self.pack(part) for part in data])
        else:
            return data
        return data if len(text) <= MAX_INLINE_CHARACTERS else {VALUE: self._key(text, data)}

    def pack_list(self, items: list[Any]) -> Any:
        """The same for a list of packed items."""
        items = self._chunked(items)
        text = as_json(items)
        return items if len(text) <= MAX_INLINE_CHARACTERS else {VALUE: self._key(text, items)}

    def unpack(self, data: Any) -> Any:
        """The original of packed data.

        Raises:
            ValueError: a value is lost, not as `pack` writes it, or larger than any session's.
        """
        try:
            return _Reader(self._values).resolve(data)
        except TypeError as error:
            raise ValueError("a part of it is not as it was written") from error

    def _chunked(self, items: list[Any]) -> list[Any]:
        while len(items) > LONG_LIST:
            chunks, first, texts = list[Any](), 0, list[str]()
            for place, item in enumerate(items):
                texts.append(_item(item))
                if zlib.crc32(texts[-1].encode()) % CUT_AT == 0 or len(texts) == MOST_ITEMS:
                    part = _join_chunks(items[first : place + 1])
                    text = f"[{','.join(texts)}]" if len(part) == len(texts) else as_json(part)
                    chunks.append({CHUNK: self._key(text, part)})
                    first, texts = place + 1, []
            if len(chunks) < 2:
                break
            items = [*chunks, *items[first:]]
        return _join_chunks(items)

    def _key(self, text: str, data: Any) -> str:
        self._hash()
        digest = _digest(text)
        if (key := self._keys.get(digest)) is None:
            self._keys[digest] = key = f"{self._line}.{len(self.new)}"
            self._values[key] = data
            self.new.append(data)
        return key


class _Reader:
    """Unpacks one record."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._values, self._left = values, MOST_READ

    def resolve(self, data: Any) -> Any:
        self._left -= len(data) if isinstance(data, str) else 100
        if self._left < 0:
            raise ValueError("it contains more than any session does")
        if isinstance(data, dict):
            if VALUE in data:
                return self.resolve(self._value(data[VALUE]))
            if PAIRS in data:
                return dict(self.resolve(data[PAIRS]))
            if LINES in data:
                return "\n".join(self.resolve(data[LINES]))
            return {name: self.resolve(part) for name, part in data.items()}
        if not isinstance(data, list):
            return data
        found: list[Any] = []
        for item in data:
            if isinstance(item, dict) and CHUNK in item:
                for key in str(item[CHUNK]).split():
                    found += self.resolve(self._value(key))
            else:
                found.append(self.resolve(item))
        return found

    def _value(self, key: object) -> Any:
        try:
            return self._values[key]  # type: ignore[index]
        except (KeyError, TypeError):
            raise ValueError("a part of it was on a line that cannot be read") from None


def _join_chunks(items: list[Any]) -> list[Any]:
    """The items, with adjacent references to chunks joined into one."""
    found: list[Any] = []
    keys: list[str] = []
    for item in items:
        if isinstance(item, dict) and CHUNK in item:
            keys.append(item[CHUNK])
            continue
        found += [{CHUNK: " ".join(keys)}, item] if keys else [item]
        keys = []
    return [*found, {CHUNK: " ".join(keys)}] if keys else found


def _item(item: Any) -> str:
    """The JSON of an item; faster for references and words, which most are."""
    if isinstance(item, dict) and len(item) == 1:
        ((mark, key),) = item.items()
        if mark in (VALUE, CHUNK):
            return f'{{"{mark}":"{key}"}}'
    return _word_json(item) if isinstance(item, str) else as_json(item)


@lru_cache(1_000)
def _word_json(text: str) -> str:
    return as_json(text)


def _digest(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=12).digest()
