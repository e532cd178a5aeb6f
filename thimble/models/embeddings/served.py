"""Embeddings from a model server: texts are sent in batches, vectors are checked and scaled to length 1."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from thimble.agent.errors import ModelError
from thimble.models.embeddings import scale_to_unit
from thimble.models.server import TooLong
from thimble.models.wire.retry import retry_busy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BATCH = 64
"""Texts of one request."""


class ServedEmbedder(ABC):
    """The embeddings of a model on a server. For a text longer than the model's context, its beginning is embedded.

    Args:
        kind: The kind of server, as `--embeddings` names it.
        model: The name of the model there.
        sleep: Waits for a number of seconds while the server is busy.
    """

    def __init__(self, kind: str, model: str, sleep: Callable[[float], object]) -> None:
        self.model = model
        self._kind = kind
        self._sleep = sleep
        self._numbers = 0

    @cached_property
    def name(self) -> str:
        """The kind of server, the model, and a mark of its weights. The server is asked once. Raises ModelError."""
        with self._as_ours():
            return f"{self._kind}:{self.model} {self._fingerprint()}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """A unit vector for each text, one a row; zeros for a blank text, which is not sent. Raises ModelError."""
        import numpy as np

        sent = [place for place, text in enumerate(texts) if text.strip()]
        with self._as_ours():
            rows = [self._batch([texts[place] for place in sent[at : at + BATCH]]) for at in range(0, len(sent), BATCH)]
            if not self._numbers:
                self._batch(["How many numbers has a vector?"])
        found = np.zeros((len(texts), self._numbers), np.float32)
        if rows:
            found[sent] = np.concatenate(rows)
        return scale_to_unit(found)

    @abstractmethod
    def _fingerprint(self) -> str:
        """A text that differs for another model of the same name. Raises ModelError if there is no such model."""

    @abstractmethod
    def _request_vectors(self, texts: Sequence[str]) -> Any:
        """The vectors of these texts as the server sends them, in their order. Raises ModelError."""

    def _batch(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of a batch. For a text that is too long, halves are sent: of the batch, then of the text."""
        try:
            return self._check_vectors(self._request_with_retries(texts), len(texts))
        except TooLong:
            if len(texts) == 1 and len(texts[0]) < 2:
                raise
        import numpy as np

        half = len(texts) // 2
        return (
            np.concatenate([self._batch(texts[:half]), self._batch(texts[half:])])
            if half
            else self._batch([texts[0][: len(texts[0]) // 2]])
        )

    def _request_with_retries(self, texts: Sequence[str]) -> Any:
        """The server's answer; a busy server is asked again."""
        *_, answer = retry_busy(lambda: [self._request_vectors(texts)], self._sleep)
        return answer

    def _check_vectors(self, vectors: Any, wanted: int) -> NDArray[np.float32]:
        """The vectors as rows. Raises ModelError for a wrong number or size of vectors, and for other values."""
        import numpy as np

        try:
            rows = np.array(vectors, np.float32)
        except (ValueError, TypeError, OverflowError) as error:
            raise malformed_error("something other than rows of numbers") from error
        if rows.ndim != 2 or not rows.size or not np.isfinite(rows).all():
            raise malformed_error("something other than rows of numbers")
        if len(rows) != wanted:
            raise malformed_error(f"{len(rows)} vectors for {wanted} texts")
        if rows.shape[1] != (self._numbers or rows.shape[1]):
            raise malformed_error(f"vectors of {rows.shape[1]} numbers after some of {self._numbers}")
        self._numbers = rows.shape[1]
        return rows

    @contextmanager
    def _as_ours(self) -> Iterator[None]:
        """Say in each error that the embeddings failed, and how to go without them."""
        try:
            yield
        except ModelError as error:
            what = f"no embeddings from {self._kind}:{self.model}: {error.what}"
            raise ModelError(what, f"{error.fix}; or go without: --embeddings none") from error


def malformed_error(what: str) -> ModelError:
    """The error for an answer without the vectors of the texts."""
    return ModelError(f"the server answered with {what}", "check that it speaks this protocol; its log may say more")
