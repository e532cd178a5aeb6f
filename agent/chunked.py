"""Chunked: a sequence that never changes; one that is made from another shares all with it but the difference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import is_
from typing import Any, Generic, Self, TypeVar, overload

CHUNK = 512
"""Entries that are stored together."""
Entry = TypeVar("Entry")


class Chunked(Sequence[Entry], Generic[Entry]):
    """Entries in tuples of `CHUNK`. A longer sequence, or one with other entries, has the other tuples in common.

    It reads, compares and slices as a list does (a slice is a list), and a copy of it is the same object.
    """

    __slots__ = ("_chunks", "_length")

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._chunks: list[tuple[Entry, ...]] = []
        self._length = 0
        self._store([*entries])

    def _like(self) -> Self:
        other = object.__new__(type(self))
        other._chunks, other._length = self._chunks, self._length
        return other

    def _store(self, entries: Sequence[Any]) -> None:
        at = self._length % CHUNK
        chunks = self._chunks[:-1] if at else [*self._chunks]
        rest = [*(self._chunks[-1] if at else ()), *entries]
        chunks += (tuple(rest[start : start + CHUNK]) for start in range(0, len(rest), CHUNK))
        self._chunks, self._length = chunks, self._length + len(entries)

    def _cut(self, length: int) -> None:
        chunks, rest = divmod(length, CHUNK)
        self._chunks = [*self._chunks[:chunks], *([self._chunks[chunks][:rest]] if rest else [])]
        self._length = length

    def _put(self, entries: Mapping[int, Any]) -> None:
        chunks = [*self._chunks]
        touched = {at // CHUNK: [*chunks[at // CHUNK]] for at in entries}
        for at, entry in entries.items():
            touched[at // CHUNK][at % CHUNK] = entry
        for at, changed in touched.items():
            chunks[at] = tuple(changed)
        self._chunks = chunks

    def with_entries(self, entries: Mapping[int, Entry], *more: Entry) -> Self:
        """This sequence with these entries at their places, and more at its end."""
        other = self._like()
        other._put(entries)
        other._store(more)
        return other

    def shared(self, other: Sequence[object]) -> int:
        """How many entries at the start are the very same objects in both."""
        chunks = _same(self._chunks, other._chunks) if isinstance(other, Chunked) else 0
        start = min(chunks * CHUNK, len(self), len(other))
        return start + _same(self[start:], other[start:])

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, at: int) -> Entry: ...
    @overload
    def __getitem__(self, at: slice) -> list[Entry]: ...
    def __getitem__(self, at: int | slice) -> Entry | list[Entry]:
        if isinstance(at, slice):
            start, stop, step = at.indices(self._length)
            if step != 1:
                return [*self][at]
            first = start // CHUNK
            found = [*chain.from_iterable(self._chunks[first : -(-stop // CHUNK)])] if start < stop else []
            return found[start - first * CHUNK : stop - first * CHUNK]
        if not -self._length <= at < self._length:
            raise IndexError(at)
        at %= self._length
        return self._chunks[at // CHUNK][at % CHUNK]

    def __iter__(self) -> Iterator[Entry]:
        return chain.from_iterable(self._chunks)

    def __reversed__(self) -> Iterator[Entry]:
        return chain.from_iterable(map(reversed, reversed(self._chunks)))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Chunked):
            return self._chunks == other._chunks
        return isinstance(other, list | tuple) and len(other) == self._length and [*self] == [*other]

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr([*self])

    def __deepcopy__(self, memo: object) -> Self:
        return self


def _same(one: Sequence[object], other: Sequence[object]) -> int:
    """How many entries at the start are the very same objects."""
    same = [*map(is_, one, other)]
    return same.index(False) if False in same else len(same)
